"""Config keys as the downstream's YAML declares them: default, file, line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import yaml

from layline.core.evidence import Location, Skipped
from layline.yaml_text import NotYaml, compose_yaml

if TYPE_CHECKING:
    from layline.source.tree import Tree

_MOST_KEYS = 20_000
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration of a key."""

    key: str
    """Dotted, from the top of the file."""
    value: str
    location: Location


@dataclass(frozen=True, slots=True)
class Schema:
    """Every declaration of a backend's config files."""

    keys: dict[str, tuple[Declared, ...]]
    skipped: tuple[Skipped, ...] = ()

    def find(self, key: str) -> tuple[Declared, ...]:
        """Declarations of a key: by its full path, else by its last name where that is unique."""
        if key in self.keys:
            return self.keys[key]
        below = [name for name in self.keys if name.endswith(f".{key}")]
        return self.keys[below[0]] if len(below) == 1 else ()

    def default(self, key: str) -> Declared | None:
        """The declaration that holds unless a model says otherwise: the one every other file builds on."""
        found = self.find(key)
        return min(found, key=lambda item: (_specific(item.location.path), item.location.path)) if found else None


def _specific(path: str) -> int:
    """Files of single models come after everything that models build on."""
    name = path.rpartition("/")[2]
    if "/models/" in f"/{path}":
        return 2 if name.startswith(path.split("/", 1)[0]) else 3
    return 0 if "base" in name or "default" in name else 1


def is_shared(item: Declared) -> bool:
    """Whether a declaration holds for every model."""
    return _specific(item.location.path) < 3


def read_schema(tree: Tree, places: tuple[str, ...]) -> Schema:
    keys: dict[str, list[Declared]] = {}
    skipped: list[Skipped] = []
    for path in _find_files(tree, places):
        text = tree.read_text(path)
        if isinstance(text, Skipped):
            skipped.append(text)
            continue
        found = _know_keys(path, text)
        if isinstance(found, Skipped):
            skipped.append(found)
            continue
        for item in found:
            keys.setdefault(item.key, []).append(item)
    return Schema({key: tuple(items) for key, items in keys.items()}, tuple(skipped))


def _find_files(tree: Tree, places: tuple[str, ...]) -> Iterator[str]:
    for place in places:
        if place in tree.entries:
            yield place
        else:
            yield from (path for path in tree.paths(place) if path.endswith((".yaml", ".yml")))


def parse_keys(path: str, text: str) -> list[Declared] | Skipped:
    try:
        root = compose_yaml(text)
    except NotYaml as error:
        return Skipped(path, f"is not YAML that Layline can read: {error}")
    found: list[Declared] = []
    _collect(root, (), path, found)
    return found


_know_keys = lru_cache(maxsize=1024)(parse_keys)
"""A process that answers many questions reads each file once."""


def _collect(node: Any, prefix: tuple[str, ...], path: str, found: list[Declared]) -> None:
    if not isinstance(node, yaml.MappingNode) or len(prefix) > _DEEPEST:
        return
    for key, value in node.value:
        if len(found) >= _MOST_KEYS or not isinstance(key, yaml.ScalarNode):
            return
        name = (*prefix, str(key.value))
        if isinstance(value, yaml.MappingNode):
            _collect(value, name, path, found)
        else:
            shown = str(value.value) if isinstance(value, yaml.ScalarNode) else _show_list(value)
            found.append(Declared(".".join(name), shown or "null", Location(path, key.start_mark.line + 1)))


def _show_list(node: Any) -> str:
    inner = [str(item.value) for item in getattr(node, "value", [])[:20] if isinstance(item.value, str)]
    return f"[{', '.join(inner)}]"
