"""Will every patch still fit at the tip? One row per effect: kind, severity, evidence of both sides, and why.

The comparison itself is `layline.change.compare`; here it meets what *we* put in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from layline.change.compare import Comparison
from layline.change.similarity import SMALL, compare_shingles, read_shingles
from layline.core.drift import DriftKind
from layline.core.evidence import Evidence, Location, Severity, Skipped
from layline.core.patch import Effect, Inventory, Patch, Style, Unregistered
from layline.coupling.anchors import find_in_bases, quote, read_source
from layline.coupling.bypass import judge_bypass, judge_source
from layline.coupling.calls_original import calls_sometimes
from layline.coupling.decide import judge_guard
from layline.coupling.drift_model import LOST, Drift, Sides
from layline.coupling.effectiveness import find_holders, find_risks
from layline.coupling.fit import Fit, Fitter, called_name, find_new_problems, find_problems, makes_instances
from layline.coupling.idle import find_idle
from layline.coupling.replacements import Replacement
from layline.coupling.returns import judge_returns
from layline.coupling.surroundings import find_held
from layline.source import Resolver, Symbol, SymbolKind
from layline.source.definitions import DefinitionKind
from layline.source.names import longest_root, parents

COPIED = 0.5
"""A replacement this alike to the upstream body at the pin is an edited copy of it."""


def find_drifts(inventory: Inventory, sides: Sides) -> Iterator[Drift]:
    """One row per effect, in the order of the inventory; then rows for config keys that upstream dropped."""
    fitter = Fitter(sides.comparer, *_find_doubts(inventory, sides))
    for patch in inventory.patches:
        seen: set[tuple[str | None, Style, Location]] = set()
        for effect in patch.effects:
            if (effect.target, effect.style, effect.location) not in seen or effect.anchors or effect.mutates:
                seen.add((effect.target, effect.style, effect.location))
                yield judge_effect(patch, effect, sides, fitter)
        yield from _find_dropped_keys(patch, sides)
    idle = find_idle(inventory)
    for item in inventory.unregistered:
        if _concerns(item.effect, sides):
            yield judge_effect(_unregistered(item, idle), item.effect, sides, fitter)


def _concerns(effect: Effect, sides: Sides) -> bool:
    """True if an effect outside any registration is on this upstream: the downstream has others, too."""
    if effect.target is None:
        return False
    index = sides.pin.index
    held = next(
        (index.entries[name] for name in (effect.target, *parents(effect.target)) if name in index.entries), None
    )
    if held is not None:
        return held.part == sides.part
    return longest_root(effect.target, index.parts[sides.part].packages) > 0


def _unregistered(item: Unregistered, idle: frozenset[str]) -> Patch:
    """Effects outside any registration are listed under the function or module that does them."""
    name = next((name for name in (item.within, *parents(item.within)) if name in idle), None)
    return Patch(
        id=item.within,
        backend=None,
        phase=None,
        priority=None,
        location=item.effect.location,
        handler=item.within,
        handler_lines=(item.effect.location.line, item.effect.location.line),
        active=name is None,
        active_reason=f"nothing registers, calls or hands on {name}" if name is not None else "",
    )


def _find_doubts(inventory: Inventory, sides: Sides) -> tuple[set[str], set[str]]:
    """Names, and arguments of constructors, whose upstream calls may decide a row: read together, because reading
    costs.
    """
    names: set[str] = set()
    arguments: set[str] = set()
    effects = [effect for patch in inventory.patches for effect in patch.effects]
    for effect in (*effects, *(item.effect for item in inventory.unregistered)):
        found = sides.comparer.compare(effect.target) if effect.target else None
        if found is None or not (
            found.kind is DriftKind.SIGNATURE_CHANGED or (found.kind is DriftKind.MOVED and found.after.exists)
        ):
            continue
        names.add(called_name(found))
        if makes_instances(found):
            ours = sides.replacements.read(effect.replacement_at)
            arguments.update(item.argument for item in find_problems(found, ours, sides.comparer))
    return names, arguments


def judge_effect(patch: Patch, effect: Effect, sides: Sides, fitter: Fitter) -> Drift:
    """The row of one effect."""
    start = Drift(
        patch=patch.id,
        active=patch.active,
        target=effect.target,
        style=effect.style,
        kind=DriftKind.UNRESOLVED,
        severity=Severity.LOOK,
        dead_today=False,
        location=effect.location,
        effect=effect,
        detail=effect.reason or "the target cannot be read from the code",
    )
    target = effect.target or _called_target(effect)
    start = replace(start, target=target)
    if target is None:
        return _judge_mutation(start, effect, sides)
    comparison = _compare(target, sides)
    if comparison.kind is DriftKind.EXTERNAL and effect.removal is not None and effect.target == target:
        comparison = replace(
            comparison,
            kind=DriftKind.DEAD_AT_PIN,
            detail=f"the pin does not have it: {effect.removal.what} was removed",
        )
    start = replace(
        start,
        kind=comparison.kind,
        comparison=comparison,
        detail=_join(comparison.detail, "" if effect.certain else f"not certain: {effect.reason}"),
        pin_evidence=_evidence(sides.pin, comparison.before),
        tip_evidence=_tip_evidence(sides, comparison),
        suggestion=comparison.suggestions[0] if comparison.suggestions else None,
    )
    row = _judge_anchors(start, effect, sides) if effect.anchors else _judge_fit(start, effect, sides, fitter)
    row = judge_bypass(_judge_effectiveness(row, effect, sides), sides)
    row = judge_source(row, (other.target for other in patch.effects), sides)
    row = _judge_guard(row, patch, effect, sides)
    if not patch.active and row.severity is Severity.BREAKS:
        row = replace(
            row, severity=Severity.LOOK, detail=_join(row.detail, f"the patch is not active: {patch.active_reason}")
        )
    return row


def _called_target(effect: Effect) -> str | None:
    """The upstream function or mapping through which a config rewrite goes (`a.b.register('x')`, `a.b.TABLE['x']`)."""
    for key in effect.mutates:
        head = re.split(r"[(\[]", key, maxsplit=1)[0]
        if head != key and "." in head and all(part.isidentifier() for part in head.split(".")):
            return head
    return None


def _compare(target: str, sides: Sides) -> Comparison:
    """The comparison; a member that the class only inherits from outside stands and falls with its class."""
    found = sides.comparer.compare(target)
    before = found.before
    packages = sides.pin.index.parts[sides.part].packages
    if longest_root(target, sides.foreign) > longest_root(target, packages):
        return replace(found, kind=DriftKind.EXTERNAL, detail="it belongs to another backend")
    if target.partition(".")[0] in sides.own and not longest_root(target, packages) and not before.exists:
        return replace(found, kind=DriftKind.EXTERNAL, detail="it is our own code, not upstream's")
    if found.kind is DriftKind.DEAD_AT_PIN:
        found = _follow_function(found, sides)
    if found.kind is DriftKind.UNRESOLVED and "." in target:
        holder = sides.comparer.compare(target.rpartition(".")[0])
        if holder.kind is DriftKind.UNCHANGED and holder.before.kind is SymbolKind.MODULE_ASSIGNMENT:
            return replace(
                found, kind=DriftKind.UNCHANGED, detail=f"a member of the value {holder.name}, which is made as before"
            )
    home = sides.pin.index.entries.get(before.bound_in or before.module or "")
    if found.kind is DriftKind.EXTERNAL and sides.pin.index.owns(target):
        owner = sides.comparer.compare(target.rpartition(".")[0])
        if owner.kind not in LOST:
            return replace(
                found,
                detail="not defined in this upstream: inherited from outside, or an addition of ours; its class stays",
            )
        name = target.rpartition(".")[2]
        moved = tuple(replace(item, target=f"{item.target}.{name}") for item in owner.suggestions)
        return replace(found, kind=owner.kind, suggestions=moved, detail=owner.detail, commits=owner.commits)
    if home is not None and home.part != sides.part:
        return replace(found, kind=DriftKind.EXTERNAL, detail="it belongs to another backend")
    return found


def _follow_function(found: Comparison, sides: Sides) -> Comparison:
    """An attribute of a function object (`serve.is_distributed = True`) is set by nobody's definition: it goes with its
    function.
    """
    holder, _, name = found.name.rpartition(".")
    symbol = sides.pin.resolve(holder)
    if symbol.definition is None or symbol.definition.kind is not DefinitionKind.FUNCTION:
        return found
    owner = sides.comparer.compare(holder)
    if owner.kind not in LOST or owner.after.exists:
        return replace(found, kind=DriftKind.UNCHANGED, detail="an attribute of a function object; the function stays")
    moved = tuple(replace(item, target=f"{item.target}.{name}") for item in owner.suggestions)
    return replace(owner, suggestions=moved, detail=_join("an attribute of a function object", owner.detail))


def _judge_fit(row: Drift, effect: Effect, sides: Sides, fitter: Fitter) -> Drift:
    """Severity by kind and by whether our replacement still takes what upstream passes, and finds what it reads."""
    ours = sides.replacements.read(effect.replacement_at)
    if row.comparison is None:
        return row
    if ours is not None:
        ours = replace(
            ours,
            installed=sides.replacements.read_line(effect.location),
            tree=sides.replacements.read_tree(ours.location.path),
        )
    row = _judge_kind(_judge_copy(row, ours, sides), row.comparison, ours, fitter)
    dead = sides.reader.find_dead(ours, effect.location) if row.kind is not DriftKind.EXTERNAL else None
    if dead is not None:
        return replace(
            row, kind=DriftKind.DEAD_AT_PIN, dead_today=True, severity=Severity.LOOK, detail=_join(dead, row.detail)
        )
    if row.kind in {DriftKind.EXTERNAL, DriftKind.DEAD_AT_PIN, DriftKind.UNRESOLVED}:
        return row
    return _judge_reads(judge_returns(row, ours, sides), ours, sides)


def _judge_kind(row: Drift, comparison: Comparison, ours: Replacement | None, fitter: Fitter) -> Drift:
    match row.kind:
        case DriftKind.UNCHANGED | DriftKind.EXTERNAL:
            return replace(row, severity=Severity.OK)
        case DriftKind.DEAD_AT_PIN:
            return replace(row, severity=Severity.LOOK, dead_today=True)
        case DriftKind.BODY_CHANGED:
            wraps = row.style is Style.FUNCTION_WRAPPING
            partly = (
                wraps
                and ours is not None
                and calls_sometimes(ours.node, find_held(ours.tree, ours.node, row.target or ""))
            )
            told = (
                "we call the original on some paths only" if partly else "we still call the original" if wraps else ""
            )
            return replace(
                row, severity=Severity.OK if wraps and not partly else Severity.LOOK, detail=_join(row.detail, told)
            )
        case DriftKind.SIGNATURE_CHANGED if row.style is Style.SOURCE_REWRITE:
            return replace(row, severity=Severity.LOOK)
        case DriftKind.SIGNATURE_CHANGED:
            return _with_fit(row, fitter.check(comparison, ours), Severity.LOOK)
        case DriftKind.MOVED if comparison.after.exists:
            return _with_fit(row, fitter.check(comparison, ours), Severity.LOOK)
        case DriftKind.UNRESOLVED:
            return replace(row, severity=Severity.LOOK)
    return _with_fit(row, find_new_problems(comparison, ours, fitter.comparer), Severity.BREAKS)


def _judge_reads(row: Drift, ours: Replacement | None, sides: Sides) -> Drift:
    """A replacement that reads what the tip does not have fails, however well its target fits."""
    lost = sides.reader.find_lost(row.comparison, ours, row.location) if row.comparison is not None else ()
    if not lost:
        return row
    messages = tuple(item.message for item in lost)
    breaks = row.severity is Severity.BREAKS or any(item.certain for item in lost)
    more = f", and {len(lost) - 3} more" if len(lost) > 3 else ""
    text = f"our replacement {', '.join(messages[:3])}{more}"
    return replace(
        row,
        lost=lost,
        problems=(*row.problems, *messages),
        detail=_join(row.detail, text),
        severity=Severity.BREAKS if breaks else Severity.LOOK,
    )


def _with_fit(row: Drift, fit: Fit, least: Severity) -> Drift:
    severity = Severity.BREAKS if fit.breaks else least
    return replace(
        row, severity=severity, problems=fit.messages, detail=_join(row.detail, fit.summary), passed=fit.passed
    )


def _judge_copy(row: Drift, ours: Replacement | None, sides: Sides) -> Drift:
    """Whether our replacement is an edited copy of upstream's body, and whether upstream has caught up with it."""
    comparison = row.comparison
    before = comparison.before if comparison is not None else None
    if ours is None or comparison is None or before is None or before.definition is None or before.module is None:
        return row
    if before.definition.kind not in {DefinitionKind.FUNCTION, DefinitionKind.CLASS} or before.is_implicit:
        return row
    row = replace(row, retire=_find_reason_to_retire(comparison, ours))
    node = sides.pin.index.read_node(before.module, before.definition)
    theirs, mine = read_shingles(node) if node is not None else None, ours.shingles
    if theirs is None or min(theirs.total(), mine.total()) < SMALL:
        return row
    alike = compare_shingles(theirs, mine)
    return replace(row, copied=round(alike, 2)) if alike >= COPIED else row


