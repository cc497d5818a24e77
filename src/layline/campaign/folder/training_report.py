"""The last word of a report: what the best kernel is worth in a real training loop. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from layline.campaign.values.training import LOSS_SHARE, Training, compare_steps, find_loss_distance, find_median
from layline.campaign.values.verdict import Interval
from layline.core.report import Block, Bullets, Paragraph, Section, Table

NAMES = {
    "start": "starting kernel",
    "best": "best kernel",
    "again": "best kernel, a second process",
    "torch": "torch's own",
}


def find_training_section(training: Training | None) -> Iterator[Section]:
    """The section, where a loop was run or tried."""
    if training is not None:
        yield Section(title="Training loop", blocks=tuple(_build_blocks(training)))


def _build_blocks(training: Training) -> Iterator[Block]:
    yield Paragraph(f"{training.model}.")
    if training.problem:
        yield Paragraph(f"It could not be run to its end: {training.problem}")
    if not training.sets:
        return
    legs = [found.leg for found in training.sets[0]]
    rows = tuple((NAMES[leg], f"{find_median(training, leg):.2f}", _tell_losses(training, leg)) for leg in legs)
    yield Table(columns=("with", "step ms", "loss beside torch's"), rows=rows, numeric=frozenset({1}))
    told = (
        ("best over start", "start", "best"),
        ("best over torch", "torch", "best"),
        ("best over itself (noise)", "again", "best"),
    )
    found = [(title, compare_steps(training, slower, faster)) for title, slower, faster in told]
    yield Bullets(tuple(_tell(title, interval) for title, interval in found if interval is not None))


def _tell(title: str, interval: Interval) -> str:
    return (
        f"Steps per second, {title}: {interval.estimate:+.1%} (95 % bounds {interval.lower:+.1%} to "
        f"{interval.upper:+.1%}, "
        f"{interval.pairs} sets of processes)."
    )


def _tell_losses(training: Training, leg: str) -> str:
    distance = find_loss_distance(training, leg)
    if leg == "torch" or distance is None:
        return "–"
    return f"{'within' if distance <= LOSS_SHARE else 'off by'} {distance:.2%}"
