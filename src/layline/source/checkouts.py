"""Upstream versions that a downstream's own texts tell people to check out or to install; for choosing, not for
facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.ours import is_test
from layline.source.survey import normalise, to_https

if TYPE_CHECKING:
    from layline.source.tree import Tree

_CLONE = re.compile(r"git\s+clone\b(?P<rest>[^\n&|;`]*)")
_ADDRESS = re.compile(r"(https://[\w.-]+/[\w./-]+|git@[\w.-]+:[\w./-]+)")
_BRANCH = re.compile(r"(?:-b|--branch)[ =]+([\w./-]+)")
_CHECKOUT = re.compile(r"git\s+(?:checkout|switch|reset --hard)\s+(?:--detach\s+|-q\s+|-f\s+)*([\w][\w./-]*)")
_SHOW = re.compile(r"git\s+show\s+[\"']?([\w][\w./-]*):([\w][\w./-]*)")
_NEARBY = 4
"""Lines below a `git clone` in which its `git checkout` stands."""
_TEXTS = (".md", ".rst", ".sh", ".txt", ".yml", ".yaml")
_LARGEST = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """`git clone ADDRESS` … `git checkout REVISION`, as a text says it."""

    name: str
    """The repository's name, normalised."""
    address: str
    revision: str
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A distribution and the lowest or only version that is asked for."""

    version: str
    text: str
    location: Location


def find_checkouts(tree: Tree) -> Iterator[Checkout]:
    """Every clone whose version the text names, in path order."""
    for path, text in _read_texts(tree):
        if "git clone" in text:
            yield from _find_in(path, text.splitlines())


def _read_texts(tree: Tree) -> Iterator[tuple[str, str]]:
    """Docs, scripts and recipes of containers, in path order."""
    for path in tree.paths():
        is_text = path.endswith(_TEXTS) or "ockerfile" in path.rpartition("/")[2]
        if not is_text or is_test(path):
            continue
        text = tree.read_text(path)
        if isinstance(text, str) and len(text) <= _LARGEST:
            yield path, text


def _find_in(path: str, lines: list[str]) -> Iterator[Checkout]:
    for number, line in enumerate(lines, 1):
        clone = _CLONE.search(line)
        address = _ADDRESS.search(clone.group("rest")) if clone else None
        if clone is None or address is None:
            continue
        url = to_https(address.group(1).rstrip("."))
        branch = _BRANCH.search(clone.group("rest"))
        revision, at = (branch.group(1), number) if branch else _find_checkout(lines, number, line[clone.end() :])
        if url is not None and revision is not None and _names_a_version(revision):
            name = normalise(url.rpartition("/")[2])
            yield Checkout(name=name, address=url, revision=revision, location=Location(path, at))


def _names_a_version(revision: str) -> bool:
    """A tag, a release branch or a hash has a digit; `master` moves."""
    return revision.isascii() and any(character.isdigit() for character in revision)


def _find_checkout(lines: list[str], number: int, rest: str) -> tuple[str | None, int]:
    """The checkout on the same line after `&&`, or a little below, before the next clone."""
    for offset, line in enumerate([rest, *lines[number : number + _NEARBY]]):
        if offset and "git clone" in line:
            break
        found = _CHECKOUT.search(line)
        if found:
            return found.group(1), number + offset
    return None, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`Keel 1.2`, or the page of its tag, in a text for people."""

    version: str
    text: str
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`git show BRANCH:FILE`: a file that people are told to read from another branch of ours."""

    branch: str
    file: str
    location: Location


def find_mentions(tree: Tree, package: str) -> Iterator[Mention]:
    """Every `package 1.2` of the docs, and every link to the page of a tag of a repository with that name."""
    name = re.escape(package).replace("_", "[-_ ]")
    wanted = re.compile(rf"(?<![\w/.-]){name}\s+v?(\d+(?:\.\d+)+\w*)|/{name}/releases/tag/([\w.-]+)", re.IGNORECASE)
    for path, text in _read_texts(tree):
        for number, line in enumerate(text.splitlines(), 1):
            for found in wanted.finditer(line):
                version = (found[1] or found[2]).rstrip(".")
                yield Mention(version=version, text=found[0], location=Location(path, number))


def find_shown(tree: Tree) -> Iterator[Shown]:
    for path, text in _read_texts(tree):
        for number, line in enumerate(text.splitlines(), 1):
            for branch, file in _SHOW.findall(line):
                yield Shown(branch=branch.removeprefix("origin/"), file=file, location=Location(path, number))


def find_demand(tree: Tree, package: str) -> Demand | None:
    """The first `package>=1.2` or `package==1.2` of the project's own metadata and requirement files."""
    wanted = re.compile(
        rf"(?<![\w.-]){re.escape(package).replace('_', '[-_]')}\s*(?:\[[^\]]*\])?\s*(?:>=|==|~=)\s*(\d[\w.]*)",
        re.IGNORECASE,
    )
    for path in ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements/main.txt"):
        text = tree.read_text(path)
        if not isinstance(text, str):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = wanted.search(line)
            if found and not line.lstrip().startswith("#"):
                return Demand(version=found.group(1), text=found.group(0), location=Location(path, number))
    return None