def _find_reason_to_retire(comparison: Comparison, ours: Replacement) -> str | None:
    """Equal bodies need no patch, however short they are."""
    before, after = comparison.before.definition, comparison.after.definition
    if before is None or after is None or comparison.after.is_implicit:
        return None
    if after.fingerprint != ours.definition.fingerprint:
        return None
    if before.fingerprint != after.fingerprint:
        return "upstream's body at the tip equals ours: the patch can go"
    return "upstream's body equals ours at the pin already: the patch can go"


def _judge_guard(row: Drift, patch: Patch, effect: Effect, sides: Sides) -> Drift:
    """Whether the patch can go because its guard can no longer be true; what cannot be decided is said."""
    if sides.ground is None or row.kind is DriftKind.EXTERNAL:
        return row
    found = judge_guard(patch, effect.premise, sides.ground)
    if found is None:
        return row
    off = found.is_planned and row.severity is Severity.BREAKS
    return replace(
        row,
        retire=row.retire or (found.reason if found.can_go else None),
        detail=_join(row.detail, found.reason),
        severity=Severity.LOOK if off else row.severity,
    )


def _judge_anchors(row: Drift, effect: Effect, sides: Sides) -> Drift:
    """A source rewrite lives on the text that it searches for in the source of its target."""
    comparison = row.comparison
    if (
        comparison is None
        or row.kind in LOST
        or row.kind in {DriftKind.DEAD_AT_PIN, DriftKind.EXTERNAL, DriftKind.UNRESOLVED}
    ):
        severities = dict.fromkeys(LOST, Severity.BREAKS) | {DriftKind.EXTERNAL: Severity.OK}
        return replace(
            row, dead_today=row.kind is DriftKind.DEAD_AT_PIN, severity=severities.get(row.kind, Severity.LOOK)
        )
    then, now = (
        read_source(side, symbol) for side, symbol in ((sides.pin, comparison.before), (sides.tip, comparison.after))
    )
    gone_then = [anchor for anchor in effect.anchors if anchor not in then]
    gone_now = [anchor for anchor in effect.anchors if anchor not in now]
    if gone_then:
        detail = f"the text it searches for is not in upstream's source today: {quote(gone_then[0])}"
        return replace(row, kind=DriftKind.DEAD_AT_PIN, dead_today=True, severity=Severity.LOOK, detail=detail)
    if gone_now:
        detail = _join(f"the text it searches for is gone: {quote(gone_now[0])}", row.detail)
        home = find_in_bases(sides.tip, comparison.after, effect.anchors)
        return replace(
            row, kind=DriftKind.ANCHOR_LOST, severity=Severity.BREAKS, detail=detail, suggestion=home or row.suggestion
        )
    severity = Severity.OK if row.kind is DriftKind.UNCHANGED else Severity.LOOK
    return replace(row, severity=severity, detail=_join("the text it searches for is still there", row.detail))


