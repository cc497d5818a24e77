"""The accelerator's whole path on the host: the same parent, worker and checks, with kernels in plain torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.accelerator import plan_device
from layline.campaign.measure.arm import LiveArm, Ran
from layline.campaign.measure.build import workshop
from layline.campaign.measure.choose import set_stage
from layline.campaign.measure.controls import build_own
from layline.campaign.measure.crew import live, open_arm
from layline.campaign.measure.gpu.train import train
from layline.campaign.measure.inputs import draw, nudge
from layline.campaign.measure.probes import between
from layline.campaign.measure.probes.inputs import show_empty, show_far, show_held_out, show_inputs, show_walk
from layline.campaign.measure.probes.memory import show_memory
from layline.campaign.measure.probes.probe import Trial
from layline.campaign.measure.probes.time import compare_values, show_stalls
from layline.campaign.measure.stage import Stage
from layline.campaign.operators import load_operator
from layline.campaign.operators.find import find_operator
from layline.campaign.proposers.screen_gpu import screen_device
from layline.campaign.values.measurement import Arm
from layline.campaign.values.operator import Snapshot
from layline.campaign.values.training import LOSS_SHARE, find_loss_distance
from layline.errors import ConfigError
from rehearsal import HONEST, ask

pytest.importorskip("torch")

IDLE = "def forward(*_): pass\ndef backward(*_): pass\n"
REPLAY = HONEST.replace(
    "def forward(a, b, out):\n",
    "kept = []\n\n\ndef forward(a, b, out):\n    if kept:\n        out.copy_(kept[0])\n        return\n    "
    "kept.append((a.float() @ b.float().T).to(torch.bfloat16))\n",
)
CASES = [
    (IDLE, "writes-every-output"),
    (HONEST.replace("b.float().T)", "b.float().T * 1.05)"), "correct"),
    (HONEST.replace("def forward(a, b, out):\n", "def forward(a, b, out):\n    a.zero_()\n"), "input-modified"),
    (
        HONEST.replace("def forward(a, b, out):\n", "def forward(a, b, out):\n    raise ValueError('no')\n"),
        "supports-shape",
    ),
    (REPLAY, "replay"),
    ("import nothing_of_that_name\n", "loads"),
]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    request = ask(HONEST, None)
    with workshop() as shop:
        yield set_stage(request.operator, request.shapes, request.plan, Path(shop), b"7")


def _open(stage: Stage, arm: Arm, text: str, cache: str = "test") -> LiveArm:
    return open_arm(stage, arm, build_own(stage, text), cache=cache)


def _try(stage: Stage, trial: LiveArm, best: LiveArm | None = None) -> Trial:
    def open_none(*_asked: object) -> LiveArm:
        raise AssertionError("nobody needs another process here")

    snapshot = Snapshot(files=())
    return Trial(
        stage=stage,
        trial=trial,
        best=best,
        open_start=open_none,
        open_again=open_none,
        open_best=open_none,
        snapshot=snapshot,
    )


def _call_twice(stage: Stage, text: str) -> None:
    with live([_open(stage, Arm.BEST, text)]) as (leg,):
        leg.worker.load()
        for _turn in range(2):
            given = draw(stage, stage.shapes[0], count=2)
            for step in stage.operator.passes:
                leg.run(step, given, settles=True)
        for step in stage.operator.passes:
            leg.run(step, nudge(stage, given))


def test_an_honest_kernel_passes_every_check(stage: Stage) -> None:
    _call_twice(stage, HONEST)


@pytest.mark.parametrize(("text", "reason"), CASES, ids=[reason for _text, reason in CASES])
def test_a_dishonest_kernel_is_refused_by_name(stage: Stage, text: str, reason: str) -> None:
    with pytest.raises(Fault) as caught:
        _call_twice(stage, text)
    assert caught.value.property == reason


PROBED = [
    ("sampled_range", {}, "hard-inputs"),
    ("fixed_area", {"4608": "2048"}, "held-out-shape"),
    ("stale_padding", {}, "held-out-shape"),
]


def _probe(stage: Stage, arm: LiveArm) -> None:
    on = _try(stage, arm)
    list(show_inputs(on))
    list(show_held_out(on))
    list(show_far(on))
    list(show_empty(on))
    list(show_walk(on))


@pytest.mark.parametrize(("name", "changed", "reason"), PROBED, ids=[name for name, _changed, _reason in PROBED])
def test_inputs_and_sizes_nobody_listed_find_a_shortcut(
    stage: Stage, name: str, changed: dict[str, str], reason: str
) -> None:
    text = (Path(__file__).parent / "corpus" / "exploits" / f"{name}.py").read_text()
    for old, new in changed.items():
        text = text.replace(old, new)
    with live([_open(stage, Arm.BEST, text)]) as (leg,):
        leg.worker.load()
        with pytest.raises(Fault) as caught:
            _probe(stage, leg)
    assert caught.value.property == reason


STATE = [
    ("", ""),
    ("import sys; sys.setswitchinterval(10.0)", "turns of threads"),
    ("import sys; sys.setrecursionlimit(123456)", "depth of calls"),
    ("import sys; sys.setrecursionlimit(200)", "depth of calls"),
    ("import sys; sys.setrecursionlimit(max(sys.getrecursionlimit(), 2000))", ""),  # as its compiler does
    ("import torch; torch.compile(lambda x: x + 1)(a[:1].float())", ""),
    ("import os; os.chdir('/')", "working folder"),
    ("import gc; gc.disable()", "garbage collector"),
]


@pytest.mark.parametrize(("line", "changed"), STATE, ids=[line or "none" for line, _changed in STATE])
def test_what_a_kernel_sets_for_the_whole_process_is_seen(stage: Stage, line: str, changed: str) -> None:
    text = HONEST.replace("def forward(a, b, out):\n", f"def forward(a, b, out):\n    {line or 'pass'}\n")
    with live([_open(stage, Arm.BEST, text)]) as (leg,):
        leg.worker.load()
        for step in stage.operator.passes:
            leg.run(step, draw(stage, stage.shapes[0]))
        assert leg.worker.inspect()["changed"] == ([changed] if changed else [])


def test_memory_that_is_never_given_back_is_found(stage: Stage) -> None:
    text = (Path(__file__).parent / "corpus" / "exploits" / "hoard.py").read_text()
    with live([_open(stage, Arm.BEST, one) for one in (HONEST, text)]) as (honest, leg):
        honest.worker.load()
        leg.worker.load()
        list(show_memory(_try(stage, honest)))
        with pytest.raises(Fault) as caught:
            list(show_memory(_try(stage, leg)))
    assert caught.value.property == "bounded-memory"


def test_rare_long_calls_take_a_gain_back(stage: Stage) -> None:
    stall = (Path(__file__).parent / "corpus" / "exploits" / "rare_stall.py").read_text()
    slow = HONEST.replace("out):\n", "out):\n    for _ in range(150):\n        a.float() @ b.float().T\n")
    quick = [_open(stage, Arm.CANDIDATE, text) for text in (stall.replace("400", "20_000"), HONEST)]
    with live([*quick, _open(stage, Arm.BEST, slow, "best")]) as (trial, honest, best):
        for leg in (trial, honest, best):
            leg.worker.load()
        list(show_stalls(_try(stage, honest, best)))
        with pytest.raises(Fault) as caught:
            list(show_stalls(_try(stage, trial, best)))
    assert caught.value.property == "gain-in-the-mean"


def test_screening_ranks_by_time_and_tells_each_pass(stage: Stage) -> None:
    slow = HONEST.replace("out):\n", "out):\n    for _ in range(150):\n        a.float() @ b.float().T\n")
    texts = {"today": slow, "quick": HONEST, "broken": "def forward(*_): raise ValueError('no')\n", "idle": IDLE}
    snapshots = {name: Snapshot(files=(("kernel.py", text),)) for name, text in texts.items()}
    found = screen_device(stage.operator, stage.shapes, snapshots, lambda: True)
    assert [one.name for one in found[:2]] == ["quick", "today"]
    assert {one.name: one.score for one in found[2:]} == {"broken": None, "idle": None}
    assert {(step, shape) for step, shape, _ms in found[0].times} == {
        (step.name, shape.label) for step in stage.operator.passes for shape in stage.shapes
    }


def test_the_training_loop_runs_with_a_kernel_and_tells_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    good, bad = (
        Snapshot(files=(("kernel.py", text),)) for text in (HONEST, "def forward(*_): raise ValueError('no')\n")
    )
    operator = load_operator("gemm_bf16")
    trained = train(operator, good, good, sets=1)
    assert not trained.problem
    assert {one.leg for one in trained.sets[0]} == {"start", "best", "again", "torch"}
    distance = find_loss_distance(trained, "best")
    assert distance is not None
    assert distance < LOSS_SHARE
    assert "ValueError: no" in train(operator, good, bad, sets=1).problem


GROUPED = """import torch


