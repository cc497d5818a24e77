"""Operators of the user's own: what a file must say, what is drawn, which shapes are allowed, what a check refuses."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layline.campaign.check_operator import check_operator
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.inputs import draw, keep, lift, nudge, permute, put, rescale
from layline.campaign.measure.oracle import Close, Wrong, check_output
from layline.campaign.operators.own import guard
from layline.campaign.operators.own.arrays import NumpyNumbers
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.draws import draw_structure
from layline.campaign.operators.own.opened import find_data
from layline.campaign.operators.own.read import OperatorFile, read_operator_file, run_text
from layline.campaign.operators.own.sizes import find_neighbours, fit
from layline.campaign.operators.travel import open_operator, read_bytes, write_text
from layline.campaign.values.describe import describe_call
from layline.campaign.values.measurement import Plan
from layline.campaign.values.operator import Operator, Shape
from layline.campaign.values.operator_file import Axis, index, mask, offsets, permutation, routing, uniform
from layline.errors import ConfigError

FILE = """
import numpy as np
from layline.operators import Axis, Tensor, Tolerance

title = "Scaled rows"
language = "c"
axes = {"R": Axis(), "C": Axis(low=1)}
tensors = {"x": Tensor("R C"), "w": Tensor("C", role="weight"), "y": Tensor("R C")}
passes = {"forward": "x w -> y"}
shapes = {"small": {"R": 8, "C": 16}, "odd": {"R": 5, "C": 33}}
tolerance = Tolerance(rtol=1e-5, atol=1e-6)


def reference(step, x):
    return {"y": x.x * x.w}


