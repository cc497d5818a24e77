"""The corpus of bad records (tests/bad_records.py) beside another validator: which of them would be published?

    python -m bench bad_records [--peer CHECKOUT --bundle 'tools/…/build_site_bundle.py']

CHECKOUT is a project whose own tool builds a site from records under its `docs`; its script is run on a copy of
it that holds one bad record among good ones, and a record counts as published when the script ends with 0. A stand-in
for `pandoc` that writes an empty file is put on the PATH: the question here is validation, not typesetting.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from bad_records import BAD_TEXTS, BAD_VALUES
from broken_projects import BREAKAGES
from layline.workspace.records import load_records
from record_samples import DROP, GOOD, REQUIRED, spoil, write_project, write_record

Spoil = Callable[[Path], object]
RENAMED = {
    b'"engine_status"': b'"torchtitan_status": {}, "megatron_status"',
    b'"loader_status"': b'"primus_turbo_status"',
    b'"engine":': b'"torchtitan": "monitor", "megatron":',
    b'"loader":': b'"primus_turbo":',
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench bad_records")
    parser.add_argument("--peer", type=Path, help="a checkout with a tool of its own")
    parser.add_argument("--bundle", default="tools/backend_gap_report/build_site_bundle.py")
    parser.add_argument("--list", action="store_true", help="name what the peer publishes")
    chosen = parser.parse_args(arguments)
    cases = list(find_cases())
    with tempfile.TemporaryDirectory() as folder:
        ours = [name for name, spoil_ in cases if _we_publish(Path(folder) / "ours", spoil_)]
        print(f"corpus: {len(cases)} bad records; Layline publishes {len(ours)}")
        if chosen.peer is not None:
            good = _peer_publishes(Path(folder) / "peer", chosen, lambda _: None)
            print(f"peer: the good records alone are {'published' if good else 'REFUSED: the comparison is void'}")
            theirs = [name for name, spoil_ in cases if _peer_publishes(Path(folder) / "peer", chosen, spoil_)]
            print(f"peer: publishes {len(theirs)} of {len(cases)}")
            for name in theirs if chosen.list else ():
                print(f"  {name}")
    return 1 if ours else 0


def find_cases() -> Iterator[tuple[str, Spoil]]:
    """Yields a name and what to do to a good project."""
    for kind, place, value, _ in BAD_VALUES:
        text = json.dumps(spoil(GOOD[kind](), place, value))
        yield f"{kind} {place} = {'dropped' if value is DROP else str(value)[:40]!r}", _writer(kind, text)
    for kind, what, text_, _ in BAD_TEXTS:
        yield f"{kind} file: {what}", _writer(kind, text_)
    for breakage, _ in BREAKAGES:
        yield f"project: {breakage.__name__.strip('_')}", breakage


def _writer(kind: str, text: str | bytes) -> Spoil:
    return lambda root: write_record(root, kind, text)


def _we_publish(root: Path, spoil_: Spoil) -> bool:
    _fresh(root)
    spoil_(root)
    return not load_records(root, required=REQUIRED).problems


def _peer_publishes(root: Path, chosen: argparse.Namespace, spoil_: Spoil) -> bool:
    _fresh(root)
    spoil_(root)
    _translate(root)
    shutil.copytree(chosen.peer / Path(chosen.bundle).parts[0], root / Path(chosen.bundle).parts[0])
    path = f"{_stand_in(root)}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, str(root / chosen.bundle), "--output-dir", str(root.parent / "site")]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def _fresh(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    write_project(root)


def _translate(root: Path) -> None:
    """The peer's status keys are fixed and ours are called otherwise; renamed as text, so that odd files stay odd."""
    for folder in ("weekly_reports", "monthly_reports"):
        for path in (root / "docs" / folder).rglob("dashboard-data/reports/*.json"):
            text = path.read_bytes()
            for old, new in RENAMED.items():
                text = text.replace(old, new)
            path.write_bytes(text)


def _stand_in(root: Path) -> Path:
    folder = root.parent / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "pandoc"
    if not program.exists():
        program.write_text('#!/bin/sh\nfor last in "$@"; do :; done\n: > "$last"\n')
        program.chmod(0o755)
        (folder / "python3").symlink_to(sys.executable)
    return folder
