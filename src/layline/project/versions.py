"""Which version of an upstream the project means, by what its own files ask for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion
from packaging.version import Version as Number

from layline.config import Pin
from layline.core.ours import is_own
from layline.gap.dependencies import Kind, Rank
from layline.gap.dependencies.bounds import are_apart
from layline.gap.dependencies.model import EVERY_EXTRA, RUNTIME, Declaration, canonical_name
from layline.gap.dependencies.requirement_files import find_requirement_declarations
from layline.history.pins import find_pins
from layline.source import survey
from layline.source.checkouts import find_demand

if TYPE_CHECKING:
    from layline.gap.dependencies import Declarations
    from layline.source.tree import Tree


_BOUND = re.compile(r"(===|==|~=|>=)\s*(\d[\w.]*)")
_EXACT = frozenset({"==", "==="})
_MAIN = re.compile(r"(?:requirements/)?(?:requirements|constraints)\.(?:txt|in|pip)")
_ENDS = re.compile(r"<\s*\d|~=")
_HIGHEST = re.compile(r"<=\s*(\d[\w.]*)")
_ADDRESS = re.compile(r"git\+(https://[\w.-]+/[\w./-]+?)(?:\.git)?@([\w./-]*\d\.\d[\w./-]*)")
_EXACT_FIRST = (
    "an exact version takes precedence over a range, and what every installation needs takes precedence over optional "
    "files and extras"
)
_METADATA_FIRST = "package metadata take precedence over requirement files, and these over CI and docs"
_YOURS = "if you use another one, write it into `pin`"
_OPTIONAL = f"only an optional file or extra names this version: {_YOURS}"
_LOWEST_ALLOWED = (
    f"the pin is the lowest version that this allows: {_YOURS}. `layline patches matrix` judges the others"
)
NEWEST_ALLOWED, _HIGHEST_ALLOWED = (
    f"the pin is the {which} that this allows: {_YOURS}. `layline patches matrix --refs all-tags` judges the others"
    for which in ("newest release", "highest version")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version that the project's own files name."""

    text: str
    """Empty where a range has no lower end."""
    said: str
    """Where, and in which words."""
    file: str | None = None
    """The file that pins exactly this version, from which the pin can be read at any commit."""
    choice: str = ""
    """Which of several it is, where files allow or name more than one."""
    branch: str | None = None
    """The branch of ours that has the file."""
    is_required: bool = False
    """Package metadata, a requirement file or a lock file asks for it."""
    mentioned: bool = False
    """Only texts for people name it: it is no more than a guess."""
    address: str | None = None
    """Of a repository: then the text is a tag or a branch there."""
    within: str = ""
    """The range it is the lowest of, where that ends somewhere: who installs it today has the newest release in it."""
    spec: str = ""
    """What is asked for there, as it is written."""
    others: tuple[str, ...] = ()
    """What else the project asks for, each with its place."""
    before: str = ""
    """Why it was taken before the others."""


def find_version(tree: Tree, declared: Declarations, package: str) -> Version | None:
    """What the project itself needs; examples and tests count only where nothing else names the package: who asks for
    any version of it does not mean theirs.
    """
    wanted = canonical_name(package)
    needs = [item for item in declared.items if item.kind is Kind.REQUIREMENT and item.name == wanted]
    own = [item for item in needs if is_own(item.place.path)]
    main = _find_main_files(tree, declared)
    found = _tell_others(_read_version(own, declared, wanted, main), own, main)
    demand = find_demand(tree, package) if found is None else None  # metadata that are computed
    if demand is not None:
        return Version(
            text=demand.version,
            said=f"{demand.location} asks for {demand.text}",
            choice="" if "==" in demand.text else _LOWEST_ALLOWED,
        )
    aside = _read_version(needs, declared, wanted, main) if not own else None
    named = any(item.rank is Rank.METADATA for item in own)
    return found or aside or _read_address(declared, package, least=2 if named else 1) or _read_bound(own)


