"""`campaign run` by itself on the CPU GEMM, through the commands a person types.

    python -m bench unattended search FOLDER [BUDGET]     # from the naive kernel; prints rounds, gains, head-to-head,
    share
    python -m bench unattended agent FOLDER [BUDGET]      # a program that crashes, hangs, cheats …; prints what the
    loop did

FOLDER gets the repository with its campaign. BUDGET as `--budget` takes it (default 10m).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from bench.hand_campaign import _git, _layline, measure_share

AGENT = Path(__file__).with_name("bad_agent.py")


def main(arguments: list[str]) -> int:
    kind, folder = arguments[0], Path(arguments[1]).resolve()
    budget = arguments[2] if len(arguments) > 2 else "10m"
    start = "naive" if kind == "search" else "blocked"
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "config", "user.name", "Nobody")
    _git(folder, "config", "user.email", "nobody@example.org")
    _layline(folder, "campaign", "operators", "gemm", "--start", start, "-o", "gemm.c")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", f"Start from the {start} kernel")
    _layline(folder, "campaign", "new", f"gemm_{kind}", "--operator", "gemm", "--kernel", "gemm.c", "--yes")
    if kind == "search":
        words: tuple[str, ...] = ("--proposer", "search")
    else:
        program = f"{sys.executable} {AGENT} {folder / 'agent-state'}"
        words = ("--proposer", f"command:{program}", "--time-limit", "20s", "--rounds", "20")
    ran = _run(folder, *words, "--budget", budget)
    print(f"{len(ran['rounds'])} rounds, {len(ran['declined'])} without a proposal; ended: {ran['ended']}")
    for row in ran["rounds"]:
        print(f"  round {row['round']} {row['became']}: {row['change']}\n      {row['reason']}")
    for row in ran["declined"]:
        print(f"  before round {row['round']}, no proposal: {row['reason']}")
    _layline(folder, "campaign", "stop", "--reason", "the budget is used", check=False)
    _report(folder)
    print(_layline(folder, "campaign", "verify", check=False).stdout.decode())
    if kind == "search":
        print("share of OpenBLAS, one thread, CPU time:", json.dumps(measure_share(folder / "gemm.c"), indent=2))
    return 0


def _run(folder: Path, *words: str) -> dict[str, Any]:
    """Run the loop; where a failed control left a round open, run it again, as a person would."""
    said = ""
    for _ in range(5):
        done = _layline(folder, "campaign", "run", *words, "--format", "json", check=False)
        if done.returncode in (0, 1):
            found: dict[str, Any] = json.loads(done.stdout)
            return found
        said = done.stderr.decode()
        print(f"  again: {said.splitlines()[:1]}", flush=True)
    raise SystemExit(said)


def _report(folder: Path) -> None:
    for _ in range(4):
        done = _layline(folder, "campaign", "report", check=False)
        if done.returncode == 0:
            print(done.stdout.decode())
            return
        print(f"  report again: {done.stderr.decode().splitlines()[:1]}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
