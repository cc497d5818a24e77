#!/usr/bin/env python3
"""The steps of the GitHub Action, runnable anywhere: one summary for all backends, one SARIF file each, annotations on
stdout.

Reads LAYLINE_CONFIG, LAYLINE_BACKENDS, LAYLINE_BASE, LAYLINE_TO, LAYLINE_FETCH, LAYLINE_FAIL_ON, LAYLINE_BASELINE;
writes
below $RUNNER_TEMP (default: a new temporary folder) and appends to $GITHUB_STEP_SUMMARY and $GITHUB_OUTPUT where they
are set.

With a base commit (a pull request), only backends whose pin the pull request moves are looked at: what the move brings,
what it does to the patches as the pull request has them, and how far upstream is then still ahead. Without one, every
backend is compared with its upstream as configured.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import layline
from layline import __version__
from layline.core.progress import Progress
from layline.patches.drift.ask import DriftOptions
from layline.patches.drift.kept import KEPT
from layline.patches.kept import RECALLED
from layline.render.annotations import render_annotations
from layline.render.sarif import render_sarif
from layline.workspace.open import fetch_backend

CONFIG = Path(os.environ.get("LAYLINE_CONFIG") or "layline.toml")
TODAY = datetime.now(UTC).date()
_WORD = os.environ.get("LAYLINE_FAIL_ON") or "error"
FAIL_ON = {"error": "breaks", "warning": "look"}.get(_WORD, _WORD)
BASELINE = Path(os.environ["LAYLINE_BASELINE"]) if os.environ.get("LAYLINE_BASELINE") else None


def main() -> int:
    out = Path(os.environ.get("RUNNER_TEMP") or tempfile.mkdtemp()) / "layline"
    (out / "sarif").mkdir(parents=True, exist_ok=True)
    summary = Path(os.environ.get("GITHUB_STEP_SUMMARY") or out / "summary.md")
    here = layline.open_workspace(CONFIG)
    base = os.environ.get("LAYLINE_BASE")
    chosen = (os.environ.get("LAYLINE_BACKENDS") or "").split() or list(here.settings.backends)
    then = read_pins(layline.open_workspace(CONFIG, at=base)) if base else {}
    now = read_pins(here)
    status, texts, unmoved = 0, [], []
    for key in chosen:
        if base and then.get(key) == now.get(key):
            unmoved.append(key)
            continue
        code, parts = look_at(here, key, out / "sarif" / f"{key}.sarif", Move(base, then.get(key), now.get(key)))
        status = max(status, code)
        texts += parts
    if base:
        texts.append(f"Pins that this pull request does not move: {', '.join(unmoved) or 'none'}.\n")
    with summary.open("a", encoding="utf-8") as file:
        file.write("\n".join(texts))
    if os.environ.get("GITHUB_OUTPUT"):
        with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
            file.write(f"sarif={out / 'sarif'}\nmoved={' '.join(key for key in chosen if key not in unmoved)}\n")
    print(f"summary: {summary}", file=sys.stderr)
    return status


class Move:
    """What a pull request does to one pin; without a base commit, nothing."""

    def __init__(self, base: str | None, old: str | None, new: str | None) -> None:
        self.base, self.old, self.new = base, old, new

    @property
    def is_known(self) -> bool:
        return bool(self.base and self.old and self.new)


def read_pins(workspace: layline.Workspace) -> dict[str, str]:
    findings = layline.doctor(workspace, pins=True).data["findings"]
    return {row["subject"]: row["value"] for row in findings if row["state"] == "ok"}


def look_at(workspace: layline.Workspace, key: str, sarif: Path, move: Move) -> tuple[int, list[str]]:
    """The exit code and the Markdown of one backend; what cannot be answered is said, with its hint, and is exit code
    2.
    """
    try:
        if (os.environ.get("LAYLINE_FETCH") or "false") == "true" and workspace.settings.backend(key).objects is None:
            fetch_backend(workspace, key)
        kept: dict[str, tuple[int, int]] = {}

        def note(what: str, done: int, total: int, *_: str) -> None:
            kept[what.rpartition(": ")[2]] = (done, total)  # the part of the work stands before it

        answers = list(ask(workspace, key, move, note))
    except layline.Error as error:
        print(f"::warning title=layline {key}::{error.message}")
        return 2, [f"# {key}\n\nNot answered: {error.message} {error.hint or ''}\n"]
    drift = next(answer for answer in answers if answer.data["schema"] == "layline.drift/1")
    sarif.write_text(render_sarif(drift, version=__version__), encoding="utf-8")
    print(render_annotations(drift.findings), end="")
    print(f"{key}: {tell_kept(kept)}", file=sys.stderr)
    return int(drift.needs_person), [layline.render_markdown(answer.report) for answer in answers]


def tell_kept(kept: dict[str, tuple[int, int]]) -> str:
    """How much of an answer was made before and kept."""
    if not kept:
        return "the drift is kept from an earlier run"
    told = {"readings of modules": kept.get(RECALLED, (0, 0)), "rows and files": kept.get(KEPT, (0, 0))}
    words = [f"{done} of {total} {what}" for what, (done, total) in told.items() if total]
    return f"{' and '.join(words)} are kept from earlier runs" if words else "the inventory is kept"


def ask(workspace: layline.Workspace, key: str, move: Move, progress: Progress) -> Iterator[layline.Answer]:
    to = os.environ.get("LAYLINE_TO") or None
    options = DriftOptions(to=to, culprits=True, fail_on=FAIL_ON, baseline=BASELINE, today=TODAY)
    if move.is_known:
        assert move.base is not None
        before = layline.open_workspace(CONFIG, at=move.base)
        yield layline.gap_show(before, key, to=move.new, today=TODAY)
        yield layline.patches_drift(workspace, key, replace(options, since=move.old, to=move.new), progress=progress)
        yield layline.gap_show(workspace, key, to=to, today=TODAY)
    else:
        yield layline.gap_show(workspace, key, to=to, today=TODAY)
        yield layline.patches_drift(workspace, key, options, progress=progress)


if __name__ == "__main__":
    try:
        code = main()
    except layline.Error as error:
        print(f"::error title=layline::{error.message} {error.hint or ''}")
        code = 2
    except Exception:  # a bug of ours must not look like a finding
        traceback.print_exc()
        code = 3
    sys.exit(code)
