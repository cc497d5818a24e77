"""New in upstream: new models, packages, public classes, and what titles say they bring."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.change.surface import SurfaceChange
from layline.core.ours import is_packaged
from layline.core.prose import count, listed, shorten, verb
from layline.core.report import Cell
from layline.gap.cells import change_cell, change_link, join_text, listed_text
from layline.gap.platform import NUMBERS

if TYPE_CHECKING:
    from layline.core.report import Inline
    from layline.gap.areas import PackageChange
    from layline.gap.changes import UpstreamChange
    from layline.gap.model import Gap

_NEW = re.compile(
    r"^(?:\[[^\]]*\]\s*)*(?:add|support|enable|introduce|implement|allow|new|initial)\w*\b", re.IGNORECASE
)
"""How the title of a pull request says that it brings something new."""
_MOST_AREAS, _MOST_PER_AREA, _MOST_MODULES = 4, 2, 3
_SHARED = frozenset({"common", "base", "utils", "shared", "tools"})
_UNTOLD = frozenset({"other", "docs", "tests", "workflows"})
_ASIDE = ("experiments", "experimental", "tests", "examples")


def build_novelties(gap: Gap) -> tuple[Inline, ...]:
    """Bullets: what is new by name first, then by area."""
    return tuple(item for item, _ in _list_novelties(gap))


def find_told(gap: Gap, most: int) -> list[UpstreamChange]:
    """Changes that the first bullets name."""
    return [change for _, changes in _list_novelties(gap)[:most] for change in changes]


def _list_novelties(gap: Gap) -> list[tuple[Inline, tuple[UpstreamChange, ...]]]:
    items: list[tuple[Inline, tuple[UpstreamChange, ...]]] = []
    models, packages = split_packages(gap)
    if models:
        items.append((f"New model folders: {listed(models, most=8)}.", ()))
    if packages:
        beside = " beside these" if models else ""
        items.append((f"New packages{beside}: {listed(packages, most=3)}.", ()))
    areas = [(area, changes) for area, changes in find_novelties(gap) if area not in _UNTOLD]
    areas.sort(key=lambda pair: pair[0] in _ASIDE)
    items += [(_area_item(gap, area, changes), changes[:_MOST_PER_AREA]) for area, changes in areas[:_MOST_AREAS]]
    return items


def tell_gone(gap: Gap) -> tuple[Inline, ...]:
    """Packages that upstream deleted or dissolved although our code or our configuration uses them, a sentence each."""
    used = [(one.target, str(one.location)) for one in gap.couplings]
    used += [(row.target or "", str(row.location)) for row in gap.patches or ()]
    mentions = dict(gap.mentions)
    deleted: list[tuple[int, str, Inline]] = []
    dissolved: list[tuple[int, str]] = []
    for package in gap.packages:
        name = package.path.removeprefix("src/").replace("/", ".")
        places = {place for target, place in used if target == name or target.startswith(f"{name}.")}
        files = mentions.get(package.path, ())
        if package.kind != "removed" or not (places or files):
            continue
        if files:
            told = _tell_deleted(gap, package, len(places), files)
            deleted.append((-len(places) - len(files), package.path, told))
        elif not package.is_module:  # its names are under a module of the same path: the rows tell where
            dissolved.append((len(places), f"{package.path} ({count(len(places), 'place')})"))
    rest = [text for _, text in sorted(dissolved, key=_most_first)]
    gone = f"{'Other packages' if deleted else 'Packages'} that we use and upstream removed: {listed(rest, most=4)}."
    return (*(text for _, _, text in sorted(deleted, key=lambda one: one[:2])), *((gone,) if rest else ()))


def _most_first(pair: tuple[int, str]) -> tuple[int, str]:
    return -pair[0], pair[1]


def _tell_deleted(gap: Gap, package: PackageChange, places: int, files: tuple[str, ...]) -> Inline:
    named = [folder for folder, _ in gap.footprint.beyond]
    folders = Counter(
        next((folder for folder in named if path.startswith(f"{folder}/")), path.rpartition("/")[0]) for path in files
    )
    where = [
        f"{number} in {folder}" for folder, number in sorted(folders.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    ours = f"{count(places, 'place')} of ours {verb(places, 'uses')} it and " if places else ""
    named_by = f"{count(len(files), 'YAML file')} of ours {verb(len(files), 'names')} it: {listed(where, most=4)}."
    if package.by is None:
        return f"Upstream deleted {package.path}. {ours}{named_by}"
    cell = change_cell(gap, package.by.hash, package.by.pull_request)
    return f"Upstream deleted {package.path} (", cell, f", {package.by.date}). {ours}{named_by}"


def tell_classes(gap: Gap) -> str | None:
    """New public classes by module, the most first; None where there are none."""
    classes = list(find_new_classes(gap))
    if not classes:
        return None
    shown = [f"{listed(names, most=2)} in {module}" for module, names in classes[:_MOST_MODULES]]
    rest = sum(len(names) for _, names in classes[_MOST_MODULES:])
    return f"New public classes: {'; '.join(shown)}{f'; and {rest} more' if rest else ''}."


def split_packages(gap: Gap) -> tuple[list[str], list[str]]:
    """Packages that the pin did not have, largest first: those that are models by their folder, and the others."""
    added = sorted(
        (
            one
            for one in gap.packages
            if one.kind == "added" and not one.origins and is_packaged(f"{one.path}/__init__.py")
        ),
        key=lambda one: (-one.files, one.path),
    )
    paths = [one.path for one in added if not one.path.startswith(".")]
    models = [path.rpartition("/")[2] for path in paths if _is_model(path)]
    return models, [path for path in paths if not _is_model(path)]


def tell_origins(gap: Gap, most: int) -> Inline:
    """New folders whose first files were older ones, the largest first; empty where there are none."""
    found = [one for one in gap.packages if one.origins and is_packaged(f"{one.path}/__init__.py")]
    found.sort(key=lambda one: (-one.files, one.path))
    rest = len(found) - most
    more: list[Inline] = [f"{rest} more"] if rest > 0 else []
    named = listed_text([*(_tell_origin(gap, one) for one in found[:most]), *more])
    return join_text("Made from older code: ", named, ".") if found else ""


def _tell_origin(gap: Gap, package: PackageChange) -> Inline:
    """`up/hybrid (from up/mamba, #24)`."""
    by = package.by
    since: Inline = (", ", change_cell(gap, by.hash, by.pull_request)) if by is not None else ""
    return join_text(f"{package.path} (from {listed(list(package.origins), most=2)}", since, ")")


def _is_model(path: str) -> bool:
    """A folder in `models` that is called like something of its own."""
    return path.split("/")[-2:-1] == ["models"] and path.rpartition("/")[2] not in _SHARED


def find_new_classes(gap: Gap) -> Iterator[tuple[str, list[str]]]:
    """Yields modules with the public classes they gained, the most first; experiments and tests aside."""
    found: dict[str, list[str]] = {}
    for row in gap.surface.definitions if gap.surface else ():
        module, _, name = row.name.rpartition(".")
        public = not any(part.startswith("_") or part in _ASIDE for part in row.name.split("."))
        if row.change is SurfaceChange.ADDED and row.kind == "class" and public and module[:1].islower():
            found.setdefault(module, []).append(name)
    inner = {module for module in found if any(part[:1].isupper() for part in module.split("."))}
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    yield from ((module, names) for module, names in ordered if module not in inner)


def find_novelties(gap: Gap) -> Iterator[tuple[str, tuple[UpstreamChange, ...]]]:
    """Yields areas with the changes whose titles say that they bring something new, those with most new files first."""
    new = [one for one in gap.changes.kept if not one.is_lost and not one.is_known and is_novelty(one)]
    amounts = Counter(change.area for change in new)
    for area, _ in sorted(amounts.items(), key=lambda pair: (-pair[1], pair[0])):
        inside = (change for change in new if change.area == area)
        yield area, tuple(sorted(inside, key=lambda change: (-change.brings, -change.files, change.date)))


def is_novelty(change: UpstreamChange) -> bool:
    """Its title says that it brings something new."""
    return change.kind == "feat" or _NEW.match(change.title) is not None


def _area_item(gap: Gap, area: str, changes: tuple[UpstreamChange, ...]) -> Inline:
    pieces: list[str | Cell] = [f"{area[:1].upper()}{area[1:]}: "]
    for index, change in enumerate(changes[:_MOST_PER_AREA]):
        link = change_link(gap, change)
        pieces += ["; " if index else "", f"{shorten(NUMBERS.sub('', change.title), 90)} ("]
        pieces += [link if isinstance(link, Cell) else Cell(str(link)), ")"]
    rest = len(changes) - _MOST_PER_AREA
    pieces.append(f"; and {rest} more." if rest > 0 else ".")
    return tuple(pieces)
