"""Operators of the user's form on an accelerator: check each, and judge candidates with a known fate.

    python -m bench.device_checks OUT.jsonl [--problems DIR] [--seconds 500] [--only rope_bf16 …]
    python -m bench.device_checks OUT.jsonl --problems DIR --seed 7 --count 10      # KernelBench problems drawn by a seed
    python -m bench.device_checks OUT.jsonl --gpumode DIR                           # every GPU MODE problem in a folder

Every line of the output is one operator or one candidate, with what was found. KernelBench's problems are read in place from
DIR (`level1/…`); candidates are made here: the problem's own model compiled by torch, the identity, zeros.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from layline.app.campaign_judge import campaign_check_operator, campaign_judge
from layline.campaign.devices.gpu_worker_process import keep_environment
from layline.campaign.devices.nursery import find_nursery
from layline.campaign.operators import FILES
from layline.errors import Error

ENDS_S = 20.0
"""What a process that was told to stop may take to end its workers."""
PROBLEMS = (
    "level1/19",
    "level1/23",
    "level1/20",
    "level1/25",
    "level1/26",
    "level1/36",
    "level1/40",
    "level1/88",
    "level2/12",
    "level2/80",
    "level2/23",
)
CHEATS = {"level1/19": "x", "level1/20": "x", "level1/23": "torch.zeros_like(x)"}
"""What passes KernelBench's own check: the identity for rectifiers whose inputs are positive, zeros for the softmax."""


BETTER = {"level1/25": "torch.nn.functional.silu(x)", "level1/88": "torch.nn.functional.gelu(x, approximate='tanh')"}
"""One kernel of the library in place of several: honest, and faster."""


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("out", type=Path)
    asked.add_argument("--problems", type=Path)
    asked.add_argument("--seconds", type=float, default=500.0)
    asked.add_argument("--only", nargs="*", default=[])
    asked.add_argument("--seed", type=int)
    asked.add_argument("--count", type=int, default=10)
    asked.add_argument("--gpumode", type=Path)
    options = asked.parse_args(arguments)
    until = time.monotonic() + options.seconds
    done = (
        {json.loads(line)["what"] for line in options.out.read_text().splitlines()} if options.out.exists() else set()
    )
    if options.seed is not None or options.gpumode:
        run_work(list(choose_work(options)), options, done, until)
        return 0
    names = [*(name for name in FILES if name.endswith("bf16"))]
    names += [f"kernelbench:{options.problems}/{one}" for one in PROBLEMS] if options.problems else []
    work: list[tuple[str, Callable[[], dict[str, Any]]]] = [(f"check {name}", partial(check, name)) for name in names]
    if options.problems:
        for one, cheat in CHEATS.items():
            name = f"kernelbench:{options.problems}/{one}"
            work.append((f"cheat {one}", partial(try_candidate, name, write_cheat(cheat))))
        for one, better in BETTER.items():
            name = f"kernelbench:{options.problems}/{one}"
            work.append((f"better {one}", partial(try_candidate, name, write_cheat(better))))
        for one in ("level1/23", "level1/36"):
            name = f"kernelbench:{options.problems}/{one}"
            work.append((f"compiled {one}", partial(try_candidate, name, write_compiled(name))))
    run_work(work, options, done, until)
    return 0


Work = tuple[str, Callable[[], dict[str, Any]]]


def choose_work(options: argparse.Namespace) -> Iterator[Work]:
    """For each problem: the check, a cheat that its own harness takes, an honest improvement."""
    if options.gpumode:
        for folder in sorted(one.parent for one in options.gpumode.glob("*/task.yml")):
            name, start = f"gpumode:{folder.resolve()}", (folder / "submission.py").read_text()
            yield f"check {folder.name}", partial(check, name)
            yield f"cheat {folder.name}", partial(try_candidate, name, start + KEPT_CALL, "submission")
        return
    problems = sorted(options.problems.glob("level[12]/*_*.py"))
    for path in random.Random(options.seed).sample(problems, options.count):
        name, told = f"kernelbench:{path.resolve()}", f"{path.parent.name}/{path.stem}"
        yield f"check {told}", partial(check, name)
        yield f"cheat {told}", partial(try_candidate, name, path.read_text() + KEPT_MODEL)
        yield f"compiled {told}", partial(try_candidate, name, write_compiled(name))


