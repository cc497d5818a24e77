"""Will every patch still fit at the tip? One row per effect: what the judges found, and the evidence of both sides.

The comparison itself is `layline.change.compare`; here it meets what *we* put in place. To judge one thing more, add a
function to `JUDGES`: it is asked one question and yields findings. What they make together is `core.finding`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from layline.change.compare import Comparison
from layline.change.signatures import ParameterChange
from layline.change.similarity import SMALL, compare_shingles, read_shingles
from layline.core.drift import DriftKind, Fate, Uncompared
from layline.core.evidence import Evidence, Severity
from layline.core.finding import Finding, weigh
from layline.core.patch import Effect, Inventory, Patch, Style
from layline.core.why import FAILS_FIRST, Reason, Why
from layline.coupling.anchors import quote
from layline.coupling.bodies import judge_body
from layline.coupling.bypass import judge_bypass, judge_source, judge_uncalled
from layline.coupling.calls import judge_calls, judge_own_imports
from layline.coupling.calls_original import calls_sometimes
from layline.coupling.deleted import judge_deleted
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.effectiveness import find_holders, find_risks
from layline.coupling.fields import judge_field
from layline.coupling.fit import Fitter, called_name, may_refuse
from layline.coupling.getters import judge_getters
from layline.coupling.left_unset import judge_left_unset
from layline.coupling.limits import is_for_missing, limit_by_activity, limit_by_guard, limit_by_version
from layline.coupling.members import judge_members
from layline.coupling.own_calls import judge_own_calls
from layline.coupling.question import Question
from layline.coupling.returns import judge_results, judge_returns
from layline.coupling.row_parts import LostRead
from layline.coupling.subjects import Judged, Subject, find_subjects
from layline.coupling.surroundings import find_held
from layline.coupling.unread import judge_unread
from layline.source import ParameterKind, Symbol
from layline.source.definitions import DefinitionKind
from layline.source.names import find_target, is_on
from layline.source.resolve import Resolver
from layline.source.walking import walk

COPIED = 0.5
"""A replacement this alike to the upstream body at the pin is an edited copy of it."""
STARS = frozenset({ParameterKind.VARIADIC, ParameterKind.KEYWORDS})


def find_drifts(inventory: Inventory, sides: Sides) -> Iterator[Drift]:
    """One row per effect, as the inventory orders them; after those of a patch, rows for keys that upstream dropped."""
    for judged in judge_subjects(list(find_subjects(inventory)), sides):
        yield from judged.rows


def judge_subjects(subjects: Sequence[Subject], sides: Sides) -> Iterator[Judged]:
    """Each by itself: what is said of one does not depend on which others are asked about."""
    with sides.comparer.seen.within(set()):  # of all: what each depends on it reads itself
        fitter = Fitter(sides.comparer, _find_doubts(subjects, sides))
    for one in subjects:
        obstacle = None if one.registered or one.effect is None else _find_obstacle(one.effect, sides)
        if one.effect is None:
            yield Judged(rows=tuple(_find_dropped_keys(one.patch, sides)))
        elif obstacle is not None:
            yield Judged(obstacle=obstacle)
        else:
            yield Judged(rows=(judge_effect(one.patch, one.effect, sides, fitter),))


def _find_obstacle(effect: Effect, sides: Sides) -> Uncompared | None:
    """Why an effect outside any registration is not compared: the downstream changes other packages, too."""
    is_theirs = is_on(effect, sides.pin.index.parts[sides.part].packages, sides.foreign)
    if is_theirs is None:
        return Uncompared.SETTING if effect.mutates else Uncompared.NO_TARGET
    return None if is_theirs else Uncompared.OTHER_PACKAGE


def _find_doubts(subjects: Iterable[Subject], sides: Sides) -> tuple[set[str], set[str]]:
    """Names at pin and tip whose upstream calls may decide a row: read together, because reading costs."""
    then: set[str] = set()
    names: set[str] = set()
    for effect in (one.effect for one in subjects if one.effect is not None):
        found = sides.comparer.compare(effect.target) if effect.target else None
        if found is None:
            continue
        ours = sides.replacements.read(effect.replacement_at) if found.kind.facts.fate is Fate.STAYS else None
        if may_refuse(found.after, ours) and found.after.home:
            names.add(called_name(found))
        if may_refuse(found.before, ours) and found.before.home:
            then.add(found.before.home)
        if found.kind is DriftKind.SIGNATURE_CHANGED or (found.kind is DriftKind.MOVED and found.after.exists):
            names.add(called_name(found))
    return then, names


def judge_effect(patch: Patch, effect: Effect, sides: Sides, fitter: Fitter) -> Drift:
    """The row of one effect."""
    target = find_target(effect)
    if target is None:
        return Drift(
            patch=patch.id,
            active=patch.active,
            target=", ".join(effect.mutates) or None,
            style=effect.style,
            location=effect.location,
            effect=effect,
            findings=(judge_mutation(effect, sides),),
        )
    question = Question(patch, effect, target, sides, fitter)
    return Drift(
        patch=patch.id,
        active=patch.active,
        target=target,
        style=effect.style,
        location=effect.location,
        effect=effect,
        findings=judge(question),
        comparison=question.comparison,
        commits=question.comparison.commits,
        pin_evidence=_evidence(sides.pin, question.comparison.before),
        tip_evidence=_tip_evidence(sides, question.comparison),
        passed=question.fit.passed if question.fit is not None else None,
        lost=question.lost,
        copied=_measure_copy(question),
    )


def judge(question: Question) -> tuple[Finding, ...]:
    """All that is to be said about one effect, in the order in which it is told."""
    found = [finding for one in JUDGES for finding in one(question)]
    for again in SECOND:
        found += again(question, weigh(found))
    return tuple(found)


def judge_load(question: Question) -> Iterator[Finding]:
    """Code of ours that fails before it puts the replacement in place does nothing today."""
    if question.dead is not None:
        yield Finding(kind=DriftKind.DEAD_AT_PIN, severity=Severity.LOOK, why=question.dead, is_limit=True)


def judge_texts(question: Question) -> Iterator[Finding]:
    """A source rewrite lives on the text that it searches for in the source of its target."""
    anchors, (then, now) = question.effect.anchors, question.lost_texts
    if then:
        why = Why(Reason.TEXT_MISSING, text=quote(then[0]))
        yield Finding(kind=DriftKind.DEAD_AT_PIN, severity=Severity.LOOK, why=why, is_limit=True)
    elif now:
        why = Why(Reason.TEXT_GONE, text=quote(now[0]))
        yield Finding(kind=DriftKind.ANCHOR_LOST, severity=Severity.BREAKS, why=why, suggestion=question.text_home)
    elif anchors and question.kind.facts.fate is Fate.STAYS:
        yield Finding(severity=Severity.OK, why=Why(Reason.TEXT_STAYS))


def judge_target(question: Question) -> Iterator[Finding]:
    """What became of the name itself."""
    comparison, effect = question.comparison, question.effect
    if question.lost_texts[0]:
        return  # dead today already: what the tip does to its target changes nothing
    if question.kind is DriftKind.DEAD_AT_PIN and (is_for_missing(question, question.target) or effect.gives_back):
        yield Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=Why(Reason.ADDS_MISSING), is_limit=True)
        return
    fails = question.kind is DriftKind.DEAD_AT_PIN and effect.raises
    severity, is_limit = _weigh_kind(question), question.kind is DriftKind.DEAD_AT_PIN and not fails
    home = comparison.suggestions[0] if comparison.suggestions and question.text_home is None else None
    for why in comparison.why or (Why(Reason.KIND_ALONE),):
        yield Finding(kind=question.kind, severity=severity, why=why, suggestion=home, is_limit=is_limit)
    if fails:
        worst = Severity.LOOK if comparison.after.exists else Severity.BREAKS
        yield Finding(severity=worst, why=Why(Reason.RAISES_TODAY))
    if not effect.certain:
        yield Finding(severity=Severity.OK, why=Why(Reason.NOT_CERTAIN, text=str(effect.reason)))


def _weigh_kind(question: Question) -> Severity:
    """How bad the news about the target is by itself; the other judges may find worse."""
    match question.kind:
        case DriftKind.SIGNATURE_CHANGED if _hands_on(question) or _only_loses(question):
            return Severity.OK
        case DriftKind.BODY_CHANGED if _wraps(question) is Reason.CALLS_ORIGINAL:
            return Severity.OK
        case DriftKind.MOVED if question.comparison.after.exists and not question.effect.anchors:
            return Severity.LOOK
        case DriftKind.MOVED if any(why.reason is Reason.CLASS_IS_NOW for why in question.comparison.why):
            return Severity.OK
    return question.kind.facts.severity


def judge_fit(question: Question) -> Iterator[Finding]:
    """Whether our replacement still takes what upstream passes; of another body, whether we still call it."""
    told = _wraps(question) if question.kind is DriftKind.BODY_CHANGED else None
    if told is not None:
        yield Finding(severity=Severity.OK, why=Why(told))
    if question.fit is not None:
        severity = Severity.BREAKS if question.fit.breaks else Severity.OK
        yield from (Finding(severity=severity, why=why) for why in question.fit.why)


def _wraps(question: Question) -> Reason | None:
    """Whether a wrapper calls the original, always or on some paths; None of what is no wrapper."""
    ours = question.ours
    if question.effect.style is not Style.FUNCTION_WRAPPING or question.effect.anchors:
        return None
    partly = ours is not None and calls_sometimes(ours.node, find_held(ours.tree, ours.node, question.target))
    return Reason.CALLS_SOMETIMES if partly else Reason.CALLS_ORIGINAL


def _hands_on(question: Question) -> bool:
    """True of a wrapper that takes whatever is passed and always calls the original with it."""
    ours = question.ours
    if ours is None or _wraps(question) is not Reason.CALLS_ORIGINAL:
        return False
    parameters = ours.definition.parameters or ()
    changed = {item.name for item in question.comparison.changes}
    named = {item.name for item in parameters if item.kind not in STARS} - {"self", "cls"}
    return {item.kind for item in parameters} >= STARS and not named & changed


def _only_loses(question: Question) -> bool:
    """True of a signature that only lost parameters which our replacement does not name; its body is as it was."""
    ours, changes = question.ours, question.comparison.changes
    if ours is None or question.comparison.body_changed:
        return False
    removed = [item.name for item in changes if item.change is ParameterChange.REMOVED]
    named = set(_find_words(ours.node))
    return bool(removed) and len(removed) == len(changes) and named.isdisjoint(removed)


def _find_words(node: ast.AST) -> Iterator[str]:
    """What code names, or asks for by its text; comments and docstrings do not count."""
    for item in walk(node):
        match item:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.keyword(arg=str(word)):
                yield word
            case ast.Constant(value=str(word)):
                yield word


def judge_reads(question: Question) -> Iterator[Finding]:
    """A replacement that reads what the tip does not have fails, however well its target fits."""
    read = [item for item in question.lost if item.why.reason not in FAILS_FIRST]
    yield from _tell_lost(Reason.MISREADS, read)


def judge_before(question: Question, severity: Severity) -> Iterator[Finding]:
    """What fails before anything is put in place; told after what becomes of the effect once that is mended."""
    yield from _tell_lost(Reason.NOT_INSTALLED, [item for item in question.lost if item.why.reason in FAILS_FIRST])


def _tell_lost(reason: Reason, lost: list[LostRead]) -> Iterator[Finding]:
    if lost:
        severity = Severity.BREAKS if any(item.certain for item in lost) else Severity.LOOK
        yield Finding(severity=severity, why=Why(reason, parts=tuple(item.why for item in lost)))


def judge_reach(question: Question) -> Iterator[Finding]:
    """Whether the write reaches what runs: importers that keep the old object, and other risks."""
    effect, comparison, sides = question.effect, question.comparison, question.sides
    if effect.target is None:
        return
    holders = tuple(find_holders(effect, comparison, sides.tip, sides.targets, sides.named))
    if holders:
        yield Finding(severity=Severity.OK, why=Why(Reason.HELD, names=holders))
    yield from (Finding(severity=Severity.OK, why=why) for why in find_risks(effect, comparison, sides.pin))


def judge_need(question: Question) -> Iterator[Finding]:
    """Equal bodies need no patch, however short they are."""
    before, after, ours = question.comparison.before, question.comparison.after, question.ours
    if ours is None or not _has_body(before) or before.definition is None or after.definition is None:
        return
    tip, module = question.sides.tip.index, after.module or ""
    if after.is_implicit or tip.differs(module, after.definition, ours.definition.fingerprint):
        return
    already = not tip.differs(module, after.definition, before.definition.fingerprint)
    why = Why(Reason.EQUAL_THEN if already else Reason.EQUAL_NOW)
    yield Finding(severity=Severity.OK, why=why, retires=True)


JUDGES: tuple[Callable[[Question], Iterator[Finding]], ...] = (
    judge_load,
    judge_texts,
    judge_target,
    judge_need,
    judge_fit,
    judge_calls,
    judge_members,
    judge_field,
    judge_own_calls,
    judge_own_imports,
    judge_returns,
    judge_reads,
    judge_results,
    judge_reach,
    judge_bypass,
    judge_uncalled,
    judge_unread,
    judge_deleted,
    judge_left_unset,
    judge_getters,
)
SECOND: tuple[Callable[[Question, Severity], Iterator[Finding]], ...] = (
    judge_body,
    judge_source,
    judge_before,
    limit_by_guard,
    limit_by_version,
    limit_by_activity,
)
"""What depends on how bad it is so far: why it is worth a look, and why it is not as bad as the judges make it look."""


def _measure_copy(question: Question) -> float | None:
    """How alike our replacement is to upstream's body at the pin, where it is an edited copy of it."""
    before, ours = question.comparison.before, question.ours
    if ours is None or before.definition is None or before.module is None or not _has_body(before):
        return None
    node = question.sides.pin.index.read_node(before.module, before.definition)
    theirs, mine = read_shingles(node) if node is not None else None, ours.shingles
    if theirs is None or min(theirs.total(), mine.total()) < SMALL:
        return None
    alike = compare_shingles(theirs, mine)
    return round(alike, 2) if alike >= COPIED else None


