"""Reading a downstream with its upstreams at their pins: what an inventory costs where none was kept.

`app.patches` imports this module on a miss only: a kept answer does not pay for the analysers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from layline.core.effect_ids import name_effects
from layline.core.patch import Inventory
from layline.core.progress import Progress, silent
from layline.coupling.own_code import find_running
from layline.coupling.replacements import Replacements
from layline.patches.excluded import Pinned, tell_excluded
from layline.patches.inventory.patch_files import find_startup_files, find_textual
from layline.patches.inventory.read import read_downstream, read_inventory
from layline.patches.inventory.reading import Reading
from layline.patches.kept import find_inventories
from layline.patches.removals import tell_removals
from layline.patches.upstreams import Upstreams, open_upstreams
from layline.source import Tree, open_cache
from layline.source.cache import cache_directory
from layline.source.facts import ANALYSER as FACTS
from layline.workspace.kept import find_inputs, find_pins, is_checking, leave_out_unasked, open_memos
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.config import Settings
    from layline.workspace.open import Workspace


@dataclass(slots=True, eq=False)
class OpenedInventory:
    """A downstream read once, with its upstreams at their pins."""

    reading: Reading
    upstreams: Upstreams
    tree: Tree
    workspace: Workspace
    replacements: Replacements = field(init=False)
    """Definitions of ours, each file parsed once."""

    def __post_init__(self) -> None:
        self.replacements = Replacements(self.tree)

    def read(self, key: str) -> Inventory:
        """The inventory of one backend, with what upstream's history says about targets that are gone."""
        reading, upstreams = self.reading, self.upstreams
        inventory = read_inventory(
            reading, key, upstreams.look_up, upstreams.pins.get(key), upstreams.find_members, upstreams.holds_code
        )
        mine = tuple(item for item in upstreams.skipped if item.what == f"upstream {key}")
        part = next((part for part in upstreams.index.parts if part.tree.commit == upstreams.pins.get(key)), None)
        textual = tuple(find_textual(reading.tree, part.tree, upstreams.index)) if part is not None else ()
        startup = tuple(find_startup_files(reading.tree))
        whole = replace(
            inventory, unregistered=(*inventory.unregistered, *textual), skipped=(*inventory.skipped, *startup, *mine)
        )
        tell = reading.units.progress
        tell("asking upstream's history about names that the pin does not have", 0, 0)
        known = name_effects(tell_removals(whole, upstreams))
        packages = self.workspace.settings.backend(key).packages
        version = find_running(part.tree.repository, part.tree.commit, packages) if part is not None else None
        if version is None:
            return known
        tell("asking which of our lines other versions alone run", 0, 0)
        pinned = Pinned(self.workspace.label(key), version, packages)
        return tell_excluded(known, pinned, upstreams, reading.searches)

    def save(self) -> tuple[int, int]:
        """Keep what was read for the next run; how many readings of modules were recalled, and how many there are."""
        memos = self.reading.units.memos
        self.upstreams.save()
        memos.save()
        return memos.recalled, memos.recalled + memos.made


def open_reading(workspace: Workspace, progress: Progress = silent) -> OpenedInventory:
    workspace = know_packages(workspace)
    tree = workspace.tree
    cache = open_cache(analyser=FACTS)
    progress(f"reading {workspace.settings.project.name}", 0, 0)
    memos = open_memos("patches", _leave_out_pins(workspace.settings))
    reading = read_downstream(tree, workspace.settings, cache, memos, progress)
    reading.units.upstream.pins = find_pins(workspace)
    progress(f"reading {', '.join(workspace.settings.backends)} at the pin", 0, 0)
    return OpenedInventory(reading, open_upstreams(workspace), tree, workspace)


def _leave_out_pins(settings: Settings) -> Settings:
    """What the readings of our modules depend on: of the pins they see only what upstream answers."""
    asked = leave_out_unasked(settings)
    return replace(asked, backends={key: replace(one, pin=None) for key, one in asked.backends.items()})


def recall_reading(workspace: Workspace, progress: Progress = silent) -> OpenedInventory:
    """The reading that this process opened last, where everything it was read from is as it was; else a new one.

    For processes that are asked again and again: opening costs more than most questions.
    """
    known = know_packages(workspace)
    inputs = (known.root, known.commit, known.worktree, cache_directory(), *find_inputs(known))
    if is_checking() or not _LAST or _LAST[0][0] != inputs:
        _LAST[:] = [(inputs, open_reading(known, progress))]
    return _LAST[0][1]


_LAST: list[tuple[tuple[object, ...], OpenedInventory]] = []
"""At most one: a reading of a large project takes a hundred megabytes."""


def read_all(opened: OpenedInventory, backends: tuple[str, ...], progress: Progress = silent) -> list[Inventory]:
    """The inventories of backends whose downstream is open already."""
    return find_inventories(opened.workspace, backends, lambda: opened, progress)
