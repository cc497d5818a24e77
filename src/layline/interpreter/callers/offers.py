"""What a package offers to its users: names that its `__init__` takes from its modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.callers.files import Ask

if TYPE_CHECKING:
    from layline.interpreter.callers.files import Files
    from layline.interpreter.callers.names import Names


def find_offers(dotted: str, names: Names, files: Files) -> list[str]:
    """Where packages offer a function or class, `path:line`, the outermost package first."""
    return [place for _, place in sorted(_find_offers(dotted, names, files))]


def _find_offers(dotted: str, names: Names, files: Files) -> Iterator[tuple[int, str]]:
    name = dotted.rpartition(".")[2]
    for path in files.find(Ask.OFFERS, name):
        file = names.read_path(path)
        if file is None or dotted not in names.resolve(f"{file.module.name}.{name}"):
            continue
        lines = [line for line, taken in file.import_lines if taken.rpartition(".")[2] == name]
        yield path.count("/"), f"{path}:{lines[0] if lines else 1}"
