"""One declared need, and how strong the evidence for it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from layline.core.evidence import Location, Skipped


class Rank(IntEnum):
    """Strength of dependency evidence; 1 is the strongest. Sides are only ever compared at the same rank."""

    METADATA = 1
    REQUIREMENTS = 2
    COMMANDS = 3
    DOCS = 4
    README = 5

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Rank.METADATA: "package metadata",
    Rank.REQUIREMENTS: "requirement files",
    Rank.COMMANDS: "workflow and container installs",
    Rank.DOCS: "docs and release notes",
    Rank.README: "README examples",
}


class Kind(StrEnum):
    """What is declared."""

    REQUIREMENT = "requirement"
    PYTHON = "python"
    SOURCE = "source"
    """Where a distribution comes from when it is not an index: a git address with its revision."""
    CHANNEL = "channel"
    """A wheel index such as nightly/cu130."""
    IMAGE = "image"
    SETTING = "setting"
    """A version, commit or matrix value that an install uses."""
    JOB = "job"
    """A workflow job: switched off, or without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One need as one file states it."""

    rank: Rank
    kind: Kind
    name: str
    """Distribution names in normal form (PEP 503)."""
    spec: str
    """What stands after the name: version bounds, an address with a revision, a channel; empty for none."""
    scope: str
    """`runtime`, `extra dev`, `group test`, `build system`, `override`, or the path of the file."""
    place: Location
    extras: str = ""
    marker: str = ""

    @property
    def is_running(self) -> bool:
        """A job as jobs are: worth no row, but it must be known to say that one was switched off."""
        return self.kind is Kind.JOB and self.spec != SWITCHED_OFF


SWITCHED_OFF = "switched off"
EVERY_EXTRA = "extra"
"""The scope of what was not read of all extras together."""
RUNTIME, PYTHON = "runtime", "requires-python"
"""The scopes that every installation meets."""
BY = " by "
"""Between a scope and the one of several files that asks for it: `runtime by cuda.txt`."""


@dataclass(frozen=True, slots=True)
class Unread(Skipped):
    """A part of what one file declares that could not be read: it may hold whatever is not found there."""

    of: Kind | None = None
    """None: of every kind."""
    scopes: tuple[str, ...] = ()
    """None of them: the whole file."""

    def may_hold(self, item: Declaration) -> bool:
        """Whether the item, which stands elsewhere, may stand here as well."""
        return self._is_beside(item) and self.of in {None, item.kind} and self._is_of(item.scope)

    def _is_of(self, scope: str) -> bool:
        every = EVERY_EXTRA in self.scopes and scope.startswith(f"{EVERY_EXTRA} ")
        return not self.scopes or every or scope.partition(BY)[0] in self.scopes

    def _is_beside(self, item: Declaration) -> bool:
        if item.rank is not Rank.METADATA:
            return item.place.path == self.path
        # what a package's metadata takes from requirement files may lie in folders below it
        folder, inner = (path.rpartition("/")[0] for path in (self.path or "", item.place.path))
        inside = inner == folder or not folder or inner.startswith(f"{folder}/")
        return inner == folder if item.place.path.endswith(METADATA_FILES) else inside


SETUP_FILES = ("setup.py", "setup.cfg")
METADATA_FILES = ("pyproject.toml", *SETUP_FILES)


def leave_unread(path: str, line: int | None, why: str, scopes: tuple[str, ...] = (), of: Kind | None = None) -> Unread:
    """What could not be read of a file; without scopes, all of it."""
    return Unread(path if line is None else f"{path}:{line}", why, path, line, of=of, scopes=scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedSet:
    """The packages one lock file holds; summarised, never listed as needs."""

    path: str
    versions: tuple[tuple[str, str], ...]


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


_REQUIREMENT = re.compile(
    r"""\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*
    (?:\[(?P<extras>[^\]]*)\])?\s*
    (?P<rest>@\s*\S.*|\(?\s*(?:[<>=!~]=?|===)[^;]*|)\s*
    (?:;(?P<marker>.*))?\Z""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Need:
    """A requirement string taken apart; bounds stay as written, spaces removed and sorted."""

    name: str
    spec: str
    extras: str
    marker: str


def parse_need(text: str) -> Need | None:
    """Take a requirement apart; None where it is not one (a path, a variable, an option)."""
    found = _REQUIREMENT.match(text)
    if found is None:
        return None
    rest, marker = found["rest"].strip(), (found["marker"] or "").strip()
    if rest.startswith("@"):
        address, _, after = rest[1:].strip().partition(" ;")
        rest, marker = f"@ {address.strip()}", after.strip() or marker
    else:
        parts = (part.strip().replace(" ", "") for part in rest.strip("() ").split(","))
        rest = ",".join(sorted((part for part in parts if part), key=_bound_order))
    extras = ",".join(sorted(part.strip() for part in (found["extras"] or "").split(",") if part.strip()))
    return Need(canonical_name(found["name"]), rest, extras, " ".join(marker.split()))


def _bound_order(bound: str) -> tuple[int, str]:
    """Floors before caps before exclusions, as people write them."""
    for place, mark in enumerate(("===", "==", "~=", ">=", ">", "<=", "<", "!=")):
        if bound.startswith(mark):
            return place, bound
    return 9, bound
