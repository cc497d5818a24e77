"""A worker that keeps the rules is never called one that does not, however late we look."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from layline.campaign.devices import procfs
from layline.campaign.devices.faults import Disturbed, Fault
from layline.campaign.devices.kernel import Kernel
from layline.campaign.devices.shared_memory import Arena
from layline.campaign.devices.worker_process import Worker
from layline.campaign.measure.build import Built, build_kernel, workshop
from layline.campaign.measure.controls import wrap
from layline.campaign.operators import load_operator
from layline.campaign.operators.softmax import shape

SLEEPS = """#include <time.h>
#include <stdint.h>
int forward(const float *x, float *y, int64_t R, int64_t C) {
    struct timespec while_ = {0, 230000000};
    nanosleep(&while_, 0);
    return 0;
}
"""
SPINS = 'int forward(void) { for (;;) __asm__ volatile(""); }\n'


@contextmanager
def worker(source: str, shop: Path, *, timeout_s: float = 20.0) -> Iterator[tuple[Worker, Arena]]:
    operator = load_operator("softmax")
    built = build_kernel(wrap(operator, source), operator, shop)
    assert isinstance(built, Built)
    arena = Arena(operator, 1 << 20, np.random.default_rng(1))
    with Worker(Kernel(path=built.path, operator=operator, timeout_s=timeout_s), arena, shop) as one:
        one.load()
        yield one, arena
    arena.close()


def call(one: Worker, arena: Arena) -> None:
    operator, rng = load_operator("softmax"), np.random.default_rng(2)
    small = shape("s", 2, 4)
    place = arena.place(operator.passes[0], small, rng)
    one.call((arena.fill(operator.passes[0], small, place, operator.draw(small, rng, "normal")),))


def test_one_that_replies_while_we_are_kept_from_looking_is_not_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call longer than the wait for replies, and a parent that loses its core between that wait and the next look."""

    def look_late(pid: int) -> str:
        time.sleep(0.05)
        return read_state(pid)

    read_state = procfs.read_state
    with workshop() as shop, worker(SLEEPS, shop) as (one, arena):
        monkeypatch.setattr(procfs, "read_state", look_late)
        for _call in range(3):
            call(one, arena)
        assert one._unstopped == 0


def test_waiting_for_a_core_does_not_count_as_hanging(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    with workshop() as shop, worker(SPINS, shop, timeout_s=0.2) as (one, arena):
        monkeypatch.setattr(procfs, "read_kept_waiting_ns", lambda _pid: int((time.monotonic() - began) * 1e9))
        with pytest.raises(Disturbed, match=r"because the cores were busy with other work\. There is no verdict\."):
            call(one, arena)


def test_one_that_has_its_core_and_gives_no_answer_hangs() -> None:
    with workshop() as shop, worker(SPINS, shop, timeout_s=0.3) as (one, arena):
        with pytest.raises(Fault) as caught:
            call(one, arena)
        assert caught.value.property == "answers-in-time"
        assert "waiting for a core" in caught.value.evidence[0]
