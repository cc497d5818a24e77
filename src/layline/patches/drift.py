"""Will every patch still fit at the tip? One row per effect: kind, severity, evidence of both sides, and why.

The comparison itself is `layline.source.compare`; here it meets what *we* put in place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layline.core.drift import DriftKind
from layline.core.evidence import Evidence, Location, Severity, Skipped
from layline.core.revision import Commit
from layline.patches.anchors import quote, read_source
from layline.patches.effectiveness import find_holders, find_risks
from layline.patches.fit import Fit, Fitter, called_name, find_new_problems
from layline.patches.model import Effect, Inventory, Patch, Style, Unregistered
from layline.patches.replacements import Replacement, Replacements
from layline.patches.retirement import Ground, judge_guard
from layline.source import Resolver
from layline.source.compare import Comparer, Comparison
from layline.source.definitions import DefinitionKind
from layline.source.homes import Suggestion
from layline.source.names import longest_root, parents
from layline.source.signatures import returns_another
from layline.source.similarity import SMALL, compare_shingles, read_shingles

COPIED = 0.5
"""A replacement this alike to the upstream body at the pin is an edited copy of it."""
LOST = frozenset({DriftKind.MOVED, DriftKind.RENAMED, DriftKind.REMOVED, DriftKind.BINDING_LOST, DriftKind.ANCHOR_LOST})
_WORST_FIRST = (Severity.BREAKS, Severity.LOOK, Severity.OK)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What became of one effect's target between pin and tip, and what that means for us."""

    patch: str
    active: bool
    target: str | None
    style: Style
    kind: DriftKind
    severity: Severity
    dead_today: bool
    location: Location
    """The line of the downstream that does it."""
    pin_evidence: Evidence | None = None
    tip_evidence: Evidence | None = None
    suggestion: Suggestion | None = None
    culprit: Commit | None = None
    detail: str = ""
    problems: tuple[str, ...] = ()
    """What our replacement does not take or needs too much, at the tip and not at the pin."""
    holders: tuple[str, ...] = ()
    """`module:line` of upstream importers that keep the old object after we rebind it."""
    risks: tuple[str, ...] = ()
    """Other reasons why the write may not be seen by the code it is meant for."""
    copied: float | None = None
    """How alike our replacement is to upstream's body at the pin, where it is an edited copy."""
    retire: str | None = None
    """Why the patch can go, where it can."""
    comparison: Comparison | None = None
    effect: Effect | None = None
    repeat: int = 0
    """How many rows before this one say the same of another place."""

    @property
    def id(self) -> str:
        """Stable while patch, target, style, kind and severity stay the same; lines may move."""
        words = (self.patch, self.target or "", self.style.value, self.kind.value, self.severity.value)
        return finding_id(*words, *([str(self.repeat)] if self.repeat else []))

    @property
    def order(self) -> tuple[int, bool, str, int, str]:
        """Worst first, then by place."""
        return (_WORST_FIRST.index(self.severity), not self.active, self.location.path, self.location.line, self.target or "")  # fmt: skip


def finding_id(*words: str) -> str:
    """The same for the same words in every run; what was accepted as `look` is another finding once it breaks."""
    return f"drift-{hashlib.blake2b(chr(0).join(words).encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Both sides of a drift question: upstream at pin and tip, and our replacements."""

    comparer: Comparer
    replacements: Replacements
    part: int
    """Which part of the upstream indexes is the backend asked about."""
    keys: dict[str, tuple[bool, bool]]
    """Config keys and `env:NAME`s → whether upstream's text knows them at pin and tip."""
    targets: frozenset[str]
    """Everything the inventory rebinds."""
    foreign: tuple[str, ...] = ()
    """Package roots of the other backends."""
    own: frozenset[str] = frozenset()
    """Top-level names of the downstream's own packages."""
    ground: Ground | None = None
    """What decides guards; None: they are not asked."""

    @property
    def pin(self) -> Resolver:
        return self.comparer.pin

    @property
    def tip(self) -> Resolver:
        return self.comparer.tip


def find_drifts(inventory: Inventory, sides: Sides) -> Iterator[Drift]:
    """One row per effect, in the order of the inventory; then rows for config keys that upstream dropped."""
    fitter = Fitter(sides.tip, _find_called(inventory, sides))
    for patch in inventory.patches:
        seen: set[tuple[str | None, Style, Location]] = set()
        for effect in patch.effects:
            if (effect.target, effect.style, effect.location) not in seen or effect.anchors or effect.mutates:
                seen.add((effect.target, effect.style, effect.location))
                yield judge_effect(patch, effect, sides, fitter)
        yield from _find_dropped_keys(patch, sides)
    for item in inventory.unregistered:
        if _concerns(item.effect, sides):
            yield judge_effect(_unregistered(item), item.effect, sides, fitter)


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


