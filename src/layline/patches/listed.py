"""`patches list` as an answer: of one backend, or of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.listing import join_listings
from layline.core.patch import Inventory
from layline.core.report import Answer, Report, Section
from layline.errors import Error
from layline.patches.data import SCHEMA, encode_inventory
from layline.patches.list_lines import build_listing
from layline.patches.report import build_report
from layline.patches.wanted import ALL, Wanted, narrow
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.core.patch import Patch
    from layline.patches import answers
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which patches a list shows; None shows all."""

    phase: str | None = None
    style: str | None = None
    active: bool | None = None
    wanted: Wanted = ALL
    """Which effects are left of them."""

    def keeps(self, patch: Patch) -> bool:
        if self.phase is not None and patch.phase != self.phase:
            return False
        if self.active is not None and patch.active is not self.active:
            return False
        return self.style is None or any(effect.style.value == self.style for effect in patch.effects)


def build_list(workspace: Workspace, inventories: list[Inventory], wanted: Filter, *, alone: bool) -> Answer:
    """What a filter leaves of these inventories; `alone`: one backend was asked for."""
    shown = [
        narrow(replace(inventory, patches=tuple(filter(wanted.keeps, inventory.patches))), wanted.wanted)
        for inventory in inventories
    ]
    _check_phase(wanted.phase, inventories)
    name = workspace.downstream.name
    reports = [
        build_report(kept, name, workspace.label(kept.backend), of=len(whole.patches))
        for kept, whole in zip(shown, inventories, strict=True)
    ]
    packages = {key: one.packages for key, one in know_packages(workspace).settings.backends.items()}
    listings = [
        build_listing(
            kept,
            name,
            workspace.label(kept.backend),
            of=whole,
            packages=packages[kept.backend],
            foreign=tuple(name for key, names in packages.items() if key != kept.backend for name in names),
            wanted=wanted.wanted,
        )
        for kept, whole in zip(shown, inventories, strict=True)
    ]
    if alone:
        return Answer(report=reports[0], data=encode_inventory(shown[0]), listing=listings[0])
    data: answers.AllPatches = {"schema": SCHEMA, "backends": [encode_inventory(inventory) for inventory in shown]}
    listing = listings[0] if len(listings) == 1 else join_listings("Patches of all backends", listings)
    return Answer(report=_join_reports(reports), data=data, listing=listing)


def _check_phase(phase: str | None, inventories: list[Inventory]) -> None:
    """A phase that neither the engine nor a patch knows is a slip of the hand, not an empty answer."""
    known = {name for inventory in inventories for name in inventory.engine.phases}
    known |= {patch.phase for inventory in inventories for patch in inventory.patches if patch.phase}
    if phase is not None and phase not in known:
        listed = f"The phases are: {', '.join(sorted(known))}." if known else "No patch here has a phase."
        raise Error(f"There is no phase called {phase!r}.", hint=listed)


def _join_reports(reports: list[Report]) -> Report:
    """One report with a section per backend."""
    sections = tuple(Section(title=report.title, sections=report.sections) for report in reports)
    alerts = tuple(alert for report in reports for alert in report.alerts)
    skipped = tuple(dict.fromkeys(item for report in reports for item in report.skipped))
    return Report(
        title="Patches of all backends", sections=sections, alerts=alerts, skipped=skipped, meta=reports[0].meta[:1]
    )