def _judge_effectiveness(row: Drift, effect: Effect, sides: Sides) -> Drift:
    """Whether the write reaches what runs: importers that keep the old object, and other risks."""
    if row.comparison is None or effect.target is None:
        return row
    holders = tuple(find_holders(effect, row.comparison, sides.tip, sides.targets))
    return replace(row, holders=holders, risks=tuple(find_risks(effect, row.comparison, sides.pin)))


def _judge_mutation(row: Drift, effect: Effect, sides: Sides) -> Drift:
    """A config or environment rewrite lives on the names that upstream reads."""
    if not effect.mutates:
        return row
    if all("." in key and key.partition(".")[0] in sides.own for key in effect.mutates):
        return replace(
            row,
            target=", ".join(effect.mutates),
            kind=DriftKind.EXTERNAL,
            severity=Severity.OK,
            detail="it is our own code, not upstream's",
        )
    unknown = [key for key in effect.mutates if not sides.keys.get(key, (False, False))[0]]
    dropped = [key for key in effect.mutates if sides.keys.get(key) == (True, False)]
    row = replace(row, target=", ".join(effect.mutates))
    if dropped:
        names = ", ".join(dropped)
        return replace(
            row, kind=DriftKind.REMOVED, severity=Severity.LOOK, detail=f"upstream no longer mentions {names}"
        )
    if len(unknown) == len(effect.mutates):
        return replace(
            row,
            kind=DriftKind.EXTERNAL,
            severity=Severity.OK,
            detail="upstream does not mention it: it is ours or another library's",
        )
    return replace(row, kind=DriftKind.UNCHANGED, severity=Severity.OK, detail="upstream mentions it at both refs")


