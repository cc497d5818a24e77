"""What a new address leaves to do: methods of ours that override a class which moved, and what changed in it since."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.change.signatures import ParameterChange, SignatureChange, compare_signatures
from layline.core.evidence import Location
from layline.core.prose import listed
from layline.source.instances import Instances
from layline.source.slices import read_node

if TYPE_CHECKING:
    from layline.change.compare import Comparer
    from layline.change.file_trace import Version
    from layline.change.trace import Tracer
    from layline.coupling.place import Place
    from layline.source import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one upstream commit did to a method that one of ours takes the place of."""

    commit: str
    parameters: tuple[str, ...] = ()
    """How it changed the parameters."""
    is_rename: bool = False
    """It did no more than rename some: a caller by position notices nothing."""
    unset: tuple[str, ...] = ()
    """What ours reads of `self`, and upstream's class no longer sets since."""
    sizes: tuple[tuple[str, int], ...] = ()
    """Parameters whose sizes ours takes apart into so many names, as upstream's did until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A method of ours that overrides one of an upstream class which has a new address."""

    location: Location
    last: int
    """The last line of ours."""
    target: str
    """Upstream's method, by its name at the pin."""
    arrival: str
    """The same at the tip."""
    takes: tuple[tuple[str, ...], tuple[str, ...]]
    """The parameters of upstream's method at pin and tip; empty where the tip has it no more."""
    changes: tuple[Change, ...]
    """In the order of history."""


def find_follows(comparer: Comparer, places: Iterable[Place], read_text: Callable[[str], object]) -> Iterator[Follow]:
    """The methods for which something changed, in the order of the places."""
    instances = Instances(comparer.pin), Instances(comparer.tip)
    for place in places:
        ours, moved = place.override, _find_moved(comparer, place)
        if ours is None or moved is None:
            continue
        trail, home = moved
        text = read_text(place.location.path)
        node = read_node(text, ours.qualname) if isinstance(text, str) else None
        held, holds = instances[0].find(place.base), instances[1].find(home)
        lost = [
            name
            for name in _find_read(node)
            if name in held and name not in holds and not comparer.tip.resolve(f"{home}.{name}").exists
        ]
        changes = tuple(trail.find_changes(lost, _find_taken(node)))
        arrival = f"{home}.{ours.name}"
        if changes:
            now = comparer.tip.resolve(arrival).definition
            takes = _name_parameters(trail.pin), _name_parameters(now)
            yield Follow(
                location=place.location,
                last=place.location.line + _count_below(node),
                target=place.target,
                arrival=arrival,
                takes=takes,
                changes=changes,
            )


def say_change(one: Follow) -> str:
    """What ours has to take and may read at the tip."""
    was, now = one.takes
    parts = [f"takes ({', '.join(now)})"] if now and was != now else []
    unset = [name for change in one.changes for name in change.unset]
    parts += [f"no longer sets self.{listed(unset, most=6)}, which our method reads"] if unset else []
    sizes = [size for change in one.changes for size in change.sizes]
    parts += [f"no longer unpacks {name} into {number} sizes, as our method does" for name, number in sizes]
    return "; ".join(parts) or "its parameters changed after the pin and changed back before the tip"


def _count_below(node: ast.stmt | None) -> int:
    """Lines of a definition after its first."""
    return (node.end_lineno or node.lineno) - node.lineno if node is not None else 0


def _name_parameters(found: Definition | None) -> tuple[str, ...]:
    return tuple(one.name for one in (found.parameters or ())[1:]) if found is not None else ()


def _find_moved(comparer: Comparer, place: Place) -> tuple[_Trail, str] | None:
    """Of a method of ours that overrides one of a class with a new address: the way there, and the address."""
    if place.override is None:
        return None
    symbol, owner = comparer.pin.resolve(place.target), comparer.compare(place.target.rpartition(".")[0])
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if owner.after.exists or owner.new_home is None or tracer is None:
        return None
    if symbol.definition is None or symbol.definition.parameters is None or symbol.module is None:
        return None
    path = comparer.pin.index.entries[symbol.module].path
    return _Trail(tracer, path, symbol.definition), owner.new_home


