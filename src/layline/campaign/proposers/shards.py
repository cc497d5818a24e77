"""Screening on many machines. A shard is a handful of kernels with today's among them, scored against it where it ran.

Times of two machines are never compared: the best of all shards are one more shard, looked at together on one machine
of the campaign's kind, and what wins there goes through the same gate as any other proposal. A lost machine costs its
shard.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from layline import codec
from layline.campaign.devices.gpu_lock import take_one
from layline.campaign.operators.travel import open_operator
from layline.campaign.proposers.screen import screen
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.operator import Operator, Shape, Snapshot
from layline.executors import Attempt, Executor, Lost, Plain

SIZE = 5
"""Kernels of one shard beside today's."""
WINNERS = 4
"""So many of all shards are looked at together."""
SCREENING, SCREENED = "screening", "screened"
"""In the ledger: one attempt on its way; what became of all."""
_SHARD = f"{__name__}:screen_shard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """How `Search` looks at kernels when it has an executor."""

    executor: Executor
    kind: str
    """What the campaign is measured on: a processor, or an accelerator's product."""
    name: str
    """The operator, by the name it is found by."""
    sources: tuple[tuple[str, str], ...]
    """All of its file, where it is one."""
    note: Callable[[str, Plain], None]
    """Writes into the campaign's record: every attempt before it goes out, and what became of all."""

    def __call__(
        self,
        operator: Operator,  # noqa: ARG002  it is found by name, there
        shapes: tuple[Shape, ...],
        candidates: dict[str, Snapshot],
        *,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> list[Screened]:
        others = [name for name in candidates if name != TODAY]
        groups = tuple(tuple(others[at : at + SIZE]) for at in range(0, len(others), SIZE))
        answers = self._ask(groups, shapes, candidates, may_go_on)
        if len(groups) < 2:
            return _read_together(answers)
        looked = sorted((item for answer in answers for item in _compare(answer)), key=_rank)
        winners = [item.name for item in looked if item.score is not None and item.score < 0 and not item.is_out]
        together = [Screened(name=TODAY, score=0.0)]
        if winners:
            together = _read_together(self._ask((tuple(winners[:WINNERS]),), shapes, candidates, may_go_on))
        return [*together, *_carry(looked, together)]

    def _ask(
        self,
        groups: tuple[tuple[str, ...], ...],
        shapes: tuple[Shape, ...],
        candidates: dict[str, Snapshot],
        may_go_on: Callable[[], bool],
    ) -> list[Plain]:
        """What shards saw; all that came before a machine was lost for good, or the time was up."""
        jobs = [self._pack(shapes, {name: candidates[name] for name in (TODAY, *group)}) for group in groups]
        answers: list[Plain] = []
        executor, before = self.executor, replace(self.executor.tally)

        def note(attempt: Attempt) -> None:
            group = list(groups[attempt.job])
            self.note(SCREENING, {"shard": attempt.job, "try": attempt.try_, "kind": self.kind, "kernels": group})

        why = ""
        with closing(executor.screen(_SHARD, jobs, self.kind, note)) as screened:
            try:
                for _, answer in screened:
                    answers.append(answer)
                    if not may_go_on():
                        break
            except Lost as lost:
                why = lost.message
        seen = {"shards": len(jobs), "answered": len(answers)}
        counted = {key: getattr(executor.tally, key) - getattr(before, key) for key in ("attempts", "lost", "late")}
        self.note(SCREENED, {**seen, **counted, "why": why})
        return answers

    def _pack(self, shapes: tuple[Shape, ...], kernels: dict[str, Snapshot]) -> Plain:
        return {
            "operator": self.name,
            "kind": self.kind,
            "sources": [list(source) for source in self.sources],
            "shapes": [shape.label for shape in shapes],
            "kernels": {name: [list(file) for file in snapshot.files] for name, snapshot in kernels.items()},
        }


def screen_shard(job: Plain) -> Plain:
    """On whichever machine it is asked: all kernels of a shard, today's among them, on one accelerator or processor."""
    operator = open_operator(job["operator"], job["sources"])
    shapes = tuple(shape for shape in operator.shapes if shape.label in job["shapes"])
    kernels = {
        name: Snapshot(files=tuple((path, text) for path, text in files)) for name, files in job["kernels"].items()
    }
    if operator.is_on_device:
        take_one(job["kind"])
    return {"looked": [codec.encode(item) for item in screen(operator, shapes, kernels)]}


def _read_together(answers: list[Plain]) -> list[Screened]:
    """What one shard saw, in the times of the machine it ran on; nothing where it was lost."""
    return [codec.decode(Screened, item, where="shard") for answer in answers for item in answer["looked"]]


def _rank(item: Screened) -> tuple[bool, bool, float]:
    return item.score is None, item.is_out, item.score or 0.0


def _compare(answer: Plain) -> Iterator[Screened]:
    """Each kernel as ln(t / t_today) of its own shard; nothing where today's kernel has no time there."""
    looked = [codec.decode(Screened, item, where="shard") for item in answer["looked"]]
    today = next((item.score for item in looked if item.name == TODAY), None)
    for item in looked:
        if item.name == TODAY:
            continue
        if item.score is None:
            yield item
        elif today is not None:
            yield replace(item, score=item.score - today)


def _carry(looked: list[Screened], together: list[Screened]) -> Iterator[Screened]:
    """What was not looked at together, on that machine's scale, as left behind."""
    today = next((item.score for item in together if item.name == TODAY), None)
    known = {item.name for item in together}
    for item in itertools.filterfalse(lambda one: one.name in known, looked):
        if item.score is None:
            yield item
        elif today is not None:
            yield replace(item, score=today + item.score, is_out=True, times=())
