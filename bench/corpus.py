"""Hold the whole corpus against the gate, several times, and write what happened to every kernel.

    python -m bench.corpus --runs 3 --out corpus.jsonl [--changes "" renamed restructured compiled] [--only E24 …]
    python -m bench.corpus --runs 0 --out corpus.jsonl --table        the table of what is recorded
    python -m bench.corpus --runs 0 --out corpus.jsonl --write docs/gate.md     its totals, put into the page

Every line of the output is one trial; the file is appended to, so an interrupted run goes on where it stopped and
two processes with `--part 1/2` and `--part 2/2` may share the work. With `--executor` machines of this kind do, and
only this process writes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus.cases import EXPLOITS, HONEST, QUICK, Case, load_case
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.values.judge import judge
from layline.campaign.values.measurement import Status
from layline.errors import ConfigError
from layline.executors import Plain, open_executor
from layline.executors.processor import name_processor

ROOT = Path(__file__).resolve().parent.parent
ATTEMPTS = 3
BEGIN, END = "<!-- corpus: written by bench.corpus -->", "<!-- corpus: end -->"


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--runs", type=int, default=3)
    asked.add_argument("--changes", nargs="*", default=[""])
    asked.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    asked.add_argument("--part", default="1/1")
    asked.add_argument("--executor", help="local:N, ray://HOST:PORT or auto; this checkout must lie on every machine")
    asked.add_argument("--out", type=Path, required=True)
    asked.add_argument("--table", action="store_true")
    asked.add_argument("--write", type=Path, help="a page whose totals, between two marks, are replaced")
    options = asked.parse_args(arguments)
    trials = list(_find_trials(options))
    for row in _spread(options.executor, trials) if options.executor else map(answer, trials):
        with options.out.open("a") as out:
            out.write(json.dumps(row) + "\n")
    if options.table:
        print(render_table(read(options.out)))
    if options.write:
        write_totals(options.write, "\n".join(_summarise(read(options.out))))
    return 0


def _find_trials(options: argparse.Namespace) -> Iterator[Plain]:
    """What is asked for and not recorded yet."""
    part, parts = (int(word) for word in options.part.split("/"))
    known = {(row["run"], row["case"], row["change"]) for row in read(options.out)}
    for run in range(options.runs):
        for change in options.changes:
            for at, case in enumerate((*EXPLOITS, *HONEST)):
                if at % parts != part - 1 or not case.name.startswith(tuple(options.only)):
                    continue
                if not case.runs_on(platform.machine()):  # it has a sibling that does
                    continue
                if (run, case.name, change) not in known:
                    yield {"run": run, "case": case.name, "change": change, "corpus": digest_corpus()}


def _spread(words: str, trials: list[Plain]) -> Iterator[Plain]:
    os.environ["PYTHONPATH"] = str(ROOT)  # worker processes here find this package
    with open_executor(words) as executor:
        for _, row in executor.screen("bench.corpus:answer", trials, name_processor()):
            yield row


def answer(trial: Plain) -> Plain:
    """One trial, on whichever machine it is asked."""
    if digest_corpus() != trial["corpus"]:
        raise ConfigError(f"{platform.node()} has another corpus in {ROOT}.", hint="Check out the same commit there.")
    case = next(one for one in (*EXPLOITS, *HONEST) if one.name == trial["case"])
    return {"run": trial["run"], "change": trial["change"], **try_case(case, trial["change"])}


@lru_cache(maxsize=1)
def digest_corpus() -> str:
    files = sorted((ROOT / "tests" / "corpus").rglob("*.[cp]*"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files if file.suffix in {".c", ".py"})).hexdigest()


def write_totals(page: Path, totals: str) -> None:
    """Put the totals between the page's two marks; what is written by hand around them stays."""
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{page} has no {BEGIN} … {END}")
    page.write_text(f"{before}{BEGIN}\n\n{totals}\n\n{END}{after}", "utf-8")


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def try_case(case: Case, change: str) -> dict[str, object]:
    operator, shapes, snapshot = load_case(case, change=change)
    best = wrap(operator, operator.start("naive"))
    began = time.monotonic()
    for _attempt in range(ATTEMPTS):  # failed controls give no verdict: measure again, as a user would
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
        "attempts": _attempt + 1,
        "reason": verdict.reason,
        "seconds": round(time.monotonic() - began, 1),
        "spent": dict(measurement.seconds),
    }


def render_table(rows: list[dict[str, object]]) -> str:
    """How many were right, every trial that was not, and one line per kernel: its fate in every run, as it is and
    disguised."""
    fates: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in rows:
        told = f"{row['fate']}{'' if row['is_right'] else ' (wrong)'}"
        fates[str(row["case"]), bool(row["change"])].append(told)
    lines = list(_summarise(rows))
    wrong = [row for row in rows if not row["is_right"]]
    lines += [
        f"* WRONG: `{row['case']}` {row['change'] or 'as it is'}, run {row['run']}: {row['reason']}" for row in wrong
    ]
    lines += ["", "| kernel | as it is | disguised |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {_count(fates[name, False])} | {_count(fates[name, True]) or '–'} |"
        for name in sorted({name for name, _ in fates})
    ]
    return "\n".join(lines)


def _summarise(rows: list[dict[str, object]]) -> Iterator[str]:
    for title, cases in (("tricks refused for the expected reason", EXPLOITS), ("honest kernels accepted", HONEST)):
        names = {case.name for case in cases}
        for disguised in (False, True):
            of = [row for row in rows if row["case"] in names and bool(row["change"]) is disguised]
            if not of:
                continue
            right = sum(bool(row["is_right"]) for row in of)
            tried = len({row["case"] for row in of})
            again = sum(int(str(row["attempts"])) > 1 for row in of)
            yield (
                f"* {title}{' in disguise' if disguised else ''}: {right} of {len(of)} trials, of {tried} of the {len(names)} "
                f"kernels; {again} {'trial was' if again == 1 else 'trials were'} repeated because a control failed"
            )


def _count(found: list[str]) -> str:
    return ", ".join(f"{kind} ×{found.count(kind)}" for kind in sorted(set(found)))


if __name__ == "__main__":
    main()
