"""YAML → plain values or nodes with their lines; the one place that reads it."""

from __future__ import annotations

from typing import Any

import yaml

from layline.errors import ConfigError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 100
"""Levels of nesting. People write five; a text of brackets alone costs time with the square of its length."""


class NotYaml(Exception):
    """The text is no YAML, or none that can be read."""


def _check_depth(text: str) -> None:
    """Events come one at a time and need no stack; what is built of them does."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} levels of nesting at line {event.start_mark.line + 1}")


def compose_yaml(text: str) -> Any:
    """The nodes of a text, each with the line it stands on; None for an empty one."""
    try:
        _check_depth(text)
        return yaml.compose(text, Loader=_LOADER)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotYaml(str(error).splitlines()[0]) from None


def load_yaml(text: str) -> Any:
    """The values of a text that others wrote: aliases may stand in it."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_LOADER)  # noqa: S506  the safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotYaml(" ".join(str(error).split())) from None


def parse_yaml(text: str, *, where: str) -> Any:
    """Plain YAML without duplicate keys; tags that build objects are refused by the safe loader."""

    class Strict(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):  # a few of them can stand for gigabytes
                raise ConfigError(f"{where} uses a YAML alias.", hint="Write the value out.")
            return super().compose_node(parent, index)

    def construct(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise ConfigError(f"{where}: the key `{key}` appears twice (mapping at line {line}).")
        return dict(loader.construct_pairs(node, deep=True))

    Strict.add_constructor("tag:yaml.org,2002:map", construct)
    # a date is text here: `created: 2026-11-15 02:20` must come back as it was written
    Strict.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        _check_depth(text)
        return yaml.load(text, Loader=Strict)  # noqa: S506  a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} is not YAML: {' '.join(str(error).split())}.") from None
    except (RecursionError, ValueError, TypeError):  # nested too deeply, an impossible number, an unhashable key
        raise ConfigError(f"{where} is not plain YAML.") from None


def dump_yaml(values: dict[str, Any], *, width: int = 1000, sort_keys: bool = True) -> str:
    """Values as YAML; the same bytes for the same values."""
    return str(yaml.safe_dump(values, width=width, allow_unicode=True, sort_keys=sort_keys))