def _has_body(symbol: Symbol) -> bool:
    kinds = {DefinitionKind.FUNCTION, DefinitionKind.CLASS}
    written = symbol.definition is not None and symbol.definition.kind in kinds and not symbol.is_implicit
    return written and symbol.module is not None


def judge_mutation(effect: Effect, sides: Sides) -> Finding:
    """A config or environment rewrite lives on the names that upstream reads."""
    if not effect.mutates:
        why = Why(Reason.TEXT, text=effect.reason) if effect.reason else Why(Reason.UNREADABLE)
        return Finding(kind=DriftKind.UNRESOLVED, severity=Severity.LOOK, why=why)
    if all("." in key and key.partition(".")[0] in sides.own for key in effect.mutates):
        return Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=Why(Reason.OWN_CODE))
    unknown = [key for key in effect.mutates if not sides.keys.get(key, (False, False))[0]]
    dropped = tuple(key for key in effect.mutates if sides.keys.get(key) == (True, False))
    if dropped:
        return Finding(kind=DriftKind.REMOVED, severity=Severity.LOOK, why=Why(Reason.KEY_DROPPED, names=dropped))
    if len(unknown) == len(effect.mutates):
        return Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=Why(Reason.KEY_UNKNOWN))
    return Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.KEY_STAYS))


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
                location=patch.location,
                findings=(Finding(kind=DriftKind.REMOVED, severity=Severity.LOOK, why=Why(Reason.KEY_NEEDED, key)),),
            )


def _evidence(side: Resolver, symbol: object) -> Evidence | None:
    if not isinstance(symbol, Symbol):
        return None
    if symbol.module in side.index.entries:  # a folder without `__init__.py` is a module that no file shows
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
