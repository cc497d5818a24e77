"""The patches of a file as an editor knows them, and what it shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.drift import DriftKind, Uncompared
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.listing import Diagnostic
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift
from layline.patches.drift.sentences import tell_row
from layline.patches.report import describe_change
from layline.patches.wanted import NEVER_ACTIVE, RULED_OUT, is_ruled_out

if TYPE_CHECKING:
    from layline.core.patch import Effect, Inventory, Patch


@dataclass(frozen=True, slots=True, eq=False)
class Patched:
    """One effect of a file as it is now, and what became of its target."""

    backend: str
    row: Drift
    effect: Effect
    patch: Patch | None = None
    """Whose guard is asked first; None outside registrations."""
    is_half_read: bool = False
    """Only the edited file and its surroundings were read, which may be why it cannot be decided: no diagnostic."""
    unjudged: Uncompared | None = None
    """Why it is listed and not compared: it has no target in an upstream."""
    off: str = ""
    """Why it never runs, where that is known."""


def know(key: str, inventory: Inventory, rows: list[Drift]) -> Iterator[Patched]:
    """Every effect of the list: those that are compared, and those that only stand there."""
    patches, judged = find_patches(inventory), {row.effect.id: row for row in rows if row.effect is not None}
    for effect in inventory.every_effect():
        patch, row = patches.get(effect.id), judged.get(effect.id)
        off = patch.active_reason if patch is not None and not patch.active else find_off(effect)
        yield Patched(key, row, effect, patch, off=off) if row is not None else list_alone(key, effect, patch, off)


def list_alone(key: str, effect: Effect, patch: Patch | None, off: str) -> Patched:
    """An effect that no upstream is compared for."""
    why = Uncompared.OTHER_PACKAGE if effect.target else Uncompared.SETTING if effect.mutates else Uncompared.NO_TARGET
    kind = DriftKind.EXTERNAL if effect.target else DriftKind.UNRESOLVED
    row = Drift(
        patch=effect.id,
        active=not off,
        target=effect.target,
        style=effect.style,
        location=effect.location,
        findings=(Finding(kind=kind, severity=Severity.OK, why=Why(Reason.KIND_ALONE)),),
        effect=effect,
    )
    return Patched(key, row, effect, patch, unjudged=why, off=off)


def find_off(effect: Effect) -> str:
    return RULED_OUT if is_ruled_out(effect) else ""


def drop_repeats(found: list[Patched]) -> list[Patched]:
    """Every backend's list has all effects: one that no backend is compared for is told once."""
    told = {one.effect.id for one in found if one.unjudged is None}
    alone = {one.effect.id: one for one in reversed(found) if one.effect.id not in told}
    return [one for one in found if one.unjudged is None or alone.get(one.effect.id) is one]


def find_patches(inventory: Inventory) -> dict[str, Patch]:
    """Effect → the registered patch that it belongs to."""
    return {effect.id: patch for patch in inventory.patches for effect in patch.effects}


def build_diagnostics(found: list[Patched]) -> list[Diagnostic]:
    """What breaks, is dead, or needs a look, worst first; then what never runs."""
    told = [one for one in found if not one.is_half_read]
    asked = [one.row for one in told if one.row.severity is not Severity.OK or one.row.dead_today]
    off = [one for one in told if one.off and one.row not in asked]
    return [
        *(tell_row(row) for row in sorted(asked, key=lambda row: row.order)),
        *(
            Diagnostic(
                location=one.effect.location,
                severity=Severity.LOOK,
                code=NEVER_ACTIVE,
                message=f"{describe_change(one.effect)} but never runs",
                details=(("why", one.off),),
            )
            for one in off
        ),
    ]
