"""The gate's own calls: every distribution, held-out shapes, repetition, state that outlives a call, foreign code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.arm import LiveLeg, Setup
from layline.campaign.measure.inputs import draw, keep, nudge, permute, repeat
from layline.campaign.measure.oracle import ERROR_FLOOR
from layline.campaign.measure.probes.probe import Carried
from layline.campaign.measure.sizes import find_empty_shapes, find_far_shapes, walk_sizes
from layline.campaign.values.describe import describe_shape
from layline.campaign.values.model import Bucket, Operator, Pass, Shape
from layline.campaign.values.statistics import denies_gain, quantile

if TYPE_CHECKING:
    import numpy as np

REPEATS = 12
LARGE_FLOPS = 4e7
GROWTH_BATCH, GROWTH_REQUESTS = 8, 4
"""Calls to a request, requests to a block, while looking for what is never given back."""
HOLDINGS = {"KiB of memory": (1, 1 << 30), "threads": (0.2, 512), "open files": (0.2, 16)}
"""The growth per step, block after block, that is a leak, and the most there may be at all: the limit on files may have
stopped one that opens ever more long before it is looked at."""
STATE_CALLS = 9
STATE_BATCHES = (6, 1)
"""Calls to a request while looking for state."""
STALL_CALLS = 120
SERIES = 3
"""How often what a busy machine could do as well must be seen before it is held against a kernel."""
TRAINING_STEPS = 8
STATE_DOUBT = 1.15
"""How much faster repeated inputs must make the candidate before the best is asked what they do for it."""
STATE_RATIO = 1.3
"""How much faster repeated inputs must make a call, beyond what they do for the best kernel, to count as state."""
HIDDEN_NS, HIDDEN_SHARE = 50_000_000, 0.05
PROVENANCE_CALLS = 6
PROVENANCE_RATIO = 1.3
OWN_LIBRARIES = (
    "ld-linux",
    "libc.so",
    "libm.so",
    "libm-",
    "libc-",
    "libpthread",
    "libdl",
    "libgomp",
    "libffi",
    "libpython",
    "libmvec",
    "libgcc_s",
    "librt",
    "libutil",
)


def probe_inputs(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> None:
    """Every shape with every distribution, then with one element changed on the same place."""
    operator = setup.operator
    for shape in setup.shapes:
        for kind in rng.permutation(list(operator.distributions)):
            given = draw(operator, shape, rng, str(kind))
            for step in operator.passes:
                leg.run(step, given)
        _probe_every_input(setup, leg, shape, rng)


def _probe_every_input(setup: Setup, leg: LiveLeg, shape: Shape, rng: np.random.Generator) -> None:
    """Each input of each pass in turn: a call, then the same call with one element of that input changed, twice
    over.
    """
    operator = setup.operator
    for step in operator.passes:
        for name in (*step.inputs, *step.inputs):
            given = draw(operator, shape, rng, operator.distributions[0])
            leg.run(step, given)
            leg.run(
                step, permute(operator, given, rng, name)
            )  # right after it: what is kept under a sum still has that sum
            leg.run(step, nudge(operator, given, rng, name))


def probe_held_out(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> None:
    """Neighbours of every shape: odd, prime, tiny, empty, ragged."""
    operator = setup.operator
    for shape in setup.shapes:
        for near in operator.neighbours(shape, rng):
            kinds = (operator.distributions[0], str(rng.choice(operator.distributions[1:])))
            for kind in kinds:
                given = replace(draw(operator, near, rng, kind), is_held_out=True)
                for step in operator.passes:
                    leg.run(step, given)
    _probe_far(setup, leg, rng)


def _probe_far(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> None:
    """Sizes far beyond the listed ones, then single steps up and down: a work area too small, or not cleared, shows."""
    operator = setup.operator
    # a Python kernel is called with views of memory, and an empty one has no shape to be called with
    empty = find_empty_shapes(operator) if operator.language != "python" else ()
    far = (*find_far_shapes((*setup.shapes, *operator.shapes), rng), *empty)
    normal = operator.distributions[0]
    walk = tuple(walk_sizes(operator))
    # the walk has rows of one element, which rounding alone can spoil: exact values where the operator has them
    for shape, kind in (*((one, normal) for one in far), *((one, operator.exact or normal) for one in walk)):
        given = replace(draw(operator, shape, rng, kind), is_held_out=True)
        for step in operator.passes:
            leg.run(step, given)


def probe_memory(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> None:
    """Calls made over and over, on new values, must not take ever more of the process: nobody paid for what is never
    given back.
    """
    operator = setup.operator
    # groups of different sizes come in another order with each call, which may not cost memory either
    shape = min(setup.shapes, key=lambda shape: (-len(set(shape.groups)), operator.passes[0].flops(shape)))
    seen = []
    for _block in range(4):
        seen.append(leg.worker.count_holdings())
        for _request in range(GROWTH_REQUESTS):
            given = draw(operator, shape, rng, operator.distributions[0], count=GROWTH_BATCH)
            for step in operator.passes:
                leg.run(step, given)
    calls = GROWTH_BATCH * GROWTH_REQUESTS
    for what, (least, most) in HOLDINGS.items():
        counts = [holdings[what] for holdings in seen]
        growth = min(later - sooner for sooner, later in pairwise(counts[1:]))  # the first block fills pools
        if growth >= least * calls or max(counts) > most:
            raise Fault(
                "bounded-memory",
                f"Calls on {describe_shape(shape)} leave ever more {what} behind: nobody gives them back.",
                f"{what} beyond those after loading, before each {calls} steps: {', '.join(map(str, counts))}",
            )


def probe_stalls(setup: Setup, leg: LiveLeg, best: LiveLeg, rng: np.random.Generator) -> None:
    """Many single calls in a row, of both legs: what rare long calls cost, which a process pair has too few calls to
    see.

    A busy machine makes long calls, too, but not the candidate's alone in one series after the other.
    """
    shape = min(setup.shapes, key=setup.operator.passes[0].flops)
    for _series in range(SERIES):
        costs = _time_in_a_row(setup, leg, best, shape, rng)
        ours, theirs = (sorted(costs[of])[:-1] for of in (True, False))  # one long call is an accident of the machine
        typical = quantile(theirs, 0.5), quantile(ours, 0.5)
        mean = sum(theirs) / len(theirs), sum(ours) / len(ours)
        if not denies_gain(typical, mean):
            return
    raise Fault(
        "gain-in-the-mean",
        f"On {describe_shape(shape)} a typical call takes {typical[1]:.3g} ms (the best {typical[0]:.3g}), but the "
        "mean of "
        f"{STALL_CALLS} calls is {mean[1]:.3g} ms (the best {mean[0]:.3g}): a few calls take much longer.",
        f"the longest calls: {', '.join(f'{cost:.3g}' for cost in sorted(costs[True])[-4:])} ms",
        f"so it was in {SERIES} series of {STALL_CALLS} calls, one after the other",
    )


def _time_in_a_row(
    setup: Setup, leg: LiveLeg, best: LiveLeg, shape: Shape, rng: np.random.Generator
) -> dict[bool, list[float]]:
    """CPU milliseconds of single calls of all passes, in turns: of the candidate (True) and of the best."""
    operator = setup.operator
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _call in range(STALL_CALLS):
        given = draw(operator, shape, rng, operator.distributions[0])
        for one in (leg, best):
            costs[one is leg].append(sum(one.run(step, given).cpu_ns for step in operator.passes) / 1e6)
    return costs


def probe_repetition(setup: Setup, leg: LiveLeg, rng: np.random.Generator) -> None:
    """The same inputs again: outputs may differ by rounding (another order of summation), not by more.

    On every core there is, because threads that take turns on one core hardly ever race; a kernel that uses threads is
    also tried on something large, where they meet for longer.
    """
    operator = setup.operator
    with leg.worker.on_every_core():
        for shape in setup.shapes:
            for step in operator.passes:
                _repeat(operator, leg, shape, step, rng)
        if leg.worker.uses_threads():
            largest = _enlarge(setup, max(setup.shapes, key=operator.passes[0].flops))
            for step in operator.passes:
                _repeat(operator, leg, largest, step, rng)


def _enlarge(setup: Setup, shape: Shape) -> Shape:
    """Every extent doubled as long as a call stays cheap and fits the memory well; the number of groups stays."""
    passes, label = setup.operator.passes, f"{shape.label}~large"
    while True:
        sizes = tuple((name, value if name == "G" else 2 * value) for name, value in shape.sizes)
        wider = replace(shape, label=label, sizes=sizes, groups=tuple(2 * rows for rows in shape.groups))
        moved = max(step.bytes_moved(wider) for step in passes)
        if passes[0].flops(wider) > LARGE_FLOPS or 8 * moved > setup.arena_bytes:
            return shape
        shape = wider


def _repeat(operator: Operator, leg: LiveLeg, shape: Shape, step: Pass, rng: np.random.Generator) -> None:
    import numpy as np

    given = repeat(operator, draw(operator, shape, rng, operator.distributions[0]))
    runs = [leg.run(step, given) for _ in range(REPEATS)]
    allowed = 8 * max(ERROR_FLOOR, 4 * max(error.rms for run in runs for error in run.errors))
    for name in step.outputs:
        first = runs[0].outputs[0][name].astype(np.float64)
        if not first.size:
            continue
        scale = float(np.sqrt(np.mean(first * first))) or 1.0
        spread = max(float(np.abs(run.outputs[0][name] - first).max()) for run in runs[1:]) / scale
        if not spread <= allowed:
            raise Fault(
                "repeatable",
                f"{step.symbol} on {describe_shape(shape)} gives different {name} for the same inputs, by more "
                "than rounding.",
                f"spread {spread:.1e} of the output's size, rounding explains {allowed:.1e}",
            )


def probe_state(setup: Setup, leg: LiveLeg, best: LiveLeg, rng: np.random.Generator) -> Carried:
    """Does repeating inputs make the candidate faster than it makes the best kernel? Then something outlives the
    call.
    """
    operator = setup.operator
    names = tuple(dict.fromkeys(name for step in operator.passes for name in step.inputs))
    for shape in _extremes(setup.shapes, operator.passes[0].flops):

        def repeating_helps(kept: tuple[str, ...], shape: Shape = shape) -> bool:
            # Several calls to a request show what is kept by contents, single ones what is kept by address as well.
            # Three times, because once or twice could be the neighbours' noise.
            return any(
                all(_speed_up(setup, (leg, best), shape, rng, kept, count) >= STATE_RATIO for _ in range(3))
                for count in STATE_BATCHES
            )

        if not repeating_helps(names):
            continue
        single = [name for name in names if repeating_helps((name,))]
        found = _sort_into_bucket(operator, single, names, describe_shape(shape))
        trace, share = simulate_training(setup, leg, shape, rng)
        return replace(found, trace=trace, share=share)
    largest = next(_extremes(setup.shapes, operator.passes[0].flops))
    trace, _share = simulate_training(setup, leg, largest, rng)  # nothing to bound, but the trace is evidence
    return Carried(what="", trace=trace)


def _sort_into_bucket(operator: Operator, single: list[str], names: tuple[str, ...], where: str) -> Carried:
    """Which inputs, met again, make the kernel faster, and the bucket that means."""
    if not single:
        return Carried(what=f"repeating {', '.join(names)} together makes {where} faster", bucket=Bucket.W3)
    if all(name in operator.weights for name in single):
        return Carried(what=f"repeating {', '.join(single)} (a weight) makes {where} faster", bucket=Bucket.W1)
    return Carried(what=f"repeating {', '.join(single)} makes {where} faster", bucket=Bucket.W2)


def _extremes(shapes: tuple[Shape, ...], flops: object) -> Iterator[Shape]:
    """The largest shape and the smallest."""
    assert callable(flops)  # noqa: S101  mypy cannot carry the field's type through
    ordered = sorted(shapes, key=lambda shape: float(flops(shape)))
    yield ordered[-1]
    if len(ordered) > 1:
        yield ordered[0]


def _speed_up(
    setup: Setup,
    legs: tuple[LiveLeg, LiveLeg],
    shape: Shape,
    rng: np.random.Generator,
    kept: tuple[str, ...],
    count: int,
) -> float:
    """time(fresh) / time(kept inputs repeated): what three in four of the candidate's calls reach, over the best's
    median.
    """
    operator = setup.operator
    ratios: dict[tuple[bool, str], list[float]] = {}
    for one in legs:
        if one is legs[1] and max(quantile(ratios[True, step.name], 0.25) for step in operator.passes) < STATE_DOUBT:
            return 1.0  # nobody is that much slower on repeated inputs that the best's share would make it state
        anchor = draw(operator, shape, rng, operator.distributions[0], count=count)
        for step in operator.passes:
            one.run(step, anchor)
        for _call in range(STATE_CALLS if count == 1 else STATE_CALLS // 2):
            other = replace(draw(operator, shape, rng, operator.distributions[0], count=count), on_same_place=True)
            # the first fills what remembers
            first, second = (keep(operator, anchor, rng, kept, count=count) for _ in range(2))
            for step in operator.passes:
                fresh, _filling, same = (one.run(step, given).cpu_ns for given in (other, first, second))
                ratios.setdefault((one is legs[0], step.name), []).append(fresh / same)
    return max(
        quantile(ratios[True, step.name], 0.25) / quantile(ratios[False, step.name], 0.5) for step in operator.passes
    )


def simulate_training(setup: Setup, leg: LiveLeg, shape: Shape, rng: np.random.Generator) -> tuple[str, float]:
    """Eight steps as in training: activations and gradients fresh, one weight for all passes of a step, then updated.

    Which passes were served from memory (`h`) and which not (`m`), and the share of time that saved.
    """
    operator = setup.operator
    known = {step.name: _hit_and_miss(setup, leg, shape, rng, at) for at, step in enumerate(operator.passes)}
    trace, saved, spent = [], 0.0, 0.0
    for _step in range(TRAINING_STEPS):
        given = draw(operator, shape, rng, operator.distributions[0])
        for step in operator.passes:
            cost = leg.run(step, given).cpu_ns
            hit, miss = known[step.name]
            is_hit = hit * STATE_RATIO < miss and cost < hit + (miss - hit) / 4
            trace.append("h" if is_hit else "m")
            saved += max(0.0, miss - cost) if is_hit else 0.0
            spent += cost
            given = keep(operator, given, rng, operator.weights)  # the next pass sees the same weight, all else is new
    return "".join(trace), saved / (saved + spent)


def _hit_and_miss(setup: Setup, leg: LiveLeg, shape: Shape, rng: np.random.Generator, at: int) -> tuple[float, float]:
    """CPU nanoseconds of one pass with every input repeated, and with none."""
    operator = setup.operator
    step = operator.passes[at]
    hits, misses = [], []
    for _call in range(5):
        given = draw(operator, shape, rng, operator.distributions[0])
        misses.append(leg.run(step, given).cpu_ns)
        hits.append(leg.run(step, replace(repeat(operator, given), on_same_place=True)).cpu_ns)
    return quantile(hits, 0.5), quantile(misses, 0.5)


def find_foreign_code(leg: LiveLeg, own: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Files whose code is in the worker although it was neither built from the sources nor is the system's or
    interpreter's own.
    """
    kernel = leg.worker.kernel.path.name
    return tuple(
        sorted(
            file
            for file in leg.worker.mapped_files() - own
            if file.startswith("/")
            and not file.endswith(f"/{kernel}")
            and "/lib-dynload/" not in file
            and not file.rpartition("/")[2].startswith((*OWN_LIBRARIES, "python"))
        )
    )


