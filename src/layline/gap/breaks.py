"""What breaks, counted once: places of ours (`file:line`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from layline.change.homes import may_replace
from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.why import PROBLEMS, Reason, Why, say
from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Consequence, State
from layline.coupling.roots import find_culprit
from layline.coupling.told import tells_elsewhere
from layline.gap.overview import find_broken_places
from layline.gap.successors import say_instead

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift
    from layline.coupling.model import Coupling
    from layline.gap.model import Gap
    from layline.gap.successors import Successor


def find_places(gap: Gap) -> tuple[str, ...]:
    """Every place that breaks at the tip, in the order of the files."""
    return tuple(sorted(find_broken_places(gap.couplings, gap.patches or ())))


def find_further_patches(gap: Gap) -> list[Drift]:
    """Patches that break at places where no use of the upstream is listed as broken, one for each place."""
    told = {one.location for one in gap.couplings if one.consequence is Consequence.WILL_BREAK}
    rows = [row for row in find_breaking(gap.patches or ()) if row.location not in told]
    return list({row.location: row for row in reversed(rows)}.values())[::-1]


def find_silent(gap: Gap) -> list[Drift]:
    """Patches that stop applying at the tip without an error, one for each place."""
    rows = [row for row in gap.patches or () if row.has(Reason.STOPS_APPLYING)]
    return list({row.location: row for row in reversed(rows)}.values())[::-1]


class Standing(StrEnum):
    """What becomes of one place of ours at the tip; every place has one."""

    BREAKS = "break"
    STOPS = "stop applying"
    FAILS = "fail at the pin already"
    DEAD = "do nothing even at the pin"
    """Patches of names that the pin does not have, and the like: `patches drift` counts them by the same words."""
    LOOK = "need a look"
    """As in `patches drift`."""
    CHANGED = "use code that changed"
    """They fit; what they stand on does something else, or is reached in another way."""
    ABSENT = "use names that the pin does not have"
    """Where it may not matter: behind a `try`, or a test."""
    UNDECIDED = "are undecided"
    """Not readable from the source: made at run time."""
    FITS = "fit"

    @property
    def of_one(self) -> str:
        """The same of one place."""
        return _OF_ONE[self]


_OF_ONE = {
    Standing.BREAKS: "breaks",
    Standing.STOPS: "stops applying",
    Standing.FAILS: "fails at the pin already",
    Standing.DEAD: "does nothing even at the pin",
    Standing.LOOK: "needs a look",
    Standing.CHANGED: "uses code that changed",
    Standing.ABSENT: "uses a name that the pin does not have",
    Standing.UNDECIDED: "is undecided",
    Standing.FITS: "fits",
}


def find_standings(gap: Gap) -> dict[str, Standing]:
    """Every place where our code uses the upstream, in order. What a patch does to another package is none."""
    unsure = {Consequence.MAY_BREAK, Consequence.LOOK}
    patches = [row for row in gap.patches or () if _is_theirs(row)]
    changed = {str(one.location) for one in gap.couplings if one.consequence in unsure}
    look = {str(one.location) for one in gap.couplings if one.consequence in unsure and tells_elsewhere(one)}
    look |= {str(row.location) for row in patches if row.severity is Severity.LOOK}
    fails = {str(one.location) for one in gap.couplings if one.fails_already and one.consequence in unsure}
    fails |= {str(row.location) for row in patches if row.fails_already}
    broken, stops = set(find_places(gap)), {str(row.location) for row in find_silent(gap)}
    dead = {str(row.location) for row in patches if row.dead_today}
    undecided = [one for one in gap.couplings if one.state is State.UNDECIDED]
    absent = {str(one.location) for one in undecided if is_absent(one)}
    unread = {str(one.location) for one in undecided if not is_absent(one)}
    places = {str(one.location) for one in gap.couplings} | {str(row.location) for row in patches} | broken | stops
    worst_first = (
        (Standing.BREAKS, broken),
        (Standing.STOPS, stops),
        (Standing.FAILS, fails),
        (Standing.DEAD, dead),
        (Standing.LOOK, look),
        (Standing.CHANGED, changed),
        (Standing.UNDECIDED, unread),
        (Standing.ABSENT, absent),
        (Standing.FITS, places),
    )
    return {place: next(kind for kind, held in worst_first if place in held) for place in sorted(places)}


def is_absent(one: Coupling) -> bool:
    """It is known of the name that the pin does not have it."""
    return any(why.reason is Reason.ABSENT_ALREADY for why in one.why)


def _is_theirs(row: Drift) -> bool:
    """The patch changes this upstream, not another package or code of ours; what it adds there counts."""
    return row.kind is not DriftKind.EXTERNAL or row.has(Reason.ADDS_MISSING, Reason.OUR_ADDITION)


def find_rewritten(gap: Gap) -> frozenset[str]:
    """Places that fit, and stand inside a method of ours that has to be written anew."""
    spans = [(one.location.path, one.location.line, one.last) for one in gap.follows]
    fitting = [place.rpartition(":") for place, standing in find_standings(gap).items() if standing is Standing.FITS]
    return frozenset(
        f"{path}:{line}"
        for path, _, line in fitting
        if any(path == where and first <= int(line) <= last for where, first, last in spans)
    )


def find_doubtful(gap: Gap) -> frozenset[str]:
    """Places that fail already, do nothing, may break or need a look."""
    unsure = {Standing.FAILS, Standing.DEAD, Standing.LOOK, Standing.CHANGED}
    return frozenset(place for place, standing in find_standings(gap).items() if standing in unsure)


def find_doubtful_rows(gap: Gap) -> list[Coupling | Drift]:
    """What is said of these places: what fails already, then what may break, what only changed, and patches alone."""
    doubtful, order = find_doubtful(gap), (Consequence.MAY_BREAK, Consequence.LOOK)
    found = [one for one in gap.couplings if one.consequence in order and str(one.location) in doubtful]
    told = {str(one.location) for one in found}
    unsure = (
        row
        for row in reversed(gap.patches or ())
        if row.severity is Severity.LOOK or row.fails_already or row.dead_today
    )
    rows = {str(row.location): row for row in unsure}
    patches = [row for place, row in reversed(rows.items()) if place in doubtful - told]
    found.sort(key=lambda one: (not one.fails_already, not tells_elsewhere(one), order.index(one.consequence)))
    return [*found, *patches]


def count_touched(gap: Gap) -> int:
    """Places where our code uses the upstream at all."""
    return len(find_standings(gap))


_BARE = 2
"""Of the words about a name: they tell its state alone."""
_STATES = {
    State.NO_LONGER_BINDS: "our call no longer fits",
    State.CANNOT_ACCEPT: "our code no longer fits",
    State.MISFIT: "still there, but our replacement no longer fits",
}


def say_state(state: str) -> str:
    """What became of a name, for people; `state` is the word of the evidence files."""
    return next((words for one, words in _STATES.items() if one.value == state), state)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenName:
    """One upstream name that places of ours stand on, and what became of it."""

    target: str
    said: str
    culprits: tuple[str, ...]
    """The commits that break its places."""
    places: tuple[str, ...]
    removed: str | None = None
    """The commit that removed it, where others had moved it before."""
    is_bare: bool = False
    """No more is known of it than its state."""
    also: tuple[str, ...] = ()
    """Names to which the same happened by the same commits."""


def group_broken(gap: Gap) -> list[BrokenName]:
    """Every place that breaks, under the names it uses; what happened to several is told once, most places first."""
    alike: dict[tuple[object, ...], list[BrokenName]] = {}
    for one in _group_names(gap):
        apart = one.target if one.is_bare else ""
        alike.setdefault((apart, one.said, one.culprits, one.removed), []).append(one)
    found = [
        replace(
            rows[0],
            places=tuple(dict.fromkeys(place for row in rows for place in row.places)),
            also=tuple(row.target for row in rows[1:]),
        )
        for rows in alike.values()
    ]
    return sorted(found, key=lambda row: (-len(row.places), row.target))


def _group_names(gap: Gap) -> list[BrokenName]:
    """The same, one by one."""
    left, clashes = {one.target: one for one in gap.successors}, _find_clashes(gap)
    rows = [
        (one.target, str(one.location), _say_coupling(one, left.get(one.target), clashes), one.culprit)
        for one in gap.couplings
        if one.consequence is Consequence.WILL_BREAK
    ]
    rows += [
        (
            row.target or row.patch,
            str(row.location),
            _say_patch(row, left.get(row.target or "")),
            find_culprit(gap.couplings, row),
        )
        for row in find_further_patches(gap)
    ]
    removed = {one.target: one.later[-1] for one in gap.couplings if one.state is State.REMOVED and one.later}
    groups: dict[str, list[tuple[str, tuple[int, str], str | None]]] = {}
    for target, place, said, culprit in rows:
        groups.setdefault(target, []).append((place, said, culprit))
    found = [
        BrokenName(
            target=target,
            said=_tell_module(gap, target, min(said for _, said, _ in inside)),
            is_bare=min(said for _, said, _ in inside)[0] == _BARE and not _find_module(gap, target),
            culprits=tuple(dict.fromkeys(culprit for _, _, culprit in inside if culprit)),
            places=tuple(dict.fromkeys(place for place, _, _ in inside)),
            removed=removed.get(target),
        )
        for target, inside in groups.items()
    ]
    return sorted(found, key=lambda row: (-len(row.places), row.target))


def _find_clashes(gap: Gap) -> dict[str, int]:
    """New addresses at which several names meet that our patches replace, with how many: the last replacement wins."""
    patched = {row.target for row in gap.patches or () if row.target}
    homes = {one.target: one.new_target for one in gap.couplings if one.new_target and one.target in patched}
    return {home: number for home, number in Counter(homes.values()).items() if number > 1}


def _tell_module(gap: Gap, target: str, said: tuple[int, str]) -> str:
    """What is told of a name, and where nothing is, whether the package it stood in is a module now."""
    weight, text = said
    return f"{text}; its package is a module now" if weight == _BARE and _find_module(gap, target) else text


def _find_module(gap: Gap, target: str) -> str | None:
    """The package that the name stood in, where it is a module now."""
    folders = (one.path.replace("/", ".") for one in gap.packages if one.is_module)
    return next((folder for folder in folders if target.startswith(f"{folder}.")), None)


def _say_coupling(one: Coupling, left: Successor | None, clashes: Mapping[str, int]) -> tuple[int, str]:
    """What became of the name, with how much the words tell: an address first, then a reason, then the state alone."""
    state = say_state(one.state.value)
    if one.new_target:
        differs = f"; {left.short}" if left is not None and left.short else ""
        number = clashes.get(one.new_target, 0)
        meet = f"; {number} names that we replace became one name, so the last replacement wins" if number else ""
        return 0, f"{state}, now {one.new_target}{differs}{meet}"
    if one.near:
        return 1, f"{state}; {one.near} may take its place"
    if left is not None and say_instead(left):
        return 1, f"{state}; {say_instead(left)}"
    if one.state in {State.REMOVED, State.UNBOUND} or not one.detail:
        return _BARE, state
    return 1, _say_problem(one.why) or f"{state}: {say(one.why[0]) if one.why else one.detail}"


def _say_problem(reasons: Iterable[Why]) -> str:
    """What is wrong with our code: a whole sentence, which needs no state before it; empty where no reason is one."""
    whole = PROBLEMS | {Reason.OVERRIDE_MISFITS, Reason.BYPASSED}
    return next((say(why) for why in reasons if why.reason in whole), "")


def _say_patch(row: Drift, left: Successor | None) -> tuple[int, str]:
    kind = say_kind(row)
    breaking = [one.why for one in row.findings if one.severity is Severity.BREAKS]
    reasons = [why for why in row.reasons if why in breaking] or row.reasons
    near = row.suggestion
    if row.kind is DriftKind.REMOVED and near is not None and may_replace(near, row.target or ""):
        return 1, f"{kind}; {near.target} may take its place"
    if row.kind is DriftKind.REMOVED and left is not None and say_instead(left):
        return 1, f"{kind}; {say_instead(left)}"
    alone = row.kind is DriftKind.REMOVED or not reasons
    return (_BARE, kind) if alone else (1, _say_problem(reasons) or f"{kind}: {say(reasons[0])}")


def say_kind(row: Drift) -> str:
    """The drift of a patch that breaks: where its target stays it is our replacement that fails."""
    stays = {DriftKind.UNCHANGED, DriftKind.BODY_CHANGED}
    return _STATES[State.MISFIT] if row.kind in stays else row.kind.value.replace("-", " ")


def common_folder(places: Iterable[str]) -> str:
    """The folder that holds all places, with its slash; empty where there is none."""
    folders = [place.rpartition("/")[0].split("/") for place in places]
    if not folders:
        return ""
    shared: list[str] = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) + "/" if shared and shared != [""] else ""
