"""Patches in the literal sense: `.patch` and `.diff` files of the downstream that touch upstream files, and `.pth`
files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.core.ours import is_vendored
from layline.core.patch import Effect, Style, TargetKind, Unregistered
from layline.errors import GitError

if TYPE_CHECKING:
    from layline.source import Index
    from layline.source.tree import Tree

_FILE = re.compile(r"\+\+\+ (?:b/)?([^\t\n]+)")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@ ?(.*)")
_APPLIERS = ("*.sh", "*.py", "*.yml", "*.yaml", "*Dockerfile*", "*Makefile", "*.toml", "*.md")
_MOST_BYTES = 2_000_000
_RUNS = re.compile(rb"^import[ \t]", re.MULTILINE)


@dataclass(slots=True)
class Hunk:
    """One change of one file."""

    path: str
    line: int
    """Of its header in the patch file."""
    first: int
    context: str
    old: list[str] = field(default_factory=list)
    """The lines it expects to find."""
    added: int = 0
    removed: int = 0
    at: int = 0
    """The first old line it really changes."""


def parse_hunks(text: str) -> Iterator[Hunk]:
    """The hunks of a unified diff; anything else in the file is passed over."""
    path, hunk, left, number = "", None, 0, 0
    for line_number, line in enumerate(text.splitlines(), 1):
        if hunk is not None and (left > 0 or line[:1] == "+"):
            if line[:1] in {" ", "-", ""}:
                left -= 1
                hunk.old.append(line[1:])
                if line[:1] == "-":
                    hunk.removed += 1
                    hunk.at = hunk.at or number
                number += 1
                continue
            if line[:1] == "+" and not line.startswith("+++ "):
                hunk.added += 1
                hunk.at = hunk.at or number
                continue
        found = _HUNK.match(line)
        if found and path:
            if hunk is not None:
                yield hunk
            number = int(found.group(1))
            left = int(found.group(2) or 1)
            hunk = Hunk(path=path, line=line_number, first=number, context=found.group(3))
        elif (named := _FILE.match(line)) is not None:
            path = named.group(1)
    if hunk is not None:
        yield hunk


def find_textual(downstream: Tree, upstream: Tree, index: Index) -> Iterator[Unregistered]:
    """What patch files of the downstream change in one upstream, and whether they still apply at the pin."""
    for path in downstream.entries:
        if not path.endswith((".patch", ".diff")) or is_vendored(path):
            continue
        text = downstream.read_text(path)
        if isinstance(text, Skipped) or len(text) > _MOST_BYTES:
            continue
        every = list(parse_hunks(text))
        hunks = [hunk for hunk in every if upstream.find(hunk.path) is not None]
        if len(hunks) < len(every) and not any(_fits(hunk, upstream) for hunk in hunks):
            continue  # a patch for another project that has files of the same name
        called = _find_appliers(downstream, path) if hunks else ()
        for hunk in hunks:
            yield Unregistered(effect=_build(path, hunk, upstream, index), within=path, called_from=called)


def _build(path: str, hunk: Hunk, upstream: Tree, index: Index) -> Effect:
    text = upstream.read_text(hunk.path)
    lines = [] if isinstance(text, Skipped) else text.splitlines()
    start = _find_start(hunk, lines)
    fits = start is not None
    if start is not None:
        hunk.at += start - hunk.first  # as `git apply` does: the text decides, not a line number that has grown old
    module = next((name for name, entry in index.entries.items() if entry.path == hunk.path), None)
    target = _name_target(module, hunk, index) if module is not None else None
    reason = (
        None if fits else f"{hunk.path} does not have the expected lines at the pin: the hunk does not apply as it is"
    )
    return Effect(
        style=Style.SOURCE_REWRITE,
        target=target,
        replacement=f"a textual change of {hunk.path}: +{hunk.added} −{hunk.removed} lines",
        location=Location(path, hunk.line),
        mutates=(f"{hunk.path}:{hunk.first}",),
        certain=fits,
        reason=reason,
        target_kind=TargetKind.DEFINITION if target else TargetKind.UNKNOWN,
    )


def _fits(hunk: Hunk, upstream: Tree) -> bool:
    text = upstream.read_text(hunk.path)
    return not isinstance(text, Skipped) and bool(hunk.old) and _find_start(hunk, text.splitlines()) is not None


def _find_start(hunk: Hunk, lines: list[str]) -> int | None:
    """The line where its old lines stand, the nearest to where it says; None where they stand nowhere."""
    size = len(hunk.old)
    wanted = [line.rstrip() for line in hunk.old]
    stripped = [line.rstrip() for line in lines]
    found = [start + 1 for start in range(len(lines) - size + 1) if stripped[start : start + size] == wanted]
    return min(found, key=lambda start: (abs(start - hunk.first), start), default=None) if size else hunk.first


def _name_target(module: str, hunk: Hunk, index: Index) -> str:
    """The innermost definition around the first changed line."""
    known = index.module(module)
    around = [item for item in (known.definitions if known else ()) if item.lines[0] <= hunk.at <= item.lines[1]]
    inner = min(around, key=lambda item: (item.lines[1] - item.lines[0], item.qualname), default=None)
    return f"{module}.{inner.qualname}" if inner is not None else module


def _find_appliers(downstream: Tree, path: str) -> tuple[str, ...]:
    """Lines of scripts that name the patch file."""
    name = path.rpartition("/")[2]
    try:
        out = downstream.repository.git("grep", "-n", "-F", "-e", name, downstream.commit, "--", *_APPLIERS)
    except GitError:  # git grep exits with 1 where nothing is found
        return ()
    rows = [row.split(":", 3) for row in out.decode("utf-8", "replace").splitlines()]
    return tuple(f"{row[1]}:{row[2]}" for row in rows if len(row) == 4)[:5]


def find_startup_files(downstream: Tree) -> Iterator[Skipped]:
    """`.pth` files that run code when Python starts: said with their line, what they import is not followed."""
    for path in downstream.entries:
        entry = downstream.find(path) if path.endswith(".pth") and not is_vendored(path) else None
        data = downstream.repository.read_blob(entry.oid) if entry is not None else b""
        if len(data) > 8_192 or b"\0" in data:
            continue
        found = _RUNS.search(data)
        if found is not None:
            line = data.count(b"\n", 0, found.start()) + 1
            text = data[found.start() :].split(b"\n", 1)[0].decode("utf-8", "replace")
            yield Skipped(
                f"{path}:{line}", f"runs `{text[:120]}` when Python starts; Layline does not follow what that changes"
            )
