"""`patches diff|retarget`: upstream then, upstream now and ours; the edit for targets that moved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.app.drift_read import open_drift
from layline.core.evidence import Evidence, encode_skipped
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Block, Bullets, Code, Paragraph, Report, Section
from layline.coupling.drift import find_drifts
from layline.coupling.threeway import build_three_way
from layline.git.overlay import Overlay
from layline.patches.diff_report import build_diff_report, encode_views
from layline.patches.inventory.read import read_inventory
from layline.patches.kept import read_inventories
from layline.patches.named import find_named
from layline.patches.opened import open_reading
from layline.source import Tree
from layline.upgrade.retarget import build_retarget, confirm

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.patches import answers
    from layline.workspace.open import Workspace


def patches_diff(workspace: Workspace, patch: str, *, to: str | None = None, progress: Progress = silent) -> Answer:
    """The three-way view of one patch: upstream then, upstream now, ours."""
    named = find_named(read_inventories(workspace, tuple(workspace.settings.backends), progress), patch)
    backend, patch = named.inventory.backend, named.patch.id
    opened = open_drift(workspace, backend, to, progress)
    rows = [
        row
        for row in find_drifts(opened.inventory, opened.sides)
        if row.patch == patch or (row.effect is not None and row.effect.id in named.ids)
    ]
    views = [view for row in rows if (view := build_three_way(row, opened.sides)) is not None]
    here = Evidence(repo=workspace.downstream.name, commit=workspace.commit)
    return Answer(
        report=build_diff_report(patch, views, here), data=encode_views(patch, backend, opened.pin, opened.tip, views)
    )


def patches_retarget(workspace: Workspace, backend: str, *, to: str | None = None) -> tuple[Answer, str]:
    """The edit for moved and renamed targets: an answer that tells it, and the diff itself."""
    opened = open_drift(workspace, backend, to)
    rows = sorted(find_drifts(opened.inventory, opened.sides), key=lambda row: row.order)
    found = build_retarget(rows, Tree(workspace.downstream, workspace.commit), opened.sides.pin, opened.sides.tip)
    if found.files:
        again = _read_edited(workspace, backend, {file.path: file.after for file in found.files})
        found = confirm(found, opened.inventory.every_effect(), again.every_effect(), opened.sides.tip)
    blocks: list[Block] = []
    if found.done:
        blocks.append(Bullets(tuple(dict.fromkeys(found.done))))
    if found.diff:
        blocks.append(Code(found.diff, "diff"))
    report = Report(
        title=f"Retargeting {backend}: {len(set(found.done))} targets",
        sections=(Section(title="The edit", blocks=tuple(blocks) or (Paragraph("Nothing moved or was renamed."),)),),
        skipped=tuple(dict.fromkeys(found.left)),
    )
    data: answers.Retarget = {
        "schema": "layline.retarget/1",
        "backend": backend,
        "pin": opened.pin,
        "tip": opened.tip,
        "done": list(dict.fromkeys(found.done)),
        "diff": found.diff,
        "left": encode_skipped(dict.fromkeys(found.left)),
    }
    return Answer(report=report, data=data), found.diff


def _read_edited(workspace: Workspace, backend: str, files: dict[str, str]) -> Inventory:
    """The inventory as it would be with these files."""
    data = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
    edited = replace(workspace, downstream=Overlay(workspace.downstream, workspace.commit, data))
    opened = open_reading(edited)
    ups = opened.upstreams
    return read_inventory(opened.reading, backend, ups.look_up, ups.pins.get(backend), ups.find_members)
