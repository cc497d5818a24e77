"""Bounds of ours that refuse an upstream commit: its own version, or what it asks for of another package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from layline.core.evidence import Location
from layline.gap.dependencies.bounds import are_apart
from layline.gap.dependencies.model import METADATA_FILES, RUNTIME, Kind, Rank, canonical_name, parse_need
from layline.gap.dependencies.reading import read_declarations
from layline.gap.needs import find_import
from layline.interpreter.modules import read_texts
from layline.source.parsing import PARSING

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.gap.dependencies.model import Need
    from layline.source.tree import Tree

_DEMAND = re.compile(rb"""\(\s*["'][\w.-]+\s*(?:[<>=!~]=|[<>])""")
"""A call whose first argument is a requirement; whether it is one, its syntax decides."""
_WRITTEN = re.compile(r"""(["'])([A-Za-z0-9][^"'\n]*[<>=~!][^"'\n]*)\1""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One requirement, and where it stands."""

    name: str
    spec: str
    place: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """One bound of ours that no version upstream asks for fits."""

    ours: Bound
    asked: str
    """Upstream's own version, or the bound that it sets."""
    theirs: Location | None = None
    """Where upstream sets it; None: it is the version of upstream itself."""

    @property
    def bound(self) -> str:
        """What refuses it: `keel<=1.5` of `keel>=1.0,<=1.5`; of another package all that we ask for."""
        parts = self.ours.spec.split(",") if self.theirs is None else []
        refusing = [part for part in parts if not _allows(part, self.asked)]
        return self.ours.name + (",".join(refusing) or self.ours.spec)

    def tell(self) -> str:
        ours = f"our bound {self.bound}"
        if self.theirs is None:
            return f"{ours} does not allow {self.asked}"
        return f"no version fits both {ours} and upstream's {self.asked} ({self.theirs})"


def find_refused(
    ours: Tree, backend: Backend, sides: tuple[Tree, Tree], versions: tuple[str | None, str | None]
) -> tuple[Refused, ...]:
    """What of ours must change before the second of two upstream commits can be installed beside it, and need not for
    the first. The line that holds the pin itself moves with the pin.
    """
    names = {canonical_name(package.partition(".")[0]) for package in backend.packages}
    own = list(dict.fromkeys((*_find_declared(ours, backend, names), *_find_demanded(ours))))
    before, after = (list(_find_all(own, names, *side)) for side in zip(sides, versions, strict=True))
    known = {one.ours for one in before}
    return tuple(one for one in after if one.ours not in known)


def find_holding(refused: Iterable[Refused], version: str | None) -> tuple[Refused, ...]:
    """Bounds on upstream itself that do not allow this version of it either."""
    own = (replace(one, asked=version or "") for one in refused if one.theirs is None)
    return tuple(one for one in own if not _allows(one.ours.spec, version))


def find_allowing(ours: Tree, backend: Backend, versions: Iterable[str]) -> Bound | None:
    """What asks for upstream itself and takes one of these versions, too: not everybody has the pin."""
    names = {canonical_name(package.partition(".")[0]) for package in backend.packages}
    found = (
        Bound(name=one.name, spec=one.spec, place=one.place)
        for one in read_declarations(ours, last=Rank.METADATA).items
        if one.kind is Kind.REQUIREMENT and one.name in names and one.scope == RUNTIME and one.spec and not one.marker
    )
    return next((one for one in found if any(_allows(one.spec, it, unsure=False) for it in versions)), None)


def _find_all(own: Iterable[Bound], names: Set[str], upstream: Tree, version: str | None) -> Iterator[Refused]:
    needed = [
        Bound(name=one.name, spec=one.spec, place=one.place)
        for one in read_declarations(upstream, last=Rank.METADATA).items
        if one.kind is Kind.REQUIREMENT and one.scope == RUNTIME and not one.marker
    ]
    asked = [*needed, *_find_asked(upstream)]
    for one in own:
        if one.name in names:
            yield from [Refused(ours=one, asked=version or "")] if not _allows(one.spec, version) else []
            continue
        apart = (need for need in asked if need.name == one.name and are_apart(one.spec, need.spec))
        theirs = next(apart, None)
        # what is for its tests or its documents alone is no need of ours
        if theirs is not None and (theirs in needed or find_import(upstream, one.name.replace("-", "_"))):
            yield Refused(ours=one, asked=theirs.spec, theirs=theirs.place)


def _allows(spec: str, version: str | None, *, unsure: bool = True) -> bool:
    """`unsure`: what counts where that cannot be said."""
    try:
        return unsure if version is None else Version(version) in SpecifierSet(spec, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return unsure


def _find_declared(tree: Tree, backend: Backend, names: Set[str]) -> Iterator[Bound]:
    """What every installation of ours asks for, whatever the platform; of upstream itself also what an extra does."""
    pin = backend.pin
    for one in read_declarations(tree, last=Rank.METADATA).items:
        holds = pin is not None and (pin.file, pin.requirement) == (one.place.path, one.name)
        if (
            one.kind is Kind.REQUIREMENT
            and not one.marker
            and (one.scope == RUNTIME or one.name in names)
            and not holds
        ):
            yield Bound(name=one.name, spec=one.spec, place=one.place)


def _find_demanded(tree: Tree) -> Iterator[Bound]:
    """`check_version("keel>=1,<2")` as a statement that no `if` stands before: who runs it asks for that."""
    for path, data in read_texts(tree):
        if _DEMAND.search(data):
            for line, need in _find_statements(_parse(data)):
                yield Bound(name=need.name, spec=need.spec, place=Location(path, line))


def _parse(data: bytes) -> list[ast.stmt]:
    with PARSING, suppress(SyntaxError, ValueError):
        return ast.parse(data).body
    return []


def _find_statements(body: Iterable[ast.stmt]) -> Iterator[tuple[int, Need]]:
    for node in body:
        match node:
            case ast.Expr(value=ast.Call(args=[ast.Constant(value=str() as text), *_])):
                need = parse_need(text)
                if need is not None and need.spec and not need.marker:
                    yield node.lineno, need
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.With():
                yield from _find_statements(node.body)


def _find_asked(tree: Tree) -> Iterator[Bound]:
    """Every bound that upstream's build files write down, also for what is optional."""
    for path in METADATA_FILES:
        text = tree.read_text(path)
        for number, line in enumerate(text.splitlines(), 1) if isinstance(text, str) else ():
            for found in _WRITTEN.finditer(line.partition("#")[0]):
                need = parse_need(found[2])
                if need is not None and need.spec and not need.marker:
                    yield Bound(name=need.name, spec=need.spec, place=Location(path, number))