starts = {"naive": '''#include <stdint.h>
int forward(const float *x, const float *w, float *y, int64_t R, int64_t C) {
    for (int64_t i = 0; i < R * C; i++) y[i] = x[i] * w[i % C];
    return 0;
}
'''}
"""


def read(text: str, folder: Path | None = None) -> OperatorFile:
    return run_text(text, "scaled.py", folder or Path("/nowhere"))


def build(text: str) -> Operator:
    return build_operator(read(text))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('title = "Scaled rows"', "", "title is missing"),
        ('language = "c"', 'language = "rust"', "is not one of c, python, triton, torch"),
        ('"w": Tensor("C", role="weight")', '"w": Tensor("Z")', "has the axis Z, which is not in axes"),
        ('Tensor("R C"), "w"', 'Tensor("R C", "float31"), "w"', "has the dtype 'float31'"),
        ('Tensor("R C"), "w"', 'Tensor("R C", "bfloat16"), "w"', "which numpy does not have"),
        ('"x w -> y"', '"x v -> y"', "names v, which is not in tensors"),
        ('"x w -> y"', '"x w"', "is not `inputs -> outputs`"),
        ('{"forward": "x w -> y"}', '{"backward": "x w -> y"}', "passes are `forward`"),
        ('"odd": {"R": 5, "C": 33}', '"odd": {"R": 5}', "shapes['odd'] does not give C"),
        ('"odd": {"R": 5, "C": 33}', '"odd": {"R": 5, "C": 33, "Q": 1}', "gives Q, which is not an axis"),
        ('{"R": Axis(), "C": Axis(low=1)}', '{"R": Axis(const=8), "C": Axis(const=16)}', "every axis is const"),
        ("import numpy as np", "import nonumpy", "scaled.py:2: ModuleNotFoundError"),
        ("def reference", "def referenced", "neither a reference nor a check"),
        ('role="weight"', 'role="heavy"', "has the role 'heavy'"),
        ('language = "c"', 'language = "c"\nraise SystemExit("no")', "scaled.py:7: SystemExit: no"),
        ('language = "c"', 'language = "c"\nlegal = 3', "legal is not a function."),
        ('{"R": 8, "C": 16}', "[8, 16]", "shapes is not a dict such as"),
        ('{"R": 8, "C": 16}', '{"R": -8, "C": 16}', "gives R=-8: a size is a whole number, 0 or more."),
        ('{"R": 8, "C": 16}', '{"R": 8, "C": "16"}', "gives C='16': a size is a whole number, 0 or more."),
        ("Tolerance(rtol=1e-5, atol=1e-6)", "1e-5", "tolerance is not a Tolerance of two numbers."),
        ("rtol=1e-5", "rtol='a'", "tolerance is not a Tolerance of two numbers."),
        ('"Scaled rows"', "4", "title is not a text."),
        ('language = "c"', 'language = "c"\nkinds = 3', "kinds is not a tuple such as"),
        ('language = "c"', 'language = "c"\nmetric = "xyz"', "metric is not one of GB/s, TFLOPS"),
        ('language = "c"', 'language = "c"\nexact = "a"', "exact is not a whole number"),
        ('language = "c"', 'language = "c"\nwrong = 5', "wrong is not a dict such as"),
        ('"C": Axis(low=1)', '"C": Axis(multiple=0)', "axes['C'] has a bound that is not a whole number"),
        ('Tensor("C", role="weight")', 'Tensor(["C"])', "tensors['w'] has axes that are neither a string"),
        ('Tensor("C", role="weight")', 'Tensor("C", draw=3)', "tensors['w'] has a draw that is not one of index"),
    ],
)
def test_a_file_that_does_not_say_enough_says_what_and_where(old: str, new: str, told: str) -> None:
    assert old in FILE
    with pytest.raises(ConfigError, match=r"scaled\.py") as caught:
        read(FILE.replace(old, new))
    assert told in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('{"y": x.x * x.w}', '{"y": x.x * x.w + np.random.default_rng().random(x.x.shape)}', "it is random"),
        ('{"y": x.x * x.w}', '{"y": x.x * 0}', "It is 0 everywhere"),
        ('{"y": x.x * x.w}', '{"y": x.x * 2.0}', "does not depend on its input w"),
        ("return {", "x.x *= 2; return {", "forward changes its inputs (x)"),
        ("return {", 'y = x.x * x.w; x["w"][:] = 0; return {"y": y} if step else {', "changes its inputs (w)"),
        ("return {", "x.x.sort(); return {", "changes its inputs (x)"),
        ('{"y": x.x * x.w}', '{"y": x.x * x.w + np.inf}', "every element of y is NaN or infinite"),
        ('"y": Tensor("R C")}', '"y": Tensor("R C", "int32")}', "returns y with values that are not int32"),
        ('{"y": x.x * x.w}', '{"z": x.x * x.w}', "does not return y"),
        ('{"y": x.x * x.w}', '{"y": (x.x * x.w)[:, :1]}', "by its axes it is"),
        ('{"y": x.x * x.w}', '{"y": x.x * x.nothing}', "scaled.py:15: reference raises AttributeError: nothing"),
        ('{"y": x.x * x.w}', '{"y": x.x * x.w + x.x.max() * 0}', "If that size makes no sense"),
        (
            'return {"y": x.x * x.w}',
            'return {"y": x.x * x.w} if x.x.size else b"\\xff".decode()',
            "scaled.py:15: reference raises UnicodeDecodeError",
        ),
        ("rtol=1e-5, atol=1e-6", "rtol=1e-5, atol=10.0", "zeros are accepted as y"),
        ('"C": Axis(low=1)', '"C": Axis(multiple=2)', "do not allow the listed shape odd (R=5, C=33)"),
        ("return {", "import time; time.sleep(0.7); return {", "more than 900 s"),
        ("y[i] = x[i] * w[i % C]", "y[i] = x[i] * w[0]", "outside the tolerance"),
        ("int64_t C) {", "int64_t C {", "does not compile"),
    ],
)
def test_an_operator_that_cannot_judge_says_why(monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str) -> None:
    assert old in FILE
    monkeypatch.setattr("layline.campaign.check_operator.time.process_time", __import__("time").perf_counter)
    file = read(FILE.replace(old, new))
    findings = check_operator(build_operator(file), file)
    assert not findings[-1].passed
    assert told in findings[-1].told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("def legal(s):\n    return s['R'] > 0\n", "legal raises TypeError"),
        ("def legal(s):\n    s.R > 0\n", "legal returns None"),
        ("def reference(step, x):\n    exit(3)\n", "reference raises SystemExit: 3"),
        ("def reference(step, x):\n    return x.x\n", "reference('forward') returns a ndarray"),
        ("def reference(step, x):\n    return {'y': 1.0}\n", "returns y as a float, which is not an array"),
        ("def inputs(kind, s, rng):\n    return {'x': rng.random(s.Z)}\n", "inputs raises AttributeError"),
        ("def inputs(kind, s, rng):\n    return {'x': rng.random(3)}\n", "inputs returns x as (3,); by its axes it is"),
        ("def inputs(kind, s, rng):\n    return {'q': rng.random(3)}\n", "inputs returns 'q', which is not in tensors"),
        ("kinds = ('normal', 'gauss')", "kinds names 'gauss', which is not a distribution"),
        ("exact = {'x': 4}", "exact does not give w"),
        ("flops = {'forward': lambda s: s.Z}", "flops raises AttributeError"),
        ("flops = {'forward': lambda s: -1.0}", "flops is -1.0 on"),
        ("bytes = {'forward': lambda s: 1 / 0}", "bytes raises ZeroDivisionError"),
        (
            "tensors['x'] = Tensor(lambda s: s.Z)\nlanguage = 'python'\nstarts = {}",
            "tensors['x'].axes raises AttributeError",
        ),
    ],
)
def test_what_a_function_of_the_file_does_wrong_is_the_users_to_mend(more: str, told: str) -> None:
    """Whoever calls it, and not as a bug of ours."""
    operator = build(f"{FILE}\n{more}")
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError) as caught:
        use(operator, operator.shapes[0], rng)
    assert told in caught.value.message
    assert caught.value.message.startswith("scaled.py:" + ("2" if "raises" in told else ""))
    assert told in check_operator(operator)[-1].told


def use(operator: Operator, shape: Shape, rng: np.random.Generator) -> None:
    """What every measuring run calls."""
    operator.neighbours(shape, rng)
    for step in operator.passes:
        for kind in operator.distributions:
            operator.oracle(step.name, shape, operator.draw(shape, rng, kind))
        step.flops(shape)
        step.bytes_moved(shape)


CONSTANT = FILE.replace('role="weight"', 'role="constant"')
OWN_DRAWS = """
def draw(kind, s, rng):
    return {"w": rng.standard_normal(s.C)}


