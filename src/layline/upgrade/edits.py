"""Edits of a text: where, what, and the diff of the result."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` of one line (counted from 1) become `text`."""

    line: int
    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; offsets are of UTF-8 bytes, as the syntax tree counts them."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda item: (item.line, -item.start)):
        line = lines[edit.line - 1].encode("utf-8", "surrogatepass")
        lines[edit.line - 1] = (line[: edit.start] + edit.text.encode() + line[edit.end :]).decode(
            "utf-8", "surrogatepass"
        )
    return "\n".join(lines)


def render_patch(path: str, before: str, after: str) -> str:
    """A diff of one file that `git apply` takes."""
    if before == after:
        return ""
    body = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    lines = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body]
    return f"diff --git a/{path} b/{path}\n{''.join(lines)}"
