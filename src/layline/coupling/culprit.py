"""Who did it: for each row that asks for work, the first upstream commit after which it held.

All rows share one pass over the history (`source.trace`); only versions of the files concerned are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from layline.change.file_trace import Version
from layline.change.shims import name_only_call
from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.patch import Style
from layline.core.why import FAILS_FIRST, PROBLEMS, Reason, Why
from layline.coupling.binding_kind import find_arities
from layline.coupling.body_culprit import BODY, find_naming, find_rewriting, find_tracer
from layline.coupling.drift_model import LOST, Cause, Drift, Sides
from layline.coupling.fields import find_field_change
from layline.coupling.fold import CALLS
from layline.coupling.getters import RETURNED, find_keeping
from layline.coupling.lost_attribute import find_attribute_loss, find_setting
from layline.coupling.member_culprit import MEMBERS, find_member_change
from layline.coupling.model import Coupling, Touch
from layline.coupling.signature_culprit import (
    date_misfits,
    find_called,
    find_order,
    find_signature_change,
    split_changes,
)
from layline.git import Repository
from layline.history.commits import read_commits
from layline.source import Definition, DefinitionKind
from layline.source.seen import Read
from layline.source.slices import read_definition, read_node, slice_definition
from layline.source.usage import mentions

_ARGUMENTS = frozenset({Reason.REFUSES, Reason.REFUSES_KEYWORD, Reason.REFUSES_NAME, Reason.NEEDS_EXTRA})
_ARGUMENTS |= {Reason.NEEDS_RENAMED, Reason.NEEDS_REMOVED, Reason.SWAPPED}
"""What is wrong with the parameters of our replacement: it takes no more than it names."""
_TODAY = frozenset({Reason.MISFITS_TODAY, Reason.MISREADS_TODAY})
"""What fails at the pin already: no commit after it made it so."""
_LOSSES = frozenset({Reason.MISREADS, Reason.NOT_INSTALLED})
_DROPPED = frozenset({Reason.SETS_DROPPED})


def find_unheard(rows: Iterable[Drift]) -> frozenset[str]:
    """Targets that upstream never had and that are near no name of upstream's, our own additions among them."""
    never = (Reason.NEVER_HAD, Reason.NEVER_HAD_ASKED, Reason.OUR_ADDITION)
    return frozenset(row.target for row in rows if row.target and row.has(*never))


def find_culprits(rows: Iterable[Drift], sides: Sides, upstream: Repository) -> Iterator[Drift]:
    """The same rows, with the commit that made them so where it can be told."""
    listed = list(rows)
    yield from name_culprits(listed, list(find_hashes(listed, sides)), upstream)


Hashes: TypeAlias = tuple[str | None, tuple[str, ...], tuple[tuple[Why, str], ...]]
"""The commit that made a row so, those that break it again for who had mended it, and, where the reasons have not one
commit, each of them with its own."""


def find_hashes(rows: Iterable[Drift], sides: Sides) -> Iterator[Hashes]:
    """Of each row the hashes of these commits."""
    known: dict[tuple[object, ...], tuple[Hashes, Collection[Read]]] = {}
    for row in rows:
        anchors = row.effect.anchors if row.effect is not None else ()
        # all that it depends on: of two rows about one target the first must not decide for the other
        what = (row.kind, row.style, row.has(Reason.BYPASSED), _find_broken(row))
        key = (row.target, *what, anchors, row.problems, row.lost, row.passed)
        find = partial(_find_commits, row, sides)
        yield sides.comparer.seen.remember(known, key, find) if _asks_for_work(row) else (None, (), ())


def name_culprits(rows: Sequence[Drift], hashes: Sequence[Hashes], upstream: Repository) -> Iterator[Drift]:
    """The same rows with the commits of these hashes."""
    wanted = {hash_ for name, _, causes in hashes if name for hash_ in (name, *(one for _, one in causes))}
    commits = {item.hash: item for item in read_commits(upstream, sorted(wanted))}
    for row, (name, later, causes) in zip(rows, hashes, strict=True):
        told = tuple(dict.fromkeys((*row.commits, *later)))
        each = tuple(Cause(why=why, commit=commits[one]) for why, one in causes if one in commits)
        yield replace(row, culprit=commits.get(name), commits=told, causes=each or row.causes) if name else row


def blame_calls(rows: Sequence[Drift], couplings: Iterable[Coupling], upstream: Repository) -> Iterator[Drift]:
    """The same rows; one whose replacement makes a call that upstream no longer takes has the commit of that call, where
    nothing else broke it before.
    """
    since = {
        Location(one.location.path, line): one
        for one in couplings
        if one.touch is Touch.CALL and one.culprit is not None
        for line in (one.location.line, *one.lines)
    }
    asked = [row.problems if row.severity is Severity.BREAKS else () for row in rows]
    calls = [[part for part in parts if part.reason in CALLS] for parts in asked]
    found: list[Hashes] = [_blame(parts, since) for parts in calls]
    for row, called in zip(rows, name_culprits(rows, found, upstream), strict=True):
        early = row.culprit is not None and called.culprit is not None and row.culprit.date <= called.culprit.date
        yield row if early else called