def _unregistered(item: Unregistered) -> Patch:
    """Effects outside any registration are listed under the function or module that does them."""
    return Patch(
        id=item.within, backend=None, phase=None, priority=None, location=item.effect.location, handler=item.within,
        handler_lines=(item.effect.location.line, item.effect.location.line),
    )  # fmt: skip


def _find_called(inventory: Inventory, sides: Sides) -> Iterator[str]:
    """Names whose upstream calls may decide a row: read together, because reading them is what costs."""
    effects = [effect for patch in inventory.patches for effect in patch.effects]
    effects += [item.effect for item in inventory.unregistered]
    for target in dict.fromkeys(effect.target for effect in effects if effect.target):
        found = sides.comparer.compare(target)
        if found.kind is DriftKind.SIGNATURE_CHANGED or (found.kind is DriftKind.MOVED and found.after.exists):
            yield called_name(found)


def judge_effect(patch: Patch, effect: Effect, sides: Sides, fitter: Fitter) -> Drift:
    """The row of one effect."""
    start = Drift(
        patch=patch.id, active=patch.active, target=effect.target, style=effect.style, kind=DriftKind.UNRESOLVED,
        severity=Severity.LOOK, dead_today=False, location=effect.location, effect=effect,
        detail=effect.reason or "the target cannot be read from the code",
    )  # fmt: skip
    target = effect.target or _called_target(effect)
    start = replace(start, target=target)
    if target is None:
        return _judge_mutation(start, effect, sides)
    comparison = _compare(target, sides)
    start = replace(
        start, kind=comparison.kind, comparison=comparison, detail=_join(comparison.detail, "" if effect.certain else f"not certain: {effect.reason}"),
        pin_evidence=_evidence(sides.pin, comparison.before), tip_evidence=_tip_evidence(sides, comparison),
        suggestion=comparison.suggestions[0] if comparison.suggestions else None,
    )  # fmt: skip
    row = _judge_anchors(start, effect, sides) if effect.anchors else _judge_fit(start, effect, sides, fitter)
    row = _judge_effectiveness(row, effect, sides)
    row = _judge_guard(row, patch, effect, sides)
    if not patch.active and row.severity is Severity.BREAKS:
        row = replace(row, severity=Severity.LOOK, detail=_join(row.detail, f"the patch is not active: {patch.active_reason}"))  # fmt: skip
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
    if target.partition(".")[0] in sides.own and not longest_root(target, packages):
        return replace(found, kind=DriftKind.EXTERNAL, detail="it is our own code, not upstream's")
    if found.kind is DriftKind.DEAD_AT_PIN:
        found = _follow_function(found, sides)
    home = sides.pin.index.entries.get(before.bound_in or before.module or "")
    if found.kind is DriftKind.EXTERNAL and sides.pin.index.owns(target):
        owner = sides.comparer.compare(target.rpartition(".")[0])
        if owner.kind not in LOST:
            return replace(found, detail="inherited from outside this upstream; its class stays")
        name = target.rpartition(".")[2]
        moved = tuple(replace(item, target=f"{item.target}.{name}") for item in owner.suggestions)
        return replace(found, kind=owner.kind, suggestions=moved, detail=owner.detail, commits=owner.commits)
    if home is not None and home.part != sides.part:
        return replace(found, kind=DriftKind.EXTERNAL, detail="it belongs to another backend")
    return found


def _follow_function(found: Comparison, sides: Sides) -> Comparison:
    """An attribute of a function object (`serve.is_distributed = True`) is set by nobody's definition: it goes with its function."""
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
    """Severity by kind and by whether our replacement still takes what upstream passes."""
    ours = sides.replacements.read(effect.replacement_at)
    comparison = row.comparison
    if comparison is None:
        return row
    row = _judge_copy(row, ours, sides)
    before, after = comparison.before.definition, comparison.after.definition
    stays = row.kind in {DriftKind.UNCHANGED, DriftKind.BODY_CHANGED}
    if (
        stays
        and before
        and after
        and before.kind is DefinitionKind.FUNCTION
        and returns_another(before.returns, after.returns)
    ):
        text = f"it returned {before.returns} and returns {after.returns} now"
        return replace(row, kind=DriftKind.SIGNATURE_CHANGED, severity=Severity.LOOK, detail=_join(row.detail, text))
    match row.kind:
        case DriftKind.UNCHANGED | DriftKind.EXTERNAL:
            return replace(row, severity=Severity.OK)
        case DriftKind.DEAD_AT_PIN:
            return replace(row, severity=Severity.LOOK, dead_today=True)
        case DriftKind.BODY_CHANGED:
            wraps = effect.style is Style.FUNCTION_WRAPPING
            return replace(row, severity=Severity.OK if wraps else Severity.LOOK, detail=_join(row.detail, "we still call the original" if wraps else ""))  # fmt: skip
        case DriftKind.SIGNATURE_CHANGED:
            return _with_fit(row, fitter.check(comparison, ours), Severity.LOOK)
        case DriftKind.MOVED if comparison.after.exists:
            return _with_fit(row, fitter.check(comparison, ours), Severity.LOOK)
        case DriftKind.UNRESOLVED:
            return replace(row, severity=Severity.LOOK)
    return _with_fit(row, find_new_problems(comparison, ours, sides.tip), Severity.BREAKS)


