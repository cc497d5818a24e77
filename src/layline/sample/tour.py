"""The walk through all commands on the sample: a table of steps, in the order a maintainer asks."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from layline.sample.write import DATE


@dataclass(frozen=True, slots=True, kw_only=True)
class TourStep:
    """One command line; it is run in Harbor's work tree."""

    asks: str
    """The question, in a maintainer's words."""
    command: tuple[str, ...]
    """What follows `layline`; its first words name the command."""
    exit_codes: tuple[int, ...] = (0,)
    """1 where something planted in the sample needs a person."""
    lines: int = 14
    """How much of the answer is shown; all of it is in the transcript."""
    needs: tuple[str, ...] = ()
    """Packages, or programs as `program:cc`, without which the step is left out."""
    folder: str = "harbor"
    """Where it is run."""
    copies: tuple[str, str] | None = None
    """A file that is put in another's place first, as an engineer's edit would be."""
    excuse: str | None = None
    """Words of a complaint that is in order, too: a busy machine cannot be measured on, and says so."""
    measures: bool = False
    """True if it takes its time to measure, or stands on what was measured; a quick walk leaves it out."""
    is_timed: bool = False
    """True if it reads a clock: nothing runs beside it, and it is started as a user starts it."""
    reads: bool = False
    """True if it writes nothing: it may run beside its neighbour that only reads as well."""


def _board(name: str) -> tuple[str, ...]:
    """Options that save an answer where the dashboard looks for it."""
    return ("--format", "json", "-o", f"docs/patches/dashboard-data/{name}")


def _measure(asks: str, *command: str, exit_codes: tuple[int, ...] = (0,), kernel: str | None = None) -> TourStep:
    """A step of the campaign in the workshop."""
    return TourStep(
        asks=asks,
        command=("campaign", *command),
        exit_codes=exit_codes,
        lines=20,
        needs=("numpy", "program:cc"),
        folder="workshop",
        copies=None if kernel is None else (f"../candidates/{kernel}.c", "gemm.c"),
        excuse="could not be measured",
        measures=True,
        is_timed=command[0] in {"baseline", "round", "brief"},
    )


def _read(asks: str, *command: str, exit_codes: tuple[int, ...] = (0,), lines: int = 14) -> TourStep:
    """A question whose answer is printed, and nothing else."""
    return TourStep(asks=asks, command=command, exit_codes=exit_codes, lines=lines, reads=True)


def _round(asks: str, hypothesis: str, change: str, kernel: str, exit_codes: tuple[int, ...]) -> TourStep:
    said = ("--hypothesis", hypothesis, "--change", change, "--bucket", "K1")
    return _measure(asks, "round", *said, exit_codes=exit_codes, kernel=kernel)


