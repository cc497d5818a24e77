"""Absent targets: removed by which upstream commit, or never there at all (then it may be a slip of the hand)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.patch import Effect, Inventory, Removal, TargetKind
from layline.source.names import find_files, is_within
from layline.source.usage import binds
from layline.workspace.past import Past

if TYPE_CHECKING:
    from layline.history.searches import FoundCommit
    from layline.patches.upstreams import Upstreams
    from layline.source import Index, Part

_MOST = 60
"""Targets asked about for one inventory."""


def tell_removals(inventory: Inventory, upstreams: Upstreams) -> Inventory:
    """The same inventory; each absent target knows whether upstream ever had it."""
    absent = dict.fromkeys(
        effect.target
        for effect in (
            *(effect for patch in inventory.patches for effect in patch.effects),
            *(item.effect for item in inventory.unregistered),
        )
        if effect.target and (effect.target_kind is TargetKind.ABSENT or _is_shared(effect, upstreams.index))
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
    if removal is None:
        return effect
    if effect.target_kind is TargetKind.EXTERNAL:  # upstream's once: not another distribution's
        return replace(effect, target_kind=TargetKind.ABSENT, removal=removal) if removal.commit else effect
    if effect.target_kind is not TargetKind.ABSENT:
        return effect
    # a near name would mislead where the target itself was taken away, or is a name upstream uses elsewhere
    is_slip = removal.commit is None and removal.elsewhere is None
    return replace(effect, removal=removal, suggestion=effect.suggestion if is_slip else None)


def _is_shared(effect: Effect, index: Index) -> bool:
    """In a namespace that upstream shares with other distributions, and not in what its tree holds at the pin."""
    if effect.target_kind is not TargetKind.EXTERNAL or effect.target is None:
        return False
    return _find_namespace(effect.target, index) is not None


def _find_namespace(target: str, index: Index) -> str | None:
    """The configured package without an `__init__.py` that a name stands in."""
    packages = (package for part in index.parts for package in part.packages)
    inside = (package for package in packages if is_within(target, package) and package != target)
    return next((name for name in inside if name in index.namespaces and name not in index.entries), None)


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A target and where upstream would have had it."""

    target: str
    part: Part
    module: str
    path: str
    inner: tuple[str, ...]
    """What stands below the module."""
    files: tuple[str, ...]
    """What the first of it may have been a module in."""


def find_removals(targets: Iterable[str], upstreams: Upstreams) -> Iterator[tuple[str, Removal | None]]:
    """Each absent target with the last commit before the pin that took its name out of its file; None: it cannot be
    told.

    A history is walked once for all targets, and what it says is kept: it is the same for ever.
    """
    doubts = {target: _look_at(target, upstreams) for target in targets}
    for part in dict.fromkeys(doubt.part for doubt in doubts.values() if doubt is not None):
        yield from _tell_part(part, [doubt for doubt in doubts.values() if doubt is not None and doubt.part == part])
    yield from ((target, None) for target, doubt in doubts.items() if doubt is None)


def _look_at(target: str, upstreams: Upstreams) -> _Doubt | None:
    """The file and names to ask about."""
    module, _, rest = target.rpartition(".")
    inner = [rest]
    while module and module not in upstreams.index.entries:
        module, _, name = module.rpartition(".")
        inner.insert(0, name)
    if not module:
        return _look_below(target, upstreams.index)
    entry = upstreams.index.entries[module]
    files = _guess_files(entry.path, inner[0]) if entry.is_package else ()
    found = _Doubt(target, upstreams.index.parts[entry.part], module, entry.path, tuple(inner), files)
    return _follow_import(found, upstreams) if len(inner) > 1 else found


def _follow_import(doubt: _Doubt, upstreams: Upstreams) -> _Doubt:
    """What a member belongs to may only be imported there: then its own file had the member."""
    owner = upstreams.resolver.resolve(f"{doubt.module}.{doubt.inner[0]}")
    home = upstreams.index.entries.get(owner.module or "")
    if owner.definition is None or home is None or home.path == doubt.path:
        return doubt
    inner = (*owner.definition.qualname.split("."), *doubt.inner[1:])
    return replace(doubt, part=upstreams.index.parts[home.part], module=home.name, path=home.path, inner=inner)


def _look_below(target: str, index: Index) -> _Doubt | None:
    """A module or package that may have stood in a namespace once."""
    namespace = _find_namespace(target, index)
    if namespace is None:
        return None
    inner = target.removeprefix(f"{namespace}.").split(".")
    near = next(entry for name, entry in sorted(index.entries.items()) if name.startswith(f"{namespace}."))
    depth = near.name.count(".") - namespace.count(".") + near.is_package
    folder = near.path.rsplit("/", depth)[0]
    package = f"{folder}/__init__.py"
    files = _guess_files(package, inner[0])
    return _Doubt(target, index.parts[near.part], namespace, package, tuple(inner), files)


def _tell_part(part: Part, doubts: list[_Doubt]) -> Iterator[tuple[str, Removal | None]]:
    past = Past(part.tree.repository, part.tree.commit)
    gone = past.find_deletions(doubt.files for doubt in doubts if doubt.files)
    rest: list[tuple[_Doubt, str]] = []
    for doubt in doubts:
        name = next((name for name in doubt.inner if not _mentions(part, doubt.path, name)), None)
        if (found := gone.get(doubt.files)) is not None:
            yield doubt.target, _build(f"the module {doubt.module}.{doubt.inner[0]}", found)
        elif name is None:
            yield doubt.target, None
        else:
            rest.append((doubt, name))
    changed = past.find_binding_changes((path, name) for doubt, name in rest for path in find_files(doubt.path))
    other = past.find_definitions(name for doubt, name in rest if (doubt.path, name) not in changed)
    for doubt, name in rest:
        lost = next((path for path in find_files(doubt.path) if (path, name) in changed), doubt.path)
        what, found = f"{name} of {lost}", changed.get((lost, name))
        elsewhere = other.get(name) if lost != doubt.path or found is None else None
        removal = Removal(what=what) if found is None else _build(what, found)
        yield doubt.target, replace(removal, elsewhere=elsewhere)


def _build(what: str, found: FoundCommit) -> Removal:
    return Removal(what=what, commit=found.commit, date=found.date, subject=found.subject)


def _guess_files(package: str, name: str) -> tuple[str, ...]:
    folder = package.rpartition("/")[0]
    return (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")


def _mentions(part: Part, path: str, name: str) -> bool:
    """Whether the file still defines or imports the name at the pin, somewhere."""
    text = part.tree.read_text(path)
    return isinstance(text, Skipped) or binds(text.encode("utf-8", "surrogatepass"), name)
