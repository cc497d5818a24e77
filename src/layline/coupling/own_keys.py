"""Settings that YAML files of ours give: an engine that merges them into upstream's arguments needs no flag for
them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import yaml

from layline.source.tree import Tree
from layline.yaml_text import NotYaml, compose_yaml

_DEEPEST = 20


def find_own_keys(tree: Tree, places: tuple[str, ...], names: Collection[str]) -> frozenset[str]:
    """Those of `names` that a YAML file below one of `places` has as a key."""
    return frozenset(key for path in tree.entries if _is_config(path, places) for key in _read(tree, path, set(names)))


def _is_config(path: str, places: tuple[str, ...]) -> bool:
    below = any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)
    return below and path.endswith((".yaml", ".yml"))


def _read(tree: Tree, path: str, names: set[str]) -> Iterator[str]:
    text = tree.read_text(path)
    if not isinstance(text, str) or not any(name in text for name in names):
        return
    try:
        root = compose_yaml(text)
    except NotYaml:
        return
    waiting: list[tuple[yaml.Node | None, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            continue
        match node:
            case yaml.SequenceNode(value=items):
                waiting += [(item, depth + 1) for item in items]
            case yaml.MappingNode(value=pairs):
                yield from (
                    str(key.value) for key, _ in pairs if isinstance(key, yaml.ScalarNode) and key.value in names
                )
                waiting += [(value, depth + 1) for _, value in pairs]
