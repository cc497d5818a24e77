"""`init` without a submodule: which imported packages are upstreams, at which version, and where their history is.

For choosing, not for facts: what is written is said with its reason, and the user can change it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version as Number

from layline.config import Pin
from layline.core.evidence import Location
from layline.core.ours import is_own
from layline.core.prose import listed
from layline.errors import ConfigError
from layline.gap.dependencies import read_declarations
from layline.gap.dependencies.model import canonical_name
from layline.git import open_repository
from layline.git.repository import find_git_dir
from layline.history.pins import find_branch, find_pins
from layline.history.tags import find_newest_release, is_final
from layline.project import standard_library
from layline.project.versions import NEWEST_ALLOWED, Version, find_version, keep_followed, order
from layline.project.writes import count_writes, walk
from layline.source import survey
from layline.source.checkouts import find_mentions, find_shown
from layline.source.home_address import read_home_address
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.git import Repository

_MOST = 3
_NAMED = 5
_OFTEN = 3
"""So many writes make an upstream of a package beside submodules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One upstream as it would be configured."""

    package: str
    files: int
    """How many of our files import it."""
    writes: int = 0
    """How many of our lines assign to its names, settings and what is put back included: what is patched is an
    upstream.
    """
    version: Version | None = None
    address: str | None = None
    named_in: Location | None = None
    """The line of the clone that names the address, where it was read from there."""
    clone: Path | None = None
    tag: str | None = None
    """The tag of the version, where the clone is here and has one."""
    ref: str = "main"
    others: tuple[tuple[str, str], ...] = ()
    """Other tags that may be meant, and why."""
    bounded: str = ""
    """Where the project bounds it, if it names no version that could be the pin."""
    modules: tuple[str, ...] = ()
    """What is patched of it, where that is less than all it offers: modules of Python's own library."""

    @property
    def distribution(self) -> str:
        return canonical_name(self.package)

    @property
    def works(self) -> bool:
        """True if a block made of it can answer: its history can be had, and a commit is named."""
        return (self.clone is not None and self.tag is not None) or (
            self.clone is None and self.address is not None and self.version is not None
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unused:
    """A clone that the user named, of a package that our code does not import."""

    clone: Path
    offers: tuple[str, ...]
    imported_at: Location | None
    """A test or an example that does."""

    def __str__(self) -> str:
        packages = listed(self.offers, most=_NAMED) if self.offers else "no Python package"
        if not self.offers:
            return f"{self.clone} offers {packages}"
        if self.imported_at is None:
            return f"{self.clone} offers {packages}, which the project does not import"
        return (
            f"{self.clone} offers {packages}, which only tests and examples import ({self.imported_at}); Layline does "
            "not judge these"
        )


Meant = tuple[bool, int, int, str]
"""Whether the project requires a package, how many of our lines write to it, how many of our files import it; its name."""


def propose_upstreams(
    tree: Tree, imported: Counter[str], beside: Path, clones: Iterable[Path]
) -> tuple[list[Proposal], tuple[Unused, ...]]:
    """Imported packages of others: those whose clone was named first, then the most patched, then the most imported;
    and the clones that offer nothing which our code imports.
    """
    own = {Path(folder).name for folder in survey.find_own_folders(tree)}
    foreign = [name for name in imported if name not in own | standard_library.MODULES]
    declared, addresses = read_declarations(tree), survey.find_addresses(tree)
    writes = count_writes(tree, foreign)

    def rank(name: str) -> Meant:
        return find_version(tree, declared, name) is not None, writes[name], imported[name], name

    standard = _propose_standard(imported, clones, lambda names: count_writes(tree, names))
    others = [clone for clone in clones if standard is None or clone != standard.clone]
    matched, unused = _match_clones(tree, others, foreign, rank)
    named = dict(matched)
    found = {**dict(_find_beside(beside, foreign)), **named}
    packages = _find_packages(tree, writes)
    proposals = [
        _read_docs(tree, _propose(name, imported[name], writes[name], version, addresses, found.get(name)))
        for name in foreign
        if (version := keep_followed(tree, find_version(tree, declared, name), name))
        or name in found
        or name in packages
    ]
    order = {name: place for place, name in enumerate(named)}
    proposals += [standard] if standard is not None else []
    best = sorted(proposals, key=lambda one: (order.get(one.package, len(order)), -one.writes, -one.files, one.package))
    return best, unused


def _propose_standard(
    imported: Counter[str], clones: Iterable[Path], count: Callable[[list[str]], Counter[str]]
) -> Proposal | None:
    """Python's own library, where our code patches it."""
    written = standard_library.find_patched(imported, count)
    if not written:
        return None
    clone = standard_library.find_clone(clones, written)
    repository = open_repository(clone) if clone is not None else None
    return Proposal(
        package=standard_library.KEY,
        files=max(imported[name] for name in written),
        writes=sum(written.values()),
        address=standard_library.ADDRESS,
        clone=clone,
        tag=find_newest_release(repository) if repository is not None else None,
        ref=(repository.branch if repository is not None else None) or "main",
        modules=tuple(sorted(written, key=lambda name: (-written[name], name))),
    )


def choose(proposals: list[Proposal], clones: tuple[Path, ...], *, alone: bool) -> list[Proposal]:
    """Those to be written as blocks that work: all that were named; else the most patched.

    `alone`: the project pins nothing itself, so that the most imported one will do where none is patched.
    """
    if clones:
        return [one for one in proposals if one.clone in clones]
    working = [one for one in proposals if one.works and (alone or one.version is None or not one.version.address)]
    patched = [one for one in working if one.writes >= (1 if alone else _OFTEN)]
    nothing_patched = not any(one.writes for one in proposals)
    return patched[:_MOST] or (working[:1] if alone and nothing_patched else [])


def _propose(
    name: str, files: int, writes: int, version: Version | None, addresses: dict[str, str], clone: Path | None
) -> Proposal:
    beside = version.address if version is not None else None
    address = beside or addresses.get(survey.normalise(name)) or _read_installed_address(name)
    repository = open_repository(clone) if clone is not None else None
    if repository is not None and version is not None:
        version = _take_newest(repository, version)
    bounded = version.said if version is not None and not version.text else ""
    version = None if bounded else version
    if repository is None:
        return Proposal(package=name, files=files, writes=writes, version=version, address=address, bounded=bounded)
    address = address or read_origin(repository)
    home = read_home_address(Tree(repository, repository.resolve("HEAD")), name) if address is None else None
    return Proposal(
        bounded=bounded,
        package=name,
        files=files,
        writes=writes,
        version=version,
        address=home.url if home is not None else address,
        named_in=home.location if home is not None else None,
        clone=clone,
        tag=_find_tag(repository, version.text if version is not None else None),
        ref=repository.branch or "main",
        others=tuple(_find_others(repository, version)),
    )


def _read_docs(tree: Tree, one: Proposal) -> Proposal:
    """A proposal whose pin no file names, with what the docs say: a file on another branch of ours that holds a commit
    of the clone, else the newest release that they name.
    """
    if one.clone is None or one.version is not None or one.bounded:
        return one
    repository = open_repository(one.clone)
    version = _find_shown_pin(tree, repository) or _find_mentioned(tree, repository, one.package)
    if version is None:
        return one
    return replace(one, version=version, tag=version.text if version.file else _find_tag(repository, version.text))


def _find_shown_pin(tree: Tree, upstream: Repository) -> Version | None:
    for shown in find_shown(tree):
        try:
            commit = find_branch(tree.repository, shown.branch)
        except ConfigError:
            continue
        data = tree.repository.read_file(commit, shown.file)
        pins = {value for _, value in find_pins((data or b"").decode("utf-8", "replace"), Pin(file=shown.file))}
        if len(pins) == 1 and upstream.has(f"{(pin := pins.pop())}^{{commit}}"):
            said = f"{shown.location} reads it from {shown.file} on our branch {shown.branch}: {pin[:12]} today"
            return Version(text=pin, said=said, file=shown.file, branch=shown.branch)
    return None


def _find_mentioned(tree: Tree, upstream: Repository, package: str) -> Version | None:
    """The newest of the versions that the docs name and upstream has a tag of."""
    named = [one for one in find_mentions(tree, package) if _find_tag(upstream, one.version) is not None]
    newest = max(named, key=lambda one: order(one.version), default=None)
    if newest is None:
        return None
    others = len({one.version for one in named}) - 1
    more = f", the newest of {others + 1} versions that the docs name" if others else ""
    said = f"no file pins it; {newest.location} names {newest.text.strip()}{more}"
    return Version(text=newest.version, said=said, mentioned=True)


def _take_newest(repository: Repository, version: Version) -> Version:
    """The newest release in the version's range, where that has an end and upstream has a release in it."""
    if not version.within:
        return version
    try:
        allowed = SpecifierSet(version.within)
    except InvalidSpecifier:
        return version
    tags = [name.removeprefix("refs/tags/") for name in repository.refs("refs/tags")]
    numbers = [number for name in tags if is_final(name) and isinstance(number := order(name)[1], Number)]
    newest = max(allowed.filter(numbers), default=None)
    return version if newest is None else replace(version, text=str(newest), choice=NEWEST_ALLOWED)


def _find_others(repository: Repository, version: Version | None) -> Iterator[tuple[str, str]]:
    """Where more than one version may be meant: the newest release."""
    newest = _find_tag(repository, None) if version is not None and version.choice else None
    if newest is not None and version is not None and newest != _find_tag(repository, version.text):
        yield newest, "its newest release"


def _match_clones(
    tree: Tree, clones: Iterable[Path], foreign: list[str], rank: Callable[[str], Meant]
) -> tuple[list[tuple[str, Path]], tuple[Unused, ...]]:
    """Package → the clone that offers it, for clones that the user named; of several that we import the one that has the
    clone's name, or that we require, write to and import most: `utils` of a clone and our own are two.
    """
    matched, unused = list[tuple[str, Path]](), list[Unused]()
    for place in clones:
        repository = open_repository(place)
        offered = {
            name.partition(".")[0] for name in survey.find_packages(Tree(repository, repository.resolve("HEAD")))
        }
        fitting = [name for name in foreign if name in offered]
        named = survey.normalise(place.resolve().name)
        if fitting:
            matched.append((max(fitting, key=lambda name: (survey.normalise(name) == named, rank(name))), place))
        else:
            unused.append(Unused(clone=place, offers=tuple(sorted(offered)), imported_at=_find_import(tree, offered)))
    if unused and not matched:
        ours = ", ".join(sorted(foreign, key=rank, reverse=True)[:_NAMED])
        hint = (
            f"Name a clone of a package that it imports: {ours}." if ours else "The project imports no other package."
        )
        raise ConfigError(f"{unused[0]}.", hint=hint)
    return matched, tuple(unused)


def _find_import(tree: Tree, packages: set[str]) -> Location | None:
    """The first line of a test or an example that imports one of them."""
    for path in tree.paths(suffix=".py"):
        text = tree.read_text(path) if not is_own(path) else None
        if not isinstance(text, str) or not any(name in text for name in packages):
            continue
        for node in walk(text):
            match node:
                case ast.Import(names=names):
                    found = [alias.name for alias in names]
                case ast.ImportFrom(module=str() as module, level=0):
                    found = [module]
                case _:
                    continue
            if any(name.partition(".")[0] in packages for name in found):
                return Location(path, node.lineno)
    return None


def _find_beside(folder: Path, foreign: list[str]) -> Iterator[tuple[str, Path]]:
    """Package → a clone beside the project that is named like it."""
    by_name = {survey.normalise(name): name for name in foreign}
    try:
        places = sorted(place for place in folder.iterdir() if place.is_dir())
    except OSError:
        return
    for place in places:
        name = by_name.get(survey.normalise(place.name.removesuffix(".git")))
        if name is not None and find_git_dir(place) is not None:
            yield name, place


def find_tags(clone: Path | None, versions: Iterable[str]) -> list[tuple[str, str]]:
    """The tags of versions that our code tests for, and why each is named."""
    repository = open_repository(clone) if clone is not None else None
    found = [_find_tag(repository, version) for version in versions] if repository is not None else []
    return [(tag, "the newest that our code tests for") for tag in found if tag is not None]


def _find_tag(repository: Repository, version: str | None) -> str | None:
    """The tag that ends in this version (`.0` may be left out); without a version the newest release."""
    if version is None:
        return find_newest_release(repository)
    tags = [name.removeprefix("refs/tags/") for name in repository.refs("refs/tags")]
    if version in tags:
        return version
    ending = re.compile(rf"(?:.*[^0-9.])?{re.escape(version)}(?:\.0)*\Z")
    return min((name for name in tags if ending.match(name)), key=len, default=None)


def _read_installed_address(package: str) -> str | None:
    """The repository that the installed distribution names; its metadata is read, nothing is imported."""
    try:
        said = metadata.metadata(canonical_name(package))
    except (metadata.PackageNotFoundError, ValueError):
        return None
    links = [line.partition(",")[2] for line in said.get_all("Project-URL") or ()]
    links += said.get_all("Home-page") or []
    for link in links:
        found = re.match(r"https://(?:github|gitlab)\.com/[\w.-]+/[\w.-]+", link.strip())
        if found:
            return found.group(0).removesuffix(".git")
    return None


def read_origin(repository: Repository) -> str | None:
    """The origin's address, read from the configuration as text: git would follow its includes."""
    try:
        text = (repository.common_dir / "config").read_bytes()[:65536].decode("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', text, re.MULTILINE | re.DOTALL)
    return survey.to_https(found.group(1)) if found else None


def _find_packages(tree: Tree, names: Iterable[str]) -> set[str]:
    """Those whose inner modules our code imports: what is only imported by its own name may be a script."""
    wanted, found = set(names), set[str]()
    for path in tree.paths(suffix=".py"):
        text = tree.read_text(path) if is_own(path) and wanted - found else None
        if isinstance(text, str) and any(f"{name}." in text for name in wanted - found):
            found.update(_find_outer(text))
    return found & wanted


def _find_outer(text: str) -> Iterator[str]:
    """`hull` of `import hull.mast` and of `from hull.mast import …`."""
    for node in walk(text):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names if "." in alias.name)
            case ast.ImportFrom(module=str() as module, level=0) if "." in module:
                yield module.partition(".")[0]