def _read_bound(needs: list[Declaration]) -> Version | None:
    """`<5`, `!=4.1`: no version is named, but the newest release in the range is what gets installed."""
    ordered = sorted(needs, key=lambda item: (item.rank, item.scope != "runtime"))
    item = next((item for item in ordered if item.spec and not item.spec.startswith("@")), None)
    return replace(_name_version(item, ""), within=item.spec) if item is not None else None


def _find_main_files(tree: Tree, declared: Declarations) -> frozenset[str]:
    """The requirement files that everybody installs: those that are called only that, and what they include. Any other
    is for what its name or its folder says: one model, one device, the docs.
    """
    named = [path for rank, path in declared.files if rank is Rank.REQUIREMENTS and _MAIN.fullmatch(path)]
    included = (
        one.place.path
        for path in named
        for one in find_requirement_declarations(tree, path)
        if isinstance(one, Declaration)
    )
    return frozenset((*named, *included))


def _is_optional(item: Declaration, main: Collection[str]) -> bool:
    """Whether one can install the project without it."""
    if item.rank is Rank.METADATA:
        return item.scope.startswith((f"{EVERY_EXTRA} ", "group "))
    return item.rank is Rank.REQUIREMENTS and item.place.path not in main


def _tell_others(version: Version | None, needs: list[Declaration], main: Collection[str]) -> Version | None:
    """The version with what other files ask for: each range once, at the first place that names it."""
    if version is None:
        return None
    asked: dict[str, Declaration] = {}
    for item in sorted(needs, key=lambda item: item.rank):
        if item.spec and item.spec != version.spec and item.place.path != version.file:
            asked.setdefault(item.spec, item)
    others = (
        f"{item.place}{' (optional)' if _is_optional(item, main) else ''} for {_shorten(spec)}"
        for spec, item in asked.items()
    )
    return replace(version, others=tuple(others))


def _shorten(spec: str) -> str:
    """A range without the single versions that it leaves out, which are counted."""
    left_out = spec.count("!=")
    bounds = ",".join(part for part in spec.split(",") if "!=" not in part)
    return f"{bounds} without {left_out} of these" if left_out and bounds else spec


def keep_followed(tree: Tree, version: Version | None, package: str) -> Version | None:
    """The version with its file only where that file gives one value, as the reader of pins reads it."""
    if version is None or version.file is None:
        return version
    text = tree.read_text(version.file)
    pin = Pin(file=version.file, requirement=canonical_name(package), tag="{version}")
    values: dict[str, int] = {}
    for line, value in find_pins(text, pin) if isinstance(text, str) else ():
        values.setdefault(value, line)
    if list(values) == [version.text]:
        return version
    lines = ", ".join(f"line {line}: {value}" for value, line in values.items())
    several = f"{version.file} names several versions ({lines}): {_YOURS}" if len(values) > 1 else ""
    return replace(version, file=None, choice=version.choice or several)


def _read_version(
    needs: list[Declaration], declared: Declarations, wanted: str, main: Collection[str]
) -> Version | None:
    """Exactly pinned in metadata or requirement files, else locked, else the highest that these allow, else what an
    optional file pins, else what commands and docs install, else the lower bound, with the range it begins.
    """
    ordered = sorted(needs, key=lambda item: (item.rank, item.scope != RUNTIME))
    bounds = [(item, found) for item in ordered if (found := _BOUND.search(item.spec)) is not None]
    exact = [(item, bound[2]) for item, bound in bounds if bound[1] in _EXACT]
    required = [one for one in exact if one[0].rank <= Rank.REQUIREMENTS]
    for item, text in required:
        if not _is_optional(item, main):
            return replace(_name_version(item, text, follow=True), before=_EXACT_FIRST)
    for lock in declared.locks:
        locked = dict(lock.versions).get(wanted)
        if locked:
            said = f"{lock.path} locks {locked}"
            return Version(text=locked, said=said, is_required=True, before="a lock file takes precedence over a range")
    optional = [item for item in ordered if _is_optional(item, main)]
    everybody = [item for item in ordered if item.rank <= Rank.REQUIREMENTS and item not in optional]
    for item in (*everybody, *optional):
        highest = _HIGHEST.search(item.spec)
        if highest is not None:
            return replace(_name_version(item, highest[1], choice=_HIGHEST_ALLOWED), before=_METADATA_FIRST)
    allowed = [one for one in required if not any(are_apart(item.spec, one[0].spec) for item in everybody)]
    if allowed and not any(_ENDS.search(item.spec) for item in everybody):
        item, text = allowed[0]
        chosen = _name_version(item, text, follow=True, choice=_OPTIONAL if everybody else "")
        return replace(chosen, before=_EXACT_FIRST)
    installed = [one for one in exact if one[0].rank > Rank.REQUIREMENTS]
    if installed:
        return _name_highest([one for one in installed if one[0].rank == installed[0][0].rank])
    return _name_lowest(bounds[0]) if bounds else None


