"""`patches list|show|find|port|notes`: what each monkey patch does, from code alone."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.app.removals import tell_removals
from layline.app.results import Results, digest_downstream, result_key
from layline.app.uncommitted import tell_uncommitted
from layline.app.upstreams import Upstreams, open_upstreams
from layline.app.workspace import cache_directory, know_packages
from layline.core.patch import Inventory
from layline.core.report import Answer, Report, Section
from layline.errors import ConfigError, Error
from layline.patches.data import SCHEMA, encode_inventory
from layline.patches.inventory.patch_files import find_startup_files, find_textual
from layline.patches.inventory.read import Reading, read_downstream, read_inventory
from layline.patches.report import build_report
from layline.render.csv import render_csv
from layline.render.inventory_html import render_inventory_page
from layline.source import Cache, Tree
from layline.source.facts import ANALYSER as FACTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.app.workspace import Workspace
    from layline.core.patch import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which patches a list shows; None shows all."""

    phase: str | None = None
    style: str | None = None
    active: bool | None = None

    def keeps(self, patch: Patch) -> bool:
        if self.phase is not None and patch.phase != self.phase:
            return False
        if self.active is not None and patch.active is not self.active:
            return False
        return self.style is None or any(effect.style.value == self.style for effect in patch.effects)


def patches_list(workspace: Workspace, backend: str | None = None, wanted: Filter = Filter()) -> Answer:  # noqa: B008  frozen
    """Every patch of one backend, or of all."""
    inventories = read_inventories(workspace, (backend,) if backend else tuple(workspace.settings.backends))
    shown = [
        replace(inventory, patches=tuple(patch for patch in inventory.patches if wanted.keeps(patch)))
        for inventory in inventories
    ]
    _check_phase(wanted.phase, inventories)
    name = workspace.downstream.name
    reports = [
        build_report(kept, name, workspace.settings.backend(kept.backend).label or kept.backend, of=len(whole.patches))
        for kept, whole in zip(shown, inventories, strict=True)
    ]
    keys = [inventory.backend for inventory in shown]
    if backend:
        return tell_uncommitted(workspace, Answer(report=reports[0], data=encode_inventory(shown[0])), keys)
    data: dict[str, Any] = {"schema": SCHEMA, "backends": [encode_inventory(inventory) for inventory in shown]}
    return tell_uncommitted(workspace, Answer(report=_join_reports(reports), data=data), keys)


def _check_phase(phase: str | None, inventories: list[Inventory]) -> None:
    """A phase that neither the engine nor a patch knows is a slip of the hand, not an empty answer."""
    known = {name for inventory in inventories for name in inventory.engine.phases}
    known |= {patch.phase for inventory in inventories for patch in inventory.patches if patch.phase}
    if phase is not None and phase not in known:
        listed = f"The phases are: {', '.join(sorted(known))}." if known else "No patch here has a phase."
        raise Error(f"There is no phase called {phase!r}.", hint=listed)


@dataclass(slots=True, eq=False)
class OpenedInventory:
    """A downstream read once, with its upstreams at their pins."""

    reading: Reading
    upstreams: Upstreams
    tree: Tree
    workspace: Workspace


def open_reading(workspace: Workspace) -> OpenedInventory:
    workspace = know_packages(workspace)
    tree = Tree(workspace.downstream, workspace.commit)
    cache = Cache(cache_directory(), FACTS)
    return OpenedInventory(read_downstream(tree, workspace.settings, cache), open_upstreams(workspace), tree, workspace)


def read_all(opened: OpenedInventory, backends: tuple[str, ...]) -> list[Inventory]:
    """The inventories of backends whose downstream is open already."""
    return _read_kept(opened.workspace, backends, lambda: opened)


def read_inventories(workspace: Workspace, backends: tuple[str, ...]) -> list[Inventory]:
    """The inventories of several backends over one reading of the downstream."""
    for key in backends:
        workspace.settings.backend(key)
    if not backends:
        raise ConfigError("No backend is configured.", hint="`layline init` writes layline.toml by looking around.")
    known = know_packages(workspace)
    return _read_kept(known, backends, lambda: open_reading(known))


