"""Back-test of drift on a framework that records its pin moves in a file: what we flag against what was really edited.

    python -m bench backtest DOWNSTREAM UPSTREAM --pin-file PATH --package NAME --folder FOLDER [--moves FIRST:LAST]
    … --pin-paths '.github/workflows' [--between 2025-12-01 2026-06-09] [--sample 10]

The second form is for pins that stand in other files: a move is a commit that takes one commit of upstream's out of them and
puts another one in, both once or more.
For each commit that moved the pin: the downstream is looked at just before it, the upstream from the old pin to the
new one. A file of FOLDER is flagged when a patch effect breaks or a coupling (import, call, override …) will or may
break and did not fail at the old pin in the same way; of an effect that only waits for an import the file of the import
is flagged. It was edited when the upgrade commit changes it. Moves are numbered from the oldest (1).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.why import Reason
from layline.coupling.drift_model import Drift
from layline.coupling.model import Consequence
from layline.coupling.roots import explain
from layline.patches.drift.read import find_rows, open_drift
from layline.workspace.open import open_workspace

CONFIG = """\
[project]
name = "downstream"
git = "{downstream}"
[backends.up]
upstream = "https://example.org/up"
objects = "{upstream}"
packages = ["{package}"]
source_roots = ["."]
patches = ["{folder}/patch"]
integration = ["{folder}"]
[backends.up.pin]
revision = "{pin}"
"""
HASH = re.compile(r"\b[0-9a-f]{40}\b")
SEED = 18


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench backtest")
    parser.add_argument("downstream", type=Path)
    parser.add_argument("upstream", type=Path)
    parser.add_argument("--pin-file", default="")
    parser.add_argument("--pin-paths", default="")
    parser.add_argument("--between", nargs=2, default=("2000-01-01", "2100-01-01"), metavar=("DAY", "DAY"))
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--package", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--moves", default="1:")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args(arguments)
    first, _, last = chosen.moves.partition(":")
    found = find_moves(chosen) if chosen.pin_file else find_moves_in(chosen)
    moves = found[int(first) - 1 : int(last) if last else None]
    if chosen.sample:
        picked = random.Random(SEED).sample(range(len(moves)), chosen.sample)
        moves = [moves[at] for at in sorted(picked)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "layline.toml"
        for commit, old, new in moves:
            config.write_text(CONFIG.format(pin=old, **{key: str(value) for key, value in vars(chosen).items()}))
            results.append(score(chosen, config, commit, new))
            show(results[-1])
    total(results)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1))
    return 0


def git(repository: Path, *words: str) -> str:
    return (
        subprocess.run(["git", "-C", str(repository), *words], check=True, capture_output=True).stdout.decode().strip()
    )


def find_moves(chosen: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Commits that changed the pin from one hash to another, oldest first."""
    moves = []
    for commit in git(chosen.downstream, "log", "--reverse", "--format=%H", "--", chosen.pin_file).split():
        try:
            before = git(chosen.downstream, "show", f"{commit}^:{chosen.pin_file}").split()[0]
        except (subprocess.CalledProcessError, IndexError):
            continue
        after = git(chosen.downstream, "show", f"{commit}:{chosen.pin_file}").split()[0]
        if before != after:
            moves.append((commit, before, after))
    return moves


def find_moves_in(chosen: argparse.Namespace) -> list[tuple[str, str, str]]:
    """The same for a pin that stands in many files, among other things; files of ours must be edited, too."""
    since, until = chosen.between
    words = ("log", "--reverse", "--format=%H", f"--since={since}", f"--until={until}", "--", chosen.pin_paths)
    moves = []
    for commit in git(chosen.downstream, *words).split():
        lines = git(chosen.downstream, "show", "--format=", "-U0", commit, "--", chosen.pin_paths).splitlines()
        old, new = (find_pinned(chosen.upstream, lines, sign) for sign in "-+")
        is_edited = bool(git(chosen.downstream, "diff", "--name-only", f"{commit}^", commit, "--", chosen.folder))
        if old and new and old != new and is_edited:
            moves.append((commit, old, new))
    return moves


def find_pinned(upstream: Path, lines: list[str], sign: str) -> str:
    """The commit of upstream's in the lines taken out, or put in; none where there are two."""
    found = {one for line in lines if line.startswith(sign) for one in HASH.findall(line)}
    known = [one for one in found if has_commit(upstream, one)]
    return known[0] if len(known) == 1 else ""