def draw_other(kind, s, rng):
    return {"x": rng.standard_normal((s.R, s.C))}


"""


def test_a_constant_stays_for_its_sizes_and_for_no_other() -> None:
    operator = build(CONSTANT)
    rng = np.random.default_rng(3)
    first, other = operator.shapes
    same = replace(first, label="listed twice")
    rows = [operator.draw(shape, rng, kind) for shape, kind in ((first, "normal"), (other, "normal"), (same, "sparse"))]
    assert np.array_equal(rows[0]["w"], rows[2]["w"])
    assert not np.array_equal(rows[0]["x"], rows[2]["x"])
    assert not np.array_equal(rows[0]["w"], build(CONSTANT).draw(first, rng, "normal")["w"])  # nobody can foresee it


def test_constants_that_are_let_go_come_back_as_they_were() -> None:
    operator = build(CONSTANT)
    rng = np.random.default_rng(3)
    many = [Shape(label=str(rows), sizes=(("R", rows), ("C", 4))) for rows in range(1, 30)]
    once, again = ([operator.draw(shape, rng, "normal")["w"] for shape in many] for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(once, again, strict=True))


def test_the_right_answer_must_follow_a_constant() -> None:
    assert all(one.passed for one in check_operator(build(CONSTANT), is_quick=True))
    found = check_operator(build(CONSTANT.replace("x.x * x.w", "x.x * 2.0")), is_quick=True)
    assert "does not depend on its input w" in found[-1].told


def test_nobody_changes_a_constant() -> None:
    operator = build(CONSTANT)
    with workshop() as shop:
        stage = set_stage(operator, operator.shapes, Plan(), shop, b"7")
        given = draw(stage, operator.shapes[0])
        for changed in (
            nudge(stage, given, "w"),
            permute(stage, given, "w"),
            lift(stage, given, "w"),
            keep(stage, given, ()),
        ):
            assert np.array_equal(changed.inputs[0]["w"], given.inputs[0]["w"])
        assert np.array_equal(rescale(stage, given).inputs[0]["w"], given.inputs[0]["w"])
        assert put(stage, operator.shapes[0], "w", 1.0) is None


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ('inputs = {"w": draw, "x": draw}', "inputs draws w, which is constant, with x, which is not"),
        ("inputs = draw", "inputs draws w, which is constant, with x, which is not"),
        ('inputs = {"w": draw, "x": draw_other}', ""),
        ('inputs = {"w": draw}', ""),
    ],
)
def test_a_constant_is_drawn_by_a_function_of_its_own(own: str, told: str) -> None:
    text = f"{CONSTANT}{OWN_DRAWS}{own}\n"
    if told:
        with pytest.raises(ConfigError, match=told):
            read(text)
        return
    operator = build(text)
    rows = [operator.draw(operator.shapes[0], np.random.default_rng(seed), "normal") for seed in range(2)]
    assert np.array_equal(rows[0]["w"], rows[1]["w"])
    assert not np.array_equal(rows[0]["x"], rows[1]["x"])


def test_a_reference_that_adds_in_another_order_each_time_is_not_random() -> None:
    noisy = "x.x * x.w * (1 + 1e-13 * np.random.default_rng().random())"
    file = read(FILE.replace("x.x * x.w}", f"{noisy}}}"))
    findings = check_operator(build_operator(file), file)
    assert "deterministic" in next(one.told for one in findings if one.what == "reference")


def test_an_output_that_is_constant_on_the_smallest_shape_alone_can_be_judged() -> None:
    """A public problem lists a shape on which its state has not begun to move."""
    changed = FILE.replace("x.x * x.w}", "x.x * x.w * (x.x.shape[0] > 5)}")
    assert changed != FILE
    found = {one.what: one.passed for one in check_operator(build(changed))}
    assert (found["reference"], found["tolerance"]) == (True, True)


def test_half_precision_is_drawn_so_that_products_stay_in_its_range() -> None:
    rng = np.random.default_rng(1)
    numbers = NumpyNumbers()
    rows = numbers.draw_floats((64, 128), rng, "uneven", "float16").astype(np.float64)
    sizes = np.sqrt((rows * rows).mean(-1))
    assert 1 / 8 < sizes.min() < 0.7
    assert 1.5 < sizes.max() < 8
    wide = np.sqrt((numbers.draw_floats((64, 128), rng, "uneven", "float32").astype(np.float64) ** 2).mean(-1))
    assert wide.max() > 100 * sizes.max()


def test_a_good_operator_passes_and_its_mutants_are_refused() -> None:
    findings = check_operator(build(FILE))
    assert [(one.what, one.passed) for one in findings] == [
        (what, True) for what in ("shapes", "cost", "reference", "sizes", "tolerance", "start")
    ]
    assert "3 broken copies of it are refused (correct, writes-every-output, correct)" in findings[-1].told


def test_a_reference_that_raises_is_no_matter_of_cost() -> None:
    text = f"{FILE}\n\ndef reference(step, x):\n    raise RuntimeError('boom')\n"
    last = check_operator(build(text))[-1]
    assert (last.what, last.passed, "boom" in last.told) == ("reference", False, True)
    assert last.hint == "Correct `reference`, or `inputs`, if what it is given is wrong."


def test_a_reference_that_waits_costs_what_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("layline.campaign.check_operator.TOO_LONG_S", 30.0)
    text = FILE.replace("def reference(step, x):", "def reference(step, x):\n    import time; time.sleep(0.05)")
    assert text != FILE
    last = check_operator(build(text))[-1]
    assert (last.what, last.passed) == ("cost", False)


def test_being_asked_to_end_is_not_told_as_what_the_reference_raises() -> None:
    text = f"{FILE}\n\ndef reference(step, x):\n    import os, signal; os.kill(os.getpid(), signal.SIGTERM)\n"
    operator = build(text)
    with pytest.raises(SystemExit) as ended, workshop():
        operator.oracle(
            "forward", operator.shapes[0], operator.draw(operator.shapes[0], np.random.default_rng(0), "normal")
        )
    assert ended.value.code == 143


def test_a_name_that_nothing_reads_is_told() -> None:
    more = "flop = {'forward': lambda s: 1.0}\nEPS = 1e-5\nASIDE = 3\n\ndef helper():\n    return EPS\n\nlegal = lambda s: helper()\n"
    file = read(f"{FILE}\n{more}")
    told = [one.told for one in check_operator(build_operator(file), file) if one.what == "names"]
    assert told == ["nothing reads flop; did you mean flops?", "nothing reads ASIDE"]


def test_a_reference_may_be_given_the_sizes() -> None:
    text = FILE.replace("def reference(step, x):", "def reference(step, x, s):").replace(
        "x.x * x.w}", "x.x * x.w * s.C}"
    )
    operator = build(text)
    given = operator.draw(operator.shapes[0], np.random.default_rng(0), "normal")
    assert np.allclose(
        operator.oracle("forward", operator.shapes[0], given)["y"], given["x"].astype("float64") * given["w"] * 16
    )
    other = FILE.replace("def reference(step, x):", "def reference(step, x, factor=1.0):").replace(
        "x.w}", "x.w * factor}"
    )
    assert build(other).oracle("forward", operator.shapes[0], given)["y"].shape == (8, 16)


def test_an_input_without_axes_may_be_given_as_a_number() -> None:
    text = FILE.replace('Tensor("C", role="weight")', 'Tensor("")').replace("starts = {", "unused_ = {")
    operator = build(f"{text}\ndef inputs(kind, s, rng):\n    return {{'w': rng.random()}}\n")
    assert operator.draw(operator.shapes[0], np.random.default_rng(0), "normal")["w"].size == 1


SIZES = {"T": 60, "P": 7, "E": 8, "K": 2, "B": 5}


@pytest.mark.parametrize("structure", ["balanced", "skewed", "clustered"])
def test_indices_lie_inside(structure: str) -> None:
    drawn = draw_structure(index("P"), (60,), SIZES, np.random.default_rng(0), structure)
    assert 0 <= drawn.min() <= drawn.max() < 7
    assert len(set(drawn.tolist())) <= (3 if structure == "clustered" else 7)


@pytest.mark.parametrize("structure", ["balanced", "skewed", "clustered"])
def test_offsets_rise_from_nothing_to_the_total(structure: str) -> None:
    drawn = draw_structure(offsets("T", "B"), (6,), SIZES, np.random.default_rng(0), structure)
    assert (drawn[0], drawn[-1], len(drawn)) == (0, 60, 6)
    assert (np.diff(drawn) >= 0).all()
    assert ((np.diff(drawn) == 60).any()) == (structure == "skewed")


@pytest.mark.parametrize("structure", ["balanced", "skewed", "clustered"])
def test_routing_gives_every_row_different_experts(structure: str) -> None:
    drawn = draw_structure(routing("E", "K"), (60, 2), SIZES, np.random.default_rng(0), structure)
    assert (drawn[:, 0] != drawn[:, 1]).all()
    counts = np.bincount(drawn.ravel(), minlength=8)
    assert {"balanced": counts.max() < 30, "skewed": counts.max() > 40, "clustered": (counts > 0).sum() == 2}[structure]


def test_a_mask_also_shuts_and_opens_whole_rows() -> None:
    """A row of 257 is never shut throughout by chance: a kernel that is wrong only there was accepted."""
    drawn = draw_structure(mask(0.5), (64, 257), SIZES, np.random.default_rng(0), "clustered")
    sums = drawn.sum(axis=1)
    assert ((sums == 0).sum(), (sums == 257).sum()) == (16, 16)
    assert draw_structure(mask(0.5), (0, 5), SIZES, np.random.default_rng(0), "clustered").shape == (0, 5)
    assert draw_structure(mask(0.5), (1, 5), SIZES, np.random.default_rng(0), "clustered").sum() == 0


def test_permutations_masks_and_bounds() -> None:
    rng = np.random.default_rng(0)
    rows = draw_structure(permutation(), (3, 9), SIZES, rng, "balanced")
    assert np.array_equal(np.sort(rows, axis=1), np.tile(np.arange(9), (3, 1)))
    bits = draw_structure(mask(0.3), (1000,), SIZES, rng, "balanced")
    assert set(bits.tolist()) == {0, 1}
    assert 0.2 < bits.mean() < 0.4
    within = draw_structure(uniform(2.0, 3.0), (100,), SIZES, rng, "skewed")
    assert 2.0 <= within.min() <= within.max() <= 3.0


AXES = {"H": Axis(low=1), "G": Axis(low=1), "D": Axis(const=64), "T": Axis(multiple=8, high=4096)}


@pytest.mark.parametrize(
    ("sizes", "fitted"),
    [
        ((37, 8, 3, 130), (40, 8, 64, 128)),
        ((8, 8, 64, 5000), (8, 8, 64, 4096)),
        ((0, 0, 0, 0), (1, 1, 64, 0)),
    ],
)
def test_a_shape_is_moved_to_where_the_operator_allows_it(sizes: tuple[int, ...], fitted: tuple[int, ...]) -> None:
    shape = Shape(label="s", sizes=tuple(zip(AXES, sizes, strict=True)))
    found = fit(shape, AXES, lambda s: s.H % s.G == 0)
    assert found is not None
    assert tuple(value for _name, value in found.sizes) == fitted
    assert fit(shape, AXES, lambda _s: False) is None


def test_every_neighbour_is_legal() -> None:
    near = Shape(label="s", sizes=(("H", 32), ("G", 8), ("D", 64), ("T", 512)))
    rng = np.random.default_rng(0)
    found = [one for _ in range(5) for one in find_neighbours(near, rng, AXES, lambda s: s.H % s.G == 0)]
    assert len(found) > 10
    for shape in found:
        sizes = dict(shape.sizes)
        assert sizes["D"] == 64
        assert sizes["H"] % sizes["G"] == 0
        assert sizes["T"] % 8 == 0


INF = float("inf")


@pytest.mark.parametrize(
    ("dtype", "want", "got", "property_"),
    [
        ("int64", [1, 2, 3], [1, 2, 3], ""),
        ("int64", [1, 2, 3], [1, 2, 4], "correct"),
        ("bool", [True, False, True], [True, True, True], "correct"),
        ("float64", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ""),
        ("float32", [1.0, -INF, 3.0], [1.0, -INF, 3.0], ""),
        ("float32", [1.0, -INF, 3.0], [1.0, INF, 3.0], "finite"),
        ("float32", [1.0, -INF, 3.0], [1.0, -3e38, 3.0], "finite"),
        ("float32", [1.0, 2.0, 3.0], [1.0, -INF, 3.0], "finite"),
        ("float32", [1.0, float("nan"), 3.0], [1.0, float("nan"), 3.5], "correct"),
        ("float16", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], ""),
    ],
)
def test_outputs_of_every_type_are_held_against_the_reference(
    dtype: str, want: list[Any], got: list[Any], property_: str
) -> None:
    answer = np.array(want, dtype=dtype if dtype in ("int64", "bool") else np.float64)
    found = check_output(build(FILE), "y", np.array(got, dtype=dtype), answer, is_exact=False, poison=77)
    assert (found.property if isinstance(found, Wrong) else "") == property_
    assert property_ or isinstance(found, Close)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("while True:\n    pass\n", "the file was stopped here"),
        ("def reference(step, x):\n    while True:\n        pass\n", "reference was stopped here"),
        ("def legal(s):\n    while True:\n        pass\n", "legal was stopped here"),
        (
            "def reference(step, x):\n    while True:\n        try:\n            x.x + 1\n        except Exception:\n            pass\n",
            "reference was stopped here",
        ),
    ],
)
def test_what_never_ends_is_told_with_the_line_it_has_come_to(
    more: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LIMIT_S", 0.2)
    before = signal.getsignal(signal.SIGALRM)
    try:
        said = check_operator(build(FILE + more), is_quick=True)[-1].told
    except ConfigError as error:
        said = error.message
    assert f"{told}: it had not returned after 0.2 s" in said
    assert int(said.split(":")[1]) > FILE.count("\n"), "the line lies in what never ends"
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is before


CALLED = "int forward(const float *x, const float *w, float *y, int64_t R, int64_t C)"


@pytest.mark.parametrize(
    ("old", "new", "what", "told", "hint"),
    [
        ("int forward(", "int scale(", "start", "it has no function `forward`.", CALLED),
        ("int64_t R, int64_t C)", "int64_t C, int64_t R)", "start", "y", CALLED),
        ("R * C; i++", "R * C; i+", "start", "does not compile", CALLED),
        ('"C": Axis(low=1)', '"C": Axis(low=17)', "shapes", "do not allow", "`legal`"),
        ("x.x * x.w", "x.x * 0 + x.w * 0", "reference", "the same for different inputs", "`reference`"),
        ("atol=1e-6", "atol=1e6", "tolerance", "the tolerance is too wide", "`tolerance`"),
    ],
)
def test_a_check_that_fails_says_what_to_change(old: str, new: str, what: str, told: str, hint: str) -> None:
    assert FILE.replace(old, new) != FILE
    *passed, failed = check_operator(build(FILE.replace(old, new)))
    assert failed.what == what
    assert told in failed.told
    assert hint in failed.hint
    assert not any(one.hint for one in passed)


@pytest.mark.parametrize(
    ("language", "returns", "call"),
    [
        ("c", False, CALLED),
        ("python", False, "def forward(x, w, y, R, C)"),
        ("torch", False, "def forward(x, w, y)"),
        ("torch", True, "def forward(x, w)"),
    ],
)
def test_how_a_kernel_is_called(language: str, returns: bool, call: str) -> None:
    operator = replace(build(FILE), language=language, returns=returns)
    assert describe_call(operator, operator.passes[0]) == call


def test_what_lies_beside_the_file_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "own.py").write_text(
        FILE.replace("import numpy as np", "import numpy as np\nfrom beside_it import FACTOR")
    )
    before = read_operator_file(tmp_path / "own.py").hashes
    assert [name.rpartition("/")[2] for name in before] == ["own.py", "operator:beside_it.py"]
    (tmp_path / "beside_it.py").write_text("FACTOR = 3.0\n")
    after = read_operator_file(tmp_path / "own.py").hashes
    assert [name for name in before if before[name] != after[name]] == ["operator:beside_it.py"]


def ask_reference(operator: Operator) -> None:
    shape = operator.shapes[0]
    operator.oracle("forward", shape, operator.draw(shape, np.random.default_rng(0), "normal"))


TABLE = "FACTOR = float(Path(__file__).with_name('factor.txt').read_text())\n"


def _write_own(folder: Path, text: str) -> Path:
    (folder / "factor.txt").write_text("2.0")
    place = folder / "own.py"
    place.write_text(text)
    return place


def test_what_the_file_reads_belongs_to_it(tmp_path: Path) -> None:
    text = "from pathlib import Path\n" + FILE.replace("def reference", f"{TABLE}\n\ndef reference").replace(
        "* x.w", "* x.w * FACTOR"
    )
    before = read_operator_file(_write_own(tmp_path, text))
    (tmp_path / "factor.txt").write_text("3.0")
    assert "operator:factor.txt" in before.hashes
    assert before.hashes != before.hashes_now == read_operator_file(tmp_path / "own.py").hashes


@pytest.mark.parametrize(
    "reading",
    [
        "float(Path(__file__).with_name('factor.txt').read_text())",
        "float(np.loadtxt(Path(__file__).with_name('factor.txt')))",
        "float(os.read(os.open(Path(__file__).with_name('factor.txt'), os.O_RDONLY), 9))",
        "__import__('beside_it').FACTOR",
    ],
)
def test_what_a_function_reads_later_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str) -> None:
    (tmp_path / "beside_it.py").write_text("FACTOR = 2.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = "import os\nfrom pathlib import Path\n" + FILE.replace("x.x * x.w", f"x.x * x.w * {reading}")
    operator = build_operator(read_operator_file(_write_own(tmp_path, text)))
    with pytest.raises(ConfigError, match=r"reference reads (factor.txt|beside_it.py) when it is called"):
        ask_reference(operator)
    sys.modules.pop("beside_it", None)


def test_what_another_program_compiled_is_told_by_its_own_name(tmp_path: Path) -> None:
    place = tmp_path / "__pycache__" / "beside_it.cpython-311-pytest-9.2.0.pyc"
    place.parent.mkdir()
    place.write_bytes(b"")
    assert find_data({str(place)}, tmp_path) == [place]


def test_a_reference_may_read_again_what_was_read_with_its_file(tmp_path: Path) -> None:
    text = "from pathlib import Path\n" + FILE.replace("def reference", f"{TABLE}\n\ndef reference").replace(
        "x.x * x.w", "x.x * x.w * float(Path(__file__).with_name('factor.txt').read_text())"
    )
    ask_reference(build_operator(read_operator_file(_write_own(tmp_path, text))))


def test_an_operator_travels_with_what_it_reads(tmp_path: Path) -> None:
    text = "from pathlib import Path\n" + FILE.replace("def reference", f"{TABLE}\n\ndef reference")
    place = _write_own(tmp_path, text)
    (tmp_path / "factor.txt").write_bytes(b"2.0")
    sources = [[name, write_text(data)] for name, data in read_operator_file(place).sources]
    (tmp_path / "factor.txt").unlink()
    assert open_operator(str(place), sources).title == "Scaled rows"


@pytest.mark.parametrize("data", [b"plain", b"base64:plain", b"\xff\xfe\x00", b""])
def test_bytes_of_every_kind_survive_the_way(data: bytes) -> None:
    assert read_bytes(write_text(data)) == data