def generate_input(rows, columns, group, seed):
    x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    return x, torch.empty(rows, columns // group)


def ref_kernel(data):
    x, most = data
    most[...] = x.unflatten(1, (most.shape[1], -1)).abs().amax(-1)
    return most
"""


def test_an_answer_may_depend_on_a_size_that_no_input_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    (tmp_path / "reference.py").write_text(GROUPED)
    (tmp_path / "task.yml").write_text(
        "tests:\n- {rows: 4, columns: 64, group: 8, seed: 1}\n- {rows: 4, columns: 64, group: 16, seed: 1}\n"
    )
    operator = find_operator(f"gpumode:{tmp_path}").operator
    drawn = [operator.draw(shape, np.random.default_rng(3), operator.distributions[0]) for shape in operator.shapes]
    answers = [operator.oracle("forward", *given) for given in zip(operator.shapes, drawn, strict=True)]
    assert [tuple(one["out0"].shape) for one in answers] == [(4, 8), (4, 4)]


def test_queued_calls_are_launched_before_their_inputs_are_brought(stage: Stage) -> None:
    with live([_open(stage, Arm.BEST, HONEST)]) as (arm,):
        arm.worker.load()
        given = draw(stage, stage.shapes[0], count=3)
        (step, *_backward) = stage.operator.passes
        laid = arm.fill(step, given)
        queued = [
            arm.memory.fill(
                step, given.shape, one.place, {name: value + 1 for name, value in one.inputs.items()}, is_queued=True
            )  # type: ignore[call-arg]
            for one in laid
        ]
        views = arm.memory.view_outputs(queued[0])  # type: ignore[attr-defined]
        assert views["out"].isnan().all(), "poison, until somebody calls it"
        before = arm.memory._view("a", given.shape, dict(laid[0].place)["a"]).clone()  # type: ignore[attr-defined]
        assert before.equal(laid[0].inputs["a"]), "what lay there before still does"
        ran = arm.run(step, given, queues=True)
        assert ran.launched_ns > 0
        assert ran.wall_ns > 0
        assert not stage.device.unqueued


def test_what_waits_twice_is_not_queued_any_more(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with live([_open(stage, Arm.BEST, HONEST)]) as (arm,):
        arm.worker.load()
        given, step = draw(stage, stage.shapes[0], count=2), stage.operator.passes[0]
        told = type(arm.worker)._wait_launched
        waits = [True, True, False, False]

        def wait(worker: object, where: str, began: int) -> int:
            return 0 if waits.pop(0) else int(told(worker, where, began))

        monkeypatch.setattr(type(arm.worker), "_wait_launched", wait)
        first = arm.run(step, given, queues=True)
        assert first.launched_ns == 0
        assert stage.device.unqueued == {(step.name, given.shape.label)}
        assert arm.run(step, given, queues=True).launched_ns == 0
        assert waits == [False, False], "nobody tried to queue it again"
        assert arm.run(step, draw(stage, stage.shapes[1]), queues=True).launched_ns > 0


def test_a_kernel_that_raises_while_queued_is_told_as_ever(stage: Stage) -> None:
    raising = HONEST.replace("def forward(a, b, out):\n", "def forward(a, b, out):\n    raise ValueError('no')\n")
    with live([_open(stage, Arm.BEST, raising)]) as (arm,):
        arm.worker.load()
        with pytest.raises(Fault) as caught:
            arm.run(stage.operator.passes[0], draw(stage, stage.shapes[0]), queues=True)
    assert caught.value.property == "supports-shape"


PACKED = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """Whole numbers below sixteen, widened, times the inputs; a scale of ones; sums of the narrow type."""

    def __init__(self, rows: int, wide: int):
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 16, (wide, 24), dtype=torch.uint8))
        self.scale = nn.Parameter(torch.ones(24, dtype=torch.bfloat16))

    def forward(self, x):
        return x.to(torch.bfloat16) @ (self.packed.to(torch.bfloat16) * self.scale)


rows = 32
wide = 64


def get_inputs():
    return [torch.randn(rows, wide, dtype=torch.bfloat16)]


def get_init_inputs():
    return [rows, wide]
'''
PREPARES = PACKED.replace("class Model(", "class ModelNew(").replace(
    "    def forward(self, x):\n",
    """    def forward(self, x):
        version = (self.packed._version, self.scale._version)
        if getattr(self, "made", None) is None:
            self.made, self.version = self.packed.to(torch.bfloat16) * self.scale, version
        assert self.version == version, "the weights have been written to"
        return x @ self.made

    def unused(self, x):
""",
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PACKED, ""),
        (PREPARES, ""),
        (PREPARES.replace("* self.scale, version", ", version"), "correct"),  # the ones of a fresh model are moved
        (PREPARES.replace("return x @ self.made", "return x @ self.made.flip(0)"), "correct"),
    ],
    ids=["as it is", "prepared once", "scale left out", "rows in another order"],
)
def test_a_foreign_problems_weights_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    (tmp_path / "reference.py").write_text(PACKED)
    operator = find_operator(f"kernelbench:{tmp_path / 'reference.py'}").operator
    with workshop() as shop:
        stage = set_stage(operator, operator.shapes, plan_device(0.05, 0.01), shop, b"7")
        with live([_open(stage, Arm.BEST, text)]) as (leg,):
            leg.worker.load()
            if reason:
                with pytest.raises(Fault) as caught:
                    _call_each(stage, leg)
                assert caught.value.property == reason
            else:
                _call_each(stage, leg)


def test_a_foreign_problems_weights_are_drawn_again_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    (tmp_path / "reference.py").write_text(PACKED)
    operator = find_operator(f"kernelbench:{tmp_path / 'reference.py'}").operator
    assert operator.renew is not None
    shape, ordinary, ends = operator.shapes[0], operator.distributions[0], Event()
    drawn = operator.draw(shape, np.random.default_rng(3), ordinary)

    def answer() -> None:
        while not ends.is_set():  # the right answers are made beside the draws, by a model of their own
            operator.oracle("forward", shape, drawn)

    beside = Thread(target=answer)
    beside.start()
    try:
        for _turn in range(60):
            first, second = (operator.renew(shape, np.random.default_rng(5)) for _ in range(2))
            assert all(first[name].equal(second[name]) for name in operator.constant)
    finally:
        ends.set()
        beside.join()


SIZED = """import torch
import torch.nn as nn

M, N, K, TOP = 4, 8, 16, 2


class Model(nn.Module):
    def __init__(self, rows, columns, depth, top):
        super().__init__()
        self.top = top
        self.weight = nn.Parameter(torch.randn(columns, depth))

    def forward(self, x):
        return torch.topk(x @ self.weight.T, k=self.top, dim=-1).values


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [M, N, K, TOP]
"""
LISTED = "SHAPES = [{'M': 4, 'N': 8, 'K': 16, 'TOP': 2}, {'M': 4, 'N': 32, 'K': 16, 'TOP': 8}]"


def test_listed_sizes_that_no_input_has_are_sizes_of_weights_and_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    (tmp_path / "reference.py").write_text(SIZED)
    (tmp_path / "shapes.py").write_text(LISTED)
    operator = find_operator(f"kernelbench:{tmp_path / 'reference.py'}").operator
    extents = [{one.name: one.extent(shape) for one in operator.buffers} for shape in operator.shapes]
    assert [(one["w0"], one["out0"]) for one in extents] == [((8, 16), (4, 2)), ((32, 16), (4, 8))]
    with workshop() as shop:
        stage = set_stage(operator, operator.shapes, plan_device(0.05, 0.01), shop, b"7")
        with live([_open(stage, Arm.BEST, operator.start("model"))]) as (leg,):
            leg.worker.load()
            _call_each(stage, leg)


def test_a_listed_size_that_nothing_has_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_TORCH_DEVICE", "cpu")
    (tmp_path / "reference.py").write_text(SIZED.replace("TOP = 4, 8, 16, 2", "TOP, STEPS = 4, 8, 16, 2, 1"))
    (tmp_path / "shapes.py").write_text(
        LISTED.replace("'TOP'", "'STEPS': 3, 'TOP'", 1).replace("32,", "32, 'STEPS': 5,")
    )
    with pytest.raises(ConfigError, match=r"shapes.py gives STEPS, and no input, weight or output has that size"):
        find_operator(f"kernelbench:{tmp_path / 'reference.py'}")


def compare_listed(stage: Stage, trial: LiveArm, best: LiveArm) -> float:
    return compare_values(_try(stage, trial, best), (stage.shapes[0],), "scaled", requests=2, together=2)


def compare_between(stage: Stage, trial: LiveArm, best: LiveArm) -> float:
    return len(between.compare(stage, (trial, best), stage.shapes[0]))


@pytest.mark.parametrize(("compare", "first"), [(compare_listed, 0), (compare_between, 2)])
def test_other_values_and_sizes_are_timed_as_the_listed_ones_are(
    stage: Stage,
    monkeypatch: pytest.MonkeyPatch,
    compare: Callable[[Stage, LiveArm, LiveArm], float],
    first: int,
) -> None:
    """The first call of a size may compile: nothing waits for it."""
    launched = []
    told = LiveArm.run_unchecked

    def watch(arm: LiveArm, *asked: Any, **named: Any) -> Ran:
        ran = told(arm, *asked, **named)
        launched.append(ran.launched_ns)
        return ran

    monkeypatch.setattr(LiveArm, "run_unchecked", watch)
    with live([_open(stage, Arm.CANDIDATE, HONEST), _open(stage, Arm.BEST, HONEST, "best")]) as (trial, best):
        for leg in (trial, best):
            leg.worker.load()
        assert compare(stage, trial, best) > 0
    first *= len(stage.operator.passes)
    assert launched[first:]
    assert all(launched[first:]), "launching is in no time"


def _call_each(stage: Stage, arm: LiveArm) -> None:
    """Every shape, then the first again: it is the same model, with the weights that it had."""
    for shape in (*stage.shapes, stage.shapes[0]):
        given = draw(stage, shape, count=2)
        arm.run(stage.operator.passes[0], given, settles=True)
