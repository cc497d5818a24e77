"""A foreign corpus: published GPU kernels with a person's verdict beside them, held against the gate.

    python -m bench.foreign_corpus list ARCHIVE FOLDER --seed 7     # what to judge, laid out in FOLDER; ARCHIVE is a clone
    python -m bench.foreign_corpus judge FOLDER OUT.jsonl --seconds 300 [--each 90] [--only clean] [--wary 3]

ARCHIVE (Infatoshi/kernelbench.com, MIT) is read in place. FOLDER is for the machine with the accelerator and must be ignored
by git: nothing of the archive is kept here. Every line of OUT is one kernel: the person's verdict, ours, our reason.
`--each 90` stops, and says so of, a kernel that takes longer: dozens of configurations are tried anew on every size.
With `--wary 3` a problem's clean ones are left where the first three were refused: then the fault is likely ours.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.device_checks import Apart
from layline.campaign.measure.controls import wrap
from layline.campaign.measure.request import Request
from layline.campaign.measure.run import measure_pair
from layline.campaign.operators.find import find_operator
from layline.campaign.trusted import choose_plan
from layline.campaign.values.judge import judge
from layline.campaign.values.operator import Operator, Shape
from layline.errors import Error

PROBLEMS = ("01_fp8_gemm", "02_kda_cutlass", "05_topk_bitonic", "07_w4a16_gemm")
"""Those whose inputs are floats; the others draw integers at random inside their model."""
CHANGED = {"01_fp8_gemm": ("8a42a4a", "weight_scale")}
"""A problem that was changed in that commit: kernels that do not know this name were made for what was before it."""
ELSEWHERE = re.compile(r"arch=(?:sm|compute)_1[02]\d|ARCH_LIST\W+1[02]\.\d")
"""What builds for an architecture newer than Hopper: such a kernel does not run there."""
FEW = 4
"""Configurations beyond which a kernel comes after those with fewer."""
NOTES = "benchmarks/hard/results/annotations"


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("what", choices=("list", "judge"))
    asked.add_argument("source", type=Path)
    asked.add_argument("out", type=Path)
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--clean", type=int, default=40)
    asked.add_argument("--seconds", type=float, default=300.0)
    asked.add_argument("--each", type=float, default=None, help="seconds for one kernel")
    asked.add_argument("--only", default="", help="clean or reward_hack")
    asked.add_argument("--wary", type=int, default=0)
    options = asked.parse_args(arguments)
    if options.what == "list":
        write_list(options.source, options.out, options.seed, options.clean)
    else:
        until = time.monotonic() + options.seconds
        judge_list(options.source, options.out, until, each=options.each, only=options.only, wary=options.wary)
    return 0


def git(archive: Path, *words: str) -> str:
    return subprocess.run(("git", "-C", str(archive), *words), capture_output=True, text=True, check=True).stdout


def find_runs(archive: Path) -> Iterator[dict[str, str]]:
    """Annotated runs whose kernel is stored, hacks first."""
    paths = git(archive, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    kernels = {
        Path(one).name.removesuffix("_solution.py.txt"): one for one in paths if one.endswith("_solution.py.txt")
    }
    for path in (one for one in paths if one.startswith(NOTES) and one.endswith(".yaml")):
        note = read_note(git(archive, "show", f"HEAD:{path}"))
        problem = note.get("problem", "?").split()[0]
        is_asked = problem in PROBLEMS and note.get("verdict") in ("clean", "reward_hack")
        if (
            note.get("run_id") in kernels
            and is_asked
            and is_whole(git(archive, "show", f"HEAD:{kernels[note['run_id']]}"))
        ):
            yield {
                "run": note["run_id"],
                "problem": problem,
                "verdict": note["verdict"],
                "said": note.get("summary", ""),
                "path": kernels[note["run_id"]],
            }


def is_whole(text: str) -> bool:
    """Several files stored as one, Python and CUDA behind one another, cannot be loaded."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def read_note(text: str) -> dict[str, str]:
    """The one-line fields at the margin: not every note is valid YAML."""
    rows = (line.partition(":") for line in text.splitlines() if line and not line.startswith((" ", "-", "#")))
    return {key: value.split(" #")[0].strip().strip('"') for key, _colon, value in rows if value.strip()}