def _with_fit(row: Drift, fit: Fit, least: Severity) -> Drift:
    severity = Severity.BREAKS if fit.breaks else least
    return replace(row, severity=severity, problems=fit.messages, detail=_join(row.detail, fit.summary))


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
        row, retire=row.retire or (found.reason if found.can_go else None), detail=_join(row.detail, found.reason),
        severity=Severity.LOOK if off else row.severity,
    )  # fmt: skip


def _judge_anchors(row: Drift, effect: Effect, sides: Sides) -> Drift:
    """A source rewrite lives on the text that it searches for in the source of its target."""
    comparison = row.comparison
    if comparison is None or row.kind in LOST or row.kind in {DriftKind.DEAD_AT_PIN, DriftKind.EXTERNAL, DriftKind.UNRESOLVED}:  # fmt: skip
        severities = dict.fromkeys(LOST, Severity.BREAKS) | {DriftKind.EXTERNAL: Severity.OK}
        return replace(row, dead_today=row.kind is DriftKind.DEAD_AT_PIN, severity=severities.get(row.kind, Severity.LOOK))  # fmt: skip
    then, now = (read_source(side, symbol) for side, symbol in ((sides.pin, comparison.before), (sides.tip, comparison.after)))  # fmt: skip
    gone_then = [anchor for anchor in effect.anchors if anchor not in then]
    gone_now = [anchor for anchor in effect.anchors if anchor not in now]
    if gone_then:
        detail = f"the text it searches for is not in upstream's source today: {quote(gone_then[0])}"
        return replace(row, kind=DriftKind.DEAD_AT_PIN, dead_today=True, severity=Severity.LOOK, detail=detail)
    if gone_now:
        detail = _join(f"the text it searches for is gone: {quote(gone_now[0])}", row.detail)
        return replace(row, kind=DriftKind.ANCHOR_LOST, severity=Severity.BREAKS, detail=detail)
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
        return replace(row, target=", ".join(effect.mutates), kind=DriftKind.EXTERNAL, severity=Severity.OK, detail="it is our own code, not upstream's")  # fmt: skip
    unknown = [key for key in effect.mutates if not sides.keys.get(key, (False, False))[0]]
    dropped = [key for key in effect.mutates if sides.keys.get(key) == (True, False)]
    row = replace(row, target=", ".join(effect.mutates))
    if dropped:
        names = ", ".join(dropped)
        return replace(row, kind=DriftKind.REMOVED, severity=Severity.LOOK, detail=f"upstream no longer mentions {names}")  # fmt: skip
    if len(unknown) == len(effect.mutates):
        return replace(row, kind=DriftKind.EXTERNAL, severity=Severity.OK, detail="upstream does not mention it: it is ours or another library's")  # fmt: skip
    return replace(row, kind=DriftKind.UNCHANGED, severity=Severity.OK, detail="upstream mentions it at both refs")


def _find_dropped_keys(patch: Patch, sides: Sides) -> Iterator[Drift]:
    """Keys that the patch reads (guard, early returns) and upstream dropped."""
    written = {key for effect in patch.effects for key in effect.mutates}
    for key in dict.fromkeys((*patch.guard.keys, *patch.body_keys)):
        if key not in written and sides.keys.get(key) == (True, False):
            yield Drift(
                patch=patch.id, active=patch.active, target=key, style=Style.CONFIG_REWRITE, kind=DriftKind.REMOVED,
                severity=Severity.LOOK, dead_today=False, location=patch.location,
                detail=f"the patch depends on the config key {key}, which upstream no longer mentions",
            )  # fmt: skip


def _evidence(side: Resolver, symbol: object) -> Evidence | None:
    from layline.source import Symbol

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
