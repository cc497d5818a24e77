"""What stands behind "removed" and "renamed": what upstream's own users import instead, and how the new name differs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.signatures import ParameterChange
from layline.core.ours import is_test
from layline.core.prose import listed
from layline.core.why import Reason, say
from layline.source import DefinitionKind, Module, parse_module
from layline.source.names import absolute_name, is_package, module_name

if TYPE_CHECKING:
    from layline.change.compare import Comparer, Comparison
    from layline.change.trace import Tracer
    from layline.history.timeline import BlobChange
    from layline.source.resolve import Resolver
    from layline.source.symbols import Symbol

_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """What is known of the place that a lost name of upstream's left."""

    target: str
    instead: tuple[tuple[str, int], ...] = ()
    """New names, with how many of upstream's own files import them since they lost this one."""
    users: int = 0
    """How many files lost it."""
    differs: tuple[str, ...] = ()
    """Of a name with a new address: how what stands there is called or made otherwise."""
    holds: str = ""
    """Of a table with a new address: what its values were, and are."""

    @property
    def short(self) -> str:
        """What a reader must know who only follows the name."""
        return self.holds or ("other arguments" if self.differs else "")


def find_successors(comparer: Comparer, targets: Iterable[str]) -> Iterator[Successor]:
    """Of the names of which anything is known."""
    for target in targets:
        found = comparer.compare(target)
        differs = tuple(_find_differences(found)) if found.new_home is not None else ()
        holds = _find_other_values(comparer, found)
        if differs or holds:
            yield Successor(target=target, differs=differs, holds=holds)
        elif found.new_home is None and (taken := _find_instead(comparer, found)) is not None:
            yield taken


def say_instead(one: Successor) -> str:
    """`upstream's users import X (3 of 4) instead`; empty where nothing is known."""
    if not one.instead:
        return ""
    (first, number), rest = one.instead[0], one.instead[1:]
    names = [f"{first} ({number} of {one.users})", *(f"{name.rpartition('.')[2]} ({files})" for name, files in rest)]
    return f"upstream's users import {listed(names)} instead"


def _find_differences(found: Comparison) -> Iterator[str]:
    yield from (say(why) for why in found.why if why.reason is Reason.OTHER_KIND)
    breaking = [one for one in found.changes if one.may_break]
    needs = [one.name for one in breaking if one.change is ParameterChange.ADDED]
    drops = [one.name for one in breaking if one.change is ParameterChange.REMOVED]
    yield from [f"needs {listed(needs, most=4)}"] if needs else []
    yield from [f"no longer takes {listed(drops, most=4)}"] if drops else []


def _find_other_values(comparer: Comparer, found: Comparison) -> str:
    """`it held X objects and holds functions`; empty where the values are alike, or cannot be told."""
    if found.new_home is None:
        return ""
    was = _find_held(comparer.pin, found.before)
    now = _find_held(comparer.tip, comparer.tip.resolve(found.new_home))
    return f"it held {was} and holds {now}" if was and now and was != now else ""


def _find_held(side: Resolver, symbol: Symbol) -> str:
    """What the values of a module's table are; empty where they differ or cannot be told."""
    if symbol.definition is None or symbol.module is None or symbol.definition.kind is not DefinitionKind.ASSIGNMENT:
        return ""
    node = side.index.read_node(symbol.module, symbol.definition)
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    values = value.values if isinstance(value, ast.Dict) else []
    told = {_name_value(side, symbol.module, one) for one in values}
    return told.pop() if len(told) == 1 else ""


def _name_value(side: Resolver, module: str, node: ast.expr) -> str:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as function):
            return f"{ast.unparse(function)} objects"
        case ast.Name(id=name):
            definition = side.resolve_in(module, name).definition
            kinds = {DefinitionKind.FUNCTION: "functions", DefinitionKind.CLASS: "classes"}
            return kinds.get(definition.kind, "") if definition is not None else ""
    return ""


def _find_instead(comparer: Comparer, found: Comparison) -> Successor | None:
    """The names of the same module or package that the commit which removed this one put into the imports of its users:
    what they import from elsewhere came with other edits.
    """
    symbol = found.before
    tracer = comparer.tracer(symbol.module) if symbol.module is not None else None
    if tracer is None or symbol.module is None or symbol.definition is None or "." in symbol.definition.qualname:
        return None
    entry = comparer.pin.index.entries[symbol.module]
    trail = tracer.follow(entry.path, symbol.definition.qualname)
    step = next((one for one in tracer.timeline.steps if one.commit == trail.lost_in), None)
    if step is None:
        return None
    path, word = entry.path, symbol.definition.qualname
    if trail.hops:
        path, word = trail.hops[-1].arrival.path, trail.hops[-1].arrival.qualname
    roots = comparer.pin.index.parts[entry.part].source_roots
    home = module_name(path, roots) or ""
    votes: Counter[str] = Counter()
    users = 0
    for change in step.changes:
        new = _find_taken(tracer, change, word, roots)
        if new is not None:
            users += 1
            votes.update(new)
    known = [
        (name, number)
        for name, number in sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
        if comparer.tip.resolve(name).exists
        and not comparer.pin.resolve(name).exists
        and (name.rpartition(".")[0] == home or (4 * number >= users and number > 1 and _is_beside(name, home)))
    ]
    return Successor(target=found.name, instead=tuple(known[:_MOST]), users=users) if known else None


def _is_beside(name: str, home: str) -> bool:
    """Whether a new name stands in the package of the module `home`."""
    module, package = name.rpartition(".")[0], home.rpartition(".")[0]
    return package in {module, module.rpartition(".")[0]}


def _find_taken(tracer: Tracer, change: BlobChange, word: str, roots: tuple[str, ...]) -> set[str] | None:
    """What a file imports anew since it does not import the word any more; None where it never did."""
    if change.before is None or change.after is None or is_test(change.path):
        return None
    if word not in tracer.read_text(change.before):
        return None
    before, after = (
        _find_imported(tracer.read_text(blob), change.path, roots) for blob in (change.before, change.after)
    )
    lost = {name for name in before - after if name.rpartition(".")[2] == word}
    return after - before if lost else None


def _find_imported(text: str, path: str, roots: tuple[str, ...]) -> set[str]:
    """Dotted names that a file takes from modules."""
    found = parse_module("", text.encode("utf-8", "surrogatepass"))
    module, package = module_name(path, roots) or "", is_package(path)
    names: set[str] = set()
    for one in found.imports if isinstance(found, Module) else ():
        source = absolute_name(module, package=package, level=one.level, name=one.module)
        if source is not None and one.name not in {None, "*"}:
            names.add(f"{source}.{one.name}")
    return names