def _blame(calls: Iterable[Why], since: Mapping[Location, Coupling]) -> Hashes:
    """The commit of the first of these calls; where several commits did what is told of them, each."""
    known = [(part, since[place]) for part in calls for place in part.places if place in since]
    each = [one for part, item in known for one in item.dated or ((part, item.culprit or ""),)]
    first = next((item.culprit for _, item in known), None)
    return first, (), tuple(each) if len({commit for _, commit in each}) > 1 else ()


def _find_commits(row: Drift, sides: Sides) -> Hashes:
    later = tuple(_find_later(row, sides)) if row.severity is Severity.BREAKS else ()
    culprit = _find_culprit(row, sides)
    told = [why for why in row.reasons if why.reason in BODY] if not row.problems else []
    if culprit is not None and (named := list(find_naming(row, sides, told))):
        # of a body, who brought or dropped the names that are told, not who changed it first
        causes, culprit = tuple(named), _first((commit for _, commit in named), row, sides)
    else:
        causes = tuple(_find_causes(row, sides)) if culprit is not None else ()
    return culprit, later, causes if len({commit for _, commit in causes}) > 1 else ()


def _find_causes(row: Drift, sides: Sides) -> Iterator[tuple[Why, str]]:
    """The reasons that ask for work, in the order in which they are told, each with its own commit where that is
    known: what our code reads or needs one by one, then what became of the target.
    """
    lost = {item.why: item for item in row.lost}
    pressing = {one.why for one in row.findings if one.severity is not Severity.OK}
    parts = [part for why in row.reasons for part in (why.parts if why.reason in _LOSSES else (why,))]
    changed = row.kind not in {DriftKind.UNCHANGED, DriftKind.UNRESOLVED}
    about = row.comparison.why if row.comparison is not None else ()
    ours = (part for part in parts if changed and part in pressing)
    told = next((part for part in ours if part in about or part.reason in PROBLEMS - _TODAY), None)
    for part in parts:
        if part.reason in BODY:
            yield from find_naming(row, sides, (part,))
            continue
        if part in pressing and (dated := date_misfits(part, row, sides)):
            yield from dated
            continue
        found = _find_cause(part, row, sides) if part is not told else _find_leaver(row, sides)
        if part in lost and found is None:
            found = sides.reader.find_culprit(lost[part])
        if found is not None and part is told and part.reason in {Reason.TEXT, Reason.MODULE_GONE}:
            yield from _split_loss(part, found, row, sides)
        elif found is not None and part is told and part.reason is Reason.SIGNATURE:
            yield from split_changes(part, found, row, sides)
        elif found is not None:
            yield part, found


def _find_cause(part: Why, row: Drift, sides: Sides) -> str | None:
    """Since when a reason holds that is no matter of the target's own signature or of what our code reads."""
    if part.reason in RETURNED:
        return find_keeping(row.comparison, part.name, sides.comparer)
    if part.reason is Reason.MISRETURNS:
        return _find_returning(row, sides)
    if part.reason is Reason.FIELD_REFUSES:
        return _find_field(part, row, sides)
    return _find_unclassing(row, sides) if part.reason is Reason.OTHER_KIND else None


def _split_loss(said: Why, removed: str, row: Drift, sides: Sides) -> Iterator[tuple[Why, str]]:
    """Of a name whose module or class is told to be missing: who took the name away, and who did that to what it stood
    in, where that came later.
    """
    outer = sides.comparer.find_outer_loss(row.comparison.name) if row.comparison is not None else None
    if outer is None or outer == removed:
        yield said, removed
    else:
        yield Why(Reason.WAS_REMOVED), removed
        yield said, outer


def _find_unclassing(row: Drift, sides: Sides) -> str | None:
    """Since when the class of a member is none."""
    owner = sides.pin.resolve((row.target or "").rpartition(".")[0])
    place = find_tracer(owner.module, sides)
    if place is None or owner.definition is None or owner.definition.kind is not DefinitionKind.CLASS:
        return None
    qualname = owner.definition.qualname
    return place[0].find_first(place[1], qualname, lambda now: now is None or now.kind is not DefinitionKind.CLASS)


