"""What the driver's loop does with answers, losses, late and doubled answers; a simulated cluster."""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Iterable

import pytest

from layline.errors import Error
from layline.executors import Answered, Attempt, Event, Gone, Lost, Plain, Raised, Tally, dispatch
from layline.executors.capacity import Capacity


class Script:
    """A pool of one machine whose events are written down: attempt → what happens."""

    def __init__(self, *events: list[Event]) -> None:
        self.events = list(events)
        self.started: list[Attempt] = []

    def has_room(self) -> bool:
        return True

    def start(self, attempt: Attempt, job: Plain) -> None:
        self.started.append(attempt)

    def wait(self) -> Iterable[Event]:
        return self.events.pop(0)


CASES: list[tuple[str, list[list[Event]], dict[str, int]]] = [
    # (what happens, events, what is counted)
    ("both answer", [[Answered(1, {"x": 1})], [Answered(0, {"x": 0})]], {"attempts": 2}),
    (
        "one is lost and goes again",
        [[Gone(0, "node")], [Answered(1, {"x": 1}), Answered(2, {"x": 0})]],
        {"attempts": 3, "lost": 1},
    ),
    (
        "the lost one answers after all",
        [[Gone(0, "node")], [Answered(0, {"x": 9})], [Answered(1, {"x": 1}), Answered(2, {"x": 0})]],
        {"attempts": 3, "lost": 1, "late": 1},
    ),
    (
        "one answers twice",
        [[Answered(0, {"x": 0}), Answered(0, {"x": 7})], [Answered(1, {"x": 1})]],
        {"attempts": 2, "doubled": 1},
    ),
]


@pytest.mark.parametrize(("events", "counted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_job_has_one_answer(events: list[list[Event]], counted: dict[str, int]) -> None:
    tally, noted = Tally(), list[int]()
    pool = Script(*events)
    found = dict(dispatch([{}, {}], pool, tally=tally, note=lambda one: noted.append(one.number)))
    assert found == {0: {"x": 0}, 1: {"x": 1}}
    assert tally == Tally(**counted)
    assert noted == [one.number for one in pool.started] == list(range(tally.attempts))


def test_an_attempt_is_noted_before_it_goes_out() -> None:
    said: list[str] = []

    class Pool(Script):
        def start(self, attempt: Attempt, job: Plain) -> None:
            said.append("start")

    list(dispatch([{}], Pool([Answered(0, {})]), note=lambda _: said.append("note")))
    assert said == ["note", "start"]


def test_a_job_that_is_always_lost_ends_the_run() -> None:
    with pytest.raises(Lost, match="Job 1 of 1 was lost: node; it was sent 3 times"):
        list(dispatch([{}], Script([Gone(0, "node")], [Gone(1, "node")], [Gone(2, "node")])))


def test_what_a_function_raises_is_not_tried_again() -> None:
    with pytest.raises(Error, match="no such ref"):
        list(dispatch([{}], Script([Raised(0, "no such ref")])))


class Simulated:
    """A cluster whose machines take a drawn time for a job, die now and then, and sometimes answer late."""

    def __init__(self, machines: int, seed: int) -> None:
        self._capacity = Capacity({f"node-{number}": 1 for number in range(machines)})
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, str, Event]] = []
        self._now = 0.0
        self._made = 0

    def has_room(self) -> bool:
        return self._capacity.has_room()

    def start(self, attempt: Attempt, job: Plain) -> None:
        node = self._capacity.take()
        done = self._now + self._random.expovariate(1.0)
        answer = Answered(attempt.number, {"number": job["number"]})
        if self._random.random() < 0.01:
            self._push(done, node, Gone(attempt.number, "node"))
            self._push(done + 0.1, "", answer)
        else:
            self._push(done, node, answer)

    def _push(self, at: float, node: str, event: Event) -> None:
        self._made += 1
        heapq.heappush(self._events, (at, self._made, node, event))

    def wait(self) -> Iterable[Event]:
        self._now, _, node, event = heapq.heappop(self._events)
        if node:
            self._capacity.give_back(node, is_lost=isinstance(event, Gone))
        return [event]


@pytest.mark.parametrize(("machines", "jobs"), [(1_000, 10_000)])
def test_a_thousand_machines_cost_the_driver_little(machines: int, jobs: int) -> None:
    tally, began = Tally(), time.process_time()
    found = dict(dispatch([{"number": number} for number in range(jobs)], Simulated(machines, 7), tally=tally))
    spent = time.process_time() - began
    assert all(answer == {"number": number} for number, answer in found.items())
    assert len(found) == jobs
    assert tally.lost == tally.attempts - jobs > 0
    assert tally.late > 0
    assert tally.doubled == 0
    assert spent / jobs < 0.001, f"{spent / jobs * 1e6:.0f} µs for each job"


def test_the_least_busy_machine_comes_first_and_one_that_lost_something_last() -> None:
    capacity = Capacity({"a": 2, "b": 1, "none": 0})
    assert [capacity.take() for _ in range(3)] == ["a", "b", "a"]
    assert not capacity.has_room()
    capacity.give_back("b", is_lost=True)
    capacity.give_back("a")
    assert [capacity.take() for _ in range(2)] == ["a", "b"]
    capacity.give_back("b")
    capacity.give_back("a")
    capacity.give_back("a")
    assert [capacity.take() for _ in range(3)] == ["a", "a", "b"]