def _name_lowest(bound: tuple[Declaration, re.Match[str]]) -> Version:
    item, found = bound
    within = item.spec if _ENDS.search(item.spec) else ""
    lowest = _name_version(item, found[2], choice=_LOWEST_ALLOWED)
    return replace(lowest, within=within, before=_METADATA_FIRST)


def find_range(declared: Declarations, packages: Iterable[str]) -> Declaration | None:
    """The requirement of the project itself that allows several versions of an upstream; None where one is pinned."""
    names = {canonical_name(package.partition(".")[0]) for package in packages}
    needs = [
        item
        for item in declared.items
        if item.kind is Kind.REQUIREMENT and item.name in names and is_own(item.place.path) and item.spec
        if item.rank <= Rank.REQUIREMENTS
    ]
    first = min(needs, key=lambda item: (item.rank, item.scope != "runtime"), default=None)
    if first is None or any(mark in item.spec for item in needs for mark in ("==", "@")):
        return None
    return first


def _name_highest(named: list[tuple[Declaration, str]], address: str | None = None) -> Version:
    item, text = max(named, key=lambda one: order(one[1]))
    number = len({text for _, text in named})
    choice = "" if number == 1 else f"the highest of {number} versions that files of the project install"
    return _name_version(item, text, choice=f"{choice}: {_YOURS}" if choice else "", address=address)


def order(text: str) -> tuple[bool, object]:
    """Versions by number, a candidate before its release; what is no version comes first."""
    found = re.search(r"\d+(?:\.\d+)+[\w.]*", text)
    try:
        return True, Number(found[0] if found else text)
    except InvalidVersion:
        return False, text


def _read_address(declared: Declarations, package: str, *, least: int) -> Version | None:
    """`pip install git+https://…/Keel-Core@v1.2`: the repository that is named after the package, most often named.

    `least`: places that must name it; where the metadata ask for the package by its name, the fork that a single job
    installs is that job's own.
    """
    found: dict[str, list[tuple[Declaration, str]]] = {}
    for item in declared.items:
        address = _ADDRESS.search(item.spec) if is_own(item.place.path) else None
        name = survey.normalise(address[1].rpartition("/")[2]) if address else ""
        if address and (name == survey.normalise(package) or (len(package) > 3 and name.startswith(package.lower()))):
            found.setdefault(address[1], []).append((item, address[2]))
    most = max(found, key=lambda one: len(found[one]), default=None)
    return _name_highest(found[most], most) if most and len(found[most]) >= least else None


def _name_version(
    item: Declaration, version: str, *, follow: bool = False, choice: str = "", address: str | None = None
) -> Version:
    spaced = " " if item.spec.startswith("@") else " from " if item.kind is Kind.SOURCE else ""
    return Version(
        text=version.rstrip("."),
        said=f"{item.place} asks for {item.name}{spaced}{item.spec}",
        file=item.place.path if follow else None,
        choice=choice,
        is_required=item.rank <= Rank.REQUIREMENTS,
        address=address,
        spec=item.spec,
    )
