"""A Markdown document read as a stranger's tool would: one title, no skipped heading, whole tables, links that may
stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layline.render.markup import safe_link

_HEADING = re.compile(r"(#{1,6}) \S")
_LINK = re.compile(r"(?<!\\)\]\(<?([^)>\s]*)>?\)")
_CELL = re.compile(r"(?<!\\)\|")


def find_markdown_problems(text: str) -> Iterator[str]:
    """Yields `line N: what is wrong`."""
    level, width, fenced = 0, 0, False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        heading = _HEADING.match(line)
        if heading:
            now = len(heading[1])
            if now > level + 1 or (now == 1 and level):
                yield f"line {number}: a heading of level {now} after one of level {level}"
            level = now
        cells = len(_CELL.findall(line)) if line.startswith("|") else 0
        if cells and width and cells != width:
            yield f"line {number}: a row of {cells - 1} cells in a table of {width - 1}"
        width = (width or cells) if cells else 0
        yield from (f"line {number}: a link to {found}" for found in _LINK.findall(line) if not safe_link(found))
    if fenced:
        yield "a fence is never closed"
    if not level:
        yield "there is no title"
