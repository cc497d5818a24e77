"""Drift as lines for a terminal: root causes first, then what breaks, what is dead, what needs a look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.change.signatures import ParameterChange
from layline.core.drift import DriftKind
from layline.core.evidence import Location, Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.patch import Holder
from layline.core.prose import count, listed, verb
from layline.core.revision import Commit
from layline.core.why import PROBLEMS, Reason, Why, say, say_all
from layline.coupling.drift_model import Drift
from layline.coupling.model import State
from layline.coupling.roots import Root, explain, find_roots
from layline.patches.drift.places import Places, count_all, count_places, stands_in
from layline.patches.drift.tally import group_effects
from layline.patches.wanted import say_rewriters

if TYPE_CHECKING:
    from layline.patches.drift.elsewhere import Elsewhere
    from layline.patches.drift.report import DriftReport

DOES_NOT_FIT = "does-not-fit"
_STATES = {
    State.MOVED.value: "moved",
    State.RENAMED.value: "was renamed",
    State.REMOVED.value: "was removed",
    State.UNBOUND.value: "is no longer re-exported",
    State.MISSING.value: "neither the pin nor the tip has",
}
"""What is said of a name of which no more is known."""
_ENV = "env:"
_CAUSES = 4
"""So many commits are named of a row."""
_TOGETHER = 3
"""So many rows with one reason are one cause with several places."""
_HOLDERS = 3
_OUTSIDE = (Why(Reason.FROM_OUTSIDE),)
_NOT_RUN = frozenset(
    {
        Reason.GUARD_NEVER,
        Reason.GUARD_OVER,
        Reason.NOT_RUN_NOW,
        Reason.NOT_RUN_ANY_MORE,
        Reason.NOT_RUN_AT_ALL,
    }
)
"""Why a patch can be deleted: a condition that is false at the tip."""
_IN_MESSAGE = frozenset({Reason.KEY_DROPPED, Reason.KEY_NEEDED})
"""Reasons that the first line tells."""
_NO_TYPO = (Reason.NEVER_HAD_ASKED, Reason.COMES_LATER, Reason.CAME_AND_WENT, Reason.HAD_UNTIL)
"""What is known of a name that the pin does not have says more than one that is spelled like it."""


def build_drift_listing(
    drift: DriftReport,
    *,
    whole: DriftReport | None = None,
    commits: Mapping[str, Commit] | None = None,
    notes: bool = False,
    dead: bool = False,
) -> Listing:
    """`whole`: the same before some was filtered out; `commits`: culprits outside patches, by their hash; `notes`:
    also one line for each effect that still fits; `dead`: nothing else was asked for.
    """
    known = commits or {}
    failing = [row for row in drift.rows if row.fails_already]
    idle = [row for row in drift.rows if row.dead_today and not row.fails_already]
    broken = [row for row in drift.rows if row.severity is Severity.BREAKS and not (row.dead_today or row in failing)]
    look = [row for row in drift.rows if row.severity is Severity.LOOK and not row.dead_today]
    fits = [row for row in drift.rows if row.severity is Severity.OK and not row.dead_today]
    groups = [
        *group_causes(broken),
        *_group_elsewhere((one for one in drift.elsewhere if not one.fails_already), Severity.BREAKS, known),
        *_group_failing(failing, drift.elsewhere, known),
        *group_causes(idle),
        *group_causes(look),
        *_group_elsewhere(drift.elsewhere, Severity.LOOK, known),
        *([Group(items=tuple(tell_row(row) for row in fits))] if notes and fits else []),
        *_group_risks(drift.rows),
        Group(lines=tuple(_close(drift))),
        *(group_effects(drift, notes=notes) if whole is None else ()),
    ]
    return Listing(
        title=_title_dead(whole or drift) if dead else _title(whole or drift),
        meta=(
            _name_commits(drift),
            *_say_all(whole or drift),
            *((_say_shown(drift),) if whole else ()),
            *say_rewriters(drift.skipped),
        ),
        groups=tuple(group for group in groups if group.items or group.counts or group.lines),
        skipped=drift.skipped,
    )


def _group_failing(rows: list[Drift], elsewhere: Iterable[Elsewhere], commits: Mapping[str, Commit]) -> Iterator[Group]:
    """Patches that do not work at the pin, and lines that fail there."""
    lines = _group_elsewhere((one for one in elsewhere if one.fails_already), Severity.BREAKS, commits)
    items = (*(tell_row(row) for row in rows), *(item for group in lines for item in group.items))
    if items:
        yield Group(title="These fail at the pin already; the upgrade does not break them:", items=items)


def _name_commits(drift: DriftReport) -> str:
    ours = f"{drift.downstream.repo} at {drift.downstream.commit[:12]}"
    start = f"{drift.since}, called the pin below" if drift.since else "the pin"
    pin = f"{drift.pin.hash[:12]} ({drift.pin.date}, {start})"
    named = f"{drift.to}, called the tip below" if drift.to else "the tip"
    return f"{ours}; {drift.label} from {pin} to {drift.tip.hash[:12]} ({drift.tip.date}, {named})"


def _say_shown(drift: DriftReport) -> str:
    """What the filters leave of the places that the first line counts."""
    places, outside = count_places(drift.rows), _tell_outside(drift)
    broken = [f"{places.broken} {verb(places.broken, 'breaks')}"] if places.broken else []
    fits = [f"{places.fits} {'fits' if places.fits == 1 else 'fit'}"] if places.fits else []
    others = say_others(replace(places, total=places.total - places.fits), drift.since or "the pin")
    patched = ", ".join([*broken, *others, *fits])
    shown = [f"{count(places.total, 'patched place')} ({patched})"] if places.total else []
    elsewhere = ", ".join(f"{number} {does}" for number, does in outside)
    if outside:
        shown.append(f"{count(sum(number for number, _ in outside), 'place')} outside patches ({elsewhere})")
    return f"The filters show {' and '.join(shown) or 'none of these places'}."


def _title(drift: DriftReport) -> str:
    """One number and one unit first: places of ours that break, each counted once."""
    places = count_places(drift.rows)
    more = say_others(places, drift.since or "the pin")
    at, outside = drift.to or drift.tip.hash[:8], _say_outside(drift)
    if not places.total:
        alone = f"Outside our patches, {outside}." if outside else f"No other place breaks at {at}."
        return f"{drift.label}: {say_broken(places)}. {alone}"
    told = "".join(f"; {part}" for part in more)
    return f"{drift.label}: {say_broken(places)} at {at}{told}.{f' Outside our patches, {outside}.' if outside else ''}"


def _title_dead(drift: DriftReport) -> str:
    """Where only that was asked: the pin is compared with itself."""
    number = count_places(drift.rows).total
    return f"{drift.label}: {count(number, 'patched place')} {'does' if number == 1 else 'do'} nothing at the pin."


def _say_all(drift: DriftReport) -> Iterator[str]:
    """Patches and other lines together, where both have places of one kind."""
    patched, every = count_places(drift.rows), count_all(drift.rows, drift.elsewhere)
    pairs = ((one.broken, one.failing, one.look) for one in (patched, every))
    if not any(0 < some < all_of_them for some, all_of_them in zip(*pairs, strict=True)):
        return
    pin = drift.since or "the pin"
    told = [f"{count(every.broken, 'place')} {verb(every.broken, 'breaks')}"]
    told += [f"{every.failing} {verb(every.failing, 'fails')} at {pin} already"] if every.failing else []
    told += [f"{every.look} {verb(every.look, 'needs')} a look"] if every.look else []
    yield f"In patches and outside, as `gap report` counts: {listed(told)}."


def _say_outside(drift: DriftReport) -> str:
    """Imports, calls and overrides that break, and those that fail already; empty where none does."""
    told = _tell_outside(drift)
    said = [f"{number if at else count(number, 'place')} {does}" for at, (number, does) in enumerate(told)]
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:])))


def _tell_outside(drift: DriftReport) -> list[tuple[int, str]]:
    counted = {row.location for row in drift.rows if row.severity is Severity.BREAKS and not row.dead_today}
    worst = [item for item in drift.elsewhere if item.severity is Severity.BREAKS]
    broken = len({place for item in worst if not item.fails_already for place in item.places} - counted)
    failing = len({place for item in worst if item.fails_already for place in item.places})
    look = len({place for item in drift.elsewhere if item.severity is Severity.LOOK for place in item.places})
    told = [(broken, verb(broken, "breaks"))] if broken else []
    told += [(failing, f"{verb(failing, 'fails')} at {drift.since or 'the pin'} already")] if failing else []
    return told + ([(look, f"{verb(look, 'needs')} a look")] if look else [])


def say_others(places: Places, pin: str = "the pin") -> list[str]:
    """The places that do not break, so that all add up; `pin`: what the commit compared from is called."""
    more = [f"{places.failing} {verb(places.failing, 'fails')} at {pin} already"] if places.failing else []
    more += [f"{places.dead} {'does' if places.dead == 1 else 'do'} nothing even at {pin}"] if places.dead else []
    further = "more " if places.broken or more else ""
    more += [f"{places.look} {further}{verb(places.look, 'needs')} a look"] if places.look else []
    more += [f"{places.fits} {'fits' if places.fits == 1 else 'fit'}"] if places.fits and more else []
    return more


def say_broken(places: Places) -> str:
    match places.total:
        case 0:
            return "none of our patches is known to change this upstream"
        case 1:
            return "the one patched place breaks" if places.broken else "the one patched place does not break"
    return f"{places.broken or 'none'} of {places.total} patched places {verb(places.broken, 'breaks')}"


def group_causes(rows: list[Drift]) -> Iterator[Group]:
    """Rows with one reason together, the most frequent first; then the others by place."""
    roots: dict[Root, list[Drift]] = {}
    reasons: dict[tuple[DriftKind, tuple[Why, ...]], list[Drift]] = {}
    for row in rows:
        root = explain(row)
        if root is not None:
            roots.setdefault(root, []).append(row)
        else:
            reasons.setdefault((row.kind, row.reasons), []).append(row)
    causes = [group for group in reasons.values() if group[0].detail and len(group) >= _TOGETHER]
    behind = [group for group in roots.values() if len(group) > 1]
    waiting = find_roots(rows)
    for group in sorted(behind, key=len, reverse=True):
        yield _group_behind(group, waiting)
    for group in sorted(causes, key=len, reverse=True):
        places = count(len({row.location for row in group}), "place")
        effects = f"{len(group)} effects at " if len({row.location for row in group}) < len(group) else "at "
        yield Group(
            title=f"{group[0].severity.word}[{_name_kind(group[0])}] {effects}{places}: {group[0].detail}",
            items=tuple(tell_row(row, together=True) for row in group),
        )
    known = {id(row) for group in (*causes, *behind) for row in group}
    single = tuple(tell_row(row) for row in rows if id(row) not in known)
    if single:
        yield Group(items=single)


def _group_behind(rows: list[Drift], waiting: Mapping[Root, list[Drift]]) -> Group:
    """Rows whose only trouble is one import of ours: told once, with what else is known of each; `waiting`: all that it
    keeps from being installed.
    """
    root = explain(rows[0])
    cause = f", because {root.tell} fails" if root is not None else ""
    commits = {row.culprit for row in rows}
    since = commits.pop() if len(commits) == 1 else None
    told = f" (since {say_commit(since)})" if since is not None else ""
    after = "" if all(map(_fits_else, rows)) else " (`then` says what else changed)"
    number = len(waiting.get(root, rows)) if root is not None else len(rows)
    alone = sum(len(find_roots([row])) == 1 for row in rows)
    some = f"{alone or 'none'} of them {'fail' if alone > 1 else 'fails'} for that alone"
    some = "nothing else is known to break them" if number == alone else some
    return Group(
        title=f"{rows[0].severity.word}: {count(number, 'effect')} {verb(number, 'is')} not installed{cause}{told}; {some}{after}:",
        items=tuple(_tell_waiting(row, since) for row in rows),
    )


def _fits_else(row: Drift) -> bool:
    return row.own.severity is Severity.OK


def _tell_waiting(row: Drift, since: Commit | None) -> Diagnostic:
    """A row behind an import that fails; `since`: the commit that the heading has named."""
    own = replace(row.own, culprit=None, causes=()) if row.own.culprit == since else row.own
    details = [(label, text) for label, text in _details(own, together=_fits_else(row)) if label != "patch"]
    also = [("also", f"{one.tell} fails") for one in [*find_roots([row])][1:]]
    then = [] if _fits_else(row) else [("then", say_row(own))]
    return Diagnostic(
        location=row.location,
        severity=row.severity,
        code="not-installed",
        message=f"{row.target or row.patch} is not patched",
        details=(*also, *then, *details),
    )


def tell_row(row: Drift, *, together: bool = False) -> Diagnostic:
    """One row as a compiler would print it; `together`: below a heading that has given the reason."""
    return Diagnostic(
        location=row.location,
        severity=row.severity,
        code=_name_kind(row),
        message=say_row(row),
        details=tuple(_details(row, together=together)),
    )


def _name_kind(row: Drift) -> str:
    """The kind; where the target is as it was, what that means for us: the code never contradicts the severity."""
    unlike = row.kind is DriftKind.UNCHANGED and row.severity is not Severity.OK
    return DOES_NOT_FIT if unlike or row.fails_by_itself else row.kind.value


def say_row(row: Drift) -> str:
    """One sentence about the target; the reason stands below it."""
    target = row.target or row.patch
    if dropped := _say_dropped(row):
        return f"upstream no longer mentions {dropped}"
    said = _say_kept(row, target) or row.kind.facts.message.format(target=target)
    if row.kind is DriftKind.SIGNATURE_CHANGED and (owners := _find_decorated(row)):
        said = f"the decorators of {listed([f'{target}{one}' for one in owners])} changed"
    if row.fails_by_itself and row.kind is not DriftKind.UNCHANGED:
        said = f"{target} is still there"  # another signature or body is not what breaks it
    if row.kind in {DriftKind.MOVED, DriftKind.RENAMED} and row.suggestion is not None:
        said += f" to {row.suggestion.target}"
    meant = row.suggestion.target if row.suggestion is not None else row.effect and row.effect.suggestion
    if row.kind is DriftKind.DEAD_AT_PIN and row.pin_evidence is not None:
        said = f"dead patch: {target} exists at the pin, but our patch has no effect on it"
    elif row.kind is DriftKind.DEAD_AT_PIN and meant and meant != target and not row.has(*_NO_TYPO):
        said += f". Did you mean {meant}?"
    if any(one.why.reason is Reason.STOPS_APPLYING for one in row.findings):
        said += "; the patch stops applying"
    if row.fails_by_itself or (row.severity is Severity.BREAKS and row.kind is DriftKind.UNCHANGED):
        ours = "what we register" if _is_registered(row) else "our replacement"
        said += f", but {ours} fits neither pin nor tip" if row.fails_already else f", but {ours} no longer fits"
    return said


def _say_dropped(row: Drift) -> str:
    """The settings that a patch writes or reads and upstream has dropped, by what they are; empty where none is."""
    did = {Reason.KEY_DROPPED: "sets", Reason.KEY_NEEDED: "reads"}
    why = next((one for one in row.reasons if one.reason in did), None)
    if why is None:
        return ""
    keys = why.names or (why.name,)
    told = [
        f"the {'environment variable' if key.startswith(_ENV) else 'config key'} {key.removeprefix(_ENV)}"
        for key in keys
    ]
    return f"{listed(told, most=len(told))}, which the patch {did[why.reason]}"


def _is_registered(row: Drift) -> bool:
    """The target is the function that registers, and nothing of it is replaced."""
    return row.effect is not None and row.effect.holder is Holder.REGISTRY


def _find_decorated(row: Drift) -> list[str]:
    """Where nothing of the signature changed but decorators: whose these are, of a class also its `.__init__`."""
    told = [one for one in row.reasons if one.reason is Reason.SIGNATURE]
    alone = all(one.name == ParameterChange.DECORATORS.value for one in told)
    return list(dict.fromkeys(one.other for one in told)) if alone else []


def _say_kept(row: Drift, target: str) -> str:
    """What is known to be as it was, where that is not the target itself; empty where it is."""
    if stands_in(row):
        return f"{target} is only set where upstream cannot be imported"
    source = (row.effect and row.effect.alias_of) or target
    if row.kind is not DriftKind.UNCHANGED or row.severity is not Severity.OK:
        return ""
    if row.reasons == _OUTSIDE:
        return f"{target}: its class is still there, but the name is inherited from another package, or our own"
    if source.partition(".")[0] != target.partition(".")[0]:
        module = source.rpartition(".")[0]
        return f"{target} is still imported from {module}; {module.partition('.')[0]} itself is not compared"
    return ""


def _details(row: Drift, *, together: bool) -> Iterator[tuple[str, str]]:
    if row.effect is not None and row.severity is not Severity.OK:
        yield "patch", row.effect.id if row.effect.id == row.patch else f"{row.patch} [{row.effect.id}]"
    if not (together or stands_in(row)) and row.reasons != _said_already(row) and (why := _say_why(row)):
        yield "why", why
    if row.copied is not None:
        yield "ours", f"an edited copy of upstream's body ({row.copied:.0%} alike)"
    if row.culprit is not None and not row.causes:
        yield "since", say_commit(row.culprit)
    for cause in row.causes[:_CAUSES]:
        yield "since", f"{say_commit(cause.commit)}: {say(cause.why)}"
    if len(row.causes) > _CAUSES:
        yield "since", f"{count(len(row.causes) - _CAUSES, 'more commit')}: `--format json` names them"
    told = row.kind in {DriftKind.DEAD_AT_PIN, DriftKind.MOVED, DriftKind.RENAMED} or row.has(Reason.STILL_REACHES)
    if row.suggestion is not None and not told:
        yield "fix", f"{row.suggestion.target} may take its place ({row.suggestion.reason})"


def _say_why(row: Drift) -> str:
    """What breaks it first; what else became of the target after that."""
    worst = {one.why for one in row.findings if one.severity is row.severity and one.why.reason in PROBLEMS}
    # a condition that is known to be false is certain
    told = [why for why in row.reasons if why.reason is not Reason.NOT_CERTAIN or not row.has(*_NOT_RUN)]
    told = [why for why in told if why.reason not in _IN_MESSAGE]
    return say_all(sorted(told, key=lambda why: why not in worst))


def say_commit(commit: Commit) -> str:
    """Twelve characters of its hash, its date and its title, which names the pull request."""
    return f"{commit.hash[:12]} ({commit.date}): {commit.subject}"


def _said_already(row: Drift) -> tuple[Why, ...]:
    """Reasons that would only repeat the first line."""
    if _say_kept(row, row.target or row.patch) and row.reasons == _OUTSIDE:
        return _OUTSIDE
    return (Why(Reason.NOW, row.suggestion.target),) if row.suggestion is not None else ()


def _group_elsewhere(items: Iterable[Elsewhere], severity: Severity, commits: Mapping[str, Commit]) -> Iterator[Group]:
    found = tuple(
        Diagnostic(
            location=item.location,
            severity=item.severity,
            code=item.touch,
            message=f"our code {item.touch} {item.target}{_say_state(item)}",
            details=tuple(_detail_elsewhere(item, commits)),
        )
        for item in items
        if item.severity is severity
    )
    if found:
        yield Group(items=found)


def _say_state(item: Elsewhere) -> str:
    """What became of the name, where that is all that is known: a clause; else the reasons."""
    return f", which {_STATES[item.detail]}" if item.detail in _STATES else f": {item.detail}"


def _detail_elsewhere(item: Elsewhere, commits: Mapping[str, Commit]) -> Iterator[tuple[str, str]]:
    for why, one in item.causes or ((("", item.culprit),) if item.culprit else ()):
        who = say_commit(commits[one]) if one in commits else one[:12]
        yield "since", f"{who}: {why}" if why else who
    if item.new_target:
        yield "fix", f"use {item.new_target}"
    if item.also:
        lines = [str(place.line) for place in item.places]
        yield "counts", f"as {len(item.places)} places: lines {listed(lines, most=len(lines))}"


def _group_risks(rows: Iterable[Drift]) -> Iterator[Group]:
    items = tuple(
        Diagnostic(location=row.location, code="may-not-apply", message=f"{row.target or row.patch}: {risk}")
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
    return say_all(why.parts) if why.reason in _NOT_RUN and why.parts else say(why)


def say_retired(rows: Iterable[Drift]) -> Iterator[str]:
    """What the tip no longer needs, once for each place: only who uses it knows which versions come beside the tip."""
    places: dict[tuple[Location, str], list[str]] = {}
    for row in rows:
        if row.retire:
            places.setdefault((row.location, row.patch), []).append(_say_retired(row.retire))
    for (location, patch), reasons in places.items():
        more = f" ({len(reasons)} effects)" if len(reasons) > 1 else ""
        yield f"{location}: the tip does not need {patch}{more}: {reasons[0]}"
    if places:
        yield "Keep such a patch as long as you support a version that needs it, then delete it."


def _close(drift: DriftReport) -> Iterator[str]:
    yield from say_retired(drift.rows)
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
        yield "Nothing broke, so there is no culprit to name."
    if unnamed and not drift.culprits:
        since = [f" --from {drift.since}"] if drift.since else []
        to = [f" --to {drift.to}"] if drift.to else []
        asks = "".join((f"layline patches drift {drift.backend}", *since, *to, " --culprits"))
        of = "this finding" if len(unnamed) == 1 else f"{len(unnamed)} findings"
        yield f"`{asks}` names the upstream commit behind {of} without a `since` line."
