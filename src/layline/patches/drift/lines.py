"""Drift as lines for a terminal: root causes first, then what breaks, what is dead, what needs a look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from layline.core.drift import NOT_INSTALLED, DriftKind
from layline.core.evidence import Location, Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.prose import count, listed, verb
from layline.core.revision import Commit
from layline.core.why import FAILS_FIRST, Why, say, say_all
from layline.coupling.deletable import find_deletable
from layline.coupling.drift_model import Drift
from layline.coupling.model import State
from layline.coupling.roots import Root, explain, find_commits, find_roots
from layline.patches.drift.headline import name_commits, say_shown, say_together, title, title_dead
from layline.patches.drift.kinds import name_kinds
from layline.patches.drift.sentences import NOT_RUN, say_commit, say_row, tell_details, tell_row
from layline.patches.drift.tally import group_effects, say_compared
from layline.patches.unmatched import say_unmatched
from layline.patches.wanted import ALL, MAY_NOT_APPLY, Wanted, say_rewriters

if TYPE_CHECKING:
    from layline.patches.drift.elsewhere import Elsewhere
    from layline.patches.drift.report import DriftReport

_STATES = {
    State.MOVED.value: "moved",
    State.RENAMED.value: "was renamed",
    State.REMOVED.value: "was removed",
    State.UNBOUND.value: "is no longer re-exported",
    State.MISSING.value: "neither the pin nor the tip has",
}
"""What is said of a name of which no more is known."""
_TOGETHER = 3
"""So many rows with one reason are one cause with several places."""
_HOLDERS = 3
_NONE: Mapping[str, tuple[str, ...]] = MappingProxyType({})


def build_drift_listing(
    drift: DriftReport,
    *,
    whole: DriftReport | None = None,
    commits: Mapping[str, Commit] | None = None,
    notes: bool = False,
    dead: bool = False,
    wanted: Wanted = ALL,
) -> Listing:
    """`whole`: the same before what is not `wanted` was filtered out; `commits`: culprits outside patches, by their hash; `notes`:
    also one line for each effect that still fits; `dead`: nothing else was asked for.
    """
    known = commits or {}
    failing = [row for row in drift.rows if row.fails_already]
    idle = [row for row in drift.rows if row.dead_today and not row.fails_already]
    broken = [row for row in drift.rows if row.severity is Severity.BREAKS and not (row.dead_today or row in failing)]
    look = [row for row in drift.rows if row.severity is Severity.LOOK and not row.dead_today]
    fits = [row for row in drift.rows if row.severity is Severity.OK and not row.dead_today]
    groups = [
        *group_causes(broken, drift.loaders),
        *_group_elsewhere((one for one in drift.elsewhere if not one.fails_already), Severity.BREAKS, known),
        *_group_failing(failing, drift.elsewhere, known),
        *group_causes(idle),
        *group_causes(look),
        *_group_elsewhere(drift.elsewhere, Severity.LOOK, known),
        *([Group(items=tuple(tell_row(row) for row in fits))] if notes and fits else []),
        *_group_risks(drift.rows),
        Group(lines=tuple(_close(drift, (whole or drift).rows))),
        *(group_effects(drift, notes=notes) if whole is None else ()),
    ]
    return Listing(
        title=title_dead(whole or drift) if dead else title(whole or drift),
        meta=(
            *(() if dead else say_compared(whole or drift)),
            name_commits(drift),
            *say_together(whole or drift),
            *((say_shown(drift), *_say_unmatched(drift, whole, wanted)) if whole else ()),
            *say_rewriters(drift.skipped),
        ),
        groups=tuple(group for group in groups if group.items or group.counts or group.lines),
        skipped=drift.skipped,
    )


def _say_unmatched(drift: DriftReport, whole: DriftReport, wanted: Wanted) -> Iterator[str]:
    if drift.rows or drift.elsewhere or not (whole.rows or whole.elsewhere):
        return

    def fits(alone: Wanted) -> bool:
        kept = (alone.keeps_row(row, name_kinds(row)) for row in whole.rows)
        return any(kept) or any(map(alone.keeps_elsewhere, whole.elsewhere))

    every: tuple[Drift | Elsewhere, ...] = (*whole.rows, *whole.elsewhere)
    yield from say_unmatched(wanted, (one.location.path for one in every), (one.target or "" for one in every), fits)


def _group_failing(rows: list[Drift], elsewhere: Iterable[Elsewhere], commits: Mapping[str, Commit]) -> Iterator[Group]:
    """Patches that do not work at the pin, and lines that fail there."""
    lines = _group_elsewhere((one for one in elsewhere if one.fails_already), Severity.BREAKS, commits)
    items = (*(tell_row(row) for row in rows), *(item for group in lines for item in group.items))
    if items:
        yield Group(title="These fail at the pin already, before any upgrade:", items=items)


def group_causes(rows: list[Drift], loaders: Mapping[str, tuple[str, ...]] = _NONE) -> Iterator[Group]:
    """Rows with one reason together, the most frequent first; then the others by place. `loaders`: who imports a file
    that fails when it is loaded.
    """
    roots: dict[Root, list[Drift]] = {}
    reasons: dict[tuple[DriftKind, tuple[Why, ...]], list[Drift]] = {}
    for row in rows:
        root = explain(row)
        if root is not None:
            roots.setdefault(root, []).append(row)
        else:
            reasons.setdefault((row.kind, row.reasons), []).append(row)
    causes = [group for group in reasons.values() if group[0].detail and len(group) >= _TOGETHER]
    behind = [(root, group) for root, group in roots.items() if len(group) > 1]
    waiting = find_roots(rows)
    for root, group in sorted(behind, key=lambda item: len(item[1]), reverse=True):
        yield _group_behind(root, group, waiting, loaders)
    for group in sorted(causes, key=len, reverse=True):
        places = count(len({row.location for row in group}), "place")
        effects = f"{len(group)} effects at " if len({row.location for row in group}) < len(group) else "at "
        yield Group(
            title=f"{group[0].severity.word}[{group[0].code}] {effects}{places}: {group[0].detail}",
            items=tuple(tell_row(row, together=True) for row in group),
        )
    known = {id(row) for group in (*causes, *(group for _, group in behind)) for row in group}
    single = tuple(tell_row(row) for row in rows if id(row) not in known)
    if single:
        yield Group(items=single)


def _group_behind(
    root: Root, rows: list[Drift], waiting: Mapping[Root, list[Drift]], loaders: Mapping[str, tuple[str, ...]]
) -> Group:
    """Rows whose only trouble is one import of ours: told once, with what else is known of each; `waiting`: all that it
    keeps from being installed.
    """
    commits = {commit for row in rows for commit in find_commits(row, root)}
    since = commits.pop() if len(commits) == 1 else None
    told = f" (since {say_commit(since)})" if since is not None else ""
    cause = f"{_tell_roots(_find_beside(rows[0], root))} fails{_tell_loaders(root, loaders)}{told}"
    number = len(waiting[root])
    behind = f"{count(number, 'effect')} {verb(number, 'is')} not installed because of it."
    return Group(
        title=" ".join((f"{rows[0].severity.word}: {cause}.", behind, *_say_beside(rows, root, number))),
        items=tuple(_tell_waiting(row, root, since) for row in rows),
    )


def _say_beside(rows: list[Drift], root: Root, number: int) -> Iterator[str]:
    """What else is known of these rows, of `number` effects that the root keeps from being installed."""
    only = all(len(_find_beside(row, root)) == len(find_roots([row])) for row in rows)
    others = number - len(rows)
    if others:
        own = "has an error of its own and is" if others == 1 else "have errors of their own and are"
        yield f"{len(rows)} of them {verb(len(rows), 'is')} listed here; {others} {own} listed below."
    elif only and all(map(_fits_else, rows)):
        yield f"Nothing else breaks {'it' if number == 1 else 'them'}."


def _tell_loaders(root: Root, loaders: Mapping[str, tuple[str, ...]]) -> str:
    """Whose import of the file fails at that line, too; empty where it does not run when the file is loaded."""
    places = () if root.is_import else loaders.get(root.location.path, ())
    number = "the import" if len(places) == 1 else "the imports"
    return f", and with it {number} of that file at {listed(places, most=_HOLDERS)}" if places else ""


def _find_beside(row: Drift, root: Root | None) -> list[Root]:
    """What fails on the line of that root: one statement imports several names."""
    return [one for one in find_roots([row]) if root is not None and one.location == root.location]


def _tell_roots(roots: list[Root]) -> str:
    """What fails on one line, in words."""
    first, names = roots[0], list(dict.fromkeys(one.name for one in roots))
    if not first.is_import or len(names) == 1:
        return first.tell
    return f"the import of {listed(names, most=len(names))} at {first.location}"


def _fits_else(row: Drift) -> bool:
    return row.own.severity is Severity.OK


def _tell_waiting(row: Drift, root: Root | None, since: Commit | None) -> Diagnostic:
    """A row behind an import that fails; `since`: the commit that the heading has named."""
    causes = tuple(one for one in row.own.causes if one.why.reason not in FAILS_FIRST)
    is_named = row.own.culprit == since or (not causes and bool(row.own.causes))
    own = replace(row.own, culprit=None if is_named else row.own.culprit, causes=causes)
    details = [(label, text) for label, text in tell_details(own, together=_fits_else(row)) if label != "patch"]
    others: dict[Location, list[Root]] = {}
    for one in find_roots([row]):
        if root is None or one.location != root.location:
            others.setdefault(one.location, []).append(one)
    also = [("also", f"{_tell_roots(roots)} fails{_say_since(row, roots[0])}") for roots in others.values()]
    then = [] if _fits_else(row) else [("then", say_row(own))]
    return Diagnostic(
        location=row.location,
        severity=row.severity,
        code=NOT_INSTALLED,
        message=f"{row.target or row.patch} is not patched",
        details=(*also, *then, *details),
    )


def _say_since(row: Drift, root: Root) -> str:
    """The commit that broke a line, where it is one."""
    commits = find_commits(row, root)
    return f" (since {say_commit(commits.pop())})" if len(commits) == 1 else ""


def _group_elsewhere(items: Iterable[Elsewhere], severity: Severity, commits: Mapping[str, Commit]) -> Iterator[Group]:
    """One row for each place and reason: of a statement that imports several names, all of these."""
    alike: dict[tuple[object, ...], list[Elsewhere]] = {}
    for item in items:
        if item.severity is severity:
            key = (item.touch, item.location, item.also, item.detail, item.differs, item.culprit, item.causes)
            alike.setdefault(key, []).append(item)
    found = tuple(
        Diagnostic(
            location=together[0].location,
            severity=severity,
            code=together[0].touch,
            message=f"our code {together[0].touch} {_list_targets(together)}{_say_state(together[0])}",
            details=tuple(_detail_elsewhere(together, commits)),
        )
        for together in alike.values()
    )
    if found:
        yield Group(items=found)


def _list_targets(together: list[Elsewhere]) -> str:
    return listed([item.target for item in together], most=len(together))


def _say_state(item: Elsewhere) -> str:
    """What became of the name, where that is all that is known: a clause; else the reasons."""
    return f", which {_STATES[item.detail]}" if item.detail in _STATES else f": {item.detail}"


def _detail_elsewhere(together: list[Elsewhere], commits: Mapping[str, Commit]) -> Iterator[tuple[str, str]]:
    item = together[0]
    for why, one in item.causes or ((("", item.culprit),) if item.culprit else ()):
        who = say_commit(commits[one]) if one in commits else one[:12]
        yield "since", f"{who}: {why}" if why else who
    if homes := [one.new_target for one in together if one.new_target]:
        differs = (
            "; it takes different parameters, so change the calls, too" if any(one.differs for one in together) else ""
        )
        yield "fix", f"use {listed(homes, most=len(homes))}{differs}"
    if item.also:
        lines = [str(place.line) for place in item.places]
        yield "counts", f"as {len(item.places)} places: lines {listed(lines, most=len(lines))}"


def _group_risks(rows: Iterable[Drift]) -> Iterator[Group]:
    items = tuple(
        Diagnostic(location=row.location, code=MAY_NOT_APPLY, message=f"{row.target or row.patch}: {risk}")
        for row in rows
        if row.today != "dead" and (risk := "; ".join((*map(say, row.risks), *_holders(row))))
    )
    if items:
        title = f"{count(len(items), 'effect')} may not be seen by all of upstream's code"
        yield Group(title=title, items=items)


def _holders(row: Drift) -> Iterator[str]:
    if row.holders:
        yield f"these modules import it with `from … import` and may keep the original: {listed(row.holders, most=_HOLDERS)}"


def _say_retired(why: Why) -> str:
    """Of code that is not run, only what keeps it from running."""
    return say_all(why.parts) if why.reason in NOT_RUN and why.parts else say(why)


def say_retired(rows: Iterable[Drift], every: Iterable[Drift]) -> Iterator[str]:
    """What the tip no longer needs, once for each place: only who uses it knows which versions come beside the tip."""
    places: dict[tuple[Location, str], list[str]] = {}
    for row, why in find_deletable(rows, every):
        places.setdefault((row.location, row.patch), []).append(_say_retired(why))
    for (location, patch), reasons in places.items():
        more = f" ({len(reasons)} effects)" if len(reasons) > 1 else ""
        yield f"{location}: the tip does not need this line of {patch}{more}: {reasons[0]}"
    if places:
        yield "Keep such a line as long as you support a version that needs it, then delete it."


def _close(drift: DriftReport, every: Iterable[Drift]) -> Iterator[str]:
    yield from say_retired(drift.rows, every)
    for row, item in drift.accepted:
        what = f"{row.target or row.patch} ({row.kind.value})"
        yield f"{row.location}: accepted until {item.until}: {what}: {item.reason}"
    for place, item in drift.elsewhere_accepted:
        yield f"{place.location}: accepted until {item.until}: our code {place.touch} {place.target}: {item.reason}"
    for item in drift.stale:
        yield f"{item.id}: this baseline entry no longer applies: {item.reason} (until {item.until})"
    yield from _say_search(drift)


def _say_search(drift: DriftReport) -> Iterator[str]:
    """The command that names the commits which were not looked for."""
    known = {DriftKind.EXTERNAL, DriftKind.UNRESOLVED}
    unnamed = [
        row
        for row in drift.rows
        if row.culprit is None
        and (row.severity is Severity.BREAKS or (row.severity is Severity.LOOK and row.kind not in known))
        and not (row.dead_today or row.fails_already)
    ]
    judged: tuple[Drift | Elsewhere, ...] = (*drift.rows, *drift.elsewhere)
    broken = [one for one in judged if one.severity is Severity.BREAKS and not one.fails_already]
    if drift.culprits and not broken and not any(one.culprit for one in judged):
        yield "No commit between pin and tip breaks anything."
        if any(one.fails_already for one in judged):
            asks = f"layline patches drift {drift.backend} --from OLDER --culprits"
            yield f"Where a line fails at the pin already, `{asks}` names the commit; OLDER is a version that the line was written for."
    if unnamed and not drift.culprits:
        since = [f" --from {drift.since}"] if drift.since else []
        to = [f" --to {drift.to}"] if drift.to else []
        asks = "".join((f"layline patches drift {drift.backend}", *since, *to, " --culprits"))
        of = "this finding" if len(unnamed) == 1 else f"{len(unnamed)} findings"
        yield f"`{asks}` names the upstream commit behind {of} without a `since` line."