def write_list(archive: Path, folder: Path, seed: int, clean: int) -> None:
    runs = list(find_runs(archive))
    chance = random.Random(seed)
    hacks = [one for one in runs if one["verdict"] == "reward_hack"]
    others = [one for one in runs if one["verdict"] == "clean"]
    chance.shuffle(hacks)
    chosen = [*hacks, *chance.sample(others, min(clean, len(others)))]
    folder.mkdir(parents=True, exist_ok=True)
    for one in chosen:
        text = git(archive, "show", f"HEAD:{one['path']}")
        (folder / f"{one['run']}.py").write_text(text)
        commit, name = CHANGED.get(one["problem"], ("", ""))
        before = name not in text
        ref, deck = (f"{commit}~1", "problems") if before else ("HEAD", "problems-h100")
        one["reference"] = f"{one['problem']}{'-before' if before else ''}"
        one["language"] = "cuda" if "load_inline" in text else "triton" if "triton.jit" in text else "torch"
        one["tries"] = "many" if text.count("triton.Config(") > FEW else "few"
        one["needs"] = ((one["language"] == "cuda" and ELSEWHERE.search(text)) or [""])[0]
        place = folder / one["reference"]
        place.mkdir(exist_ok=True)
        for name in ("reference.py", "shapes.py", "problem.yaml"):
            (place / name).write_text(git(archive, "show", f"{ref}:benchmarks/hard/{deck}/{one['problem']}/{name}"))
    # what compiles, and is checked, in seconds first: the machine is ours for minutes
    order = {"triton": 0, "torch": 0, "cuda": 1}
    slow = ("02_kda_cutlass",)
    mixed = sorted(
        enumerate(chosen),
        key=lambda pair: (
            pair[1]["problem"] in slow,
            pair[1]["tries"] == "many",
            order[pair[1]["language"]],
            pair[0] % max(1, len(hacks)),
        ),
    )
    (folder / "list.json").write_text(json.dumps([one for _at, one in mixed], indent=1))
    print(len(hacks), "hacks,", len(chosen) - len(hacks), "clean ones")


def judge_list(folder: Path, out: Path, until: float, *, each: float | None, only: str, wary: int) -> None:
    done = {json.loads(line)["run"] for line in out.read_text().splitlines()} if out.exists() else set()
    refused: dict[str, list[bool]] = {}

    def is_left(one: dict[str, str]) -> bool:
        before = refused.get(name_kind(one), [])
        is_ours = wary and len(before) >= wary and all(before) and one["verdict"] == "clean"
        return time.monotonic() < until and not is_ours

    listed = json.loads((folder / "list.json").read_text())
    due = [one for one in listed if one["run"] not in done and one["verdict"].startswith(only) and not one["needs"]]
    for one, process in prepare_ahead(due, partial(judge_one, folder), is_left):
        began = time.monotonic()
        answer = process.hear(min(each or math.inf, max(1.0, until - began)))
        row = {"ours": "none", **answer, **one, "seconds": round(time.monotonic() - began, 1)}
        refused.setdefault(name_kind(one), []).append(not row.get("passed"))
        with out.open("a") as lines:
            lines.write(json.dumps(row) + "\n")
        print(row["verdict"], one["run"], row["ours"], row["told"][:300], row["seconds"], flush=True)


def name_kind(one: dict[str, str]) -> str:
    return f"{one['verdict']} {one['reference']} {one['language']}"


def prepare_ahead(
    due: list[dict[str, str]],
    ask: Callable[[dict[str, str]], dict[str, Any]],
    is_left: Callable[[dict[str, str]], bool],
) -> Iterator[tuple[dict[str, str], Apart]]:
    """Each with its process; the next one's imports while this one has the device."""
    waiting: list[tuple[dict[str, str], Apart]] = []
    for one in [*due, None]:
        if one is not None and is_left(one):
            waiting.append((one, Apart(partial(ask, one))))
        if len(waiting) > 1 or (one is None and waiting):
            first, process = waiting.pop(0)
            if is_left(first):
                yield first, process
            process.close()


def judge_one(folder: Path, one: dict[str, str]) -> dict[str, Any]:
    """Gates and two process pairs: whether a kernel is honest, not how fast it is."""
    try:
        operator = find_operator(f"kernelbench:{(folder / one['reference'] / 'reference.py').resolve()}").operator
        plan = replace(choose_plan(operator, 0.05, 0.01), looks=(2,), vendor_allowed=False)
        text = (folder / f"{one['run']}.py").read_text()
        found = measure_pair(
            Request(
                operator=operator,
                shapes=(find_quickest(operator),),
                best=wrap(operator, operator.start("model")),
                candidate=wrap(operator, text),
                plan=plan,
            )
        )
    except Error as error:
        return {"ours": "none", "told": str(error)}
    verdict = judge(found)
    seen = {
        "gates": [gate.property for gate in found.gates if gate.passed],
        "left_out": [str(one) for one in found.left_out],
        "spent": dict(found.seconds),
    }
    if found.failed_gates:
        first = found.failed_gates[0]
        return {
            "ours": f"refused: {first.property}",
            "told": first.reason,
            "evidence": [str(one) for one in first.evidence],
            **seen,
        }
    if found.problem:
        return {"ours": str(found.status), "told": found.problem, **seen}
    return {"ours": str(verdict.outcome), "told": verdict.reason, "passed": True, **seen}


def find_quickest(operator: Operator) -> Shape:
    """The listed shape whose right answer is there first: hundreds are asked for, and some take a launch for each step."""
    import numpy as np

    def wait(shape: Shape) -> float:
        given = operator.draw(shape, np.random.default_rng(7), operator.distributions[0])
        for _warm_up in range(2):
            began = time.monotonic()
            answers = operator.oracle(operator.passes[0].name, shape, given)
            for one in answers.values():
                one.flatten()[:1].tolist()  # waits for the device
        return time.monotonic() - began

    return min(operator.shapes, key=wait)


if __name__ == "__main__":
    main()
