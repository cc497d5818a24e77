"""The symbol index of a whole ref, beside its floor (git alone), its lower bound (ast.parse) and a peer (griffe).

    python -m bench index REPOSITORY [TIP [PIN]] [--package NAME]

Every measurement is a process of its own, so that peak memory is its own too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench index")
    parser.add_argument("repository", type=Path, nargs="?", default=os.environ.get("LAYLINE_REAL_MEGATRON"))
    parser.add_argument("tip", nargs="?", default="HEAD")
    parser.add_argument("pin", nargs="?", default="HEAD~1000")
    parser.add_argument("--package", default="megatron")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.repository is None:
        parser.error("name a repository, or set LAYLINE_REAL_MEGATRON")
    if chosen.one:
        print(json.dumps(measure(STEPS[chosen.one], chosen)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name in STEPS:
            found = run_step(name, chosen, Path(folder) / "cache")
            print(
                f"{name:34} {found['seconds']:7.2f} s  {found['cpu']:6.2f} s of processor  "
                f"{found['peak_mib']:5.0f} MiB  {found['note']}",
                flush=True,
            )
    return 0


def run_step(name: str, chosen: argparse.Namespace, cache: Path) -> Any:
    command = [sys.executable, "-m", "bench", "index", str(chosen.repository), chosen.tip, chosen.pin]
    command += ["--package", chosen.package, "--one", name, "--cache", str(cache)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def measure(step: Callable[[argparse.Namespace], str], chosen: argparse.Namespace) -> dict[str, Any]:
    start = time.perf_counter()
    note = step(chosen)
    seconds = time.perf_counter() - start
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(item.ru_utime + item.ru_stime for item in used)
    return {"seconds": seconds, "cpu": cpu, "peak_mib": max(item.ru_maxrss for item in used) / 1024, "note": note}


def read_blobs(chosen: argparse.Namespace) -> list[bytes]:
    from layline.git import Blob, open_repository

    repository = open_repository(chosen.repository)
    entries = repository.read_tree(repository.resolve(chosen.tip))
    oids = sorted({entry.oid for entry in entries if entry.path.endswith(".py") and entry.is_file})
    return [blob.data for blob in repository.stream_blobs(oids) if isinstance(blob, Blob)]


def floor(chosen: argparse.Namespace) -> str:
    blobs = read_blobs(chosen)
    return f"{len(blobs)} blobs, {sum(map(len, blobs)) / 1e6:.1f} MB"


def plain_parsing(chosen: argparse.Namespace) -> str:
    import ast

    warnings.simplefilter("ignore")
    blobs = read_blobs(chosen)
    for data in blobs:
        ast.parse(data)
    return "one process, trees thrown away"


def build(chosen: argparse.Namespace, *refs: str) -> str:
    from layline.git import open_repository
    from layline.source import Part, Tree, build_index, open_cache

    cache = open_cache(chosen.cache)
    repository = open_repository(chosen.repository)
    counts = []
    for ref in refs:
        index = build_index([Part(tree=Tree(repository, repository.resolve(ref)))], cache)
        counts.append(len(index.entries))
    return f"{' and '.join(map(str, counts))} modules on {len(os.sched_getaffinity(0))} cores"


def load_all(chosen: argparse.Namespace) -> str:
    from layline.git import open_repository
    from layline.source import Part, Tree, build_index, open_cache

    cache = open_cache(chosen.cache)
    repository = open_repository(chosen.repository)
    names = 0
    for ref in (chosen.tip, chosen.pin):
        index = build_index([Part(tree=Tree(repository, repository.resolve(ref)))], cache)
        names += sum(len(module.names()) for _, module in index.modules())
    return f"{names} definitions read"


def load_griffe(chosen: argparse.Namespace) -> str:
    import logging

    import griffe

    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(chosen.repository), "archive", chosen.tip, "--", chosen.package],
            check=True,
            capture_output=True,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        start = time.perf_counter()
        griffe.load(chosen.package, search_paths=[folder], allow_inspection=False)
        return (
            f"the package {chosen.package} only; griffe itself {time.perf_counter() - start:.2f} s, the rest is "
            "git archive"
        )


STEPS: dict[str, Callable[[argparse.Namespace], str]] = {
    "git ls-tree + cat-file (floor)": floor,
    "ast.parse of the same blobs": plain_parsing,
    "index of the tip, cold": lambda chosen: build(chosen, chosen.tip),
    "index of the pin after it": lambda chosen: build(chosen, chosen.pin),
    "both, warm": lambda chosen: build(chosen, chosen.tip, chosen.pin),
    "both, warm, every module decoded": load_all,
    "griffe.load": load_griffe,
}
