"""What an editor asks while one types: which of a file's patches are dead or break, and what stands behind a name.

The project is read once, as it lies on disk. After an edit only that file and what it imports are read again, of the
file only functions that differ and those that name them, against the upstream that is open already; a patch whose
replacement did not change keeps its verdict.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.drift import UNCOMPARED, DriftKind
from layline.core.effect_ids import name_effects
from layline.core.evidence import Location, Severity
from layline.core.memory import keep_for_good
from layline.core.patch import Inventory
from layline.core.progress import Progress, silent
from layline.coupling.culprit import find_culprits
from layline.coupling.drift import find_drifts
from layline.coupling.drift_model import Drift
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.editor.edits import Edit, compare_texts, parse_body
from layline.editor.patched import Patched, drop_repeats, find_off, find_patches, know, list_alone
from layline.errors import Error
from layline.git.narrow import Narrow
from layline.patches.drift.read import OpenedDrift, compare_again, find_bare_rows, open_drift
from layline.patches.drift.sentences import say_commit, tell_row
from layline.patches.guards.show import show_both
from layline.patches.inventory.read import read_downstream, read_inventory
from layline.patches.opened import OpenedInventory, open_reading
from layline.patches.report import describe_change
from layline.source import Tree, open_cache
from layline.source.cache import cache_directory
from layline.source.facts import ANALYSER as FACTS
from layline.source.walking import walk
from layline.workspace.open import open_workspace

if TYPE_CHECKING:
    from layline.core.evidence import Evidence
    from layline.core.patch import Effect
    from layline.coupling.drift_model import Sides

_DEPTH = 2
_MOST_FILES = 60
"""An edited file is read with what it imports, so far and no further."""


@dataclass(slots=True, eq=False)
class EditorProject:
    """A configured project, open for questions about single files."""

    reading: OpenedInventory
    opened: dict[str, OpenedDrift]
    problems: tuple[tuple[str, Error], ...] = ()
    """Backends that cannot be compared, and why."""
    buffers: dict[str, bytes] = field(default_factory=dict)
    """Path → text as it stands in the editor."""
    known: dict[str, list[Patched]] = field(default_factory=dict)
    """Path → what was said of it last."""
    told: dict[str, tuple[str, dict[str, bytes]]] = field(default_factory=dict)
    """Path → its text then, and what stood in the editor of other files that differ from what was read."""

    @property
    def root(self) -> Path:
        return self.reading.workspace.root

    def read(self, path: str, text: str) -> list[Patched]:
        """The patches of one file with the text it has in the editor."""
        before, others = self.told.get(path) or (self._read_text(path), {})
        self.buffers[path] = text.encode("utf-8", "surrogatepass")
        now = {name: data for name, data in self.buffers.items() if name != path and self._is_edited(name)}
        if parse_body(text) is None:
            return []  # between two keystrokes; what was said last is not forgotten
        edit = compare_texts(before, text) if others == now else None
        found = list(self._move_known(path, edit)) if edit is not None else []
        if edit is None or edit.names:
            fresh = self._read_anew(path, edit)
            places = {_place(one) for one in fresh}
            found = [*fresh, *(one for one in found if _place(one) not in places)]
        self.known[path] = found
        self.told[path] = text, now
        return found

    def warm(self, path: str) -> Iterator[None]:
        """Read what edits of a file need, step by step: the file and what it imports, who imports what in upstream, and
        what each of its patches is judged by.
        """
        known = self.known.get(path, [])
        self._read_anew(path, Edit(frozenset(), ()))
        yield
        targets = {one.backend: one.effect.target for one in known if one.effect.target and one.unjudged is None}
        for key, target in targets.items():
            sides = self.opened[key].sides
            for side in (sides.pin, sides.tip):
                next(side.find_importers(target), None)
                yield
        self._read_anew(path, None)
        yield
        ours, roots = Replacements(self._narrow(path)), self.reading.workspace.settings.project.source_roots
        for one in known:
            if one.unjudged is None:
                opened = self.opened[one.backend]
                for _ in find_drifts(
                    _keep_ids(opened.inventory, {one.effect.id}), _with_ours(opened.sides, ours, roots)
                ):
                    pass
                yield
        keep_for_good()

    def _move_known(self, path: str, edit: Edit) -> Iterator[Patched]:
        for one in self.known.get(path, ()):
            effect = edit.move(one.effect, path)
            if effect is not None:
                yield replace(one, row=replace(one.row, location=effect.location, effect=effect), effect=effect)

    def _read_anew(self, path: str, edit: Edit | None) -> list[Patched]:
        tree = self._narrow(path)
        settings = self.reading.workspace.settings
        reading = read_downstream(tree, settings, open_cache(analyser=FACTS))
        reading.only = {path: edit.names} if edit is not None else None
        found: list[Patched] = []
        for key, opened in self.opened.items():
            pin = self.reading.upstreams.pins.get(key)
            ups = self.reading.upstreams
            whole = name_effects(read_inventory(reading, key, ups.look_up, pin, ups.find_members, ups.holds_code))
            found += self._judge(key, opened, _keep_file(whole, path), tree)
        return drop_repeats(found)

    def _judge(self, key: str, opened: OpenedDrift, inventory: Inventory, tree: Tree) -> Iterator[Patched]:
        """Rows of effects that are as they were move with their line; the others are judged."""
        before = {one.effect.id: one for one in self._find_known(key, inventory)}
        judged = [one for one in before.values() if not one.is_half_read and one.unjudged is None]
        undecided = {_whose(one.effect) for one in judged if _is_undecided(one.row)}

        def is_half_read(row: Drift, effect: Effect) -> bool:
            return _is_undecided(row) and _whose(effect) not in undecided

        then, now = opened.sides.replacements, Replacements(tree)
        fresh: set[str] = set()
        patches = find_patches(inventory)
        for effect in inventory.every_effect():
            known = before.get(effect.id)
            if known is None or not _is_same(known.effect, effect, then, now):
                fresh.add(effect.id)
            else:
                row = replace(known.row, location=effect.location, effect=effect)
                half = known.unjudged is None and is_half_read(row, effect)
                yield replace(known, row=row, effect=effect, patch=patches.get(effect.id), is_half_read=half)
        if fresh:
            sides = _with_ours(opened.sides, now, self.reading.workspace.settings.project.source_roots)
            asked = _keep_ids(inventory, fresh)
            for row in find_drifts(asked, sides):
                if row.effect is not None:
                    half = is_half_read(row, row.effect)
                    fresh.discard(row.effect.id)
                    yield Patched(key, row, row.effect, patches.get(row.effect.id), half, off=find_off(row.effect))
            for effect in inventory.every_effect():
                if effect.id in fresh:
                    yield list_alone(key, effect, patches.get(effect.id), find_off(effect))

    def _find_known(self, key: str, inventory: Inventory) -> list[Patched]:
        paths = {effect.location.path for effect in inventory.every_effect()}
        return [one for path in paths for one in self.known.get(path, ()) if one.backend == key]

    def _narrow(self, path: str) -> Tree:
        base = self.reading.tree
        modules = self.reading.reading.machine.modules
        paths = {path}
        waiting = [(path, 0)]
        while waiting and len(paths) < _MOST_FILES:
            name, depth = waiting.pop(0)
            if depth < _DEPTH:
                for imported in _find_imported(self._read_text(name), name):
                    other = modules.path_of(imported) or modules.path_of(imported.rpartition(".")[0])
                    if other is not None and other not in paths:
                        paths.add(other)
                        waiting.append((other, depth + 1))
        return Tree(Narrow(base, self.buffers, frozenset(_with_packages(paths, base))), base.commit)

    def _read_text(self, path: str) -> str:
        if path in self.buffers:
            return self.buffers[path].decode("utf-8", "replace")
        text = self.reading.tree.read_text(path)
        return text if isinstance(text, str) else ""

    def _is_edited(self, path: str) -> bool:
        """A file that is only open in the editor is the one that was read."""
        return self.buffers[path].decode("utf-8", "replace") != self.reading.tree.read_text(path)

    def find_at(self, path: str, line: int, word: str = "") -> list[Patched]:
        """The patches a cursor means: those written on the line, or whose replacement or target is named there."""
        known = self.known.get(path, [])
        here = [one for one in known if one.effect.location.line == line]
        here = here or [one for one in known if _is_at(one.effect.replacement_at, path, line)]
        named = [one for one in here or known if word and _last(one.effect.target) == word]
        return named or here

    def explain(self, one: Patched) -> str:
        """What replaces the name, when, and since when it drifts: Markdown."""
        opened, row, effect = self.opened[one.backend], one.row, one.effect
        if row.culprit is None and row.severity is not Severity.OK:
            row = compare_again(row, opened.sides)
            row = next(iter(find_culprits([row], opened.sides, opened.upstream)), row)
        label = self.reading.workspace.label(one.backend)
        lines = [f"**Layline**: {describe_change(effect)} ({label}) `{effect.id}`"]
        lines += [f"- replacement: `{effect.replacement}`"] if effect.replacement else []
        lines += (
            [f"- when: `{when}`"] if (when := show_both(effect, one.patch)) else ["- when: always, once this code runs"]
        )
        told = tell_row(row)
        state = f"{told.severity.word}[{told.code}]: {told.message}"
        lines.append(f"- not compared: {UNCOMPARED[one.unjudged]}" if one.unjudged is not None else f"- {state}")
        lines += [f"- never runs: {one.off}"] if one.off else []
        lines += [f"- why: {row.detail}"] if row.detail else []
        lines += [f"- since {say_commit(row.culprit)}"] if row.culprit is not None else []
        return "\n".join(lines)

    def find_definition(self, one: Patched) -> tuple[Path, int] | None:
        """A read-only file with upstream's text at the pin, and the line of the target."""
        where = one.row.pin_evidence
        return write_pinned(self.opened[one.backend], where, one.backend) if where is not None else None


