"""`patches trace`: run a command of the user's and compare the rebindings that happen with the static list."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.core.progress import Progress, silent
from layline.core.prose import count
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.errors import Error
from layline.patches.kept import read_inventories
from layline.patches.tracing.compare import Records, Traced, compare, read_records

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.core.report import Block
    from layline.workspace.open import Workspace

_LIMITS = (
    "Watched: names of upstream modules with the line that writes them, and class attributes as they are when a "
    "process "
    "ends. Not watched: single objects, classes changed and put back, processes that start Python with -S, -E or -I."
)


def patches_trace(
    workspace: Workspace, words: tuple[str, ...], backend: str | None = None, *, progress: Progress = silent
) -> Answer:
    """Run `words` in the user's environment, watch the packages of the backends, and compare."""
    if shutil.which(words[0]) is None:
        raise Error(f"There is no command {words[0]!r}.", hint="Give the whole command after --.")
    keys = (backend,) if backend else tuple(workspace.settings.backends)
    inventories = read_inventories(workspace, keys, progress)
    packages = sorted(find_watched(workspace, inventories))
    if not packages:
        raise Error("No package to watch.", hint="Name `packages` of the backend in layline.toml.")
    records, code = run_traced(words, packages)
    traced = compare(inventories, records, workspace.root)
    return Answer(
        report=_build_report(traced, words, code),
        data=_encode(traced, workspace, words, code),
        needs_person=code != 0 or bool(traced.only_seen),
    )


def find_watched(workspace: Workspace, inventories: list[Inventory]) -> set[str]:
    """The packages of the backends, and the top of every target on another package."""
    configured = {name for one in inventories for name in workspace.settings.backend(one.backend).packages}
    targets = {effect.target for one in inventories for effect in one.every_effect() if effect.target}
    tops = {target.partition(".")[0] for target in targets} - set(sys.stdlib_module_names)
    return configured | tops


def run_traced(words: tuple[str, ...], packages: list[str]) -> tuple[Records, int]:
    """The command's own output goes to stderr, so that ours stays readable."""
    with tempfile.TemporaryDirectory(prefix="layline-trace-") as name:
        folder = Path(name)
        tracer = resources.files("layline.patches.tracing").joinpath("tracer.py").read_text(encoding="utf-8")
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(tracer, encoding="utf-8")
        before = os.environ.get("PYTHONPATH")
        watched = {
            "PYTHONPATH": os.pathsep.join([str(folder / "hook"), *([before] if before else [])]),
            "LAYLINE_TRACE_OUT": str(folder),
            "LAYLINE_TRACE_PACKAGES": ",".join(packages),
        }
        done = subprocess.run(list(words), env={**os.environ, **watched}, stdout=sys.stderr, check=False)
        return read_records(folder), done.returncode


def _say_share(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"


def _build_report(traced: Traced, words: tuple[str, ...], code: int) -> Report:
    seen, listed = len(traced.both) + len(traced.only_seen), len(traced.both)
    title = (
        f"{listed} of {count(seen, 'rebinding')} seen are in the static list (recall {_say_share(traced.recall)}); "
        f"{_say_share(traced.precision)} of the listed targets were seen"
    )
    if not seen:
        title = "no rebinding was seen" if traced.processes else "no Python process could be watched"
    both = [
        (Cell(one.target, code=True), one.value, Cell(one.at or "–", code=True), Cell(effect.id, code=True))
        for one, effect in traced.both
    ]
    alone = [(Cell(one.target, code=True), one.value, Cell(one.at or "–", code=True)) for one in traced.only_seen]
    missed = [
        (Cell(row.effect.target or "–", code=True), row.why, Cell(str(row.effect.location), code=True))
        for row in traced.unseen
    ]
    watched = f"{len(traced.processes)} Python process{'' if len(traced.processes) == 1 else 'es'} watched"
    ran = f"`{' '.join(words)}` ran with your rights and ended with {code}; {watched}."
    return Report(
        title=title,
        sections=(
            Section(title="", blocks=(Paragraph(ran), Paragraph(_LIMITS))),
            Section(title=f"Seen and not listed ({len(alone)})", blocks=_tables(("Target", "Set to", "At"), alone)),
            Section(title=f"Seen and listed ({len(both)})", blocks=_tables(("Target", "Set to", "At", "Id"), both)),
            Section(title=f"Listed and not seen ({len(missed)})", blocks=_tables(("Target", "Why", "At"), missed)),
        ),
    )


def _tables(columns: tuple[str, ...], rows: list[Any]) -> tuple[Block, ...]:
    return (Table(columns=columns, rows=tuple(rows)),) if rows else (Paragraph("None."),)


def _encode(traced: Traced, workspace: Workspace, words: tuple[str, ...], code: int) -> dict[str, Any]:
    return {
        "schema": "layline.patches-trace/1",
        "command": list(words),
        "exit": code,
        "commit": workspace.commit,
        "processes": list(traced.processes),
        "recall": traced.recall,
        "precision": traced.precision,
        "seen_and_listed": [
            {"target": one.target, "how": one.how, "value": one.value, "at": one.at, "effect": effect.id}
            for one, effect in traced.both
        ],
        "seen_only": [
            {"target": one.target, "how": one.how, "value": one.value, "at": one.at} for one in traced.only_seen
        ],
        "listed_only": [
            {
                "target": row.effect.target,
                "effect": row.effect.id,
                "patch": row.patch,
                "at": str(row.effect.location),
                "why": row.why,
            }
            for row in traced.unseen
        ],
    }
