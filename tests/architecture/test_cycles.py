"""No module of ours imports itself by way of others, for its types neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import layline

SOURCE = Path(layline.__file__).parent
IMPORT = re.compile(r"^[ \t]*from (layline[\w.]*) import (\([^)]*\)|[^(\n]*)", re.MULTILINE)


def test_no_import_cycle_also_of_types() -> None:
    files = {_name(path): path for path in SOURCE.rglob("*.py")}
    graph = {name: set(_find_imports(path, files)) - {name} for name, path in files.items()}
    assert sum(map(len, graph.values())) > 3 * len(graph)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a cycle: {' → '.join(error.args[1])}") from None


def _name(path: Path) -> str:
    parts = ("layline", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _find_imports(path: Path, files: dict[str, Path]) -> Iterator[str]:
    """Modules that a file takes names from, wherever it does."""
    for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        inner = [f"{module}.{name.split()[0]}" for name in names.strip("()").split(",") if name.strip()]
        taken = [one for one in inner if one in files]
        yield from taken
        if len(taken) < len(inner):
            yield module