def open_editor(config: Path | None = None, progress: Progress = silent) -> EditorProject:
    """Read the project as it lies on disk, and both refs of every upstream."""
    workspace = open_workspace(config, worktree=True)
    progress("reading our code and the upstreams at their pins", 0, 0)
    reading = open_reading(workspace)
    opened: dict[str, OpenedDrift] = {}
    rows: dict[str, list[Drift]] = {}
    problems: list[tuple[str, Error]] = []
    names: set[str] = set()
    for key in reading.workspace.settings.backends:
        progress(f"comparing {key} with its upstream", 0, 0)
        try:
            opening = open_drift(reading.workspace, key, None)
            opened[key], rows[key] = opening.opened, find_bare_rows(opening)
            opening.save()
            names |= {one.attribute for one in opening.inventory.every_effect() if one.target is None}
        except Error as error:
            problems.append((key, error))
    for name in sorted(names - {""}):
        reading.upstreams.find_members(name)  # a search through all of upstream: now, not after an edit
    project = EditorProject(reading, opened, tuple(problems))
    for one in drop_repeats([one for key, found in rows.items() for one in know(key, opened[key].inventory, found)]):
        project.known.setdefault(one.row.location.path, []).append(one)
    keep_for_good()
    return project


def write_pinned(opened: OpenedDrift, where: Evidence, backend: str) -> tuple[Path, int] | None:
    data = opened.upstream.read_file(where.commit, where.path) if where.path is not None else None
    if data is None or where.path is None:
        return None
    file = cache_directory() / "pinned" / backend / where.commit[:12] / where.path
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(0o444)
    return file, where.lines[0] if where.lines is not None else 1


