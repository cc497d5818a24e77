"""Kernels that cheat as only an accelerator lets them, each refused for its named reason; look-alikes accepted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators import load_operator
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Measurement, Status
from rehearsal import HONEST, SLOW, ask

pytest.importorskip("torch")
pytestmark = pytest.mark.gpu
CORPUS = Path(__file__).parent / "corpus"
EXPLOITS = [
    ("other_stream", "stream-order"),
    ("moved_event", "clocks-agree"),
    ("patched_timers", "timers-untouched"),
    ("persisting_l2", "persisting-l2"),
    ("stale_graph", "replay"),
    ("lazy_tensor", "writes-every-output"),
    ("late_thread", "late-write"),
    ("precision_flag", "global-state"),
    ("address_cache", "replay"),
    ("past_the_end", "guard-band"),
    ("sampled_range", "hard-inputs"),
    ("fixed_area", "held-out-shape"),
    ("stale_padding", "held-out-shape"),
    ("hoard", "bounded-memory"),
]
SUBTLE = [
    ("joined_late", ("stream-order", "clocks-agree")),
    ("joined_when_large", ("stream-order", "clocks-agree")),
    ("order_blind_weight", ("follows-inputs", "replay")),
    ("autograd_off", ("global-state",)),
    ("reseeds", ("global-state",)),
    ("collector_off", ("global-state",)),
    ("hoards_at_once", ("bounded-memory",)),
    ("works_ahead", ("own-buffers", "writes-every-output", "replay", "correct", "follows-inputs")),
]
PRODUCT = """\
import torch


def forward(a, b, out):
    torch.mm(a, b.T, out=out)


def backward(a, b, dout, da, db):
    torch.mm(dout, b, out=da)
    torch.mm(dout.T, a, out=db)
"""
BORROWED = ["library_product", "decoy"]
LOOKALIKES = ["live_graph", "joined_streams", "workspace"]
SIZE = 2048
ATTEMPTS = 3


def measure(request: Request) -> Measurement:
    """Without a verdict where a control failed: measured again then, as a user would."""
    for _attempt in range(ATTEMPTS):
        found = measure_pair(request)
        if found.status is not Status.CONTROLS_FAILED:
            break
    return found


@pytest.mark.parametrize(("name", "reason"), EXPLOITS)
def test_exploit_is_refused_for_its_named_reason(name: str, reason: str) -> None:
    found = measure(ask((CORPUS / "exploits" / f"{name}.py").read_text(), None, size=SIZE))
    assert (found.status, [gate.property for gate in found.failed_gates]) == (Status.REFUSED, [reason])


@pytest.mark.parametrize(("name", "reasons"), SUBTLE)
def test_what_passed_once_is_refused(name: str, reasons: tuple[str, ...]) -> None:
    found = measure(ask((CORPUS / "exploits" / f"{name}.py").read_text(), None, size=SIZE))
    assert found.status is Status.REFUSED
    assert found.failed_gates[0].property in reasons


def test_work_that_waits_for_its_inputs_is_refused() -> None:
    """It would be done before the clock begins; nothing is gained by it on a device that two processes share in turns."""
    text = (CORPUS / "exploits" / "waits_for_inputs.py").read_text()
    found = measure(ask(PRODUCT, text, size=SIZE))
    assert found.status is Status.REFUSED
    assert found.failed_gates[0].property in {"correct", "stream-order", "clocks-agree"}


def test_special_values_are_held_against_the_start() -> None:
    found = measure(ask(SLOW, (CORPUS / "exploits" / "nan_becomes_nothing.py").read_text(), size=SIZE))
    assert [gate.property for gate in found.failed_gates] == ["special-values"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("exploits/host_waits", "keeps-contract"),
        ("exploits/ignores_strides", "keeps-contract"),
        ("exploits/one_workspace", "stream-order"),
        ("exploits/keeps_for_each_shape", "bounded-memory"),
        ("exploits/rows_left_out", "wide-offsets"),
        ("honest/workspace", ""),
    ],
)
def test_what_a_caller_relies_on_is_held_against_the_start(name: str, reason: str) -> None:
    """Each is a third faster than the start; the honest one has a workspace, too, but for each stream, and a small one."""
    request = ask(SLOW, (CORPUS / f"{name}.py").read_text(), size=SIZE)
    found = measure(replace(request, plan=replace(request.plan, looks=(3,))))
    assert [gate.property for gate in found.failed_gates] == ([reason] if reason else []), found.problem


def test_narrow_offsets_are_refused() -> None:
    """A product that is faster than the start, and whose offsets are 32 bits wide."""
    operator = load_operator("gemm_bf16")
    wide = dict(operator.variants)["grouped"]
    for text, failed in ((wide.replace(".to(tl.int64)", ""), ["wide-offsets"]), (wide, [])):
        request = ask(operator.start("naive"), text, size=SIZE, vendor_allowed=False)
        plan = replace(
            request.plan, looks=(3,)
        )  # of two pairs a little apart nothing follows, and nothing more is looked at
        found = measure(replace(request, operator=replace(operator, shapes=request.shapes), plan=plan))
        assert [gate.property for gate in found.failed_gates] == failed, (found.problem, found.left_out)
    assert found.status is Status.MEASURED
    assert "wide-offsets" in {gate.property for gate in found.gates}, found.left_out


@pytest.mark.parametrize("name", BORROWED)
def test_borrowed_code_is_refused(name: str) -> None:
    text = (CORPUS / "exploits" / f"{name}.py").read_text()
    found = measure(ask(text, None, size=SIZE, vendor_allowed=False))
    assert (found.status, [gate.property for gate in found.failed_gates]) == (Status.REFUSED, ["own-code"])


def test_a_gain_that_rare_calls_take_back_is_refused() -> None:
    request = ask(SLOW, (CORPUS / "exploits" / "rare_stall.py").read_text(), size=SIZE)
    found = measure(replace(request, plan=replace(request.plan, looks=(3,))))
    if [gate.property for gate in found.failed_gates] != ["gain-in-the-mean"]:  # only what would win is asked for it
        assert not judge(found).outcome.is_accepted


@pytest.mark.parametrize("name", LOOKALIKES)
def test_honest_lookalike_is_measured(name: str) -> None:
    found = measure(ask((CORPUS / "honest" / f"{name}.py").read_text(), None, size=SIZE))
    assert (found.status, found.problem) == (Status.MEASURED, "")


def test_a_triton_kernel_is_its_own_code() -> None:
    text = load_operator("gemm_bf16").start("naive")
    found = measure(ask(text, None, size=SIZE, vendor_allowed=False))
    assert (found.status, found.problem) == (Status.MEASURED, "")
    assert "own-code" in {gate.property for gate in found.gates}


def test_the_plain_kernel_of_the_corpus_is_measured() -> None:
    found = measure(ask(HONEST, None, size=SIZE))
    assert (found.status, found.problem) == (Status.MEASURED, "")