def probe_provenance(
    setup: Setup, leg: LiveLeg, masked: LiveLeg, foreign: tuple[str, ...], rng: np.random.Generator
) -> None:
    """A library was loaded; without it the kernel must still be right and as fast, else the library does the work."""
    for _series in range(SERIES):
        worst = max(_compare_without(setup, (leg, masked), shape, foreign, rng) for shape in setup.shapes)
        if worst <= PROVENANCE_RATIO:
            return
    raise Fault(
        "own-code",
        f"Without {foreign[0]} the kernel takes {worst:.1f} times as long: the library does the work.",
        *foreign[:5],
    )


def _compare_without(
    setup: Setup, legs: tuple[LiveLeg, LiveLeg], shape: Shape, foreign: tuple[str, ...], rng: np.random.Generator
) -> float:
    """How many times as long calls take when the library is hidden."""
    operator = setup.operator
    costs: dict[bool, list[float]] = {True: [], False: []}
    for _call in range(PROVENANCE_CALLS):
        given = draw(operator, shape, rng, operator.distributions[0])
        for one in (legs[int(at)] for at in rng.permutation(2)):
            try:
                costs[one is legs[0]].append(sum(one.run(step, given).cpu_ns for step in operator.passes))
            except Fault as fault:
                raise Fault(
                    "own-code", f"Without {foreign[0]} the kernel no longer works: {fault.reason}", *foreign[:5]
                ) from None
    return quantile(costs[False], 0.25) / quantile(costs[True], 0.25)


def probe_leftovers(leg: LiveLeg) -> None:
    """Nothing else may be left running, and nobody else may have worked for the kernel."""
    hidden = leg.worker.uncharged_ns()
    if hidden > max(HIDDEN_NS, HIDDEN_SHARE * leg.worker.charged_ns):
        raise Fault(
            "charged-in-full",
            f"Processes other than the worker used {hidden / 1e6:.0f} ms of CPU time on its behalf.",
            f"the worker itself {leg.worker.charged_ns / 1e6:.0f} ms, by {leg.worker.account.kind}",
        )
    children = leg.worker.children()
    if children:
        raise Fault("leaves-no-process", f"The kernel left {children} process(es) running.")
