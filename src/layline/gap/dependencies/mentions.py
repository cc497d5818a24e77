"""Whether the files of CI and containers still name a thing, under whatever key or in whatever script."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING

from layline.core.ours import is_vendored
from layline.gap.dependencies.model import Rank
from layline.gap.dependencies.reading import rank_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.source.tree import Tree

_MOST_BYTES = 2_000_000
_ENDS = r"[\w./:@-]"
"""What an image's name goes on with; `${TAG}` behind it is the same image."""


def open_mentions(tree: Tree) -> Callable[[str], bool]:
    """Asks of one commit; its files are read when the first is asked for."""

    @cache
    def read() -> tuple[str, ...]:
        return tuple(_read_lines(tree))

    @cache
    def is_mentioned(value: str) -> bool:
        whole = re.compile(rf"(?<!{_ENDS}){re.escape(value)}(?!{_ENDS})")
        return any(value in line and whole.search(line) for line in read())

    return is_mentioned


def _read_lines(tree: Tree) -> Iterator[str]:
    """Lines of what CI runs and of scripts beside it, without comments."""
    ranked = [path for path in tree.entries if rank_of(path) is Rank.COMMANDS and not is_vendored(path)]
    folders = {posixpath.dirname(path) for path in ranked}
    for path, entry in tree.entries.items():
        if not entry.is_file or entry.is_symlink or posixpath.dirname(path) not in folders or "/" not in path:
            continue
        text = tree.read_text(path) if rank_of(path) in {None, Rank.COMMANDS} else None
        if isinstance(text, str):
            yield from (line for line in text[:_MOST_BYTES].splitlines() if not line.lstrip().startswith("#"))
