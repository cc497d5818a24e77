"""How far each target is behind or moved, with what it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, TypeAlias

from layline.config import Backend, StatusShape, TrackedPin
from layline.core.checks import clean_line
from layline.core.evidence import Skipped
from layline.core.policy import Inputs, Policy, recommend
from layline.core.revision import Commit, Relation
from layline.errors import Error
from layline.history.commits import Distance, compare_commits, find_tip_at, read_commit
from layline.history.pins import read_pin
from layline.periodic.merged import read_variables
from layline.periodic.model import (
    CountedMove,
    Drift,
    Effect,
    Notable,
    PinMove,
    Previous,
    RepoDrift,
    TrackedCommit,
    Window,
)
from layline.periodic.window import find_unit, find_unit_start

if TYPE_CHECKING:
    from layline.git import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A backend with the repository that holds its upstream objects."""

    key: str
    backend: Backend
    upstream: Repository
    head: str
    """Where the compared ref is now; its tip at another time is found from here."""

    @property
    def label(self) -> str:
        return self.backend.label or self.key


FindNotable: TypeAlias = "Callable[[Target, str, str, frozenset[str]], tuple[tuple[Notable, ...], int]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportScope:
    """What every measurement of one report stands on."""

    downstream: Repository
    before: str | None
    tip: str
    head: str
    """Where the downstream's ref is now."""
    window: Window
    policy: Policy
    backends: Mapping[str, Backend]
    previous: Mapping[str, Previous]
    """By key, what the report before this one said."""
    find_notable: FindNotable
    """Upstream changes between two commits, the most notable first, and how many there are in all."""
    measure_effect: Callable[[Target, str, str], Effect | None]
    """What the way from pin to tip does to our code; None where that was not asked for or cannot be told."""


def measure_drift(ground: ReportScope, target: Target) -> Drift | Skipped:
    """Pin against tip at the window's end."""
    what = f"drift of {target.key}"
    try:
        pin = target.upstream.resolve(read_pin(ground.downstream, ground.tip, target.key, target.backend).revision)
        tip = find_tip_at(target.upstream, target.head, ground.window.end)
        if tip is None:
            return Skipped(what, f"{target.backend.ref} has no commit up to {ground.window.end.isoformat()}")
        distance = compare_commits(target.upstream, pin, tip)
        old_pin = _read_old_pin(ground, target, pin)
        previous = ground.previous.get(target.key) or _measure_start(ground, target, old_pin or pin)
        effect = ground.measure_effect(target, pin, tip)
    except Error as error:
        return Skipped(what, error.message)
    first, last = (_clean(read_commit(target.upstream, commit)) for commit in (pin, tip))
    age_days = (date.fromisoformat(last.date) - date.fromisoformat(first.date)).days
    inputs = Inputs(
        behind=distance.behind,
        age_days=age_days,
        will_break=effect.will_break if effect else None,
        to_fix=effect.to_fix if effect else None,
        pin_moved=old_pin is not None,
    )
    drift = Drift(
        key=target.key,
        label=target.label,
        repo=target.upstream.name,
        ref=short_ref(target.backend.ref),
        pin=first,
        tip=last,
        distance=distance,
        previous=previous,
        old_pin=old_pin,
        recommendation=recommend(inputs, ground.policy),
        stale_days=(ground.window.end - datetime.fromisoformat(last.committed)).days if tip == target.head else 0,
    )
    return _add_notable(ground, target, drift, effect.used_files if effect else frozenset())


def _clean(commit: Commit) -> Commit:
    return replace(commit, subject=clean_line(commit.subject, 120))


def _add_notable(ground: ReportScope, target: Target, drift: Drift, used_files: frozenset[str]) -> Drift:
    since = drift.previous.tip if drift.previous else drift.pin.hash
    if since == drift.tip.hash or not target.upstream.has(since):
        return drift
    notable, total = ground.find_notable(target, since, drift.tip.hash, used_files)
    return replace(drift, notable=notable, upstream_changes=total)


