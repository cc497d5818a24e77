"""What a run has shown against what the static list says: seen and listed, seen only, listed only, with the reason."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from layline.core.patch import Effect, Inventory, Moment, Patch, TargetKind
from layline.patches.guards.show import show_both

ON_OBJECTS = "is set on single objects, which are not watched"
THROUGH = "is a name of another package that is reached through upstream; it is watched under neither name"
_IN_A_CLASS = 2
"""Names behind a module: a class and what is set on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One name of upstream that was bound to something of ours while the command ran."""

    target: str
    how: str
    """set or deleted."""
    value: str
    at: str | None
    """`path:line` that wrote it, where that could be watched; else where the value is defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A listed effect that the run did not show, and why."""

    effect: Effect
    patch: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """The answer."""

    both: tuple[tuple[Seen, Effect], ...]
    only_seen: tuple[Seen, ...]
    unseen: tuple[Unseen, ...]
    processes: tuple[str, ...]
    """Python processes that were watched."""

    @property
    def recall(self) -> float | None:
        """Of what was seen, how much is listed."""
        seen = len(self.both) + len(self.only_seen)
        return len(self.both) / seen if seen else None

    @property
    def precision(self) -> float | None:
        """Of what is listed and could be watched, how much was seen."""
        targets = {effect.target for _, effect in self.both}
        watched = [row for row in self.unseen if row.effect.target is not None]
        total = len(targets) + len({row.effect.target for row in watched} - targets)
        return len(targets) / total if total else None


@dataclass(frozen=True, slots=True)
class Records:
    """What the tracer wrote down in all processes."""

    writes: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    processes: list[str] = field(default_factory=list)


def read_records(folder: Path) -> Records:
    found = Records()
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            match row["kind"]:
                case "write":
                    found.writes.append(row)
                case "class" | "end":
                    found.ends.append(row)
                case "module":
                    found.modules.add(row["target"])
                case "process":
                    found.processes.append(row["target"])
    return found


def find_seen(records: Records, root: Path, listed: Iterable[str]) -> Iterator[Seen]:
    """Writes with their line; of what only the end shows, code of ours and names that the list has."""
    known, told = set(listed), set()
    for row in records.writes:
        at = _relate(row["by_file"], row["by_line"], root)
        if row["target"] not in told and (at is not None or row["target"] in known):
            told.add(row["target"])
            yield Seen(target=row["target"], how=row["how"], value=row["value"], at=at)
    for row in records.ends:
        at = _relate(row["file"], row["line"], root)
        if row["target"] not in told and (at is not None or row["target"] in known):
            told.add(row["target"])
            yield Seen(target=row["target"], how=row["how"], value=row["value"], at=at)


def _relate(file: str, line: int, root: Path) -> str | None:
    """A place of ours, relative to the project; None for anything else."""
    try:
        inside = Path(file).resolve().relative_to(root.resolve()) if file else None
    except ValueError:
        return None
    return f"{inside.as_posix()}:{line}" if inside is not None and line else None


def compare(inventories: Iterable[Inventory], records: Records, root: Path) -> Traced:
    rows = [row for inventory in inventories for row in _find_rows(inventory)]
    by_target = {effect.target: effect for effect, _ in reversed(rows) if effect.target}
    for effect, _ in rows:
        if effect.alias_of is not None:  # what is seen where it is defined, and listed where it is imported
            by_target.setdefault(effect.alias_of, effect)
    seen = list(find_seen(records, root, by_target))
    both = tuple((one, by_target[one.target]) for one in seen if one.target in by_target)
    shown = {one.target for one in seen}
    unseen = (
        Unseen(effect=effect, patch=patch.id if patch else None, why=_explain(effect, patch, records))
        for effect, patch in rows
        if not {effect.target, effect.alias_of} & shown and (effect.target or not effect.mutates)
    )
    return Traced(
        both=both,
        only_seen=tuple(one for one in seen if one.target not in by_target),
        unseen=tuple(unseen),
        processes=tuple(records.processes),
    )


def _find_rows(inventory: Inventory) -> Iterator[tuple[Effect, Patch | None]]:
    for patch in inventory.patches:
        yield from ((effect, patch) for effect in patch.effects)
    yield from ((item.effect, None) for item in inventory.unregistered)


def _explain(effect: Effect, patch: Patch | None, records: Records) -> str:
    """Why a listed effect may not have been seen: what is known of it, in the order it would matter."""
    if effect.target is None:
        return ON_OBJECTS
    home = effect.target.rpartition(".")[0]
    while home and home not in records.modules:
        home = home.rpartition(".")[0]
    if not home:
        return f"no module of {effect.target.partition('.')[0]} was imported"
    if effect.target_kind is TargetKind.EXTERNAL and effect.target.count(".") > home.count(".") + 1:
        return THROUGH
    inner = effect.target.removeprefix(f"{home}.").split(".")
    if len(inner) > _IN_A_CLASS:
        return f"{home}.{inner[0]} was not imported"
    both = show_both(effect, patch)
    if both:
        return f"only when {both}"
    if effect.moment is not Moment.INSTALL:
        return "only until our code undoes it" if effect.moment is Moment.TRANSIENT else "only when a replacement runs"
    if patch is not None and not patch.active:
        return f"never active: {patch.active_reason}"
    return "its installer did not run" if effect.certain else "it is uncertain"
