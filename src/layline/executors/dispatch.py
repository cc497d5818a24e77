"""The driver's loop: which job goes out, and what becomes of each attempt. The same for processes, Ray and
simulations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from layline.core.prose import count
from layline.errors import Error
from layline.executors.values import Lost, Plain

TRIES = 3
"""So often a job whose machine is lost goes out."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One job on its way; noted before it goes out."""

    number: int
    job: int
    try_: int


@dataclass(frozen=True, slots=True)
class Answered:
    attempt: int
    answer: Plain


@dataclass(frozen=True, slots=True)
class Gone:
    """The machine was lost with the attempt."""

    attempt: int
    why: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The function itself failed; it would fail again."""

    attempt: int
    message: str
    hint: str | None = None


Event: TypeAlias = Answered | Gone | Raised


class Pool(Protocol):
    """Something that runs attempts."""

    def has_room(self) -> bool: ...

    def start(self, attempt: Attempt, job: Plain) -> None: ...

    def wait(self) -> Iterable[Event]:
        """What happened since; blocks until something did."""
        ...


@dataclass(slots=True)
class Tally:
    """What became of all attempts."""

    attempts: int = 0
    lost: int = 0
    late: int = 0
    """Answers of attempts that were given up; dropped."""
    doubled: int = 0
    """Second answers of one attempt; dropped."""


def dispatch(
    jobs: Sequence[Plain],
    pool: Pool,
    *,
    tally: Tally | None = None,
    note: Callable[[Attempt], None] = lambda _: None,
    tries: int = TRIES,
) -> Iterator[tuple[int, Plain]]:
    """Each job's number and its one answer, as they come.

    `note`: told of each attempt before it goes out, so that nobody can draw again in secret.
    """
    counted = tally if tally is not None else Tally()
    waiting = deque((number, 1) for number in range(len(jobs)))
    running: dict[int, Attempt] = {}
    answered: set[int] = set()
    while waiting or running:
        while waiting and pool.has_room():
            job, try_ = waiting.popleft()
            attempt = Attempt(counted.attempts, job, try_)
            counted.attempts += 1
            note(attempt)
            running[attempt.number] = attempt
            pool.start(attempt, jobs[job])
        for event in pool.wait():
            known = running.pop(event.attempt, None)
            if known is None:
                _count_stray(event, answered, counted)
                continue
            match event:
                case Answered(answer=answer):
                    answered.add(event.attempt)
                    yield known.job, answer
                case Gone(why=why):
                    counted.lost += 1
                    if known.try_ >= tries:
                        raise Lost(f"Job {known.job + 1} of {len(jobs)}", f"{why}; it was sent {count(tries, 'time')}")
                    waiting.append((known.job, known.try_ + 1))
                case Raised(message=message, hint=hint):
                    raise Error(message, hint=hint)


def _count_stray(event: Event, answered: set[int], tally: Tally) -> None:
    if isinstance(event, Answered):
        if event.attempt in answered:
            tally.doubled += 1
        else:
            tally.late += 1


def collect(answers: Iterable[tuple[int, Plain]], each: Callable[[int, Plain], None]) -> list[Plain]:
    """All answers in the order of their jobs."""
    found: dict[int, Plain] = {}
    for number, answer in answers:
        each(number, answer)
        found[number] = answer
    return [found[number] for number in sorted(found)]
