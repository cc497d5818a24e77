"""What of ours names something of upstream's without importing it: tests, configuration, texts in our code."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import yaml

from layline.core.evidence import Location
from layline.core.ours import is_own, is_packaged, is_test
from layline.source import Tree, is_within, open_cache, parse_tree
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


def find_texts(tree: Tree, wanted: Collection[str]) -> Iterator[tuple[str, tuple[Location, ...]]]:
    """These texts, each with the lines of our code that hold it as a whole string: a key that is asked for by name, a
    file of upstream's that is read.
    """
    asked = re.compile("|".join(map(re.escape, sorted(wanted, key=len, reverse=True)))) if wanted else None
    found: dict[str, list[Location]] = {}
    for path in tree.paths(suffix=".py") if asked is not None else ():
        text = tree.read_text(path) if is_own(path) else None
        if not isinstance(text, str) or asked is None or not asked.search(text):
            continue
        parsed = parse_tree(path, text.encode("utf-8", "surrogatepass"))
        for node in ast.walk(parsed) if isinstance(parsed, ast.Module) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in wanted:
                found.setdefault(node.value, []).append(Location(path, node.lineno))
    for text, places in sorted(found.items()):
        yield text, tuple(sorted(set(places), key=lambda place: (place.path, place.line)))


def list_lost_files(source: str, pin: Iterable[str], tip: Collection[str]) -> dict[str, str]:
    """Files of upstream that only the pin has, as our code names them below the submodule."""
    return {f"{source.rstrip('/')}/{path}": path for path in pin if path not in tip} if source else {}


def find_outside(paths: Collection[str], places: Iterable[str]) -> tuple[str, ...]:
    """Places in files that no package of ours holds, which are installed with none: examples, scripts. None where the
    tree has no package. Beside packages below `src` no other folder is one.
    """
    inits = [path for path in paths if path.endswith("/__init__.py") and is_packaged(path)]
    below = [path for path in inits if path.startswith("src/") and path.count("/") == 2]
    folders = tuple(path.removesuffix("__init__.py") for path in below or inits if below or path.count("/") == 1)
    return tuple(place for place in places if folders and not place.startswith(folders))
