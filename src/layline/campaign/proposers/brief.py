"""What a proposer is told: the best kernel, what helped and what did not, what is demanded. No secrets, no seeds.
Pure.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.ledger.rules import ESCALATION, find_duties, is_ineffective
from layline.campaign.ledger.state import Settled
from layline.campaign.proposers.bounds import Bottleneck, Bound, classify, find_bounds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from layline.campaign.ledger.lessons import Lesson
    from layline.campaign.ledger.state import Round, State
    from layline.campaign.values.operator import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """One thing that was tried."""

    round: int
    change: str
    gain: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeTime:
    """How long the best takes on a shape, in the run that accepted it."""

    shape: str
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """Everything a proposer may know."""

    campaign: str
    operator: str
    language: str
    hardware: str
    metric: str
    allowed_files: tuple[str, ...]
    best_round: int
    effective: tuple[Direction, ...]
    ineffective: tuple[Direction, ...]
    inconclusive: tuple[Direction, ...]
    slowest: tuple[ShapeTime, ...]
    lessons: tuple[str, ...]
    demanded: tuple[str, ...]
    """What the rollbacks so far demand before the next round."""
    time_limit_s: float
    kernel: tuple[tuple[str, str], ...] = ()
    """Path and text of the working kernel."""
    diff: str = ""
    """From the starting kernel to the working one."""
    bounds: tuple[Bound, ...] = ()
    """What holds the working kernel back, by shape."""
    bottleneck: Bottleneck | None = None
    """And on the whole, with its evidence."""
    escalation: str = ""
    """How far the rollbacks in a row have escalated."""


def build_brief(state: State, lessons: Sequence[Lesson] = (), operator: Operator | None = None) -> Brief:
    best, start = _texts(state, state.best.kernel), _texts(state, state.rounds[0].kernel)
    tried = [item for item in state.rounds[1:] if item.settled is not None]
    effective = [item for item in tried if item.settled is Settled.ACCEPTED]
    ineffective = [item for item in tried if is_ineffective(item)]
    rest = [item for item in tried if item not in effective and item not in ineffective]
    bounds = tuple(find_bounds(state, operator)) if operator else ()
    return Brief(
        campaign=state.manifest.name,
        operator=state.manifest.target_op,
        language=state.manifest.target_lang,
        hardware=state.manifest.target_gpu,
        metric=state.manifest.primary_metric,
        allowed_files=state.manifest.kernel_files,
        best_round=state.best.number,
        effective=tuple(map(_describe, effective)),
        ineffective=tuple(map(_describe, ineffective)),
        inconclusive=tuple(map(_describe, rest)),
        slowest=_find_slowest(state.best),
        lessons=tuple(lesson.takeaway for lesson in lessons if not lesson.withdrawn),
        demanded=tuple(duty.why for duty in find_duties(state)),
        time_limit_s=state.manifest.time_limit_s,
        kernel=tuple(best.items()),
        diff="".join(_diff(start, best)),
        bounds=bounds,
        bottleneck=classify(state, operator, bounds) if operator else None,
        escalation=_say_escalation(len(state.streak)),
    )


def _say_escalation(rollbacks: int) -> str:
    if not rollbacks:
        return ""
    return f"{rollbacks} rollbacks in a row: {ESCALATION[min(rollbacks, len(ESCALATION)) - 1][1]}"


def _texts(state: State, kernel: str) -> dict[str, str]:
    return {file.path: file.data.decode("utf-8", "replace") for file in state.kernel(kernel).files}


def _diff(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for path in sorted({*old, *new}):
        before, after = old.get(path, "").splitlines(keepends=True), new.get(path, "").splitlines(keepends=True)
        yield from difflib.unified_diff(before, after, f"start/{path}", f"best/{path}")


def _describe(item: Round) -> Direction:
    interval = item.verdict.interval if item.verdict else None
    said = " ".join(item.texts("diagnosis") or item.texts("attribution")) or (
        item.verdict.reason if item.verdict else ""
    )
    return Direction(round=item.number, change=item.change, gain=interval.estimate if interval else None, reason=said)


def _find_slowest(item: Round) -> tuple[ShapeTime, ...]:
    table = item.last_run.table() if item.last_run else None
    if table is None:
        return ()
    columns = [name for name in table.header if name.endswith("(ms)")]
    times = [
        ShapeTime(shape=row.label, milliseconds=sum(row.number(name) or 0.0 for name in columns)) for row in table.rows
    ]
    return tuple(sorted(times, key=lambda time: -time.milliseconds))
