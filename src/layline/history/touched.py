"""Which files each commit touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.git import Repository


def read_touched_files(
    repository: Repository, base: str | None, tip: str, *, first_parent: bool = False
) -> dict[str, tuple[str, ...]]:
    """Commit → paths, for every commit that `tip` has and `base` has not.

    Merges touch nothing of their own, or, along the first parent, all that they brought in.
    """
    options = ("--first-parent", "--diff-merges=first-parent") if first_parent else ()
    span = tip if base is None else f"{base}..{tip}"
    out = repository.git("log", "-z", "--no-renames", "--name-only", "--format=%x01%H", *options, span)
    found: dict[str, tuple[str, ...]] = {}
    for block in out.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        commit, _, rest = block.partition("\0")
        found[commit.strip()] = tuple(path for path in rest.lstrip("\n").split("\0") if path)
    return found
