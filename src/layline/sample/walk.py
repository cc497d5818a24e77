"""The walk through all commands on the sample: a table of steps, in the order a maintainer asks."""

from __future__ import annotations

from dataclasses import dataclass

from layline.sample.world import DATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command line; it is run in Harbor's work tree."""

    asks: str
    """The question, in a maintainer's words."""
    command: tuple[str, ...]
    """What follows `layline`; its first words name the command."""
    exit_codes: tuple[int, ...] = (0,)
    """1 where something planted in the sample needs a person."""
    lines: int = 14
    """How much of the answer is shown; all of it is in the transcript."""


STEPS: tuple[Step, ...] = (
    Step(
        asks="What would Layline's settings be for this project?", command=("init", "../fresh", "--git", "."), lines=12
    ),
    Step(asks="What is configured, and is everything there?", command=("doctor",), exit_codes=(0, 1), lines=10),
    Step(asks="How far is Keel behind?", command=("gap", "show", "keel", "--date", DATE), lines=24),
    Step(asks="And Rivet, which a workflow variable pins?", command=("gap", "show", "rivet", "--date", DATE), lines=6),
    Step(
        asks="What does a benchmark file say?",
        command=("bench", "csv", "bench/before.csv", "bench/after.csv"),
        lines=20,
    ),
    Step(asks="Are all published records valid?", command=("dashboard", "index"), lines=8),
)
