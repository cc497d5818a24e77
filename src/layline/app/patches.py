"""`patches list|show|find|port|notes`: what each monkey patch does, from code alone."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from layline import codec
from layline.app.results import Results, digest_downstream, result_key
from layline.app.uncommitted import tell_uncommitted
from layline.app.workspace import know_packages
from layline.core.listing import join_listings
from layline.core.patch import Inventory
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Report, Section
from layline.errors import ConfigError, Error
from layline.patches.csv_rows import CSV_COLUMNS, find_csv_rows
from layline.patches.data import SCHEMA, encode_inventory
from layline.patches.list_lines import build_listing
from layline.patches.report import build_report
from layline.patches.wanted import ALL, Wanted, narrow
from layline.render.csv import render_csv
from layline.render.inventory_html import render_inventory_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.app.workspace import Workspace
    from layline.core.patch import Patch
    from layline.patches import answers


_READER = "layline.app.patches_read"
"""By its name: it brings in the analysers, which a kept answer does not need."""


class Opened(Protocol):
    """A downstream that was read (`app.patches_read.OpenedInventory`)."""

    def read(self, key: str) -> Inventory: ...

    def save(self) -> tuple[int, int]: ...


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


def patches_list(
    workspace: Workspace,
    backend: str | None = None,
    wanted: Filter = Filter(),  # noqa: B008  frozen
    *,
    progress: Progress = silent,
) -> Answer:
    """Every patch of one backend, or of all."""
    keys = (backend,) if backend else tuple(workspace.settings.backends)
    inventories = read_inventories(workspace, keys, progress)
    shown = [
        narrow(replace(inventory, patches=tuple(filter(wanted.keeps, inventory.patches))), wanted.wanted)
        for inventory in inventories
    ]
    _check_phase(wanted.phase, inventories)
    name = workspace.downstream.name
    reports = [
        build_report(kept, name, workspace.settings.backend(kept.backend).label or kept.backend, of=len(whole.patches))
        for kept, whole in zip(shown, inventories, strict=True)
    ]
    listings = [
        build_listing(kept, name, workspace.settings.backend(kept.backend).label or kept.backend, of=whole)
        for kept, whole in zip(shown, inventories, strict=True)
    ]
    if backend:
        answer = Answer(report=reports[0], data=encode_inventory(shown[0]), listing=listings[0])
        return tell_uncommitted(workspace, answer, keys)
    data: answers.AllPatches = {"schema": SCHEMA, "backends": [encode_inventory(inventory) for inventory in shown]}
    listing = listings[0] if len(listings) == 1 else join_listings("Patches of all backends", listings)
    return tell_uncommitted(workspace, Answer(report=_join_reports(reports), data=data, listing=listing), keys)


def _check_phase(phase: str | None, inventories: list[Inventory]) -> None:
    """A phase that neither the engine nor a patch knows is a slip of the hand, not an empty answer."""
    known = {name for inventory in inventories for name in inventory.engine.phases}
    known |= {patch.phase for inventory in inventories for patch in inventory.patches if patch.phase}
    if phase is not None and phase not in known:
        listed = f"The phases are: {', '.join(sorted(known))}." if known else "No patch here has a phase."
        raise Error(f"There is no phase called {phase!r}.", hint=listed)


RECALLED = "readings of modules recalled"
"""What is told, with how many of how many, once an inventory has been read."""


def read_inventories(workspace: Workspace, backends: tuple[str, ...], progress: Progress = silent) -> list[Inventory]:
    """The inventories of several backends over one reading of the downstream."""
    for key in backends:
        workspace.settings.backend(key)
    if not backends:
        raise ConfigError(
            "No backend is configured.", hint="`layline init` writes layline.toml by looking at the project."
        )
    known = know_packages(workspace)

    def open_() -> Opened:
        found: Opened = importlib.import_module(_READER).open_reading(known, progress)
        return found

    return find_inventories(known, backends, open_, progress)


def load_kept(workspace: Workspace) -> list[Inventory]:
    """The inventories that an earlier answer has left in the cache; nothing is read anew."""
    known = know_packages(workspace)
    results, inputs = Results("inventory"), find_inputs(known)
    loaded = (results.load(result_key("inventory", key, *inputs), _decode) for key in known.settings.backends)
    return [one for one in loaded if one is not None]


def find_inventories(
    workspace: Workspace, backends: tuple[str, ...], open_: Callable[[], Opened], progress: Progress = silent
) -> list[Inventory]:
    """An inventory is a function of files, pins, settings and our own code: read once, kept by a digest of all four."""
    results, inputs = Results("inventory"), find_inputs(workspace)
    keys = {key: result_key("inventory", key, *inputs) for key in backends}
    kept = {key: results.load(keys[key], _decode) for key in backends}
    found = {key: replace(one, commit=workspace.commit) for key, one in kept.items() if one is not None}
    missing = [key for key in backends if key not in found]
    if missing:
        opened = open_()
        for key in missing:
            progress(f"following the installers of {key}", 0, 0)
            found[key] = opened.read(key)
            results.store(keys[key], codec.encode(found[key]))
        progress(RECALLED, *opened.save())
    return [found[key] for key in backends]


def _decode(plain: dict[str, Any]) -> Inventory:
    return codec.decode(Inventory, plain, where="cache")


def find_inputs(workspace: Workspace) -> tuple[object, ...]:
    """Everything an inventory depends on besides our code: the downstream, its settings, each pin and whether it is
    here.
    """
    return workspace.downstream.name, digest_downstream(workspace), workspace.settings, find_pins(workspace)


def find_pins(workspace: Workspace) -> list[tuple[str, str]]:
    """Each backend with its pin, or with why there is none."""
    pins: list[tuple[str, str]] = []
    for key in workspace.settings.backends:
        try:
            pin = workspace.find_pinned(key).commit
        except Error as error:
            pin = error.message
        pins.append((key, pin))
    return pins


def render_list(workspace: Workspace, answer: Answer, format_: str) -> str:
    """The list as CSV or as one self-contained page."""
    inventories = answer.data.get("backends") or [answer.data]
    if format_ == "html":
        return render_inventory_page(inventories, workspace.downstream.name, workspace.settings.project.name)
    return render_csv(CSV_COLUMNS, (row for inventory in inventories for row in find_csv_rows(inventory)))


def _join_reports(reports: list[Report]) -> Report:
    """One report with a section per backend."""
    sections = tuple(Section(title=report.title, sections=report.sections) for report in reports)
    alerts = tuple(alert for report in reports for alert in report.alerts)
    skipped = tuple(dict.fromkeys(item for report in reports for item in report.skipped))
    return Report(
        title="Patches of all backends", sections=sections, alerts=alerts, skipped=skipped, meta=reports[0].meta[:1]
    )
