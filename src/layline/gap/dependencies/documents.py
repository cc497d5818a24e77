"""Docs, release notes and READMEs: the install commands and wheel indexes they show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.gap.dependencies.model import Rank
from layline.gap.dependencies.shell import ShellLine, find_channels, find_installs, logical_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.gap.dependencies.model import Declaration

_COMMAND = re.compile(
    r"^\s*(?:\$\s+|>\s+|RUN\s+)?(?:[A-Z_][A-Z0-9_]*=\S*\s+)*(?:sudo\s+)?(?:python[\d.]*\s+-m\s+pip|pip[\d.]*"
    r"|uv\s+pip|uv\s+add|conda)\s+"
)
_INLINE = re.compile(r"`+([^`]*\b(?:pip[\d.]*|uv pip) install [^`]+)`+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def find_document_declarations(path: str, text: str, rank: Rank) -> Iterator[Declaration | Skipped]:
    """Commands on their own line or in a code span; text in an HTML comment is not shown, so it is not a fact."""
    shown = _COMMENT.sub(lambda found: "\n" * found.group(0).count("\n"), text)
    for line in logical_lines(_without_headings(shown)):
        is_command = _COMMAND.match(line.text) is not None
        if not is_command and "install" not in line.text and "whl" not in line.text:
            continue  # most lines are prose
        inline = (ShellLine.at(line.number, found.group(1)) for found in _INLINE.finditer(line.text))
        yield from find_channels(path, line, rank)
        for span in [line] if is_command else inline:
            for command in span.split():
                for found in find_installs(path, command, rank):
                    if not isinstance(found, Skipped):  # prose: a placeholder is not something unread
                        yield found


def _without_headings(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line.lstrip("# ") if line.startswith("#") else line