KEPT_MODEL = """

class ModelNew(Model):
    def forward(self, *x):
        if "_kept" not in self.__dict__:
            self.__dict__["_kept"] = super().forward(*x)
        return self.__dict__["_kept"]
"""
KEPT_CALL = """

_kept, _first = [], custom_kernel


def custom_kernel(data):
    if not _kept:
        _kept.append(_first(data).clone())
    return _kept[0]
"""
"""The first answer, given again and again: what a harness that times one set of inputs takes for an improvement."""


def run_work(work: list[Work], options: argparse.Namespace, done: set[str], until: float) -> None:
    for what, ask in work:
        if (
            what in done
            or time.monotonic() > until
            or not (not options.only or any(one in what for one in options.only))
        ):
            continue
        began = time.monotonic()
        found = ask_apart(ask)
        with options.out.open("a") as out:
            out.write(json.dumps({"what": what, "seconds": round(time.monotonic() - began, 1), **found}) + "\n")
        print(what, json.dumps(found)[:700], flush=True)


def ask_apart(ask: Callable[[], dict[str, Any]], limit_s: float | None = None) -> dict[str, Any]:
    """In a process of its own, as a command would be: memory of the device that workers shared is given back only then."""
    return Apart(ask).hear(limit_s)


class Apart:
    """A process that gets ready, off the device, and asks when its turn comes.

    Its workers' nursery imports torch meanwhile. Past the limit it is stopped, as by somebody at the terminal.
    """

    def __init__(self, ask: Callable[[], dict[str, Any]]) -> None:
        import torch  # noqa: F401  once, here: forks have it, and nothing of the device yet

        context = multiprocessing.get_context("fork")
        self._turn = context.Event()
        self._reader, writer = context.Pipe(duplex=False)

        def answer() -> None:
            find_nursery(keep_environment())
            self._turn.wait()
            writer.send(ask())

        self._process = context.Process(target=answer)
        self._process.start()
        writer.close()

    def hear(self, limit_s: float | None) -> dict[str, Any]:
        self._turn.set()
        found: dict[str, Any] = {"verdict": "none", "told": f"stopped: no answer within {limit_s} s"}
        try:
            if self._reader.poll(limit_s):
                found = self._reader.recv()
            else:
                os.kill(self._process.pid or 0, signal.SIGINT)
        except EOFError:
            found = {"verdict": "none", "told": "the process ended without an answer"}
        self._process.join(ENDS_S)
        self.close()
        return found

    def close(self) -> None:
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def check(name: str) -> dict[str, Any]:
    try:
        answer = campaign_check_operator(name)
    except Error as error:
        return {"passed": False, "told": str(error)}
    return {"passed": answer.data["passed"], "findings": [one["told"] for one in answer.data["findings"]]}


def try_candidate(operator: str, text: str, base: str = "model") -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        candidate = Path(folder) / "kernel.py"
        candidate.write_text(text)
        try:
            answer = campaign_judge(candidate, base, operator)
        except Error as error:
            return {"verdict": "none", "told": str(error)}
    failed = [f"{one['property']}: {one['reason']}" for one in answer.data["failed"]]
    return {
        "verdict": answer.data["verdict"]["outcome"],
        "told": answer.data["verdict"]["reason"][:300],
        "failed": failed,
    }


def write_cheat(returned: str) -> str:
    return (
        "import torch\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n    def __init__(self, *given):\n        super().__init__()\n\n"
        f"    def forward(self, x):\n        return {returned}\n\n\ndef get_init_inputs():\n    return []\n"
    )


def write_compiled(name: str) -> str:
    """The problem's own model, by torch.compile: honest, and mostly faster."""
    from layline.campaign.operators.own.foreign.kernelbench import find_problem

    text = find_problem(name.partition(":")[2], Path.cwd()).read_text()
    return (
        text
        + "\n\nclass ModelNew(Model):\n    def forward(self, *x):\n        return _compiled(Model.forward)(self, *x)\n\n\n_kept = {}\n\n\ndef _compiled(f):\n    if f not in _kept:\n        _kept[f] = torch.compile(f, dynamic=False)\n    return _kept[f]\n"
    )


if __name__ == "__main__":
    main()
