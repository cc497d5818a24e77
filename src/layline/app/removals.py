"""Absent targets: removed by which upstream commit, or never there at all (then it may be a slip of the hand)."""

from __future__ import annotations

import re
from dataclasses import replace
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
    known = {target: _find_removal(target, upstreams) for target in list(absent)[:_MOST] if target}
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


def _find_removal(target: str, upstreams: Upstreams) -> Removal | None:
    """The last commit before the pin that took a definition of this name out of its file; None: it cannot be told."""
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
    pattern = r"(def|class) +{name}\>|^ *{name} *[:=]|import .*\<{name}\>|^ *{name},?$"
    name = next((name for name in inner if not _mentions(part, entry.path, name)), inner[-1])
    if _mentions(part, entry.path, name):
        return None
    found = _ask(part, ("-G", pattern.format(name=re.escape(name))), (entry.path,))
    if found is not None:
        return replace(found, what=f"{name} of {entry.path}")
    return Removal(what=f"{name} of {entry.path}", elsewhere=_find_elsewhere(part, name))


def _find_elsewhere(part: Part, name: str) -> str | None:
    """Where upstream defines the same name: it is put into another module on purpose, not misspelled."""
    how = ("grep", "-n", "-E", "-e", rf"^ *(async def|def|class) +{re.escape(name)}\>")
    try:
        out = part.tree.repository.git(*how, part.tree.commit, "--", "*.py").decode("utf-8", "replace")
    except GitError:  # git grep exits with 1 where nothing is found
        return None
    first = out.splitlines()[0].split(":", 3) if out else []
    return f"{first[1]}:{first[2]}" if len(first) >= 3 else None


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
