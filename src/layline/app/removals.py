"""Absent targets: removed by which upstream commit, or never there at all (then it may be a slip of the hand)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.errors import GitError
from layline.patches.model import Effect, Inventory, Removal, TargetKind

if TYPE_CHECKING:
    from layline.app.upstreams import Upstreams
    from layline.source import Part

_MOST = 60
"""Histories asked for one inventory; each costs one `git log` of one file."""


def tell_removals(inventory: Inventory, upstreams: Upstreams) -> Inventory:
    """The same inventory; each absent target knows whether upstream ever had it."""
    absent = dict.fromkeys(
        effect.target
        for effect in (
            *(effect for patch in inventory.patches for effect in patch.effects),
            *(item.effect for item in inventory.unregistered),
        )
        if effect.target and effect.target_kind is TargetKind.ABSENT
    )
    known = dict(find_removals([target for target in list(absent)[:_MOST] if target], upstreams))
    if not known:
        return inventory
    patches = tuple(
        replace(patch, effects=tuple(_tell(effect, known) for effect in patch.effects)) for patch in inventory.patches
    )
    stray = tuple(replace(item, effect=_tell(item.effect, known)) for item in inventory.unregistered)
    return replace(inventory, patches=patches, unregistered=stray)


def _tell(effect: Effect, known: dict[str, Removal | None]) -> Effect:
    removal = known.get(effect.target or "")
    if removal is None or effect.target_kind is not TargetKind.ABSENT:
        return effect
    # a near name would mislead where the target itself was taken away, or is a name upstream uses elsewhere
    is_slip = removal.commit is None and removal.elsewhere is None
    return replace(effect, removal=removal, suggestion=effect.suggestion if is_slip else None)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A name that its file does not have at the pin: did it ever?"""

    target: str
    part: Part
    path: str
    name: str

    @property
    def what(self) -> str:
        return f"{self.name} of {self.path}"


def find_removals(targets: Iterable[str], upstreams: Upstreams) -> Iterator[tuple[str, Removal | None]]:
    """Each absent target with the last commit before the pin that took its name out of its file; None: it cannot be told.

    Histories and trees are searched for all names at once: each search costs the same, whatever it looks for.
    """
    doubts: list[_Doubt] = []
    for target in targets:
        found = _look_at(target, upstreams)
        if isinstance(found, _Doubt):
            doubts.append(found)
        else:
            yield target, found
    removed = _find_removed(doubts)
    never = [doubt for doubt in doubts if removed[doubt] is None]
    elsewhere = dict(_find_elsewhere(never))
    for doubt in doubts:
        gone = removed[doubt]
        known = replace(gone, what=doubt.what) if gone is not None else Removal(what=doubt.what, elsewhere=elsewhere.get(doubt))  # fmt: skip
        yield doubt.target, known


def _look_at(target: str, upstreams: Upstreams) -> _Doubt | Removal | None:
    """The name to look for in the history of a file, or the answer where there is one already."""
    module, _, rest = target.rpartition(".")
    inner = [rest]
    while module and module not in upstreams.index.entries:
        module, _, name = module.rpartition(".")
        inner.insert(0, name)
    if not module:
        return None
    entry = upstreams.index.entries[module]
    part = upstreams.index.parts[entry.part]
    if entry.is_package:
        gone = _ask(part, ("--diff-filter=D",), _guess_files(entry.path, inner[0]))
        if gone is not None:
            return replace(gone, what=f"the module {module}.{inner[0]}")
    name = next((name for name in inner if not _mentions(part, entry.path, name)), inner[-1])
    return None if _mentions(part, entry.path, name) else _Doubt(target, part, entry.path, name)


def _find_removed(doubts: list[_Doubt]) -> dict[_Doubt, Removal | None]:
    """The commit that took each name away; a file whose history has none of its names is searched once."""
    by_file: dict[tuple[Part, str], list[_Doubt]] = {}
    for doubt in doubts:
        by_file.setdefault((doubt.part, doubt.path), []).append(doubt)
    found: dict[_Doubt, Removal | None] = {}
    for (part, path), here in by_file.items():
        names = list(dict.fromkeys(doubt.name for doubt in here))
        if len(names) > 1 and _ask(part, ("-G", _bindings(names)), (path,)) is None:
            found |= dict.fromkeys(here)
            continue
        by_name = {name: _ask(part, ("-G", _bindings([name])), (path,)) for name in names}
        found |= {doubt: by_name[doubt.name] for doubt in here}
    return found


def _bindings(names: list[str]) -> str:
    """Lines that define, assign or import one of the names, as git's extended expressions say it."""
    name = f"({'|'.join(re.escape(name) for name in names)})"
    return rf"(def|class) +{name}\>|^ *{name} *[:=]|import .*\<{name}\>|^ *{name},?$"


def _find_elsewhere(doubts: list[_Doubt]) -> Iterator[tuple[_Doubt, str]]:
    """Where upstream defines the same name: it is put into another module on purpose, not misspelled."""
    for part in dict.fromkeys(doubt.part for doubt in doubts):
        here = [doubt for doubt in doubts if doubt.part == part]
        places = _grep_definitions(part, list(dict.fromkeys(doubt.name for doubt in here)))
        yield from ((doubt, places[doubt.name]) for doubt in here if doubt.name in places)


def _grep_definitions(part: Part, names: list[str]) -> dict[str, str]:
    """Name → the first place of the tree, in order of path, that defines it."""
    head = "^ *(async def|def|class) +"
    how = ("grep", "-n", "-E", "-e", rf"{head}({'|'.join(re.escape(name) for name in names)})\>")
    try:
        out = part.tree.repository.git(*how, part.tree.commit, "--", "*.py").decode("utf-8", "replace")
    except GitError:  # git grep exits with 1 where nothing is found
        return {}
    places: dict[str, str] = {}
    for line in out.splitlines():
        words = line.split(":", 3)
        if len(words) == 4 and (match := re.match(rf"{head}(\w+)", words[3])) is not None:
            places.setdefault(match[2], f"{words[1]}:{words[2]}")
    return places


def _guess_files(package: str, name: str) -> tuple[str, ...]:
    folder = package.rpartition("/")[0]
    return (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")


def _mentions(part: Part, path: str, name: str) -> bool:
    """Whether the file still defines or imports the name at the pin, somewhere."""
    text = part.tree.read_text(path)
    if isinstance(text, Skipped):
        return True
    pattern = rf"(?:def|class) +{re.escape(name)}\b|^ *{re.escape(name)} *[:=]|import .*\b{re.escape(name)}\b|^ *{re.escape(name)},?$"
    return re.search(pattern, text, re.MULTILINE) is not None


def _ask(part: Part, how: tuple[str, ...], paths: tuple[str, ...]) -> Removal | None:
    try:
        out = part.tree.repository.git("log", "-1", "--format=%H%x09%cs%x09%s", *how, part.tree.commit, "--", *paths)
    except GitError:
        return None
    commit, _, rest = out.decode("utf-8", "replace").strip().partition("\t")
    date, _, subject = rest.partition("\t")
    return Removal(what="", commit=commit, date=date, subject=subject) if commit else None
