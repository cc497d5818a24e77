"""Hold the whole corpus against the gate, several times, and write what happened to every kernel.

    python -m bench.corpus --runs 3 --out corpus.jsonl [--changes "" renamed restructured compiled] [--table gate.md]

Every line of the output is one trial; the file is appended to, so an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus.cases import EXPLOITS, HONEST, QUICK, Case, load_case
from layline.campaign.controls import wrap
from layline.campaign.judge import judge
from layline.campaign.measure import Request, measure_pair
from layline.campaign.model import Status


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--changes", nargs="*", default=[""])
    asked.add_argument("--out", type=Path, required=True)
    options = asked.parse_args()
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    seen = {(row["run"], row["case"], row["change"]) for row in done}
    with options.out.open("a") as out:
        for run in range(options.runs):
            for change in options.changes:
                for case in (*EXPLOITS, *HONEST):
                    if (run, case.name, change) in seen or (change and case.operator == "python"):
                        continue
                    out.write(json.dumps({"run": run, "change": change, **try_case(case, change)}) + "\n")
                    out.flush()
    print(render_table([json.loads(line) for line in options.out.read_text().splitlines()]))


def try_case(case: Case, change: str) -> dict[str, object]:
    operator, shapes, snapshot = load_case(case, change=change)
    best = wrap(operator, operator.start("naive"))
    began = time.monotonic()
    for _attempt in range(3):  # failed controls give no verdict: measure again, as a user would
        measurement = measure_pair(Request(operator=operator, shapes=shapes, best=best, candidate=snapshot, plan=QUICK))
        if measurement.status is not Status.CONTROLS_FAILED:
            break
    verdict = judge(measurement)
    if measurement.status is Status.CONTROLS_FAILED:
        fate = "no verdict"
    elif measurement.failed_gates:
        fate = measurement.failed_gates[0].property
    else:
        fate = measurement.bucket or ("accepted" if verdict.outcome.is_accepted else "no-gain")
    is_right = fate in case.caught_by if case.caught_by else fate == "accepted"
    return {
        "case": case.name,
        "fate": fate,
        "is_right": is_right,
        "reason": verdict.reason,
        "seconds": round(time.monotonic() - began, 1),
        "spent": dict(measurement.seconds),
    }


def render_table(rows: list[dict[str, object]]) -> str:
    """One line per kernel: what became of it in every run."""
    fates: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        fates[str(row["case"])].append(f"{row['fate']}{'' if row['is_right'] else ' (wrong)'}")
    lines = ["| kernel | result of each trial |", "|---|---|"]
    for name, found in sorted(fates.items()):
        kinds = sorted(set(found))
        lines.append(f"| {name} | {', '.join(f'{kind} ×{found.count(kind)}' for kind in kinds)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