def _read_old_pin(ground: ReportScope, target: Target, pin: str) -> str | None:
    """The pin just before the window, where it was another one."""
    if ground.before is None:
        return None
    try:
        old = target.upstream.resolve(read_pin(ground.downstream, ground.before, target.key, target.backend).revision)
    except Error:
        return None  # there was no pin then, or its commit is not here: the moves tell what is known
    return old if old != pin else None


def _measure_start(ground: ReportScope, target: Target, pin: str) -> Previous | None:
    """Without an earlier report: what the distance was when the window began."""
    tip = find_tip_at(target.upstream, target.head, ground.window.start)
    if tip is None:
        return None
    since = ground.window.start.isoformat(timespec="minutes")
    return Previous(since=since, behind=compare_commits(target.upstream, pin, tip).behind, tip=tip)


def measure_repo_drift(
    ground: ReportScope, key: str, shape: StatusShape, target: Target | None
) -> Iterator[RepoDrift | Skipped]:
    """The commit variables of one target at the window's end against the beginning of the month or quarter."""
    base = find_unit_start(ground.window)
    at_base = find_tip_at(ground.downstream, ground.head, base)
    pins = tuple(_track(ground, name, pin, at_base, target) for name, pin in shape.pins.items())
    if target is None:
        yield Skipped(f"distances of {key}", "no clone of its repository is here, so its moves are not counted")
    against = measure_drift(ground, target) if target is not None else None
    if isinstance(against, Skipped):
        yield against
    upstream = against if isinstance(against, Drift) else None
    moved = any(pin.current != pin.start for pin in pins)
    behind = upstream.distance.behind if upstream else None
    inputs = Inputs(behind=behind, age_days=upstream.age_days if upstream else None, pin_moved=moved)
    yield RepoDrift(
        key=key,
        label=target.label if target else key,
        unit=find_unit(ground.window),
        base=base,
        pins=pins,
        upstream=upstream,
        recommendation=recommend(inputs, ground.policy),
    )


def _track(
    ground: ReportScope, name: str, pin: TrackedPin, at_base: str | None, target: Target | None
) -> TrackedCommit:
    line, current = read_variables(ground.downstream, ground.tip, pin.file).get(pin.variable, (None, None))
    _, base = read_variables(ground.downstream, at_base, pin.file).get(pin.variable, (None, None))
    _, start = read_variables(ground.downstream, ground.before, pin.file).get(pin.variable, (None, None))
    counting = target if pin.counted else None
    return TrackedCommit(
        name=name,
        variable=pin.variable,
        file=pin.file,
        line=line,
        current=current,
        base=base,
        start=start,
        counted=pin.counted,
        distance=_count(counting, base, current),
        window_distance=_count(counting, start, current),
    )


def _count(target: Target | None, old: str | None, new: str | None) -> Distance | None:
    if target is None or old is None or new is None:
        return None
    try:
        return compare_commits(target.upstream, target.upstream.resolve(old), target.upstream.resolve(new))
    except Error:
        return None  # a commit that is not here cannot be counted; the report shows both hashes all the same


def count_move(move: PinMove, target: Target | None) -> CountedMove:
    """The move with its distance, or why there is none."""
    if move.before is None or move.after is None:
        return CountedMove(move=move, distance=None, why="new" if move.before is None else "gone")
    if target is None:
        return CountedMove(move=move, distance=None, why="no backend is configured for it")
    distance = _count(target, move.before, move.after)
    return CountedMove(move=move, distance=distance, why="" if distance else "the local clone lacks one of the commits")


def short_ref(ref: str) -> str:
    """A branch as people call it."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def show_distance(distance: Distance) -> str:
    """`+32`, or what it is where the new commit does not simply follow the old one."""
    match distance.relation:
        case Relation.SAME:
            return "±0"
        case Relation.BEHIND:
            return f"+{distance.behind}"
        case Relation.AHEAD:
            return f"−{distance.ahead}"
        case _:
            return f"+{distance.behind} −{distance.ahead} ({distance.relation.value})"
