"""Keys of our YAML files that upstream knew at the pin and no longer knows at the tip."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

import yaml

from layline.change.surface import StaleKey
from layline.core.evidence import Evidence, Location, Skipped
from layline.source.tree import Tree
from layline.yaml_text import NotYaml, compose_yaml

if TYPE_CHECKING:
    from layline.gap.surface.known_keys import KnownKeys

_MAX_BYTES = 1_000_000
_DEEPEST = 20


def find_stale_keys(
    keys: Mapping[str, list[Location]], before: Mapping[str, Evidence], after: KnownKeys
) -> Iterator[StaleKey]:
    """Every key that `before` (name → where the pin has it) knows and `after` does not, those with most lines of ours
    first.
    """
    moves = find_moved_sections(before.keys(), after.near)
    new = sorted(after.near - before.keys())
    gone = keys.keys() & before.keys() - after.names.keys()
    told = {(key.rpartition(".")[2], keys[key][0]) for key in gone if "." in key}
    sections = {(key.rpartition(".")[0].rpartition(".")[2], keys[key][0].path) for key in gone if "." in key}
    for key in sorted(gone, key=lambda one: (-len(keys[one]), one)):
        if (key, keys[key][0]) in told:
            continue  # `section.key` says the same of the same line
        if (key.rpartition(".")[2], keys[key][0].path) in sections:
            continue  # the keys of a section that is gone are listed one by one
        places = keys[key]
        yield StaleKey(
            key=key,
            location=places[0],
            others=len(places) - 1,
            suggestion=_find_elsewhere(key, after)
            or find_top(key, after.top)
            or find_follower(key, moves, after.near)
            or find_near(key, new),
            pin_evidence=before[key],
        )


def _find_elsewhere(key: str, after: KnownKeys) -> str | None:
    """The same key of another configuration."""
    place = after.elsewhere.get(key)
    return f"{key} (only in {posixpath.dirname(place.path)})" if place is not None and place.path else None


def find_moved_sections(before: Set[str], after: Set[str]) -> dict[str, str]:
    """Section → the only new one with two of its keys or more and begins like it (`profiling`: `profiler`)."""
    then, now = _group(before), _group(after)
    found: dict[str, str] = {}
    for section, names in then.items():
        heirs = [
            other
            for other, taken in now.items()
            if other not in then and len(names & taken) > 1 and _begins_like(section, other)
        ]
        if len(heirs) == 1:
            found[section] = heirs[0]
    return found


def _begins_like(one: str, other: str) -> bool:
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return 2 * alike >= len(one)


def _group(keys: Set[str]) -> dict[str, set[str]]:
    """Section → its keys, for sections that stand in no other."""
    found: dict[str, set[str]] = {}
    for key in keys:
        section, _, name = key.rpartition(".")
        if section and "." not in section:
            found.setdefault(section, set()).add(name)
    return found


def find_follower(key: str, moves: Mapping[str, str], after: Set[str]) -> str | None:
    """The same name in the section that took the place of its own."""
    section, _, name = key.rpartition(".")
    follower = f"{moves.get(section, '')}.{name}"
    return follower if follower in after else None


def find_top(key: str, top: Set[str]) -> str | None:
    """The same name of several words outside any section."""
    section, _, name = key.rpartition(".")
    return f"{name} (in no section)" if section and "_" in name and name in top else None


def find_near(key: str, new: Iterable[str]) -> str | None:
    """The only new key that can be meant: the same words in the same section, some more or some less, or the same name
    in another section. Letters that look alike are no evidence (`disable_loss_parallel`, `enable_sequence_parallel`).
    """
    section, _, name = key.rpartition(".")
    words = name.split("_")
    found = []
    for one in new:
        other, _, named = one.rpartition(".")
        if other == section:
            shared = set(words) & set(named.split("_"))
            whole = len(shared) == min(len(set(words)), len(set(named.split("_"))))
            longer = max(len(words), len(named.split("_")))
            near = whole and len(shared) >= 2 and 2 * len(shared) >= longer
            near = near or name.replace("_", "") == named.replace("_", "")
        else:
            near = bool(section and other) and name == named and len(words) > 1
        found += [one] if near else []
    return found[0] if len(found) == 1 else None


def join_beyond(keys: Mapping[str, list[Location]], beyond: Mapping[str, list[Location]]) -> dict[str, list[Location]]:
    """With the places in files beyond the configured folders, after those of the configured ones.

    What stands above a setting there differs (`modules.trainer.overrides`), so it is known by its inner path; a name
    without a section counts only where the configured files set it, too.
    """
    found = {key: list(places) for key, places in keys.items()}
    for key, places in beyond.items():
        if key in found or "." in key:
            found.setdefault(key, []).extend(places)
    return found


def spell_out(
    tree: Tree, stale: Iterable[StaleKey], keys: Mapping[str, list[Location]], known: Set[str]
) -> Iterator[StaleKey]:
    """The same keys with the whole path they have in our files; one each where upstream has the section twice, as
    `linear.mx` and `grouped_mm.mx` (`known`: what the pin knows).
    """
    found = list(stale)
    written: dict[Location, str] = {}
    for path in {place.path for one in found for place in keys[one.key]}:
        text = tree.read_text(path)
        if isinstance(text, str):
            written |= dict(_find_written(path, compose_yaml(text), (), frozenset()))
    for one in found:
        groups: dict[str, list[Location]] = {}
        for place in keys[one.key]:
            section = ".".join(written.get(place, "").split(".")[-3:-1])
            groups.setdefault(section if section in known else "", []).append(place)
        named = [groups[section] for section in groups if section]
        apart = named[1:] if len(named) > 1 else []
        first = replace(one, others=one.others - sum(map(len, apart)))
        for each in (first, *(replace(one, location=places[0], others=len(places) - 1) for places in apart)):
            yield replace(each, written=written.get(each.location, each.key))


def _find_written(
    path: str, node: yaml.Node | None, above: tuple[str, ...], seen: frozenset[int]
) -> Iterator[tuple[Location, str]]:
    if node is None or id(node) in seen or len(above) > _DEEPEST:
        return
    seen = seen | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _find_written(path, item, above, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                names = (*above, str(key.value))
                yield Location(path, key.start_mark.line + 1), ".".join(names)
                yield from _find_written(path, value, names, seen)


def read_yaml_keys(tree: Tree, places: tuple[str, ...]) -> tuple[dict[str, list[Location]], tuple[Skipped, ...]]:
    """Key → where our files use it: bare names of every mapping, and `section.name` for nested ones."""
    found: dict[str, list[Location]] = {}
    skipped: list[Skipped] = []
    for path in tree.entries:
        if not path.endswith((".yaml", ".yml")) or not any(
            path == place or path.startswith(place.rstrip("/") + "/") for place in places
        ):
            continue
        text = tree.read_text(path)
        if isinstance(text, Skipped):
            skipped.append(text)
            continue
        for item in _find_keys(path, text):
            if isinstance(item, Skipped):
                skipped.append(item)
            else:
                found.setdefault(item[0], []).append(item[1])
    return found, tuple(skipped)


def _find_keys(path: str, text: str) -> Iterator[tuple[str, Location] | Skipped]:
    if len(text) > _MAX_BYTES:
        yield Skipped.at(
            path, None, f"{len(text)} characters are more than the {_MAX_BYTES} that Layline reads of a YAML file"
        )
        return
    try:
        root = compose_yaml(text)
    except NotYaml as error:
        yield Skipped.at(path, None, f"not YAML: {error}")
        return
    waiting = [(root, "")] if root is not None else []
    seen: set[int] = set()
    while waiting:
        node, section = waiting.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.id == "sequence":
            waiting += [(item, section) for item in node.value]
        for key, value in node.value if node.id == "mapping" else ():
            if key.id == "scalar":
                place = Location(path, key.start_mark.line + 1)
                yield key.value, place
                if section:
                    yield f"{section}.{key.value}", place
                waiting.append((value, key.value))
