"""How often do the commands a person types accept a change that changes nothing? Load and drift are injected.

    python -m bench no_op_commands FOLDER OUT.jsonl [ROUNDS [LOAD]]

Throw-away projects in FOLDER, one campaign each: `campaign new`, `baseline`, rounds with edits that leave the work of
the kernel as it is (each another one, so that none is taken for a duplicate), notes where a rollback demands them, and
a new campaign when `max_iterations` ends one (short campaigns: the first rounds may spend the most error). One line of
OUT per round; a run that was interrupted begins a new campaign and goes on counting. LOAD is the mean share of one core
that a side process takes in drifting bursts (0 where another run beside this one already loads the machine).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.no_op_rounds import _disturb
from layline.campaign.values.statistics import false_accept_bound

LENGTH = 20
"""Rounds of a campaign: the sooner a new one begins, the more error its rounds may spend."""
SHAPES = ("tiny-48", "square-96")
"""One of them per campaign, in turn, so that 200 rounds take an hour and not five."""
LOAD = 0.5
MANIFEST = """\
name: {name}
target_op: gemm
target_backend: C
target_lang: C
target_gpu: cpu
execution_mode: repo
project_skill: null
performance_target: null
primary_metric: Combined Step TFLOPS
target_shapes: [{{label: {label}}}]
kernel_source: gemm.c
test_command: null
benchmark_command: null
quick_command: null
representative_shapes: []
git_commit: true
git_branch: auto
max_iterations: {length}
created: 2026-11-15 05:00
measuring: trusted
operator: gemm
"""


def main(arguments: list[str]) -> int:
    folder, out = Path(arguments[0]).resolve(), Path(arguments[1])
    wanted = int(arguments[2]) if len(arguments) > 2 else 200
    load = float(arguments[3]) if len(arguments) > 3 else LOAD
    folder.mkdir(parents=True, exist_ok=True)
    loader = multiprocessing.Process(target=_disturb, args=(load, os.getpid()), daemon=True)
    if load:
        loader.start()
    with out.open("a") as lines:
        while (done := len(out.read_text().splitlines())) < wanted:
            project = Project(folder / f"campaign-{len(list(folder.glob('*.yaml'))) + 1}")
            for step in range(min(LENGTH, wanted - done)):
                lines.write(json.dumps(project.make_round(step)) + "\n")
                lines.flush()
            project.stop()
    if load:
        loader.terminate()
    print(summarise([json.loads(line) for line in out.read_text().splitlines()]))
    return 0


class Project:
    """A repository with one campaign on the blocked GEMM."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        for words in (
            ("init", "-q", "-b", "main"),
            ("config", "user.name", "N"),
            ("config", "user.email", "n@example.org"),
        ):
            self._git(*words)
        self._layline("campaign", "operators", "gemm", "--start", "blocked", "-o", "gemm.c")
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "Start from the blocked kernel")
        draft = folder.with_suffix(".yaml")
        self._draft(draft)
        self._layline("campaign", "new", folder.name, "--from", str(draft), "--yes")
        self._settle("campaign", "baseline")

    def make_round(self, step: int) -> dict[str, Any]:
        """One edit that changes nothing, through `campaign round`."""
        kernel = self.folder / "gemm.c"
        kernel.write_text(EDITS[step % len(EDITS)](kernel.read_text(), step))
        began = time.monotonic()
        words = ("--hypothesis", f"No-op {step}: the compiler does better with it", "--change", f"no-op {step}")
        found, again = self._settle("campaign", "round", *words, "--bucket", "K1")
        seconds = round(time.monotonic() - began, 1)
        self._note(found["round"], step)
        verdict = found["verdict"] or {}
        interval, literal = verdict.get("interval") or {}, verdict.get("amd_literal") or {}
        return {
            "campaign": self.folder.name,
            "round": found["round"],
            "settled": found["settled"],
            "outcome": verdict.get("outcome"),
            "accepted": found["settled"] == "ACCEPTED",
            "estimate": interval.get("estimate"),
            "lower": interval.get("lower"),
            "upper": interval.get("upper"),
            "literal": literal.get("accepts"),
            "reason": verdict.get("reason"),
            "measured_again": again,
            "load": os.getloadavg()[0],
            "seconds": seconds,
        }

    def stop(self) -> None:
        """End the campaign as its rules allow: by `max_iterations`, or because the planned rounds are made."""
        done = self._layline("campaign", "stop", check=False)
        if done.returncode:
            self._layline("campaign", "stop", "--reason", "enough rounds")

    def _draft(self, draft: Path) -> None:
        label = SHAPES[int(self.folder.name.rpartition("-")[2]) % len(SHAPES)]
        draft.write_text(MANIFEST.format(name=self.folder.name, length=LENGTH, label=label))

    def _note(self, number: int, step: int) -> None:
        """What a round demands before the next one."""
        words = [
            "--attribution",
            "noise",
            "--next",
            "another no-op",
            "--diagnosis",
            "the machine code is the same",
            "--profile",
            "as before",
            "--inspection",
            "identical loops",
        ]
        words += ["--comparison", "a packed kernel would do less work"]
        words += [word for text in ("pack", "tile", "unroll") for word in ("--direction", f"{text} {step}")]
        self._layline("campaign", "note", str(number), *words)

    def _settle(self, *arguments: str) -> tuple[dict[str, Any], list[str]]:
        """A measuring command; where a control failed it is resumed, as a person would."""
        done = self._layline(*arguments, "--format", "json", check=False)
        again: list[str] = []
        while done.returncode not in (0, 1):
            again.append(done.stderr.decode().splitlines()[0] if done.stderr else f"exit {done.returncode}")
            if len(again) > 8:
                raise SystemExit(f"{self.folder}: {again[-1]}")
            done = self._layline("campaign", "resume", "--format", "json", check=False)
        return json.loads(done.stdout), again

    def _layline(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        source = Path(__file__).resolve().parents[1] / "src"
        environment = {**os.environ, "PYTHONPATH": str(source)}
        done = subprocess.run(
            [sys.executable, "-m", "layline", *arguments],
            cwd=self.folder,
            env=environment,
            check=False,
            capture_output=True,
        )
        if check and done.returncode:
            raise SystemExit(f"{' '.join(arguments)}: {done.stderr.decode()}")
        return done

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True)


