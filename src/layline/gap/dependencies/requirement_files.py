"""requirements*.txt: `-r` and `-c` includes and symlinks followed inside the tree; a file of comments is not empty."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.gap.dependencies.model import Declaration, Kind, Rank, leave_unread, parse_need

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.source.tree import Tree

REQUIREMENT_FILE = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*|constraints[\w.-]*|requirements/[\w./-]+)\.(?:txt|in|pip)$"
)
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)")
_INDEX = re.compile(r"(?:-i|-f|--index-url|--extra-index-url|--find-links)[\s=]+(\S+)")
_EGG = re.compile(r"#egg=([A-Za-z0-9._-]+)")
_MAX_DEPTH = 8


def find_requirement_declarations(
    tree: Tree, path: str, *, rank: Rank = Rank.REQUIREMENTS, scope: str | None = None, depth: int = 0
) -> Iterator[Declaration | Skipped]:
    """The needs of one file and of those it includes; each belongs to the file it stands in unless a scope is given."""
    if depth > _MAX_DEPTH:
        yield Skipped.at(path, None, f"includes nest deeper than {_MAX_DEPTH}")
        return
    text = tree.read_text(path)
    if isinstance(text, Skipped):
        is_gone = scope is None and tree.find(path) is None
        yield text if is_gone else leave_unread(path, None, text.why, (scope,) if scope else ())
        return
    if not any(line.strip() for line in text.splitlines()):
        return
    if all(line.strip().startswith("#") or not line.strip() for line in text.splitlines()):
        yield Skipped.at(path, None, "holds only comments: it declares nothing")
        return
    for number, line in _logical_lines(text):
        if include := _INCLUDE.match(line):
            inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), include.group(1)))
            yield from find_requirement_declarations(tree, inner, rank=rank, scope=scope, depth=depth + 1)
        else:
            yield from _find_line(path, number, line, rank, scope or path)


def _find_line(path: str, number: int, line: str, rank: Rank, scope: str) -> Iterator[Declaration | Skipped]:
    place = Location(path, number)
    if index := _INDEX.match(line):
        yield Declaration(
            rank=rank,
            kind=Kind.CHANNEL,
            name=channel_name(index.group(1)),
            spec=index.group(1),
            scope=scope,
            place=place,
        )
        return
    bare = re.sub(r"\s+--(?:hash|global-option|config-settings)[=\s]\S+", "", line)
    if bare.startswith(("-e", "--editable")):
        bare = bare.split(maxsplit=1)[-1] if " " in bare else ""
    elif bare.startswith("-"):
        return  # --pre, --no-binary …: how to install, not what
    need = parse_need(name_address(bare))
    if need is None:
        yield Skipped.at(path, number, f"{bare[:80]!r} is not a requirement")
        return
    yield Declaration(
        rank=rank,
        kind=Kind.REQUIREMENT,
        name=need.name,
        spec=need.spec,
        scope=scope,
        place=place,
        extras=need.extras,
        marker=need.marker,
    )


def name_address(text: str) -> str:
    """An address as a requirement: called as its #egg says, else as its last part."""
    if not text.startswith(("git+", "https://", "http://")):
        return text
    address = text.split("#", maxsplit=1)[0]
    egg = _EGG.search(text)
    name = egg.group(1) if egg else re.sub(r"\.git(@.*)?$|@.*$", "", address).rstrip("/").rsplit("/", 1)[-1]
    return f"{name} @ {address}"


def channel_name(address: str) -> str:
    """What a wheel index is called: the host and path up to the channel."""
    bare = re.sub(r"^https?://", "", address.strip("\"'")).rstrip("/")
    host, _, rest = bare.partition("/")
    return f"{host}/{rest.split('/')[0]}" if rest else host


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, continuations joined, each with the number of its first line."""
    start, held = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?:^|\s)#.*$", "", raw).rstrip()
        if not held:
            start = number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        whole = (held + line).strip()
        held = ""
        if whole:
            yield start, whole
    if held.strip():
        yield start, held.strip()
