"""Probes that no clock decides run side by side: nothing is timed meanwhile, and each has a process to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from layline.campaign.measure.inputs import draw_bare
from layline.campaign.measure.probes.lanes import Line, run_lanes
from layline.campaign.measure.probes.probe import AGAIN, Found, Probe, Trial, run_probes
from layline.campaign.measure.sizes import fit_shapes, spread_residues
from layline.campaign.values.operator import Shape

if TYPE_CHECKING:
    from numpy.random import Generator

MOST_BEFORE, TOGETHER = 400, 16
"""Calls that nobody looks at before a probe is made in a new process, and calls to a request: which call of a process a
probe's are cannot be foreseen.
"""
MOST_ON_DEVICE = 50
"""The same where a device is everybody's who makes such calls beside it, one to a request."""
FEW = 5
"""Lanes with which the kernel on trial has its share of the long ones, where a process takes seconds to start."""
Say = Callable[[str], None]


def run_beside(probes: Iterable[Probe], on: Trial, gives: frozenset[str], say: Say, lanes: int) -> None:
    """Those that share the kernel on trial one after the other, the others on lanes of their own; all at once.

    Whichever of them finds a fault, the first in the table's order is told, as if they had been made in that order.
    """
    chosen, device = tuple(probes), on.stage.device
    shared, apart = split(chosen, lanes, is_slow=device.starts_slowly)
    order = [one.name for one in chosen]
    chances = dict(zip(order, on.stage.rng.spawn(len(order)), strict=True)) if device.forks else {}
    run = partial(_run_share, order=order, gives=gives, say=say, chances=chances)
    with device.spread(), Line(apart) as line:
        shares = deal(apart, lanes) if device.starts_slowly else [line] * min(lanes, len(apart))
        done = run_lanes(run, on, [shared, *shares], forks=device.forks)
    for lane in done:
        on.take(lane.found)
    faults = {order.index(lane.ended_by): lane.fault for lane in done if lane.fault}
    if faults:
        raise faults[min(faults)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """What became of a share: what was found, and the probe that ended it, with its reason."""

    found: Found
    ended_by: str = ""
    fault: Exception | None = None


def _run_share(
    share: Iterable[Probe],
    lane: int,
    on: Trial,
    *,
    order: list[str],
    gives: frozenset[str],
    say: Say,
    chances: Mapping[str, Generator],
) -> Lane:
    """After a fault only those that come before it in the table: theirs would be told instead."""
    mine, ended_by, found = on.on_lane(lane), "", None
    for probe in share:
        if ended_by and order.index(probe.name) > order.index(ended_by):
            continue
        if lane and chances:  # in a fork: nobody else draws what is drawn here, whichever fork it is
            on.stage.rng.bit_generator.state = chances[probe.name].bit_generator.state
        try:
            _run_one(probe, mine, gives, say, is_apart=lane > 0)
        except Exception as fault:  # noqa: BLE001  whoever waits for it raises it
            ended_by, found = probe.name, fault
    return Lane(found=mine.found, ended_by=ended_by, fault=found)


def split(
    probes: tuple[Probe, ...], lanes: int, *, is_slow: bool = False
) -> tuple[tuple[Probe, ...], tuple[Probe, ...]]:
    """What is made with the kernel on trial, in the table's order, and what is made beside it, the longest first; where a
    process takes seconds to start only those are made apart that bring their own, or whose can be started ahead.
    """

    def has_process(one: Probe) -> bool:
        return one.opens_own or (AGAIN in one.ahead and (lanes > FEW or not one.is_long))

    shared = tuple(one for one in probes if not (lanes and one.is_apart and (not is_slow or has_process(one))))
    # those with programs of their own wait as well as work: the first of all, so that others have the cores meanwhile
    waits = [one for one in probes if one.opens_own and not is_slow]
    apart = sorted((one for one in probes if one not in shared), key=lambda one: (not one.is_long, one not in waits))
    return shared, tuple(apart)


def deal(probes: tuple[Probe, ...], lanes: int) -> list[tuple[Probe, ...]]:
    """Each to the lane that is free first, where their processes were started ahead: nobody who comes later makes another
    one change lanes.
    """
    dealt: list[tuple[Probe, ...]] = [()] * lanes
    for probe in probes:
        lane = min(range(lanes), key=lambda one: sum(probe.takes_s for probe in dealt[one]))
        dealt[lane] = (*dealt[lane], probe)
    return dealt


def find_ahead(probes: tuple[Probe, ...], lanes: int, new: tuple[Probe, ...]) -> Iterator[tuple[str, int]]:
    """Processes of the new ones of them that can be started before they are asked for, and the lane of each; what could
    have been apart and is not has the kernel on trial.
    """
    shared, apart = split(probes, lanes, is_slow=True)
    for lane, share in enumerate((shared, *deal(apart, lanes))):
        asked = (one for one in share if one in new)
        yield from (
            (what, lane)
            for one in asked
            for what in one.ahead
            if lane or one.opens_own or not one.is_apart or what != AGAIN
        )


def _run_one(probe: Probe, on: Trial, gives: frozenset[str], say: Say, *, is_apart: bool) -> None:
    if not is_apart or probe.needs - gives or probe.opens_own:
        run_probes((probe,), on, gives, say)
        return
    kept = on.trial
    with on.open_again(None, ()).loaded() as on.trial:
        _make_calls(on)
        run_probes((probe,), on, gives, say)
    on.trial = kept


def _make_calls(on: Trial) -> None:
    """A number of calls nobody can foresee, of every pass. Most are on something small, which costs little: who counts calls
    counts them as well. Of a listed shape it is as likely a handful as hundreds, for who counts only those.
    """
    stage, rng = on.stage, on.stage.rng
    listed = stage.by_work[0]
    if not stage.device.pace.whole:
        _call_unseen(on, listed, int(rng.integers(0, MOST_ON_DEVICE)), together=1)
        return
    for small in islice(fit_shapes(stage.operator, spread_residues(stage.operator, rng), stage.arena_bytes / 4), 1):
        _call_unseen(on, small, int(rng.integers(0, MOST_BEFORE)), together=TOGETHER)
    _call_unseen(on, listed, int(MOST_BEFORE ** rng.random()) - 1, together=TOGETHER)


def _call_unseen(on: Trial, shape: Shape, calls: int, *, together: int) -> None:
    stage, passes = on.stage, on.stage.operator.passes
    count = max(1, min(together, stage.device.count_room(stage, shape) // len(passes)))
    given = draw_bare(stage, shape, count=count)
    laid = [on.trial.fill(step, given) for step in passes]
    for made in range(0, calls, count):
        for filled in laid:
            on.trial.worker.call(filled[: calls - made])
