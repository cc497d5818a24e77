"""What a package offers to its users: names that its `__init__` takes from its modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.interpreter.callers.names import Names
    from layline.source.facts import Facts


def find_offers(dotted: str, names: Names, facts: dict[str, Facts]) -> list[str]:
    """Where packages offer a function or class, `path:line`, the outermost package first."""
    return [place for _, place in sorted(_find_offers(dotted, names, facts))]


def _find_offers(dotted: str, names: Names, facts: dict[str, Facts]) -> Iterator[tuple[int, str]]:
    name = dotted.rpartition(".")[2]
    for path in (path for path, one in facts.items() if _may_offer(path, one, name)):
        file = names.read_path(path)
        if file is None or dotted not in names.resolve(f"{file.module.name}.{name}"):
            continue
        lines = [line for line, taken in file.import_lines if taken.rpartition(".")[2] == name]
        yield path.count("/"), f"{path}:{lines[0] if lines else 1}"


def _may_offer(path: str, facts: Facts, name: str) -> bool:
    if not path.endswith("__init__.py"):
        return False
    # a package that loads its modules when they are asked for imports them for type checkers alone
    return any(name in (known, alias) for item in (*facts.imports, *facts.typed) for known, alias in item.names)
