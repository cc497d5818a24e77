"""Docs, release notes and READMEs: the install commands and wheel indexes they show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.gap.dependencies.model import Rank
from layline.gap.dependencies.shell import find_channels, find_installs, logical_lines, split_commands

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
    for number, line in logical_lines(_without_headings(shown)):
        is_command = _COMMAND.match(line) is not None
        if not is_command and "install" not in line and "whl" not in line:
            continue  # most lines are prose
        spans = [line] if is_command else [found.group(1) for found in _INLINE.finditer(line)]
        yield from find_channels(path, number, line, rank)
        for span in spans:
            for command in split_commands(span):
                for found in find_installs(path, number, command, rank):
                    if not isinstance(found, Skipped):  # prose: a placeholder is not something unread
                        yield found


def _without_headings(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line.lstrip("# ") if line.startswith("#") else line
