"""Modules that upstream compiles when it is built: no file of Python shows them, but its build files name them."""

from __future__ import annotations

import re

from layline.source.resolve import Resolver
from layline.source.tree import Tree

_BUILD_FILE = re.compile(
    r"(?:^|/)(?:setup\.py|pyproject\.toml|CMakeLists\.txt|meson\.build|BUILD(?:\.bazel)?|[^/]+\.cmake)$"
)
_SOURCE = re.compile(r"\.(?:pyx|c|cc|cpp|cu|rs)$")


def is_compiled(side: Resolver, name: str) -> bool:
    """Whether a build file of the upstream spells the dotted name of a module that no file shows, or a source beside the
    package bears its last word.
    """
    holder, _, last = name.rpartition(".")
    entry = side.index.entries.get(holder)
    if entry is None or not entry.is_package:
        return False
    tree, folder = side.index.parts[entry.part].tree, entry.path.rpartition("/")[0]
    sources = (path for path in tree.entries if _SOURCE.search(path) and path.rpartition("/")[0] == folder)
    return any(path.rpartition("/")[2].rpartition(".")[0] == last for path in sources) or _is_named(tree, name)


def _is_named(tree: Tree, name: str) -> bool:
    paths = (path for path in tree.entries if _BUILD_FILE.search(path))
    texts = (tree.read_text(path) for path in paths)
    spelled = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    return any(isinstance(text, str) and spelled.search(text) for text in texts)
