"""What stands behind "removed" and "renamed": what upstream's own users import instead, and how the new name differs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.call_sites import find_call_sites
from layline.change.signatures import ParameterChange
from layline.core.ours import is_test
from layline.core.prose import listed
from layline.core.why import Reason, say
from layline.gap.exchanged import Loss, find_imported, find_inside, find_loss, find_named, find_told
from layline.source import DefinitionKind

if TYPE_CHECKING:
    from layline.change.binding import CallSite
    from layline.change.compare import Comparer, Comparison
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
    named: tuple[str, int, int] | None = None
    """The new class that upstream's own code names where it named this one, in how many slots and of how many."""
    told: str = ""
    """The new class that the message of the commit which removed it names in its place."""
    inside: str = ""
    """The function that called it and took its code."""
    differs: tuple[str, ...] = ()
    """Of a name with a new address: how what stands there is called or made otherwise."""
    holds: str = ""
    """Of a table with a new address: what its values were, and are."""
    is_unmade: bool = False
    """Of a class that we replace: upstream made its objects by this name at the pin, and nowhere at the tip."""

    @property
    def short(self) -> str:
        """What a reader must know who only follows the name."""
        parts = [self.holds or ("other arguments" if self.differs else "")]
        parts += ["not constructed by name"] if self.is_unmade else []
        return "; ".join(filter(None, parts))


def find_successors(
    comparer: Comparer, targets: Iterable[str], patched: Collection[str], messages: Mapping[str, str]
) -> Iterator[Successor]:
    """Of the names of which anything is known; `messages` of upstream's commits, by hash."""
    lost = list(targets)
    homes = {name: home for name in lost if (home := comparer.compare(name).new_home) is not None}
    unmade = frozenset(_find_unmade(comparer, {name: homes[name] for name in homes.keys() & set(patched)}))
    for target in lost:
        found = comparer.compare(target)
        differs = tuple(_find_differences(found)) if target in homes else ()
        holds = _find_other_values(comparer, found)
        if differs or holds or target in unmade:
            yield Successor(target=target, differs=differs, holds=holds, is_unmade=target in unmade)
        elif target not in homes and (taken := _find_instead(comparer, found, messages)) is not None:
            yield taken


def say_instead(one: Successor) -> str:
    """`upstream's users import X (3 of 4) instead`; empty where nothing is known."""
    parts = [f"the message of the removing commit names {one.told} instead"] if one.told else []
    if one.named is not None:
        name, number, slots = one.named
        parts.append(f"upstream's code names {name} in its place ({number} of {slots} lines)")
    if one.instead:
        (first, number), rest = one.instead[0], one.instead[1:]
        more = (f"{name.rpartition('.')[2]} ({files})" for name, files in rest)
        parts.append(f"upstream's users import {listed([f'{first} ({number} of {one.users})', *more])} instead")
    return "; ".join([*parts, *([f"its code moved into {one.inside}"] if one.inside else [])])


def _find_unmade(comparer: Comparer, homes: Mapping[str, str]) -> Iterator[str]:
    """Classes of which upstream made objects by name at the pin, and makes none by the new name at the tip."""
    classes = {
        name: home
        for name, home in homes.items()
        if _are_classes(comparer.pin.resolve(name), comparer.tip.resolve(home))
    }
    then, now = find_call_sites(comparer.pin, classes), find_call_sites(comparer.tip, classes.values())
    for name, home in classes.items():
        if _outside_tests(then[name]) and not _outside_tests(now[home]):
            yield name


def _are_classes(*symbols: Symbol) -> bool:
    return all(one.definition is not None and one.definition.kind is DefinitionKind.CLASS for one in symbols)


def _outside_tests(sites: Iterable[CallSite]) -> bool:
    return any(not is_test(site.location.path) for site in sites)


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


def _find_instead(comparer: Comparer, found: Comparison, messages: Mapping[str, str]) -> Successor | None:
    """What upstream itself put in the place of a lost name; None where it left nothing to tell."""
    loss = find_loss(comparer, found)
    if loss is None:
        return None
    named = find_named(comparer, loss)
    instead, users = ((), 0) if named is not None else _count_imports(comparer, loss)
    one = Successor(
        target=found.name,
        instead=instead,
        users=users,
        named=named,
        told=find_told(comparer, loss, messages.get(loss.step.commit, "")) if named is None else "",
        inside=find_inside(comparer, loss),
    )
    return one if say_instead(one) else None


def _count_imports(comparer: Comparer, loss: Loss) -> tuple[tuple[tuple[str, int], ...], int]:
    """The names of the same module or package that the commit which removed this one put into the imports of its users,
    and how many those are: what they import from elsewhere came with other edits.
    """
    votes, users = loss.recall("imports", lambda: _count_votes(loss))
    known = [
        (name, number)
        for name, number in sorted(votes.items(), key=lambda pair: (-pair[1], pair[0]))
        if comparer.tip.resolve(name).exists
        and not comparer.pin.resolve(name).exists
        and (
            name.rpartition(".")[0] == loss.home or (4 * number >= users and number > 1 and _is_beside(name, loss.home))
        )
    ]
    return tuple(known[:_MOST]), users


def _count_votes(loss: Loss) -> tuple[Counter[str], int]:
    votes: Counter[str] = Counter()
    users = 0
    for change, before, after in loss.find_users():
        then, now = ({name for _, name in find_imported(text, change.path, loss.roots)} for text in (before, after))
        if any(name.rpartition(".")[2] == loss.word for name in then - now):
            users += 1
            votes.update(sorted(now - then))
    return votes, users


def _is_beside(name: str, home: str) -> bool:
    """Whether a new name stands in the package of the module `home`."""
    module, package = name.rpartition(".")[0], home.rpartition(".")[0]
    return package in {module, module.rpartition(".")[0]}
