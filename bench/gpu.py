"""Whole campaigns on an accelerator, unattended, in one command that continues where it stopped.

    python -m bench gpu FOLDER [--only gemm_bf16,rmsnorm_bf16] [--budget 240] [--until 560] [--archive FILE.tar.gz]
                        [--search-only]

For each operator: a scratch repository, `layline campaign run --proposer search` within the budget (seconds), report
with the head-to-head run and the training loop, torch beside start and best. Everything lies under FOLDER;
`results.json`
and `results.md` are written anew after every step, and with --archive all of it is packed into one file every few
seconds. Run it again on the same FOLDER, or with the same archive on another machine, and it goes on: a campaign from
its
ledger, finished steps are not repeated. --until ends it in time for a machine that is taken away.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPERATORS = ("gemm_bf16", "rmsnorm_bf16", "gemm_fp8", "grouped_gemm_bf16")
PROCESSES = 3
PACKED_EVERY_S = 10.0
REPORT_S = 120.0
"""Head-to-head run, ceilings and training loop: what a report needs."""
ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench gpu")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(OPERATORS))
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--until", type=float, default=math.inf)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--search-only", action="store_true", help="no report, nothing beside: the kernels alone")
    chosen = parser.parse_args(arguments)
    folder, archive = chosen.folder.resolve(), chosen.archive.resolve() if chosen.archive else None
    if archive is not None and archive.is_file() and not folder.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    driver = Driver(folder, time.monotonic() + chosen.until, archive)
    for name in chosen.only.split(","):
        if name:
            driver.run_campaign(name, chosen.budget, 10.0 if chosen.search_only else REPORT_S)
            if not chosen.search_only:
                driver.measure_beside(name)
    return 0


class Driver:
    """One folder, its steps, what is done already."""

    def __init__(self, folder: Path, ends: float, archive: Path | None) -> None:
        self.folder = folder
        self.ends = ends
        self.archive = archive
        folder.mkdir(parents=True, exist_ok=True)
        self.place = folder / "results.json"
        self.results: dict[str, Any] = json.loads(self.place.read_text()) if self.place.is_file() else {}

    def left(self) -> float:
        return self.ends - time.monotonic()

    def run_campaign(self, name: str, budget: float, report_s: float) -> None:
        """From the naive kernel as far as the search comes within the budget, then the report if there is time for it."""
        done = self.results.setdefault(name, {})
        if "report" in done or self.left() < 60:
            return
        place = self.folder / name
        if not (place / ".git").is_dir():
            self._begin(name, place)
        began = time.monotonic()
        seconds = int(min(budget - done.get("seconds", 0), self.left() - report_s))
        if seconds > 20 and not done.get("is_searched"):
            ran = self._layline(
                place, "campaign", "run", "--proposer", "search", "--budget", f"{seconds}s", "--format", "json"
            )
            done["run"] = _read_json(ran)
            done["seconds"] = done.get("seconds", 0) + time.monotonic() - began
            done["is_searched"] = ran.returncode == 0
            self._save()
        if report_s >= REPORT_S and self.left() > REPORT_S / 2 and done.get("is_searched"):
            self._layline(place, "campaign", "stop", "--reason", "the time on this machine is used up")
            reported = self._layline(place, "campaign", "report", "--format", "json")
            if reported.returncode in (0, 1):
                done["report"] = _read_json(reported)
            self._save()

    def _begin(self, name: str, place: Path) -> None:
        place.mkdir(parents=True)
        for words in (
            ("init", "-q", "-b", "main"),
            ("config", "user.name", "Unattended"),
            ("config", "user.email", "unattended@example.org"),
        ):
            subprocess.run(("git", *words), cwd=place, check=True)
        self._layline(place, "campaign", "operators", name, "--start", "naive", "-o", "kernel.py")
        (place / ".git" / "start.py").write_bytes((place / "kernel.py").read_bytes())
        subprocess.run(("git", "add", "kernel.py"), cwd=place, check=True)
        subprocess.run(("git", "commit", "-q", "-m", "Start from the naive kernel"), cwd=place, check=True)
        self._layline(place, "campaign", "new", name, "--operator", name, "--kernel", "kernel.py", "--yes")

    def measure_beside(self, name: str) -> None:
        """torch on the same inputs, alternating with the best, in several processes."""
        done = self.results.setdefault(name, {})
        kernel = self.folder / name / "kernel.py"
        if "beside" in done or not done.get("is_searched") or self.left() < 45:
            return
        start = self.folder / name / ".git" / "start.py"
        words = ("gpu_torch", name, str(start), str(kernel))
        runs = [found for at in range(PROCESSES) if self.left() > 30 and (found := self._bench(*words, str(at)))]
        if runs:
            done["beside"] = {
                "rows": list(_merge(runs)),
                "ceilings": runs[0]["ceilings"],
                "processes": len(runs),
                "rate": "fp8" if "fp8" in name else "bf16",
            }
        self._save()

    def _bench(self, *words: str) -> dict[str, Any] | None:
        done = subprocess.run(
            (sys.executable, "-m", "bench", *words),
            cwd=ROOT,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=max(5.0, min(150.0, self.left())),
        )
        if done.returncode != 0:
            print(f"bench {' '.join(words)}: {done.stderr[-1500:]}", flush=True)
            return None
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def _layline(self, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of Layline; what it has written so far is packed while it runs, for it may be cut off any
        moment."""
        began = time.monotonic()
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            command = (sys.executable, "-m", "layline", *words)
            running = subprocess.Popen(command, cwd=place, env=_environment(), stdout=output, stderr=errors, text=True)
            while True:
                try:
                    code = running.wait(PACKED_EVERY_S)
                    break
                except subprocess.TimeoutExpired:
                    self._pack()
            output.seek(0)
            errors.seek(0)
            done = subprocess.CompletedProcess(command, code, output.read(), errors.read())
        print(f"{place.name}: {' '.join(words[:3])}: {code} after {time.monotonic() - began:.0f} s", flush=True)
        if code not in (0, 1):
            print(done.stderr[-3000:], flush=True)
        return done

    def _save(self) -> None:
        self.place.write_text(json.dumps(self.results, indent=1))
        (self.folder / "results.md").write_text(render(self.results))
        self._pack()

    def _pack(self) -> None:
        """Everything under the folder as one file; the old one stays until the new one is whole."""
        if self.archive is None:
            return
        partial = self.archive.with_name(f".{self.archive.name}.new")
        with tarfile.open(partial, "w:gz") as packed:
            packed.add(self.folder, ".")
        partial.replace(self.archive)


