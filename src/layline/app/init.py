"""`init`: write layline.toml by looking. What is ambiguous becomes a comment with the alternatives, never a guess."""

from __future__ import annotations

from pathlib import Path

from layline.config import FILE_NAME
from layline.core.report import Answer
from layline.errors import ConfigError
from layline.files import write_atomically
from layline.git import open_repository
from layline.project.init import build_answer, propose_settings
from layline.source.tree import Tree


def init(
    folder: Path, *, git: Path | None = None, at: str = "HEAD", force: bool = False, upstreams: tuple[Path, ...] = ()
) -> Answer:
    """Survey the downstream at `git` (default: `folder`) and write `folder/layline.toml`.

    `upstreams` are clones that the user has: what they offer is a backend, whatever else is found.
    """
    file = folder / FILE_NAME
    if file.exists() and not force:
        raise ConfigError(f"{file} already exists.", hint="Use --force to replace it, or edit it.")
    place = git or folder
    downstream = open_repository(place)
    tree = Tree(downstream, downstream.resolve(at))
    proposed = propose_settings(tree, folder, place, upstreams)
    write_atomically(file, proposed.text)
    return build_answer(file, proposed)
