"""A chronicle tells the history of a repository in Markdown: one heading per commit, its edits as code blocks and
lists.

    ## Name every constituent (#12)
    2026-01-09 10:00 +0100 · Ines Duarte

    Why we did it: the body of the commit.

    - move keel/core/waves.py → keel/core/constituents.py

    ```diff keel/core/constituents.py
    -def speed(index):
    +def speed(name):
    ```

A block with the language `diff` edits the file it names, any other block writes the whole file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNED = re.compile(
    r"(?P<authored>[\d-]{10} [\d:]{5} [+-]\d{4}) · (?P<author>[^·]+?)(?: · committed (?P<committed>.+))?\Z"
)
_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<language>\w*) ?(?P<path>\S*)\Z")


class ChronicleError(ValueError):
    """A chronicle that does not tell a possible history; a mistake of ours, never of a user."""


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Hunks as (lines before, lines after); nothing before means: at the end of the file."""

    path: str
    hunks: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One list item: `- move a → b`, `- remove a`, `- link a → b`, `- pin path → keel#12`, `- golden path → seed`."""

    verb: str
    path: str
    other: str = ""


Step: TypeAlias = Write | Edit | Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One commit as the chronicle tells it."""

    subject: str
    body: str
    author: str
    authored: datetime
    committed: datetime
    steps: tuple[Step, ...]


def parse_chronicle(text: str) -> Iterator[Entry]:
    """Every commit in the order told; a first-level heading begins a chapter and is only for the reader."""
    lines: list[str] | None = None
    fence = ""
    for line in text.splitlines():
        heading = not fence and line.startswith(("# ", "## "))
        if heading and lines:
            yield _parse_entry(lines)
        if heading:
            lines = [line.removeprefix("## ")] if line.startswith("## ") else None
        elif lines is not None:
            lines.append(line)
            fence = _follow_fence(fence, line)
    if lines:
        yield _parse_entry(lines)


def _follow_fence(fence: str, line: str) -> str:
    """The fence that is open after this line."""
    if fence:
        return "" if line == fence else fence
    found = _FENCE.match(line)
    return found["fence"] if found else ""


def _parse_entry(lines: list[str]) -> Entry:
    subject, signature = lines[0], lines[1] if len(lines) > 1 else ""
    found = _SIGNED.match(signature)
    if found is None:
        raise ChronicleError(f"{subject}: {signature!r} does not say when and who")
    authored = _parse_date(found["authored"])
    prose: list[str] = []
    steps: list[Step] = []
    rest = iter(lines[2:])
    for line in rest:
        opening = _FENCE.match(line)
        if opening:
            block = tuple(_take_until(rest, opening["fence"]))
            steps.append(_parse_block(opening["language"], opening["path"], block))
        elif line.startswith("- "):
            steps.append(_parse_operation(line))
        else:
            prose.append(line)
    return Entry(
        subject=subject,
        body="\n".join(prose).strip(),
        author=found["author"],
        authored=authored,
        committed=_parse_date(found["committed"]) if found["committed"] else authored,
        steps=tuple(steps),
    )


def _parse_date(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M %z")


def _take_until(lines: Iterator[str], fence: str) -> Iterator[str]:
    for line in lines:
        if line == fence:
            return
        yield line


def _parse_block(language: str, path: str, lines: tuple[str, ...]) -> Step:
    if not path:
        raise ChronicleError(f"a {language or 'code'} block does not name its file")
    if language == "diff":
        return Edit(path, tuple(_find_hunks(lines)))
    return Write(path, "".join(f"{line}\n" for line in lines))


def _find_hunks(lines: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    hunk: list[str] = []
    for line in (*lines, "@@"):
        if line.startswith("@@"):
            before = tuple(item[1:] for item in hunk if not item.startswith("+"))
            after = tuple(item[1:] for item in hunk if not item.startswith("-"))
            yield before, after
            hunk = []
        else:
            hunk.append(line)


def _parse_operation(line: str) -> Operation:
    verb, _, rest = line.removeprefix("- ").partition(" ")
    path, _, other = rest.partition(" → ")
    return Operation(verb, path, other)