def _find_later(row: Drift, sides: Sides) -> Iterator[str]:
    """Changes of the signature that our replacement has to follow, wherever the target stands by then, and those that
    take away what it reads of an object.
    """
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if place is None or before is None or before.definition is None or before.home is None:
        return
    if any(one.reason in _ARGUMENTS for one in row.problems):
        symbol = before
        if before.definition.kind is DefinitionKind.CLASS:
            symbol = sides.pin.resolve(f"{before.home}.__init__")
        if symbol.definition is not None and symbol.module == before.module:
            yield from place[0].find_reshaping(place[1], symbol.definition.qualname, symbol.definition)
    for item in row.lost:
        found = sides.reader.find_culprit(item) if item.certain and item.attribute is not None else None
        if found is not None:
            yield found


def _asks_for_work(row: Drift) -> bool:
    """Also where nothing breaks, who took a name away is worth telling."""
    is_known = row.kind not in {DriftKind.EXTERNAL, DriftKind.UNRESOLVED} or row.severity is Severity.BREAKS
    return row.kind in LOST or (row.severity is not Severity.OK and is_known)


def _find_culprit(row: Drift, sides: Sides) -> str | None:
    comparison = row.comparison
    if comparison is None or row.dead_today:
        return None
    pressing = {one.why.reason for one in row.findings if one.severity is Severity.LOOK}
    if row.severity is Severity.LOOK and pressing and pressing <= _TODAY:
        return None  # no upgrade makes it so
    broken = _find_broken(row) - {Reason.MISREADS_TODAY}
    if row.severity is Severity.BREAKS and not broken:
        return None  # it fails as it did at the pin
    stays = row.kind in {DriftKind.UNCHANGED, DriftKind.BODY_CHANGED}
    reads = bool(broken) and broken <= {Reason.MISREADS, Reason.NOT_INSTALLED}
    fits = stays or row.style is Style.FUNCTION_WRAPPING or reads
    if row.lost and len(row.lost) == len(_find_pressing(row)) and row.kind not in LOST and fits:
        # the target fits: what our replacement reads is what asks for work
        return _find_losing(row, sides)
    if reads and row.kind not in LOST:
        # calls among it have their own commit (`blame_calls`); who changed the target is not to blame
        return _find_losing(row, sides) if any(item.certain for item in row.lost) else _find_setting(row, sides)
    if not broken and (dropped := next((one.why for one in row.findings if one.why.reason in _DROPPED), None)):
        return _find_dropping(row, dropped, sides)
    if broken <= MEMBERS and row.has(*MEMBERS) and (found := find_member_change(row, sides)) is not None:
        return found
    fields = [_find_field(one.why, row, sides) for one in row.findings if one.why.reason is Reason.FIELD_REFUSES]
    returns = broken == {Reason.MISRETURNS} or (row.kind is DriftKind.BODY_CHANGED and not broken)
    if returns and (found := _find_returning(row, sides)) is not None:
        return found
    if row.has(Reason.BYPASSED):
        return _find_emptying(row, sides)
    found = _find_leaver(row, sides)
    # an import that fails before the write breaks it, whatever becomes of the target: of several the first did
    failing = [sides.reader.find_culprit(one) for one in row.lost if one.certain and one.why.reason in FAILS_FIRST]
    return _first([found, *fields, *failing], row, sides) if failing or fields else found


def _find_field(why: Why, row: Drift, sides: Sides) -> str | None:
    ours = sides.replacements.read(row.effect.replacement_at) if row.effect is not None else None
    return find_field_change(sides.comparer, row.target or "", ours, why) if ours is not None else None


def _find_leaver(row: Drift, sides: Sides) -> str | None:
    """Who took the target away, or changed it."""
    comparison = row.comparison
    if comparison is None:
        return None
    match row.kind:
        case DriftKind.MOVED if comparison.after.exists and not comparison.commits:
            return _find_leaving(row, sides)
        case DriftKind.BINDING_LOST | DriftKind.MOVED | DriftKind.RENAMED | DriftKind.REMOVED:
            return sides.comparer.find_loss(comparison)
        case DriftKind.ANCHOR_LOST:
            return _find_anchor_loss(row, sides)
    misfits = [one.why for one in row.findings if one.severity is Severity.BREAKS and one.why.reason in PROBLEMS]
    dated = [commit for why in misfits for _, commit in date_misfits(why, row, sides)]
    if dated:
        return _first(dated, row, sides)
    symbol = find_called(row, sides) if row.kind is DriftKind.SIGNATURE_CHANGED else None
    is_made = symbol is not None and symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS
    return _find_rewriting(row, sides) if symbol is None or is_made else find_signature_change(row, sides)


def _find_broken(row: Drift) -> frozenset[Reason]:
    """Why it breaks: who changed something else besides is not to blame."""
    return frozenset(one.why.reason for one in row.findings if one.severity is Severity.BREAKS)