@dataclass(frozen=True, slots=True)
class _Trail:
    """Upstream's method through history, wherever its class stands."""

    tracer: Tracer
    path: str
    pin: Definition

    def find_changes(self, lost: Iterable[str], taken: dict[str, int]) -> Iterator[Change]:
        """Every commit that asks something of ours: it reads `lost` and takes the sizes of `taken` apart."""
        found: dict[str, Change] = {}
        versions = list(self.tracer.find_versions(self.path, self.pin.qualname))
        for commit, shaped in self._find_reshaped(versions):
            renames = all(one.change is ParameterChange.RENAMED for one in shaped)
            found[commit] = Change(commit=commit, parameters=tuple(map(str, shaped)), is_rename=renames)
        for name in lost:
            since = self._find_unset(name)
            if since is not None:
                known = found.get(since, Change(commit=since))
                found[since] = replace(known, unset=(*known.unset, name))
        for name, number in taken.items():
            since = _find_resized(versions, name, number)
            if since is not None:
                known = found.get(since, Change(commit=since))
                found[since] = replace(known, sizes=(*known.sizes, (name, number)))
        order = {step.commit: number for number, step in enumerate(self.tracer.timeline.steps)}
        yield from sorted(found.values(), key=lambda change: order[change.commit])

    def _find_reshaped(
        self, versions: Iterable[tuple[str, Version, str]]
    ) -> Iterator[tuple[str, tuple[SignatureChange, ...]]]:
        """Commits after which a caller passes something else, each with the changes that count."""
        before = self.pin
        for commit, version, name in versions:
            now = version.read_signature(name)
            if now is None:
                continue
            changes = tuple(one for one in compare_signatures(before, now) if one.may_break)
            if changes:
                yield commit, changes
            before = now

    def _find_unset(self, name: str) -> str | None:
        """The first commit since which the class does not set the attribute."""

        def lacks(version: Version, owner: str) -> bool:
            return name not in _find_stored(read_node(version.text, owner))

        return self.tracer.find_since(self.path, self.pin.qualname.rpartition(".")[0], lacks)


def _find_resized(versions: Iterable[tuple[str, Version, str]], name: str, number: int) -> str | None:
    """The first commit since which upstream's method reads other sizes of the parameter, where it reads any then."""
    culprit: str | None = None
    was = False
    for commit, version, qualname in versions:
        node = read_node(version.text, qualname)
        has = _find_taken(node).get(name) == number
        if has:
            culprit = None
        elif was and _reads_sizes(node, name):
            culprit = commit
        was = has
    return culprit


def _find_read(node: ast.AST | None) -> list[str]:
    """Attributes of `self` that a method reads and does not set, in their order."""
    stored = _find_stored(node)
    ordered = sorted(_find_own(node), key=lambda one: (one.lineno, one.col_offset))
    return list(dict.fromkeys(one.attr for one in ordered if one.attr not in stored))


def _find_stored(node: ast.AST | None) -> set[str]:
    """Attributes that a class or method gives `self`."""
    return {one.attr for one in _find_own(node) if not isinstance(one.ctx, ast.Load)}


def _find_own(node: ast.AST | None) -> Iterator[ast.Attribute]:
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == "self":
            yield one


def _reads_sizes(node: ast.AST | None, name: str) -> bool:
    return node is not None and any(
        isinstance(one, ast.Attribute)
        and one.attr in {"shape", "size"}
        and isinstance(one.value, ast.Name)
        and one.value.id == name
        for one in ast.walk(node)
    )


def _find_taken(node: ast.AST | None) -> dict[str, int]:
    """Parameters whose sizes are taken apart (`a, b, _ = x.shape`), each with the number of names."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return {}
    names = {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    found: dict[str, int] = {}
    for one in ast.walk(node):
        match one:
            case ast.Assign(
                targets=[ast.Tuple(elts=parts)],
                value=(
                    ast.Attribute(value=ast.Name(id=name), attr="shape")
                    | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[], keywords=[])
                ),
            ) if name in names and not any(isinstance(part, ast.Starred) for part in parts):
                found.setdefault(name, len(parts))
    return found
