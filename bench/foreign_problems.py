"""Foreign problems drawn by a seed, through the gate: each checked, then a known cheat, then an honest improvement.

    python -m bench.foreign_problems list KERNELBENCH FLASHINFER[@REF] GPUMODE --folder FOLDER [--seed 20]
    python -m bench.foreign_problems judge --folder FOLDER --out OUT.jsonl [--done EARLIER.jsonl] [--seconds 450]

The three are clones (ScalingIntelligence/KernelBench, flashinfer-ai/flashinfer-bench, gpu-mode/reference-kernels). FOLDER is
for the machine with the accelerator and must be ignored by git: nothing of theirs is kept here. Every line of OUT is one
question; a second run with `--done` goes on where the first was cut off. The cheat is the first answer given again and again,
which a harness that times one set of inputs takes; the improvement is the problem's own code by torch.compile.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import random
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.device_checks import KEPT_CALL, KEPT_MODEL, Work, check, run_work, try_candidate, write_compiled
from layline.campaign.operators.own.foreign.flashinfer import write_flashinfer
from layline.campaign.operators.own.foreign.gpumode import read_problem
from layline.errors import Error

FIRST = 10
ANYWHERE = ("problems/pmpp_v2/", "problems/bioml/", "problems/helion/")
"""Groups of GPU MODE whose problems are not made for one vendor's newest device."""
COUNTS = {"kernelbench": 10, "flashinfer": 3, "gpumode": 3}
KEPT_RUN = """

_kept, _first = [], run


def run(*given, **named):
    if not _kept:
        found = _first(*given, **named)
        _kept.append(found.clone() if hasattr(found, "clone") else found)
    return _kept[0]
"""
COMPILED_RUN = "\n\nrun = torch.compile(run, dynamic=False)\n"
COMPILED_CALL = "\n\ncustom_kernel = torch.compile(custom_kernel, dynamic=False)\n"


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("what", choices=("list", "judge"))
    asked.add_argument("sources", nargs="*")
    asked.add_argument("--folder", type=Path, required=True)
    asked.add_argument("--seed", type=int, default=20)
    asked.add_argument("--out", type=Path)
    asked.add_argument("--done", type=Path)
    asked.add_argument("--seconds", type=float, default=450.0)
    asked.add_argument("--only", nargs="*", default=[])
    options = asked.parse_args(arguments)
    if options.what == "list":
        write_list(options.sources, options.folder, options.seed)
        return 0
    until = time.monotonic() + options.seconds
    lines = options.done.read_text().splitlines() if options.done and options.done.exists() else []
    run_work(list(choose_work(options.folder)), options, {json.loads(line)["what"] for line in lines}, until)
    return 0


def write_list(sources: list[str], folder: Path, seed: int) -> None:
    """Problems that can be read, in an order by the seed, until there are enough of each kind."""
    readers = (lay_kernelbench, lay_flashinfer, lay_gpumode)
    for (kind, count), source, lay in zip(COUNTS.items(), sources, readers, strict=True):
        clone, _at, ref = source.partition("@")
        found = [one for _number, one in zip(range(count), lay(Path(clone), ref or "HEAD", folder, seed), strict=False)]
        print(kind, *found)


def git(clone: Path, *words: str) -> str:
    return subprocess.run(("git", "-C", str(clone), *words), capture_output=True, text=True, check=True).stdout


def shuffle(clone: Path, ref: str, seed: int, begins: tuple[str, ...], ends: str) -> list[str]:
    """The first ten as `sample` draws them, the others behind."""
    paths = sorted(
        one
        for one in git(clone, "ls-tree", "-r", "--name-only", ref).splitlines()
        if one.startswith(begins) and one.endswith(ends)
    )
    chance = random.Random(seed)
    first = chance.sample(paths, min(FIRST, len(paths)))
    rest = [one for one in paths if one not in first]
    return [*first, *chance.sample(rest, len(rest))]


