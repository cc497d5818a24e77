"""The walk through all commands on the sample: a table of steps, in the order a maintainer asks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

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
    needs: str | None = None
    """A package that the command cannot do without; the step is left out where it is not installed."""


PDF = () if find_spec("typst") else ("--no-pdf",)
SUMMARY = "docs/backend-gap/reports/keel/upstream-main/summary.md"
WEEKS = ("2026-W24", "2026-W25", "2026-W26")
STEPS: tuple[Step, ...] = (
    Step(
        asks="What would Layline's settings be for this project?", command=("init", "../fresh", "--git", "."), lines=12
    ),
    Step(asks="What is configured, and is everything there?", command=("doctor",), exit_codes=(0, 1), lines=10),
    Step(asks="How far is Keel behind?", command=("gap", "show", "keel", "--date", DATE), lines=24),
    Step(asks="And Rivet, which a workflow variable pins?", command=("gap", "show", "rivet", "--date", DATE), lines=6),
    Step(asks="Which patches do we have, and which do nothing?", command=("patches", "list", "keel"), lines=24),
    Step(
        asks="What did the upstreams do, and what does it do to us?",
        command=("gap", "report", "--all", "--date", DATE),
        lines=18,
    ),
    *(
        Step(asks=f"What happened in {week}?", command=("periodic", "weekly", "--week", week), lines=8)
        for week in WEEKS
    ),
    Step(asks="And in June?", command=("periodic", "monthly", "--month", "2026-06"), lines=8),
    Step(
        asks="What does a benchmark file say?",
        command=("bench", "csv", "bench/before.csv", "bench/after.csv"),
        lines=20,
    ),
    Step(asks="Are all published records valid?", command=("dashboard", "index"), lines=8),
    Step(asks="Do the facts of our reports still hold?", command=("gap", "verify"), lines=10),
    Step(asks="What would the team see?", command=("dashboard", "build", "--output-dir", "../site", *PDF)),
    Step(asks="Would a stranger find anything wrong with it?", command=("dashboard", "check", "../site")),
    Step(
        asks="And one page on paper?",
        command=("pdf", SUMMARY, "-o", "../keel-summary.pdf", "--one-page"),
        needs="typst",
    ),
    Step(asks="What can an agent be told?", command=("skills", "list"), lines=6),
)
