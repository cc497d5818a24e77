"""Which edits that follow no name may mend a break: what upstream did to the signature or the text behind it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layline.change.binding import check_replacement
from layline.change.comparison import Comparison
from layline.coupling.anchors import read_source
from layline.coupling.model import Touch
from layline.coupling.surroundings import find_held
from layline.source import Definition, DefinitionKind, Symbol
from layline.source.definitions import Parameter, ParameterKind
from layline.source.resolve import Resolver
from layline.upgrade.changes import Change, Handed
from layline.upgrade.renamed import Renamed, find_renamed
from layline.upgrade.texts import find_new_text
from layline.upgrade.values import Break

_STARS = {ParameterKind.VARIADIC, ParameterKind.KEYWORDS}

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift, Sides
    from layline.coupling.replacements import Replacement


def find_changes(breaks: Iterable[Break], rows: Iterable[Drift], sides: Sides) -> dict[Break, tuple[Change, ...]]:
    """The edits that each break asks for; judging again shows whether they mend it."""
    by_place = {(row.location, row.target): row for row in rows}
    found = {}
    for one in breaks:
        row = by_place.get((one.location, one.target)) if one.way == Touch.PATCH.value else None
        changes = tuple(_find(one, row, sides))
        if changes:
            found[one] = changes
    return found


def _find(one: Break, row: Drift | None, sides: Sides) -> Iterator[Change]:
    if row is not None:
        yield from _find_of_patch(row, sides)
    elif one.way == Touch.OVERRIDE.value:
        ours = sides.replacements.read(one.location)
        if ours is not None:
            yield from _follow_signature(ours, sides.comparer.compare(one.target), sides, frozenset())
    elif one.way == Touch.CALL.value:
        renamed = _find_renamed(sides.comparer.compare(one.target), sides)
        if renamed:
            yield Renamed(one.location.line, tuple(renamed.items()), in_call=True)


def _find_of_patch(row: Drift, sides: Sides) -> Iterator[Change]:
    comparison, effect = row.comparison, row.effect
    if comparison is None or effect is None:
        return
    then, now = (
        read_source(side, symbol) for side, symbol in ((sides.pin, comparison.before), (sides.tip, comparison.after))
    )
    lost = [text for text in effect.anchors if text in then and text not in now]
    found = [find_new_text(text, then, now) for text in lost]
    if all(one is not None for one in found):
        yield from (one for one in found if one is not None)
    ours = sides.replacements.read(effect.replacement_at)
    if ours is None or effect.anchors or ours.location.path != row.location.path:
        return  # the function may stand in another file than the place
    tree = sides.replacements.read_tree(ours.location.path)
    yield from _follow_signature(ours, comparison, sides, find_held(tree, ours.node, row.target or ""))


def _follow_signature(
    ours: Replacement, found: Comparison, sides: Sides, originals: frozenset[str]
) -> Iterator[Change]:
    if not isinstance(ours.node, ast.FunctionDef):
        return
    mine = {one.name for one in ours.definition.parameters or ()}
    renamed = {old: new for old, new in _find_renamed(found, sides).items() if old in mine and new not in mine}
    if renamed:
        yield Renamed(ours.node.lineno, tuple(renamed.items()), in_call=False)
    handed = _find_handed(ours.node.lineno, ours.definition, found, (originals, renamed))
    if handed is not None:
        yield handed


def _find_renamed(found: Comparison, sides: Sides) -> dict[str, str]:
    """Of a function its own parameters, of a class those of what makes its instances."""
    before, after = _find_maker(found.before, sides.pin), _find_maker(found.after, sides.tip)
    if before is None or after is None:
        return {}
    return find_renamed(before[0], after[0], (before[1], after[1]))


def _find_maker(symbol: Symbol, side: Resolver) -> tuple[Definition, ast.stmt] | None:
    if symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS:
        symbol = side.resolve(f"{symbol.home}.__init__")
    definition, module = symbol.definition, symbol.module
    node = side.index.read_node(module, definition) if definition is not None and module is not None else None
    return (definition, node) if definition is not None and node is not None else None


def _find_handed(
    line: int, ours: Definition, found: Comparison, known: tuple[frozenset[str], dict[str, str]]
) -> Handed | None:
    """Optional parameters of upstream's that ours does not take, where nothing else of ours is refused."""
    originals, renamed = known
    after = found.after.definition
    if after is None or after.parameters is None:
        return None
    mine = {one.name for one in ours.parameters or ()} | set(renamed.values())
    new = [one for one in after.parameters if one.name not in mine and one.kind not in _STARS]
    refused = {problem.argument for problem in check_replacement(ours.parameters or (), after.parameters)}
    if not new or refused - {one.name for one in new} - renamed.keys() - set(renamed.values()):
        return None
    if any(one.default is None for one in new) or not _come_last(new, after.parameters):
        return None
    return Handed(line, tuple((one.name, one.default or "") for one in new), originals)


def _come_last(new: list[Parameter], theirs: tuple[Parameter, ...]) -> bool:
    """True if upstream takes them by name alone, or behind all others: ours takes them last, and a call by position
    must find each where upstream has it.
    """
    by_position = [one for one in theirs if one.kind is ParameterKind.POSITIONAL]
    mine = [one for one in by_position if one in new]
    return mine == by_position[len(by_position) - len(mine) :]
