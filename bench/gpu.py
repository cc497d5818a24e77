"""Whole campaigns on an accelerator, unattended, in one command that continues where it stopped.

    python -m bench gpu FOLDER [--only gemm_bf16,rmsnorm_bf16] [--budget 240] [--until 560] [--training]

For each operator: a scratch repository, `layline campaign run --proposer search` within the budget (seconds), report
with the head-to-head run, torch beside the best. With --training the step time of a small real training loop before
and after. Everything lies under FOLDER; `results.json` and `results.md` are written anew after every step. Run it again
on the same FOLDER and it goes on: a campaign from its ledger, finished steps are not repeated. --until ends it in time
for a machine that is taken away.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OPERATORS = ("gemm_bf16", "rmsnorm_bf16", "gemm_fp8")
PROCESSES = 3
TRAINING_PROCESSES = 4
ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench gpu")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(OPERATORS))
    parser.add_argument("--budget", type=float, default=240.0)
    parser.add_argument("--until", type=float, default=math.inf)
    parser.add_argument("--training", action="store_true")
    chosen = parser.parse_args(arguments)
    driver = Driver(chosen.folder.resolve(), time.monotonic() + chosen.until)
    for name in chosen.only.split(","):
        if name:
            driver.run_campaign(name, chosen.budget)
            driver.measure_beside(name)
    if chosen.training:
        driver.measure_training()
    return 0


class Driver:
    """One folder, its steps, what is done already."""

    def __init__(self, folder: Path, ends: float) -> None:
        self.folder = folder
        self.ends = ends
        folder.mkdir(parents=True, exist_ok=True)
        self.place = folder / "results.json"
        self.results: dict[str, Any] = json.loads(self.place.read_text()) if self.place.is_file() else {}

    def left(self) -> float:
        return self.ends - time.monotonic()

    def run_campaign(self, name: str, budget: float) -> None:
        """From the naive kernel as far as the search comes within the budget, then the report."""
        done = self.results.setdefault(name, {})
        if "report" in done or self.left() < 60:
            return
        place = self.folder / name
        if not (place / ".git").is_dir():
            self._begin(name, place)
        began = time.monotonic()
        seconds = int(min(budget, self.left() - 100))
        if seconds > 20 and not done.get("is_searched"):
            ran = self._layline(
                place, "campaign", "run", "--proposer", "search", "--budget", f"{seconds}s", "--format", "json"
            )
            done["run"] = _read_json(ran)
            done["seconds"] = done.get("seconds", 0) + time.monotonic() - began
            done["is_searched"] = ran.returncode == 0
            self._save()
        if self.left() > 90 and done.get("is_searched"):
            self._layline(place, "campaign", "stop", "--reason", "the time on this machine is used up")
            reported = self._layline(place, "campaign", "report", "--format", "json")
            if reported.returncode in (0, 1):
                done["report"] = _read_json(reported)
            self._save()

    def _begin(self, name: str, place: Path) -> None:
        place.mkdir(parents=True)
        for words in (("init", "-q", "-b", "main"), ("config", "user.name", "Unattended"), ("config", "user.email", "unattended@example.org")):  # fmt: skip
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
        runs = [found for at in range(PROCESSES) if (found := self._bench("gpu_torch", name, str(kernel), str(at)))]
        if runs:
            done["beside"] = {"rows": list(_merge(runs)), "ceilings": runs[0]["ceilings"], "processes": len(runs)}
        self._save()

    def measure_training(self) -> None:
        """Step time of a real training loop with the starting kernels, the best ones, and torch's own."""
        if "training" in self.results or self.left() < 60:
            return
        legs = {}
        for leg, where in (("start", ".git/start.py"), ("best", "kernel.py")):
            paths = [self.folder / name / where for name in OPERATORS[:2]]
            if not all(path.is_file() for path in paths):
                return
            legs[leg] = ",".join(str(path) for path in paths)
        words = [f"{leg}={paths}" for leg, paths in legs.items()]
        runs = []
        for at in range(TRAINING_PROCESSES):
            found = self._bench("gpu_training", str(at), *words, "torch") if self.left() > 40 else None
            runs += [found] if found else []
        if runs:
            self.results["training"] = _compare_training(runs)
        self._save()

    def _bench(self, *words: str) -> dict[str, Any] | None:
        done = subprocess.run((sys.executable, "-m", "bench", *words), cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False, timeout=max(5.0, min(150.0, self.left())))  # fmt: skip
        if done.returncode != 0:
            print(f"bench {' '.join(words)}: {done.stderr[-1500:]}", flush=True)
            return None
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def _layline(self, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
        began = time.monotonic()
        done = subprocess.run((sys.executable, "-m", "layline", *words), cwd=place, env=_environment(), capture_output=True, text=True, check=False)  # fmt: skip
        print(
            f"{place.name}: {' '.join(words[:3])}: {done.returncode} after {time.monotonic() - began:.0f} s", flush=True
        )
        if done.returncode not in (0, 1):
            print(done.stderr[-3000:], flush=True)
        return done

    def _save(self) -> None:
        self.place.write_text(json.dumps(self.results, indent=1))
        (self.folder / "results.md").write_text(render(self.results))


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
    from layline.campaign.statistics import bound_mean

    mean, lower, upper = bound_mean(logs, 0.025)
    return {"estimate": math.exp(mean), "lower": math.exp(lower), "upper": math.exp(min(upper, 50.0))}


def _merge(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for at, row in enumerate(runs[0]["rows"]):
        ours, torch = ([run["rows"][at][leg] for run in runs] for leg in ("ours", "torch"))
        share = _interval([math.log(theirs / mine) for mine, theirs in zip(ours, torch, strict=True)])
        yield {**row, "ours": sum(ours) / len(ours), "torch": sum(torch) / len(torch), "share_of_torch": share}


def _compare_training(runs: list[dict[str, Any]]) -> dict[str, Any]:
    from layline.campaign.statistics import quantile

    medians = {leg: [quantile(run["step_ms"][leg], 0.5) for run in runs] for leg in runs[0]["step_ms"]}
    logs = [math.log(start / best) for start, best in zip(medians["start"], medians["best"], strict=True)]
    beside = [math.log(torch / best) for torch, best in zip(medians["torch"], medians["best"], strict=True)]
    return {
        "step_ms": {leg: sum(found) / len(found) for leg, found in medians.items()},
        "speed_up": _interval(logs),
        "share_of_torch": _interval(beside),
        "processes": len(runs),
        "parameters": runs[0]["parameters"],
        "last_losses": {leg: [run["losses"][leg][-1] for run in runs] for leg in medians},
    }


def render(results: dict[str, Any]) -> str:
    """The results as Markdown tables."""
    lines = ["# Campaigns on this accelerator", ""]
    for name in OPERATORS:
        found = results.get(name)
        if not found:
            continue
        lines += [f"## {name}", "", f"Search and its rounds: {found.get('seconds', 0):.0f} s.", ""]
        lines += [f"- Round {item['round']}, {item['became']}: {item['change']} – {item['reason']}" for item in (found.get("run") or {}).get("rounds", [])]  # fmt: skip
        lines += ["", *_render_beside(found.get("beside")), ""]
    training = results.get("training")
    if training:
        shown = ", ".join(f"{leg} {ms:.1f} ms" for leg, ms in training["step_ms"].items())
        gain, share = training["speed_up"], training["share_of_torch"]
        lines += ["## Training step", "", f"{shown}; best over start {gain['estimate']:.3f}× ({gain['lower']:.3f} to {gain['upper']:.3f}), torch over best {share['estimate']:.3f} ({share['lower']:.3f} to {share['upper']:.3f}), {training['processes']} processes.", ""]  # fmt: skip
    return "\n".join(lines)


def _render_beside(beside: dict[str, Any] | None) -> Iterator[str]:
    if not beside:
        return
    ceilings = beside["ceilings"]
    yield f"Ceilings: copy {ceilings['copy'] / 1e12:.2f} TB/s, bf16 {ceilings['bf16'] / 1e12:.0f} TFLOPS, fp8 {ceilings['fp8'] / 1e12:.0f} TFLOPS."
    yield ""
    yield "| shape | pass | ours ms | torch ms | torch time / ours | TFLOPS | TB/s |"
    yield "|---|---|---|---|---|---|---|"
    for row in beside["rows"]:
        share = row["share_of_torch"]
        yield (
            f"| {row['shape']} | {row['pass']} | {row['ours']:.4f} | {row['torch']:.4f} | {share['estimate']:.3f} ({share['lower']:.3f} to {share['upper']:.3f}) "
            f"| {row['flops'] / row['ours'] / 1e9:.0f} | {row['bytes'] / row['ours'] / 1e9:.2f} |"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