def _read_kept(
    workspace: Workspace, backends: tuple[str, ...], open_: Callable[[], OpenedInventory]
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
            found[key] = _read_one(opened.reading, opened.upstreams, key)
            results.store(keys[key], codec.encode(found[key]))
        opened.upstreams.save()
    return [found[key] for key in backends]


def _decode(plain: dict[str, Any]) -> Inventory:
    return codec.decode(Inventory, plain, where="cache")


def find_inputs(workspace: Workspace) -> tuple[object, ...]:
    """Everything an inventory depends on besides our code: the downstream, its settings, each pin and whether it is
    here.
    """
    pins: list[tuple[str, str]] = []
    for key in workspace.settings.backends:
        try:
            pin = workspace.find_pinned(key).commit
        except Error as error:
            pin = error.message
        pins.append((key, pin))
    return workspace.downstream.name, digest_downstream(workspace), workspace.settings, pins


def _read_one(reading: Reading, upstreams: Upstreams, key: str) -> Inventory:
    inventory = read_inventory(reading, key, upstreams.look_up, upstreams.pins.get(key))
    mine = tuple(item for item in upstreams.skipped if item.what == f"upstream {key}")
    part = next((part for part in upstreams.index.parts if part.tree.commit == upstreams.pins.get(key)), None)
    textual = tuple(find_textual(reading.tree, part.tree, upstreams.index)) if part is not None else ()
    startup = tuple(find_startup_files(reading.tree))
    whole = replace(
        inventory, unregistered=(*inventory.unregistered, *textual), skipped=(*inventory.skipped, *startup, *mine)
    )
    return tell_removals(whole, upstreams)


def render_list(workspace: Workspace, answer: Answer, format_: str) -> str:
    """The list as CSV or as one self-contained page."""
    inventories = answer.data.get("backends") or [answer.data]
    if format_ == "html":
        return render_inventory_page(inventories, workspace.downstream.name, workspace.settings.project.name)
    return render_csv(CSV_COLUMNS, (row for inventory in inventories for row in _find_csv_rows(inventory)))


CSV_COLUMNS = (
    "backend",
    "patch",
    "description",
    "phase",
    "priority",
    "active",
    "guard",
    "style",
    "target",
    "replacement",
    "moment",
    "certain",
    "target_kind",
    "alias_of",
    "location",
    "registered_at",
)


def _find_csv_rows(inventory: dict[str, Any]) -> Iterator[tuple[object, ...]]:
    """One row per effect; a patch without effects still has one."""
    empty = dict.fromkeys(
        ("style", "target", "replacement", "moment", "certain", "target_kind", "alias_of", "location")
    )
    for patch in inventory["patches"]:
        for effect in patch["effects"] or [empty]:
            yield (
                inventory["backend"],
                patch["id"],
                " ".join(patch["description"].split()),
                patch["phase"],
                patch["priority"],
                patch["active"],
                patch["guard"]["expression"],
                effect["style"],
                effect["target"],
                effect["replacement"],
                effect["moment"],
                effect["certain"],
                effect["target_kind"],
                effect["alias_of"],
                effect["location"],
                f"{patch['file']}:{patch['line']}",
            )
    for item in inventory["unregistered"]:
        yield (
            inventory["backend"],
            f"unregistered: {item['within']}",
            "",
            "",
            "",
            "",
            item["when"],
            item["style"],
            item["target"],
            item["replacement"],
            item["moment"],
            item["certain"],
            item["target_kind"],
            item["alias_of"],
            item["location"],
            "",
        )


def find_patch(inventories: list[Inventory], patch_id: str) -> tuple[Inventory, Patch]:
    """The patch of that id; of two, the active one."""
    found = [(inventory, patch) for inventory in inventories for patch in inventory.patches if patch.id == patch_id]
    if found:
        return max(found, key=lambda pair: pair[1].active)
    known = sorted({patch.id for inventory in inventories for patch in inventory.patches})
    near = difflib.get_close_matches(patch_id, known, n=1, cutoff=0.5) or [i for i in known if patch_id in i][:1]
    raise Error(
        f"There is no patch called {patch_id!r}.",
        hint=f"Did you mean {near[0]!r}?" if near else "`layline patches list` shows them all.",
    )


def _join_reports(reports: list[Report]) -> Report:
    """One report with a section per backend."""
    sections = tuple(Section(title=report.title, sections=report.sections) for report in reports)
    alerts = tuple(alert for report in reports for alert in report.alerts)
    skipped = tuple(dict.fromkeys(item for report in reports for item in report.skipped))
    return Report(
        title="Patches of all backends", sections=sections, alerts=alerts, skipped=skipped, meta=reports[0].meta[:1]
    )