def write(folder: Path, clone: Path, ref: str, path: str, name: str) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(git(clone, "show", f"{ref}:{path}"))
    return place


def lay_kernelbench(clone: Path, ref: str, folder: Path, seed: int) -> Iterator[str]:
    for path in shuffle(clone, ref, seed, ("KernelBench/level1/", "KernelBench/level2/"), ".py"):
        name = path.split("/", 1)[1]
        write(folder, clone, ref, path, f"kernelbench/{name}")
        yield name


def lay_flashinfer(clone: Path, ref: str, folder: Path, seed: int) -> Iterator[str]:
    """Definitions that can be judged by their own form (inputs that are floats), one of each kind."""
    kinds = set()
    for path in shuffle(clone, ref, seed, ("flashinfer_trace/definitions/",), ".json"):
        if posixpath.dirname(path) in kinds:
            continue
        place = write(folder, clone, ref, path, f"flashinfer/{posixpath.basename(path)}")
        try:
            write_flashinfer(str(place.resolve()), folder)
        except Error:
            place.unlink()
            continue
        kinds.add(posixpath.dirname(path))
        yield place.stem


def lay_gpumode(clone: Path, ref: str, folder: Path, seed: int) -> Iterator[str]:
    """A problem's folder, and what its task names beside it."""
    for task in shuffle(clone, ref, seed, ANYWHERE, "/task.yml"):
        above = posixpath.dirname(task)
        group = posixpath.dirname(above)
        listed = git(clone, "ls-tree", "-r", "--name-only", ref, "--", group).splitlines()
        beside = [one for one in listed if posixpath.dirname(one) in (above, group)]
        for path in beside:
            write(folder, clone, ref, path, f"gpumode/{path.removeprefix('problems/')}")
        place = folder / "gpumode" / above.removeprefix("problems/")
        try:
            read_problem(place.resolve())
        except Error:
            (place / "task.yml").unlink()
            continue
        if (place / "submission.py").exists():
            yield above.removeprefix("problems/")


def choose_work(folder: Path) -> Iterator[Work]:
    """All checks first, then all cheats, then the improvements, which take longest."""
    asked = [*ask_kernelbench(folder), *ask_flashinfer(folder), *ask_gpumode(folder)]
    for number in range(3):
        yield from (row[number] for row in asked if len(row) > number)


def ask_kernelbench(folder: Path) -> Iterator[list[Work]]:
    for path in sorted(folder.glob("kernelbench/level[12]/*.py")):
        name, told = f"kernelbench:{path.resolve()}", f"{path.parent.name}/{path.stem}"
        yield [
            (f"check {told}", partial(check, name)),
            (f"cheat {told}", partial(try_candidate, name, path.read_text() + KEPT_MODEL)),
            (f"better {told}", partial(try_candidate, name, write_compiled(name))),
        ]


def ask_flashinfer(folder: Path) -> Iterator[list[Work]]:
    for path in sorted(folder.glob("flashinfer/*.json")):
        name = f"flashinfer:{path.resolve()}"
        text = json.loads(path.read_text())["reference"]
        yield [
            (f"check {path.stem}", partial(check, name)),
            (f"cheat {path.stem}", partial(try_candidate, name, text + KEPT_RUN, "reference")),
            (f"better {path.stem}", partial(try_candidate, name, text + COMPILED_RUN, "reference")),
        ]


def ask_gpumode(folder: Path) -> Iterator[list[Work]]:
    for task in sorted(folder.glob("gpumode/**/task.yml")):
        name, told = f"gpumode:{task.parent.resolve()}", task.parent.name
        text = (task.parent / "submission.py").read_text()
        yield [
            (f"check {told}", partial(check, name)),
            (f"cheat {told}", partial(try_candidate, name, text + KEPT_CALL, "submission")),
            *(
                [(f"better {told}", partial(try_candidate, name, text + COMPILED_CALL, "submission"))]
                if "torch.compile" not in text
                else []
            ),
        ]


if __name__ == "__main__":
    main()
