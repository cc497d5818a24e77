"""The commands that read whole projects, cold and warm, beside `ast.parse` of the same files and `griffe` in the same
run.

    python -m bench analysis FOLDER BACKEND TIP [--package NAME]

FOLDER holds a `layline.toml`. Each step is a process of its own; `cold` steps begin with an empty cache, `warm` ones
follow their cold one. The last column is processor time over that of `ast.parse` of every Python file that the question
is about (ours, and upstream's at pin and tip), in one process: a loaded machine changes seconds, hardly the ratio.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench analysis")
    parser.add_argument("folder", type=Path)
    parser.add_argument("backend")
    parser.add_argument("tip")
    parser.add_argument("--package", help="also load this package of the tip with griffe")
    parser.add_argument("--one", choices=("parse", "griffe"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        print(parse_all(chosen) if chosen.one == "parse" else load_griffe(chosen))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(chosen.folder / "layline.toml", folder)
        peer = run([*own_step(chosen, "parse")], Path.cwd(), Path(folder) / "cache")
        show("ast.parse of the same files", peer, peer)
        if chosen.package:
            show("griffe.load of the tip", run([*own_step(chosen, "griffe")], Path.cwd(), Path(folder) / "cache"), peer)
        for name, command, cold in find_steps(chosen):
            if cold:
                shutil.rmtree(Path(folder) / "cache", ignore_errors=True)
            show(name, run([sys.executable, "-m", "layline", *command], Path(folder), Path(folder) / "cache"), peer)
    return 0


def find_steps(chosen: argparse.Namespace) -> Iterator[tuple[str, list[str], bool]]:
    drift = ["patches", "drift", chosen.backend, "--to", chosen.tip, "--fail-on", "none", "--format", "json"]
    report = ["gap", "report", chosen.backend, "--to", chosen.tip, "--format", "json"]
    yield "patches list, cold", ["patches", "list", chosen.backend, "--format", "json"], True
    yield "patches list, warm", ["patches", "list", chosen.backend, "--format", "json"], False
    yield "patches drift --culprits, cold", [*drift, "--culprits"], True
    yield "patches drift --culprits, warm", [*drift, "--culprits"], False
    yield "gap report --no-patches, cold", [*report, "--no-patches"], True
    yield "gap report --no-patches, warm", [*report, "--no-patches"], False
    yield "gap report, cold", report, True
    yield "gap report, warm", report, False


def own_step(chosen: argparse.Namespace, name: str) -> list[str]:
    command = [sys.executable, "-m", "bench", "analysis", str(chosen.folder), chosen.backend, chosen.tip, "--one", name]
    return [*command, "--package", chosen.package] if chosen.package else command


def run(command: list[str], folder: Path, cache: Path) -> dict[str, float]:
    """Wall seconds, processor seconds of the process and its children, and the peak of the largest."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    found = subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True)
    wall = time.perf_counter() - start
    if found.returncode:
        raise SystemExit(f"{' '.join(command)}\n{found.stderr.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "peak_mib": after.ru_maxrss / 1024}


def show(name: str, found: dict[str, float], peer: dict[str, float]) -> None:
    ratio = found["cpu"] / peer["cpu"]
    print(f"{name:34} {found['wall']:7.2f} s  {found['cpu']:6.2f} s of processor  {ratio:5.2f} × ast.parse", flush=True)


def parse_all(chosen: argparse.Namespace) -> str:
    """Every Python blob of ours, of the pin and of the tip, once; trees thrown away."""
    warnings.simplefilter("ignore")
    files = size = 0
    for data in read_blobs(chosen):
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            continue
        files, size = files + 1, size + len(data)
    return json.dumps({"files": files, "bytes": size})


def read_blobs(chosen: argparse.Namespace) -> Iterator[bytes]:
    from layline.app.workspace import open_workspace
    from layline.history import read_pin

    workspace = open_workspace(chosen.folder / "layline.toml")
    backend = workspace.settings.backend(chosen.backend)
    upstream = workspace.open_backend(chosen.backend)
    pin = upstream.resolve(read_pin(workspace.downstream, workspace.commit, chosen.backend, backend).revision)
    trees = ((workspace.downstream, workspace.commit), (upstream, pin), (upstream, upstream.resolve(chosen.tip)))
    seen: set[str] = set()
    for repository, commit in trees:
        oids = {item.oid for item in repository.read_tree(commit) if item.path.endswith(".py") and item.is_file} - seen
        seen |= oids
        yield from (blob.data for blob in repository.stream_blobs(sorted(oids)) if not isinstance(blob, str))


def load_griffe(chosen: argparse.Namespace) -> str:
    import logging

    import griffe

    from layline.app.workspace import open_workspace

    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    upstream = open_workspace(chosen.folder / "layline.toml").open_backend(chosen.backend)
    with tempfile.TemporaryDirectory() as folder:
        for entry in upstream.read_tree(upstream.resolve(chosen.tip), chosen.package):
            if entry.path.endswith(".py") and entry.is_file:
                place = Path(folder) / entry.path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(upstream.read_blob(entry.oid))
        griffe.load(chosen.package, search_paths=[folder], allow_inspection=False)
    return str(chosen.package)
