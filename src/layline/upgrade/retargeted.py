"""`patches retarget`: the edit for targets that moved or were renamed, read again before it is handed out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import encode_skipped
from layline.core.prose import count, verb
from layline.core.report import Answer, Block, Bullets, Code, Report, Section
from layline.git.overlay import Overlay
from layline.patches.drift.read import find_rows
from layline.patches.inventory.read import read_inventory
from layline.patches.opened import open_reading
from layline.upgrade.retarget import Retargeted, build_retarget, confirm
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.coupling.pair import Pair
    from layline.patches import answers
    from layline.patches.drift.read import Opening
    from layline.workspace.open import Workspace


def find_retarget(workspace: Workspace, backend: str, opening: Opening) -> Retargeted:
    """The edit, as far as the inventory with it shows what was meant; kept."""
    pair, known = opening.pair, know_packages(workspace)
    inputs = backend, pair.pin, pair.tip, pair.upstream.is_shallow, *find_inputs(known)
    return find_kept(Retargeted, "retarget", lambda: _make_retarget(workspace, backend, opening), *inputs)


def _make_retarget(workspace: Workspace, backend: str, opening: Opening) -> Retargeted:
    rows, opened = sorted(find_rows(opening), key=lambda row: row.order), opening.opened
    opening.save()
    found = build_retarget(rows, workspace.tree, opened.sides.pin, opened.sides.tip)
    if not found.files:
        return found
    again = _read_edited(workspace, backend, {file.path: file.after for file in found.files})
    return confirm(found, opened.inventory.every_effect(), again.every_effect(), opened.sides.tip)


def build_retargeted(backend: str, pair: Pair, found: Retargeted) -> Answer:
    done, left = tuple(dict.fromkeys(found.done)), tuple(dict.fromkeys(found.left))
    blocks: list[Block] = [Bullets(done)] if done else []
    if found.diff:
        blocks.append(Code(found.diff, "diff"))
    nothing = f"{backend}: no target of a patch moved or was renamed up to {pair.tip[:8]}; there is nothing to edit."
    if left:
        nothing = f"{backend}: no edit can be proven; {count(len(left), 'moved target')} {verb(len(left), 'is')} left for a person."
    report = Report(
        title=f"Retargeting {backend}: {count(len(done), 'target')}" if done else nothing,
        sections=(Section(title="The edit", blocks=tuple(blocks)),) if blocks else (),
        skipped=left,
    )
    data: answers.Retarget = {
        "schema": "layline.retarget/1",
        "backend": backend,
        "pin": pair.pin,
        "tip": pair.tip,
        "done": list(done),
        "diff": found.diff,
        "left": encode_skipped(left),
    }
    return Answer(report=report, data=data)


def _read_edited(workspace: Workspace, backend: str, files: dict[str, str]) -> Inventory:
    """The inventory as it would be with these files."""
    data = {path: text.encode("utf-8", "surrogatepass") for path, text in files.items()}
    edited = replace(workspace, downstream=Overlay(workspace.downstream, workspace.commit, data))
    opened = open_reading(edited)
    ups = opened.upstreams
    return read_inventory(opened.reading, backend, ups.look_up, ups.pins.get(backend), ups.find_members, ups.holds_code)