CAMPAIGN = "docs/campaigns/dashboard-data/gemm.json"
DIAGNOSIS = "The last product of a sum is part of the sum"
PDF = () if find_spec("typst") else ("--no-pdf",)
RECORD = "docs/backend-gap/dashboard-data/reports/keel-upstream-main.json"
SUMMARY = "docs/backend-gap/reports/keel/upstream-main/summary.md"
WEEKS = ("2026-W12", "2026-W17", "2026-W21", "2026-W25", "2026-W26")
STEPS: tuple[TourStep, ...] = (
    TourStep(
        asks="What would Layline's settings be for this project?", command=("init", "../fresh", "--git", "."), lines=12
    ),
    _read("What is configured, and is everything there?", "doctor", exit_codes=(0, 1), lines=10),
    _read("How far is Keel behind?", "gap", "show", "keel", "--date", DATE, lines=24),
    _read("And Rivet, which a workflow variable pins?", "gap", "show", "rivet", "--date", DATE, lines=6),
    _read("Which patches do we have, and which do nothing?", "patches", "list", "keel", lines=24),
    _read("Where is Rivet used?", "patches", "find", "rivet", lines=12),
    _read("How does the step timer work?", "patches", "show", "keel.training.step_timer", lines=30),
    _read("Are our notes still true?", "patches", "notes", "docs/patch-notes.md", lines=18),
    _read(
        "Will they still fit upstream, and if not, who broke them?",
        *("patches", "drift", "keel", "--culprits", "--date", DATE),
        exit_codes=(1,),
        lines=40,
    ),
    _read(
        "What did upstream change in the body that we copied?",
        *("patches", "diff", "keel.optimizer.weight_decay", "--to", "main"),
        lines=30,
    ),
    TourStep(
        asks="How do we get to the tip, step by step, and which edits are proven?",
        command=("upgrade", "plan", "keel"),
        lines=30,
        needs=("libcst",),
        reads=True,
    ),
    TourStep(
        asks="How is a patch taken elsewhere?",
        command=("patches", "port", "keel.layers.remember", "--to", "../port"),
        lines=30,
    ),
    *(
        TourStep(
            asks=f"The patches of {key}, for the dashboard", command=("patches", "list", key, *_board(f"{key}.json"))
        )
        for key in ("keel", "spar")
    ),
    *(
        TourStep(
            asks=f"The drift of {key}, for the dashboard",
            command=("patches", "drift", key, "--culprits", "--date", DATE, *_board(f"{key}.drift.json")),
            exit_codes=(1,),
        )
        for key in ("keel", "spar")
    ),
    TourStep(asks="What is new since the last look?", command=("watch",), lines=6),
    TourStep(
        asks="What did the upstreams do, and what does it do to us?",
        command=("gap", "report", "--all", "--date", DATE),
        lines=18,
    ),
    *(
        TourStep(asks=f"What happened in {week}?", command=("periodic", "weekly", "--week", week), lines=8)
        for week in WEEKS
    ),
    TourStep(asks="And in June?", command=("periodic", "monthly", "--month", "2026-06"), lines=8),
    _read("What does a benchmark file say?", "bench", "csv", "bench/before.csv", "bench/after.csv", lines=20),
    _read("What can be optimised with trusted measuring?", "campaign", "operators"),
    _measure(
        "Begin a campaign",
        *("new", "gemm", "--operator", "gemm", "--kernel", "gemm.c", "--target", ">= +20 %"),
        *("--shape", "tiny-48", "--shape", "square-96", "--shape", "deep-64x64x480", "--yes"),
    ),
    _measure("How fast is the kernel we have?", "baseline"),
    _round(
        "This one is faster; is it right?", "Fewer products are faster", "Leave out the last of each sum", "wrong", (1,)
    ),
    _measure("What did that teach?", "note", "2", "--diagnosis", DIAGNOSIS),
    _round("Is this one really faster?", "A tile stays in the registers", "Multiply tile by tile", "tiled", (0, 1)),
    _measure("Where does the campaign stand?", "status"),
    _measure("What holds it back?", "brief", "--measure"),
    _measure("What happened, entry by entry?", "log"),
    _measure("Is the ledger intact?", "verify"),
    _measure("The campaign, for the dashboard", "report", "--format", "json", "-o", f"../harbor/{CAMPAIGN}"),
    TourStep(asks="What have earlier campaigns taught?", command=("lessons", "list"), folder="workshop"),
    TourStep(asks="Are all published records valid?", command=("dashboard", "index"), lines=8),
    _read("Do the facts of our reports still hold?", "gap", "verify", lines=10),
    _read("Would an independent audit confirm them?", "gap", "audit", RECORD, lines=16),
    TourStep(asks="What would the team see?", command=("dashboard", "build", "--output-dir", "../site", *PDF)),
    _read("Is the built site sound?", "dashboard", "check", "../site"),
    TourStep(
        asks="And one page on paper?",
        command=("pdf", SUMMARY, "-o", "../keel-summary.pdf", "--one-page"),
        needs=("typst",),
    ),
    _read("Which keys may the settings have?", "schema", "config", lines=6),
    _read("What can an agent be told?", "skills", "list", lines=6),
)