def _find_pressing(row: Drift) -> list[Why]:
    """What is wrong with our replacement and asks for work since the pin."""
    asking = (one for one in row.findings if one.why.reason in PROBLEMS and one.severity is not Severity.OK)
    return [part for one in asking if one.why.reason is not Reason.MISREADS_TODAY for part in one.why.parts]


def _find_dropping(row: Drift, dropped: Why, sides: Sides) -> str | None:
    """Since when a class does not have an attribute that our replacement sets."""
    home = row.comparison.before.home if row.comparison is not None else None
    owner, words = (home or "").rpartition(".")[0], [name.rpartition(".")[2] for name in dropped.names]
    return _first([find_attribute_loss(sides.comparer, owner, word) for word in words], row, sides)


def _find_setting(row: Drift, sides: Sides) -> str | None:
    """The first commit since which the original sets what ours does not and another method needs."""
    before = row.comparison.before if row.comparison is not None else None
    words = [one.name.removeprefix("self.") for one in row.problems if one.reason is Reason.LEAVES_UNSET]
    found = [find_setting(sides.comparer, before, word) for word in words] if before is not None else []
    return _first(found, row, sides)


def _find_losing(row: Drift, sides: Sides) -> str | None:
    """The first commit that took away something our replacement reads; what it asks for before is none."""
    unasked = [item for item in row.lost if not item.asked]
    return _first([sides.reader.find_culprit(item) for item in unasked or row.lost], row, sides)


def _first(commits: Iterable[str | None], row: Drift, sides: Sides) -> str | None:
    """The earliest of those that are known."""
    found = [one for one in commits if one is not None]
    module = row.comparison.before.module if row.comparison is not None else None
    tracer = sides.comparer.tracer(module) if module is not None else sides.comparer.tracer_of(sides.part)
    order = find_order(tracer) if tracer is not None else {}
    return min(found, key=lambda commit: order.get(commit, len(order)), default=None)


def _find_returning(row: Drift, sides: Sides) -> str | None:
    """Since when it does not return as many values as at the pin."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    counts = next((one.why.counts for one in row.findings if one.why.reason is Reason.RETURN_COUNT), ())
    if place is None or before is None or before.definition is None or not counts:
        return None
    (tracer, path), qualname = place, before.definition.qualname

    def returns_another_count(version: Version) -> bool:
        node = read_node(version.text, qualname)
        return node is not None and set(find_arities(node)) != {counts[0] if counts[0] > 1 else None}

    return tracer.find_first_version(path, returns_another_count)


def _find_rewriting(row: Drift, sides: Sides) -> str | None:
    """Since when the body, or of a class what it holds, is not the pin's."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if place is None or before is None or before.home is None or before.definition is None:
        return None
    (tracer, path), pin, qualname = place, before.definition, before.definition.qualname
    if not tracer.diverges or _has_body(tracer.find_base(path), qualname, pin):
        return tracer.find_first_change(path, qualname, pin)
    changed = tracer.find_first_version(path, lambda version: not _has_body(version, qualname, pin))
    return changed or find_rewriting(row, tracer, path, qualname)


def _has_body(version: Version, qualname: str, pin: Definition) -> bool:
    found = read_definition(version.text, qualname)
    return found is not None and (found.fingerprint, found.bases) == (pin.fingerprint, pin.bases)


def _find_leaving(row: Drift, sides: Sides) -> str | None:
    """Since when the old module only re-exports, or the old name only calls, what it used to define."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if place is None or before is None or before.definition is None:
        return None
    (tracer, path), qualname = place, before.definition.qualname
    shimmed = next((one.why.name for one in row.findings if one.why.reason is Reason.ONLY_CALLS), "")
    if shimmed:
        called = shimmed.rpartition(".")[2]
        return tracer.find_first_version(path, lambda one: name_only_call(read_node(one.text, qualname)) == called)
    return tracer.find_first(path, qualname, lambda now: now is None)


def _find_emptying(row: Drift, sides: Sides) -> str | None:
    """Since when no code of the module uses the name that we rebind there."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.bound_in if before is not None else None, sides)
    if place is None or row.target is None:
        return None
    tracer, path = place
    name = row.target.rpartition(".")[2]
    return tracer.find_first_version(path, lambda one: not mentions(one.text.encode("utf-8", "surrogatepass"), name))


def _find_anchor_loss(row: Drift, sides: Sides) -> str | None:
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if place is None or row.effect is None or before is None:
        return None
    tracer, path = place
    qualname = before.definition.qualname if before.definition is not None else None

    def is_lost(version: Version) -> bool:
        source = version.text if qualname is None else slice_definition(version.text, qualname) or ""
        return any(anchor not in source + "\n" for anchor in row.effect.anchors) if row.effect else False

    return tracer.find_first_version(path, is_lost)
