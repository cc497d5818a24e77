"""Screening on many machines. A shard is a handful of kernels with today's among them, scored against it where it ran.

Times of two machines are never compared: the best of all shards are looked at together on the campaign's own machine,
and what wins there goes through the same gate as any other proposal. A lost machine costs its shard.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from layline import codec
from layline.campaign.devices.gpu_lock import take_one
from layline.campaign.operators.find import find_operator
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.read import run_text
from layline.campaign.proposers.screen import screen, screen_here
from layline.campaign.proposers.screened import TODAY, Screened
from layline.campaign.values.operator import Operator, Shape, Snapshot
from layline.executors import Attempt, Lost, Plain, open_executor

SIZE = 5
"""Kernels of one shard beside today's."""
WINNERS = 4
"""So many of all shards are looked at together here."""
SCREENING, SCREENED = "screening", "screened"
"""In the ledger: one attempt on its way; what became of all."""
_SHARD = f"{__name__}:screen_shard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """How `Search` looks at kernels when it has an executor."""

    executor: str
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
        operator: Operator,
        shapes: tuple[Shape, ...],
        candidates: dict[str, Snapshot],
        *,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> list[Screened]:
        others = [name for name in candidates if name != TODAY]
        groups = tuple(tuple(others[at : at + SIZE]) for at in range(0, len(others), SIZE))
        if len(groups) < 2:
            return screen_here(operator, shapes, candidates, may_go_on=may_go_on)
        looked = self._ask(groups, shapes, candidates, may_go_on)
        winners = [item.name for item in looked if item.score is not None and item.score < 0 and not item.is_out]
        kept = {name: candidates[name] for name in (TODAY, *winners[:WINNERS])}
        here = screen_here(operator, shapes, kept, may_go_on=may_go_on)
        return [*here, *_carry(looked, here)]

    def _ask(
        self,
        groups: tuple[tuple[str, ...], ...],
        shapes: tuple[Shape, ...],
        candidates: dict[str, Snapshot],
        may_go_on: Callable[[], bool],
    ) -> list[Screened]:
        """What all shards saw, relative to today's kernel there; fastest first."""
        jobs = [self._pack(shapes, {name: candidates[name] for name in (TODAY, *group)}) for group in groups]
        answers: list[Plain] = []
        with open_executor(self.executor) as executor:

            def note(attempt: Attempt) -> None:
                group = list(groups[attempt.job])
                self.note(SCREENING, {"shard": attempt.job, "try": attempt.try_, "kind": self.kind, "kernels": group})

            try:
                for _, answer in executor.screen(_SHARD, jobs, self.kind, note):
                    answers.append(answer)
                    if not may_go_on():
                        break
                why = ""
            except Lost as lost:
                why = lost.message
            seen = {"shards": len(jobs), "answered": len(answers), "attempts": executor.tally.attempts}
            self.note(SCREENED, {**seen, "lost": executor.tally.lost, "late": executor.tally.late, "why": why})
        looked = [item for answer in answers for item in _compare(answer)]
        return sorted(looked, key=lambda item: (item.score is None, item.is_out, item.score or 0.0))

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
    operator = _open_operator(job["operator"], job["sources"])
    shapes = tuple(shape for shape in operator.shapes if shape.label in job["shapes"])
    kernels = {
        name: Snapshot(files=tuple((path, text) for path, text in files)) for name, files in job["kernels"].items()
    }
    if operator.is_on_device:
        take_one(job["kind"])
    return {"looked": [codec.encode(item) for item in screen(operator, shapes, kernels)]}


def _open_operator(name: str, sources: list[Any]) -> Operator:
    if not sources:
        return find_operator(name).operator
    (_, text), *beside = sources
    with tempfile.TemporaryDirectory(prefix="layline-operator-") as folder:
        for path, said in beside:
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(said, "utf-8")
        return build_operator(run_text(text, name, Path(folder).resolve()))


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


def _carry(looked: list[Screened], here: list[Screened]) -> Iterator[Screened]:
    """What was not looked at here, on this machine's scale, as left behind."""
    today = next((item.score for item in here if item.name == TODAY), None)
    known = {item.name for item in here}
    for item in itertools.filterfalse(lambda one: one.name in known, looked):
        if item.score is None:
            yield item
        elif today is not None:
            yield replace(item, score=today + item.score, is_out=True, times=())