def _place(one: Patched) -> tuple[object, ...]:
    return one.backend, one.effect.location, one.effect.target, one.effect.mutates


def _keep_file(inventory: Inventory, path: str) -> Inventory:
    ids = {effect.id for effect in inventory.every_effect() if effect.location.path == path}
    return _keep_ids(inventory, ids)


def _keep_ids(inventory: Inventory, ids: set[str]) -> Inventory:
    patches = tuple(
        replace(patch, active=True, effects=tuple(effect for effect in patch.effects if effect.id in ids))
        for patch in inventory.patches
        if any(effect.id in ids for effect in patch.effects)
    )
    stray = tuple(item for item in inventory.unregistered if item.effect.id in ids)
    return replace(inventory, patches=patches, unregistered=stray)


def _is_same(then: Effect, now: Effect, before: Replacements, after: Replacements) -> bool:
    """The same target, condition and replacement, wherever they stand now."""
    if (then.target, then.when, then.replacement) != (now.target, now.when, now.replacement):
        return False
    old, new = before.read(then.replacement_at), after.read(now.replacement_at)
    if old is None or new is None:
        return old is new
    return ast.dump(old.node) == ast.dump(new.node)


def _with_ours(sides: Sides, ours: Replacements, roots: tuple[str, ...]) -> Sides:
    packages = sides.pin.index.parts[sides.part].packages
    return replace(sides, replacements=ours, reader=Reader(sides.comparer, ours, packages, roots))


@lru_cache(maxsize=4 * _MOST_FILES)
def _find_imported(text: str, path: str) -> tuple[str, ...]:
    """Dotted names that a file imports, relative ones from its own folder."""
    try:
        return tuple(_read_imported(ast.parse(text), path))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def _read_imported(tree: ast.Module, path: str) -> Iterator[str]:
    for node in walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = _find_base(path, level) if level else ""
                full = ".".join(part for part in (base, module or "") if part)
                yield from (f"{full}.{alias.name}" for alias in names)


def _find_base(path: str, level: int) -> str:
    parts = posixpath.dirname(path).split("/")
    return ".".join(parts[: len(parts) - level + 1]).removeprefix("src.")


def _with_packages(paths: set[str], tree: Tree) -> Iterator[str]:
    """The files, and the `__init__` of every folder above them."""
    for path in paths:
        yield path
        folder = posixpath.dirname(path)
        while folder:
            if f"{folder}/__init__.py" in tree.entries:
                yield f"{folder}/__init__.py"
            folder = posixpath.dirname(folder)


def _is_undecided(row: Drift) -> bool:
    return row.kind is DriftKind.UNRESOLVED


def _whose(effect: Effect) -> tuple[object, ...]:
    """What an effect without a name is told by; its id counts such effects, and one more moves the others on."""
    return effect.target, effect.attribute, effect.mutates, effect.reason


def _is_at(place: Location | None, path: str, line: int) -> bool:
    return place is not None and (place.path, place.line) == (path, line)


def _last(target: str | None) -> str:
    return (target or "").rpartition(".")[2]
