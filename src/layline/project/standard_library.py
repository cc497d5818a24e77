"""Python's own library as an upstream: for projects that patch the modules which come with Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from layline.git import open_repository
from layline.source.tree import Tree

MODULES = frozenset({*sys.stdlib_module_names, "test"})
"""What comes with Python: its own tests are installed with it, and no list of its modules names them."""
KEY, ADDRESS, ROOT = "cpython", "https://github.com/python/cpython", "Lib"
_OFTEN = 3
"""So many writes to one module: fewer are settings."""


def find_patched(imported: Iterable[str], count: Callable[[list[str]], dict[str, int]]) -> dict[str, int]:
    """Modules written in Python that lines of ours write to, and how many do; none where all of it may be settings."""
    written = count([name for name in imported if name in MODULES and name not in sys.builtin_module_names])
    return dict(written) if max(written.values(), default=0) >= _OFTEN else {}


def find_clone(clones: Iterable[Path], modules: Iterable[str]) -> Path | None:
    """The clone that holds one of the modules where Python keeps its library."""
    wanted = list(modules)
    for clone in clones:
        repository = open_repository(clone)
        tree = Tree(repository, repository.resolve("HEAD"))
        if any(f"{ROOT}/{name}{end}" in tree.entries for name in wanted for end in (".py", "/__init__.py")):
            return clone
    return None