def _environment() -> dict[str, str]:
    kept = os.environ.get("PYTHONPATH", "")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in (str(ROOT / "src"), kept) if part)}


def _read_json(done: subprocess.CompletedProcess[str]) -> Any:
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"problem": done.stderr[-2000:]}


def _interval(logs: list[float]) -> dict[str, float]:
    """A ratio with 95 % bounds over processes (Student's t)."""
    from layline.campaign.values.statistics import bound_mean

    mean, lower, upper = bound_mean(logs, 0.025)
    return {"estimate": math.exp(mean), "lower": math.exp(lower), "upper": math.exp(min(upper, 50.0))}


def _merge(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for at, row in enumerate(runs[0]["rows"]):
        times = {leg: [run["rows"][at][leg] for run in runs] for leg in ("start", "best", "torch", "copy")}
        share = _interval([math.log(its / mine) for mine, its in zip(times["best"], times["torch"], strict=True)])
        yield {**row, **{leg: sum(found) / len(found) for leg, found in times.items()}, "share_of_torch": share}


def render(results: dict[str, Any]) -> str:
    """The results as Markdown tables."""
    lines = ["# Campaigns on this accelerator", ""]
    for name in OPERATORS:
        found = results.get(name)
        if not found:
            continue
        lines += [f"## {name}", "", f"Search and its rounds: {found.get('seconds', 0):.0f} s.", ""]
        rounds = (found.get("report") or {}).get("rounds", [])
        lines += [
            f"- Round {item['round']}, {item['settled']}: {item['change']} – "
            f"{(item['verdict'] or {}).get('reason', '')}"
            for item in rounds
        ]
        lines += ["", *_render_beside(found.get("beside")), ""]
    return "\n".join(lines)


def _render_beside(beside: dict[str, Any] | None) -> Iterator[str]:
    if not beside:
        return
    ceilings = beside["ceilings"]
    yield (
        f"Ceilings: copy {ceilings['copy'] / 1e12:.2f} TB/s, bf16 {ceilings['bf16'] / 1e12:.0f} TFLOPS, fp8 "
        f"{ceilings['fp8'] / 1e12:.0f} TFLOPS."
    )
    yield ""
    yield (
        "Of the ceiling: the larger of TFLOPS over the matrix rate and TB/s (bytes that must be read and "
        "written, over time) over the 2 GiB copy's."
    )
    yield (
        "Of a copy: the time of copying as many bytes (half read, half written) in the same turns, over the "
        "kernel's time."
    )
    yield ""
    yield (
        "| shape | pass | start ms | best ms | torch ms | best ÷ torch speed | TFLOPS | TB/s | of the ceiling | "
        "copy ms | of a copy |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in beside["rows"]:
        share, rate, moved = row["share_of_torch"], row["flops"] / row["best"] * 1e3, row["bytes"] / row["best"] * 1e3
        top = max(rate / ceilings[beside["rate"]], moved / ceilings["copy"])
        yield (
            f"| {row['shape']} | {row['pass']} | {row['start']:.4f} | {row['best']:.4f} | {row['torch']:.4f} "
            f"| {share['estimate']:.3f} ({share['lower']:.3f} to {share['upper']:.3f}) | {rate / 1e12:.0f} | "
            f"{moved / 1e12:.2f} | {top:.1%} | {row['copy']:.4f} | {row['copy'] / row['best']:.1%} |"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
