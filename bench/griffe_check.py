"""Drift beside `griffe` on the same two refs: how many of the targets that drift calls affected does griffe name?

python -m bench griffe_check REPO PACKAGE PIN TIP DRIFT_JSON
"""

from __future__ import annotations

import json
import logging
import subprocess
import tempfile
import time
from pathlib import Path

_AFFECTED = {"signature-changed", "moved", "renamed", "removed", "binding-lost"}
_STYLES = {"binding-replacement", "function-wrapping", "source-rewrite"}


def main(arguments: list[str]) -> int:
    repo, package, pin, tip, drift = arguments
    start = time.process_time()
    named = find_breakages(repo, package, pin, tip)
    seconds = time.process_time() - start
    rows = json.loads(Path(drift).read_text(encoding="utf-8"))["rows"]
    affected = {row["target"] for row in rows if row["kind"] in _AFFECTED and row["style"] in _STYLES and row["target"]}
    broken = {row["target"] for row in rows if row["severity"] == "breaks" and row["target"] in affected}
    print(f"griffe: {len(named)} objects with breaking changes, {seconds:.1f} s of processor time")
    for word, targets in (("affected", affected), ("of these, targets that break us", broken)):
        hit = [target for target in targets if is_named(target, named)]
        print(f"{word}: {len(targets)} targets, griffe names {len(hit)}")
    return 0


def find_breakages(repo: str, package: str, pin: str, tip: str) -> set[str]:
    """Dotted paths of everything griffe calls a breaking change between the two refs."""
    import griffe

    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    trees = []
    for ref in (pin, tip):
        folder = tempfile.mkdtemp()
        archive = subprocess.run(["git", "-C", repo, "archive", ref, "--", package], capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        loader = griffe.GriffeLoader(search_paths=[folder], allow_inspection=False)
        trees.append(loader.load(package, try_relative_path=False))
        loader.resolve_aliases(implicit=False, external=False)
    return {item.obj.path for item in griffe.find_breaking_changes(trees[0], trees[1])}


def is_named(target: str, named: set[str]) -> bool:
    """True if griffe names the target or something around it."""
    return any(target == one or target.startswith(f"{one}.") for one in named)