def has_commit(upstream: Path, commit: str) -> bool:
    try:
        return git(upstream, "cat-file", "-t", commit) == "commit"
    except subprocess.CalledProcessError:
        return False


def score(chosen: argparse.Namespace, config: Path, commit: str, new: str) -> dict[str, Any]:
    start = time.perf_counter()
    workspace = open_workspace(config, at=f"{commit}^")
    opening = open_drift(workspace, "up", new)
    rows = [row for row in find_rows(opening) if breaks_anew(row)]
    hits = [
        item
        for item in opening.pair.places.couplings
        if item.consequence in {Consequence.WILL_BREAK, Consequence.MAY_BREAK}
    ]
    universe = {
        path
        for path in git(chosen.downstream, "ls-tree", "-r", "--name-only", f"{commit}^", chosen.folder).split("\n")
        if path.endswith(".py")
    }
    edited = (
        set(git(chosen.downstream, "diff", "--name-only", f"{commit}^", commit, "--", chosen.folder).split("\n"))
        & universe
    )
    why: dict[str, list[str]] = {}
    for row in rows:
        why.setdefault(find_file(row), []).append(f"patch {row.kind}: {row.target}: {row.detail}"[:200])
    for item in hits:
        why.setdefault(item.location.path, []).append(f"{item.touch} {item.state}: {item.target}: {item.detail}"[:200])
    flagged = set(why) & universe
    homes = [
        (row.location.path, row.suggestion.target)
        for row in rows
        if row.comparison and row.comparison.new_home and row.suggestion
    ]
    homes += [(item.location.path, item.new_target) for item in hits if item.new_target]
    used = [is_used(chosen, commit, path, home) for path, home in dict.fromkeys(homes) if path in edited]
    return {
        "commit": commit,
        "files": len(universe),
        "edited": sorted(edited),
        "flagged": sorted(flagged),
        "right": sorted(edited & flagged),
        "homes": [sum(used), len(used)],
        "seconds": time.perf_counter() - start,
        "why": {path: reasons for path, reasons in sorted(why.items()) if path in universe},
    }


def breaks_anew(row: Drift) -> bool:
    """Whether an effect breaks by more than what fails at the old pin already."""
    broken = {one.why.reason for one in row.findings if one.severity is Severity.BREAKS}
    return row.severity is Severity.BREAKS and bool(broken - {Reason.MISREADS_TODAY})


def find_file(row: Drift) -> str:
    """Where the work is: in the import that an effect waits for, in the replacement whose signature alone is wrong, or
    in the line that puts it in place.
    """
    root = explain(row)
    if root is not None:
        return root.location.path
    at = row.effect.replacement_at if row.effect is not None and row.kind is DriftKind.SIGNATURE_CHANGED else None
    return at.path if at is not None else row.location.path


def is_used(chosen: argparse.Namespace, commit: str, path: str, home: str) -> bool:
    """True if the edited file mentions the suggested module and name after the upgrade."""
    try:
        text = git(chosen.downstream, "show", f"{commit}:{path}")
    except subprocess.CalledProcessError:
        return False
    module, _, name = home.rpartition(".")
    while module and not module.rpartition(".")[2].islower():
        module, _, name = module.rpartition(".")
    return module in text and name in text


def show(result: dict[str, Any]) -> None:
    right, flagged, edited = len(result["right"]), len(result["flagged"]), len(result["edited"])
    print(
        f"{result['commit'][:10]} files {result['files']} edited {edited} flagged {flagged} right {right} "
        f"precision {right / flagged if flagged else 0:.0%} recall {right / edited if edited else 0:.0%} "
        f"homes {result['homes'][0]}/{result['homes'][1]} {result['seconds']:.0f} s",
        flush=True,
    )


def total(results: list[dict[str, Any]]) -> None:
    right, flagged, edited, files = (
        sum(len(r[key]) if isinstance(r[key], list) else r[key] for r in results)
        for key in ("right", "flagged", "edited", "files")
    )
    base = edited / files
    precision = right / flagged if flagged else 0.0
    print(
        f"all: precision {precision:.1%} recall {right / edited:.1%} base rate {base:.2%} lift {precision / base:.1f}"
    )
    print(f"suggested homes used: {sum(r['homes'][0] for r in results)} of {sum(r['homes'][1] for r in results)}")
