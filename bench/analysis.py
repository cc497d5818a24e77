"""The commands that read whole projects, beside `ast.parse` of the same files and `griffe` in the same run.

    python -m bench analysis FOLDER BACKEND TIP [--package NAME [--tools BIN]] [--commits N [--each]] [--earlier REF]

FOLDER holds a `layline.toml`. Each step is a process of its own. `cold` steps begin with an empty cache, `again` ones follow
their cold one; `document` asks for a commit that changes a document alone; `later` is the median (and the ninth of ten, and
the worst) over the last N first-parent commits, each asked after its parent; `upstream` asks for TIP after `--earlier`, an older upstream
commit; `edit` asks with `--worktree` after one file was edited. The last column is processor time over that of `ast.parse`
of every Python file the question is about, in one process (for `patches list` ours alone, else upstream's at pin and tip
too): a loaded machine changes seconds, hardly the ratio.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import layline

SOURCE = str(Path(layline.__file__).resolve().parent.parent)
Cost: TypeAlias = dict[str, float]
"""Wall and processor seconds, peak of memory."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench analysis")
    parser.add_argument("folder", type=Path)
    parser.add_argument("backend")
    parser.add_argument("tip")
    parser.add_argument("--package", help="also load this package of the tip with griffe")
    parser.add_argument(
        "--tools", type=Path, help="bin folder of an environment with griffe and ty: both refs of the package"
    )
    parser.add_argument("--commits", type=int, default=0, help="ask about so many commits, each after its parent")
    parser.add_argument("--earlier", help="an upstream commit before TIP")
    parser.add_argument("--each", action="store_true", help="with --commits: also what each of them costs")
    parser.add_argument("--only", choices=("list", "drift", "report"), action="append", help="default: all three")
    parser.add_argument("--one", choices=("ours", "parse", "griffe"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        print(load_griffe(chosen) if chosen.one == "griffe" else parse_all(chosen, ours=chosen.one == "ours"))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(chosen, Path(folder))
        bench.show_peers()
        for question in chosen.only or ("list", "drift", "report"):
            bench.ask_all(question)
    return 0


class Bench:
    """A clone of the project, a cache, and what the peers cost."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        self.chosen, self.clone, self.cache = chosen, folder / "clone", folder / "cache"
        git(folder, "clone", "-q", "--shared", "--no-checkout", str(chosen.folder.resolve()), str(self.clone))
        shutil.copy(chosen.folder / "layline.toml", self.clone)
        self.head = git(self.clone, "rev-parse", "HEAD")
        self.document = self._commit_document()
        self.peers: dict[str, Cost] = {}

    def _commit_document(self) -> str:
        """A child of HEAD that adds a document; nothing is checked out."""
        blob = git(self.clone, "hash-object", "-w", "--stdin", given="only words\n")
        git(self.clone, "read-tree", self.head)
        git(self.clone, "update-index", "--add", "--cacheinfo", f"100644,{blob},BENCH-NOTE.md")
        tree = git(self.clone, "write-tree")
        (self.clone / ".git" / "index").unlink()
        return git(self.clone, "commit-tree", tree, "-p", self.head, "-m", "A document")

    def show_peers(self) -> None:
        for name, one in (("ast.parse, ours", "ours"), ("ast.parse, ours and upstream's two", "parse")):
            self.peers[one] = run(own_step(self.chosen, one), Path.cwd(), self.cache)
            show(name, self.peers[one], self.peers[one])
        if self.chosen.package and not self.chosen.tools:
            show(
                "griffe.load of the tip",
                run(own_step(self.chosen, "griffe"), Path.cwd(), self.cache),
                self.peers["parse"],
            )
        if self.chosen.package and self.chosen.tools:
            for name, cost in run_tools(self.chosen, self.cache):
                show(name, cost, self.peers["parse"])

    def ask_all(self, question: str) -> None:
        command = find_command(self.chosen, question, self.chosen.tip)
        shutil.rmtree(self.cache, ignore_errors=True)
        self.ask(f"{question}, cold", question, command)
        self.ask(f"{question}, again", question, command)
        self.ask(f"{question}, document", question, [*command, "--at", self.document])
        if self.chosen.commits:
            self.ask_commits(question, command)
        if self.chosen.earlier and question != "list":
            shutil.rmtree(self.cache, ignore_errors=True)
            self.ask(f"{question}, earlier tip", question, find_command(self.chosen, question, self.chosen.earlier))
            self.ask(f"{question}, upstream", question, command)
        if question != "report":
            self.ask_edit(question, command)

    def ask(self, name: str, question: str, command: list[str]) -> Cost:
        cost = run([sys.executable, "-m", "layline", *command], self.clone, self.cache)
        show(name, cost, self.peer(question))
        return cost

    def peer(self, question: str) -> Cost:
        return self.peers["ours" if question == "list" else "parse"]

    def ask_commits(self, question: str, command: list[str]) -> None:
        listed = git(self.clone, "rev-list", "--first-parent", f"-{self.chosen.commits + 1}", self.head).split()[::-1]
        layline = [sys.executable, "-m", "layline", *command, "--at"]
        run([*layline, listed[0]], self.clone, self.cache)
        costs = sorted(
            (self.ask_commit(question, [*layline, commit]) for commit in listed[1:]), key=lambda cost: cost["cpu"]
        )
        show(f"{question}, later (median of {len(costs)})", costs[len(costs) // 2], self.peer(question))
        show(f"{question}, later (ninth of ten)", costs[len(costs) * 9 // 10], self.peer(question))
        show(f"{question}, later (worst)", costs[-1], self.peer(question))

    def ask_commit(self, question: str, command: list[str]) -> Cost:
        cost = run(command, self.clone, self.cache)
        if self.chosen.each:
            show(f"{question}, {command[-1][:12]}", cost, self.peer(question))
        return cost

    def ask_edit(self, question: str, command: list[str]) -> None:
        """One file of ours gets another line; the rest of the work tree is as committed."""
        check_out(self.clone, self.head)
        self.ask(f"{question}, checked out", question, [*command, "--worktree"])
        edited = next(path for path in sorted(self.clone.rglob("*patches*.py")) if ".git" not in path.parts)
        edited.write_text(edited.read_text() + "\n# edited\n")
        self.ask(f"{question}, edit", question, [*command, "--worktree"])
        edited.write_text(edited.read_text().removesuffix("\n# edited\n"))


def find_command(chosen: argparse.Namespace, question: str, tip: str) -> list[str]:
    match question:
        case "list":
            return ["patches", "list", chosen.backend, "--format", "json"]
        case "drift":
            return [
                "patches",
                "drift",
                chosen.backend,
                "--to",
                tip,
                "--fail-on",
                "none",
                "--culprits",
                "--format",
                "json",
            ]
    return ["gap", "report", chosen.backend, "--to", tip, "--format", "json"]


def own_step(chosen: argparse.Namespace, name: str) -> list[str]:
    command = [sys.executable, "-m", "bench", "analysis", str(chosen.folder), chosen.backend, chosen.tip, "--one", name]
    return [*command, "--package", chosen.package] if chosen.package else command


def git(folder: Path, *words: str, given: str | None = None) -> str:
    names = {"GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b", "GIT_COMMITTER_EMAIL": "b@b"}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **names},
    )
    return done.stdout.strip()


def check_out(folder: Path, commit: str) -> None:
    """The files whose blobs are here. A clone of a partial clone lacks some: git then takes them for unchanged."""
    git(folder, "read-tree", commit)
    listed = [entry.split("\t", 1) for entry in git(folder, "ls-files", "-s", "-z").split("\0") if entry]
    blobs = {path: fields.split()[1] for fields, path in listed if not fields.startswith("160000")}
    told = git(folder, "cat-file", "--batch-check", given="\n".join(blobs.values())).splitlines()
    lost = {line.split()[0] for line in told if line.endswith(" missing")}
    here = [path for path, blob in blobs.items() if blob not in lost]
    git(folder, "update-index", "-z", "--skip-worktree", "--stdin", given="\0".join({*blobs} - {*here}))
    git(folder, "checkout-index", "-f", "-z", "--stdin", given="\0".join(here))


def run(command: list[str], folder: Path, cache: Path) -> Cost:
    """Wall seconds, processor seconds of the process and its children, and the peak of the largest of them."""
    start = time.perf_counter()
    environment = {**os.environ, "LAYLINE_CACHE": str(cache), "PYTHONPATH": f"{SOURCE}{os.pathsep}{Path.cwd()}"}
    # as it is installed, with its own modules compiled: two of the seconds of an answer would be Python's
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache.parent / "compiled")}
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=told)
        _, status, used = os.wait4(
            process.pid, 0
        )  # of this process: the sum over all so far has the largest peak of all
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        if process.returncode not in {0, 1}:
            told.seek(0)
            raise SystemExit(f"{' '.join(command)}\n{told.read().decode()[-2000:]}")
    return {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}


def show(name: str, found: Cost, peer: Cost) -> None:
    ratio = found["cpu"] / peer["cpu"]
    figures = f"{found['wall']:7.2f} s  {found['cpu']:6.2f} s of processor  {found['peak_mib']:5.0f} MiB"
    print(f"{name:36} {figures}  {ratio:5.2f} × ast.parse", flush=True)


def parse_all(chosen: argparse.Namespace, *, ours: bool) -> str:
    """Every Python blob of ours, and of pin and tip unless only `ours` are wanted, once; trees thrown away."""
    warnings.simplefilter("ignore")
    files = size = 0
    for data in read_blobs(chosen, ours=ours):
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            continue
        files, size = files + 1, size + len(data)
    return json.dumps({"files": files, "bytes": size})


def read_blobs(chosen: argparse.Namespace, *, ours: bool) -> Iterator[bytes]:
    from layline.history.pins import read_pin
    from layline.workspace.open import open_workspace

    workspace = open_workspace(chosen.folder / "layline.toml")
    backend = workspace.settings.backend(chosen.backend)
    upstream = workspace.open_backend(chosen.backend)
    pin = upstream.resolve(read_pin(workspace.downstream, workspace.commit, chosen.backend, backend).revision)
    trees = ((workspace.downstream, workspace.commit), (upstream, pin), (upstream, upstream.resolve(chosen.tip)))
    seen: set[str] = set()
    for repository, commit in trees[:1] if ours else trees:
        oids = {item.oid for item in repository.read_tree(commit) if item.path.endswith(".py") and item.is_file} - seen
        seen |= oids
        yield from (blob.data for blob in repository.stream_blobs(sorted(oids)) if not isinstance(blob, str))


_GRIFFE = "import sys; from bench.griffe_check import find_breakages; print(len(find_breakages(*sys.argv[1:])))"


def run_tools(chosen: argparse.Namespace, cache: Path) -> Iterator[tuple[str, Cost]]:
    """`griffe` comparing pin and tip, and `ty` checking each, all of the one package."""
    upstream, commits = find_refs(chosen)
    repository = str(upstream.git_dir)
    griffe = [str(chosen.tools / "python"), "-c", _GRIFFE, repository, chosen.package, *commits]
    yield "griffe, pin and tip", run(griffe, Path.cwd(), cache)
    for name, commit in zip(("pin", "tip"), commits, strict=True):
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(
                ["git", "-C", repository, "archive", commit, "--", chosen.package], capture_output=True, check=True
            )
            subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
            yield f"ty check, {name}", run([str(chosen.tools / "ty"), "check", "-q", folder], Path(folder), cache)


def find_refs(chosen: argparse.Namespace) -> tuple[Any, tuple[str, str]]:
    """The upstream, and its commits at pin and tip."""
    from layline.workspace.open import open_workspace

    workspace = open_workspace(chosen.folder / "layline.toml")
    upstream = workspace.open_backend(chosen.backend)
    return upstream, (workspace.find_pinned(chosen.backend).commit, upstream.resolve(chosen.tip))


def load_griffe(chosen: argparse.Namespace) -> str:
    import logging

    import griffe

    from layline.workspace.open import open_workspace

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
