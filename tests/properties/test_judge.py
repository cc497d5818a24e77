"""Whatever was measured: an accepted candidate satisfies every condition the rule names, and the literal rule too."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from layline.campaign.values.judge import judge, look
from layline.campaign.values.measurement import Arm, Environment, Measurement, Plan, Ratio, Sample, Status, Timing

QUIET = Environment(
    cpu="x",
    cores=2,
    governor=None,
    load_before=0,
    load_after=0,
    kernel="6",
    python="3",
    sandbox=(),
    weaker=(),
    is_contended=False,
)
LOG_RATIO = st.floats(-0.3, 0.6)


@st.composite
def measurements(draw: st.DrawFn) -> Measurement:
    pairs, shapes = draw(st.sampled_from([5, 8, 12, 18, 26])), draw(st.integers(1, 3))
    names = tuple(f"s{number}" for number in range(shapes))
    centres = [draw(LOG_RATIO) for _ in names]
    spread = draw(st.sampled_from([0.0, 0.002, 0.02, 0.1]))
    samples, ratios = [], []
    for pair in range(pairs):
        for name, centre in zip(names, centres, strict=True):
            value = centre + spread * draw(st.floats(-1, 1))
            ratios.append(Ratio(pair=pair, leg=Arm.CANDIDATE, shape=name, cpu=value, wall=value))
            for leg, ms in ((Arm.BEST, 10.0), (Arm.CANDIDATE, 10.0 * 2.718281828 ** (-value))):
                time = Timing(calls=9, low=ms, median=ms, mean=ms, stddev=0.0)
                samples.append(Sample(pair=pair, leg=leg, shape=name, step="forward", cpu=time, wall=time))
    return Measurement(
        status=Status.MEASURED,
        operator="gemm",
        shapes=names,
        plan=Plan(),
        environment=QUIET,
        seed_commitment="",
        seed="",
        pairs=pairs,
        samples=tuple(samples),
        ratios=tuple(ratios),
    )


@settings(max_examples=60)
@given(measurements())
def test_accepted_means_every_condition_holds(measurement: Measurement) -> None:
    verdict = judge(measurement)
    if not verdict.outcome.is_accepted:
        return
    assert verdict.interval is not None
    assert verdict.interval.lower > measurement.plan.min_effect
    assert all(row.gain.estimate > -measurement.plan.shape_loss for row in verdict.shapes)
    assert verdict.amd_literal is not None
    assert verdict.amd_literal.accepts


@settings(max_examples=60)
@given(measurements())
def test_what_a_look_decides_the_end_does_not_reverse(measurement: Measurement) -> None:
    decided = look(measurement)
    if decided is not None:
        assert judge(measurement).outcome is decided.outcome


@settings(max_examples=60)
@given(measurements())
def test_the_verdict_is_a_function_of_the_measurement(measurement: Measurement) -> None:
    assert judge(measurement) == judge(measurement)