def _unused_function(source: str, step: int) -> str:
    return f"{source}\nint unused_{step}(int x) {{ return x + {step}; }}\n"


def _unused_table(source: str, step: int) -> str:
    return f"{source}\nstatic const int table_{step}[{step + 2}] __attribute__((unused)) = {{{step}}};\n"


def _renamed_local(source: str, step: int) -> str:
    """Every index `i` of the kernel under another name."""
    import re

    return re.sub(r"\bi\b", f"row_{step}", source)


def _declared_ahead(source: str, step: int) -> str:
    """A comment, and a declaration nobody needs, before everything else."""
    return f"/* try {step} */\nint ahead_{step}(int);\n{source}"


def _defined_type(source: str, step: int) -> str:
    return f"{source}\ntypedef struct {{ int first, second; float third[{step + 1}]; }} unused_type_{step};\n"


EDITS = (_unused_function, _renamed_local, _declared_ahead, _unused_table, _defined_type)


def summarise(rows: list[dict[str, Any]]) -> str:
    accepted = sum(row["accepted"] for row in rows)
    literal = sum(bool(row["literal"]) for row in rows)
    seconds = sorted(row["seconds"] for row in rows)
    outcomes = {
        name: sum(row["outcome"] == name for row in rows) for name in sorted({str(row["outcome"]) for row in rows})
    }
    return (
        f"{accepted} of {len(rows)} no-op rounds accepted in {len({row['campaign'] for row in rows})} campaigns; "
        f"95 % upper bound of the rate {false_accept_bound(accepted, len(rows)):.2%}; outcomes {outcomes}; "
        f"AMD's literal rule accepts {literal}; median {seconds[len(seconds) // 2]} s a round; "
        f"{sum(len(row['measured_again']) for row in rows)} runs measured again because a control failed"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
