"""Probes that no clock decides run side by side: nothing is timed meanwhile, and each has a process to itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from layline.campaign.measure.inputs import draw
from layline.campaign.measure.probes.probe import AGAIN, Probe, Trial, run_probes

MOST_BEFORE, TOGETHER = 50, 8
"""Requests, and calls to each, that nobody looks at before a probe is made in a new process: which call of a process a
probe's are cannot be foreseen.
"""
Say = Callable[[str], None]


def run_beside(probes: Iterable[Probe], on: Trial, gives: frozenset[str], say: Say, lanes: int) -> None:
    """Those that share the kernel on trial one after the other, the others on lanes of their own; all at once.

    Whichever of them finds a fault, the first in the table's order is told, as if they had been made in that order.
    """
    chosen = tuple(probes)
    shares = deal(chosen, lanes)
    work = [(share, on.on_lane(lane)) for lane, share in enumerate(shares) if share]
    faults: dict[int, BaseException] = {}

    def run(share: tuple[tuple[Probe, ...], Trial]) -> None:
        for probe in share[0]:
            try:
                _run_one(probe, share[1], gives, say, is_apart=probe not in shares[0])
            except Exception as fault:  # noqa: BLE001  told below, by whoever waits for it
                faults[chosen.index(probe)] = fault
                return

    with ThreadPoolExecutor(max_workers=max(1, len(work))) as pool:
        list(pool.map(run, work))
    for _probes, found in work:
        on.take(found)
    if faults:
        raise faults[min(faults)]


def deal(probes: tuple[Probe, ...], lanes: int) -> list[tuple[Probe, ...]]:
    """What is made with the kernel on trial, then what is made on each lane, in the table's order."""
    shared = tuple(one for one in probes if not one.is_apart or not lanes)
    dealt: list[tuple[Probe, ...]] = [()] * lanes
    for at, probe in enumerate(one for one in probes if one not in shared):
        turn, lane = divmod(at, lanes)
        lane = lanes - 1 - lane if turn % 2 else lane  # the first of them, who take longest, get company last
        dealt[lane] = (*dealt[lane], probe)
    return [shared, *dealt]


def find_ahead(probes: tuple[Probe, ...], lanes: int) -> Iterator[tuple[str, int]]:
    """Processes that can be started before they are asked for, one of a kind on a lane."""
    for lane, share in enumerate(deal(probes, lanes)):
        yield from dict.fromkeys(
            (what, lane) for one in share for what in one.ahead if lane or one.opens_own or what != AGAIN
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
    """A number of calls nobody can foresee, of every pass."""
    stage, passes = on.stage, on.stage.operator.passes
    shape = stage.by_work[0]
    count = max(1, min(TOGETHER, stage.device.count_room(stage, shape) // len(passes)))
    given = draw(stage, shape, count=count)
    laid = [on.trial.fill(step, given) for step in passes]
    for _before in range(int(stage.rng.integers(0, MOST_BEFORE))):
        for filled in laid:
            on.trial.worker.call(filled)
