"""Files of ours beside the code that ships: tests that import what is gone, configuration that names what was
deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import yaml

from layline.core.evidence import Location
from layline.core.ours import is_test
from layline.source import Tree, is_within, open_cache
from layline.source.facts import ANALYSER, read_facts
from layline.yaml_text import NotYaml, compose_yaml

if TYPE_CHECKING:
    from layline.gap.areas import PackageChange
    from layline.source.facts import ImportLine
    from layline.source.resolve import Resolver


def find_lost_imports(tree: Tree, packages: tuple[str, ...], pin: Resolver, tip: Resolver) -> Iterator[Location]:
    """Imports in our tests of names that the pin has and the tip has not, each line once."""
    tests = {path: tree.entries[path].oid for path in tree.paths(suffix=".py") if is_test(path)}
    for path, facts in sorted(read_facts(tree, tests, open_cache(analyser=ANALYSER)).items()):
        for line in sorted({one.line for one in (*facts.imports, *facts.typed) if _is_lost(one, packages, pin, tip)}):
            yield Location(path, line)


def _is_lost(line: ImportLine, packages: tuple[str, ...], pin: Resolver, tip: Resolver) -> bool:
    if line.level or not any(is_within(line.module, package) for package in packages):
        return False
    taken = [f"{line.module}.{name}" for name, _ in line.names if name != "*"] or [line.module]
    return any(pin.resolve(name).exists and not tip.resolve(name).exists for name in taken)


def list_yaml(paths: Iterable[str], folders: Iterable[str]) -> list[str]:
    """YAML files below these folders, tests apart."""
    below = tuple(f"{folder.rstrip('/')}/" for folder in folders)
    return [path for path in paths if path.endswith((".yaml", ".yml")) and path.startswith(below) and not is_test(path)]


def find_mentions(
    tree: Tree, paths: Iterable[str], packages: Iterable[PackageChange], tip: Iterable[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Packages that upstream deleted, each with our YAML files whose values name it; names that the tip still has for
    something else tell nothing.
    """
    alive = {part.removesuffix(".py") for path in tip for part in path.split("/")}
    deleted = {one.path: one.path.rpartition("/")[2] for one in packages if one.kind == "removed"}
    asked = {
        path: re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])")
        for path, name in deleted.items()
        if name not in alive
    }
    texts = {path: list(_find_values(tree, path)) for path in paths} if asked else {}
    for package, named in sorted(asked.items()):
        files = tuple(path for path, values in texts.items() if any(named.search(value) for value in values))
        if files:
            yield package, files


def _find_values(tree: Tree, path: str) -> Iterator[str]:
    """Every text that the file gives to a key."""
    text = tree.read_text(path)
    try:
        root = compose_yaml(text) if isinstance(text, str) else None
    except NotYaml:
        return  # told where its keys are read
    waiting: list[yaml.Node] = [root] if root is not None else []
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield str(node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]