def _find_dropped_keys(patch: Patch, sides: Sides) -> Iterator[Drift]:
    """Keys that the patch reads (guard, early returns) and upstream dropped."""
    written = {key for effect in patch.effects for key in effect.mutates}
    for key in dict.fromkeys((*patch.guard.keys, *patch.body_keys)):
        if key not in written and sides.keys.get(key) == (True, False):
            yield Drift(
                patch=patch.id,
                active=patch.active,
                target=key,
                style=Style.CONFIG_REWRITE,
                kind=DriftKind.REMOVED,
                severity=Severity.LOOK,
                dead_today=False,
                location=patch.location,
                detail=f"the patch depends on the config key {key}, which upstream no longer mentions",
            )


def _evidence(side: Resolver, symbol: object) -> Evidence | None:
    if not isinstance(symbol, Symbol):
        return None
    if symbol.module is not None:
        lines = symbol.definition.lines if symbol.definition is not None else None
        return side.index.evidence(symbol.module, lines)
    if symbol.bound_in in side.index.entries and symbol.location is not None:
        return side.index.evidence(symbol.bound_in, (symbol.location.line, symbol.location.line))
    return None


def _tip_evidence(sides: Sides, comparison: Comparison) -> Evidence | None:
    if comparison.after.exists:
        return _evidence(sides.tip, comparison.after)
    home = comparison.new_home
    return _evidence(sides.tip, sides.tip.resolve(home)) if home is not None else None


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def skipped_of(sides: Sides) -> tuple[Skipped, ...]:
    """Files of upstream that could not be read at either ref."""
    found = (*sides.pin.index.skipped(), *sides.tip.index.skipped())
    return tuple(dict.fromkeys(found))
