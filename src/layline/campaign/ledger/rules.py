"""Rules of the loop that are decided from the state alone: duties before a round, escalation, termination. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.ledger.state import Settled
from layline.campaign.values.manifest import parse_target
from layline.campaign.values.measurement import Outcome
from layline.campaign.values.scores import compute_score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.ledger.state import Round, State

ESCALATION = (
    (
        "diagnosis",
        "say why the change did not help, or did not show: whether it is on the hot path, and the bottleneck where you assumed it",
    ),
    ("profile", "profile again in full and classify the bottleneck anew"),
    ("inspection", "read the generated machine code and compare it with a reference"),
    ("comparison", "compare with the best known kernel and consider a fundamentally different approach"),
)
"""What 1, 2, 3 and 4 rollbacks in a row demand, each on top of the one before."""
DIRECTIONS = 3
"""New, fundamentally different directions that a stagnation review brings."""
NOTES = ("diagnosis", "attribution", "next", "lesson", "profile", "inspection", "comparison", "direction")


@dataclass(frozen=True, slots=True)
class Duty:
    """Something that must be written down before the next round."""

    note: str
    why: str


def find_duties(state: State) -> Iterator[Duty]:
    """What the last rounds still demand before the next one: their summaries are finished first."""
    streak = state.streak
    if not streak:
        yield from _find_accepted_duties(state)
        return
    written = {note.kind for item in streak for note in item.notes}
    last = streak[-1]
    if not last.texts("diagnosis"):
        yield Duty("diagnosis", _ask_for_diagnosis(last))
    for needed, (kind, why) in enumerate(ESCALATION[1:], 2):
        if len(streak) >= needed and kind not in written:
            yield Duty(kind, f"{len(streak)} rollbacks in a row: {why}")
    if len(streak) >= 2:
        directions = [text for item in streak for text in item.texts("direction")]
        lacking = DIRECTIONS - len(set(directions))
        if lacking > 0:
            yield Duty(
                "direction",
                f"{len(streak)} rollbacks in a row: a stagnation review brings {lacking} more new directions",
            )


def _ask_for_diagnosis(item: Round) -> str:
    """A kernel that was refused is to be understood, one that was not faster explained."""
    refused = item.last_run.measurement.failed_gates if item.last_run else ()
    if not refused:
        return f"round {item.number} was rolled back: {ESCALATION[0][1]}"
    return (
        f"round {item.number} was refused (`{refused[0].property}`), whatever its speed: say what in the kernel "
        "does that; "
        f"`layline campaign explain {item.number}` measures it again and shows the call, the inputs and the numbers"
    )


def _find_accepted_duties(state: State) -> Iterator[Duty]:
    """An accepted round says why it helped and where to go next, or nobody learns from it."""
    last = state.rounds[-1] if state.rounds else None
    if last is None or last.settled is not Settled.ACCEPTED:
        return
    if not last.texts("attribution"):
        yield Duty("attribution", f"round {last.number} was accepted: say why this change helped")
    if not last.texts("next"):
        yield Duty("next", f"round {last.number} was accepted: say what to try next")


def read_score(state: State, item: Round) -> float | None:
    """The aggregate of the primary metric as this round measured it; None where it has no figures."""
    run = item.last_run
    table = run.table() if run else None
    return compute_score(table, state.manifest.primary_metric) or None if table else None


def check_termination(state: State, requested: str | None) -> tuple[tuple[str, bool, str], ...]:
    """T1–T4, each with why it holds or not."""
    score = read_score(state, state.best) if state.baseline else None
    return (
        ("T1 performance_target", *_check_target(state, score)),
        ("T2 hardware efficiency", *_check_efficiency(state, score)),
        ("T3 max_iterations reached", *_check_iterations(state)),
        ("T4 user requested stop", bool(requested), requested or "no stop was requested"),
    )


def _check_target(state: State, score: float | None) -> tuple[bool, str]:
    text = state.manifest.performance_target
    target = parse_target(text) if text else None
    if target is None or score is None:
        return False, "no target is set" if text is None else "there is no score yet"
    base = read_score(state, state.baseline) if state.baseline else None
    reached = {
        "value": score,
        "share": score / state.manifest.peak if state.manifest.peak else None,
        "gain": score / base - 1 if base else None,
    }[target.kind]
    if reached is None:
        return False, f"{text}: cannot be computed"
    holds = reached > target.value if target.strict else reached >= target.value
    return holds, f"{text}: {reached:.4g} measured in the round of the best"


def _check_efficiency(state: State, score: float | None) -> tuple[bool, str]:
    peak, share = state.manifest.peak, state.manifest.efficiency_target
    if peak is None or share is None or score is None:
        return False, "no efficiency target is set"
    return score / peak >= share, f"{score / peak:.1%} of the peak, {share:.1%} wanted"


def _check_iterations(state: State) -> tuple[bool, str]:
    limit, made = state.manifest.max_iterations, max(0, len(state.rounds) - 1)
    if limit is None:
        return False, f"no limit is set; {made} rounds made"
    return made >= limit, f"{made} of {limit} rounds made"


def is_ineffective(item: Round) -> bool:
    """Whether a round showed its direction not to help; an inconclusive one did not."""
    return item.settled is Settled.ROLLED_BACK and item.verdict is not None and item.verdict.outcome is Outcome.ROLLBACK
