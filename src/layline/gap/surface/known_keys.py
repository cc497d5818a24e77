"""Which keys a commit lets us set, seen from the one configuration that our files are written for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.change.options.fields import all_fields
from layline.change.options.tyro_flags import is_hidden

if TYPE_CHECKING:
    from layline.change.options.fields import ConfigField
    from layline.change.options.read import Options
    from layline.change.surface import StaleKey
    from layline.core.evidence import Evidence
    from layline.source.resolve import Resolver

_WHOLE = 3
"""So many of our sections make a configuration the one that our files are written for."""
_TELLS = r"[`'\"\s|]*(?:->|=>|→|\||\bto\b|\bwith\b|\bby\b)[`'\"\s|]*"
"""Between an old key and its new one, in prose and in the cells of a table; lines may break anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeys:
    """What can be set at one commit."""

    names: dict[str, Evidence]
    near: frozenset[str]
    """Where a key of ours can have gone: what the same configuration lets us set."""
    top: frozenset[str] = frozenset()
    """Names that stand in no section."""
    elsewhere: dict[str, Evidence] = field(default_factory=dict)
    """Keys of sections that it no longer has, with where another one has the section."""


def find_sections(options: Options, resolver: Resolver, keys: Iterable[str]) -> frozenset[str]:
    """Sections of our files that stand in one configuration; none where there is no such configuration."""
    ours = frozenset(key.partition(".")[0] for key in keys if key.count(".") == 1)
    main = _find_main(options, resolver, ours)
    return ours & main.keys() if main is not None else frozenset()


def read_known(options: Options, resolver: Resolver, sections: Set[str]) -> KnownKeys:
    """All that a commit knows; of these sections only what the configuration has that holds most of them."""
    known, top = options.known(resolver), options.find_top(resolver)
    main = _find_main(options, resolver, sections)
    if main is None:
        return KnownKeys(names=known, near=frozenset(known), top=top)
    lost = sections - main.keys()
    elsewhere = {key: known.get(key.partition(".")[0], place) for key, place in known.items() if _heads(key) & lost}
    names = {key: place for key, place in known.items() if key not in elsewhere}
    free = frozenset(name for name, one in main.items() if not is_hidden(one))
    near = frozenset(key for key in names if "." not in key or key.partition(".")[0] in free)
    return KnownKeys(names=names, near=near, top=top & free, elsewhere=elsewhere)


def leave_out_scripts(
    known: Mapping[str, Evidence], options: Options, keys: Iterable[str], entries: Container[str]
) -> dict[str, Evidence]:
    """What a commit knows without the flags of a script that is gone later (`entries`: the files then), where our files
    set hardly any of them: a key of ours only happens to have such a name.
    """
    fields = {name for one in options.classes.values() for name in one}
    scripted = {
        flag.dest: flag.evidence.path
        for flag in options.flags.values()
        if not flag.generated and flag.dest not in fields and flag.evidence.path not in entries
    }
    ours = Counter(scripted[key] for key in keys if key in scripted)
    return {key: place for key, place in known.items() if key not in scripted or ours[scripted[key]] >= _WHOLE}


def _heads(key: str) -> set[str]:
    """The section of a key."""
    return {key.partition(".")[0]} if "." in key else set()


def _find_main(options: Options, resolver: Resolver, sections: Set[str]) -> dict[str, ConfigField] | None:
    """The configuration with most of these sections, if no other has as many; who extends one is not asked."""
    fields = {owner: all_fields(resolver, options.classes, owner) for owner in options.classes}
    held = {owner: len(sections & found.keys()) for owner, found in fields.items()}
    whole = {owner for owner, number in held.items() if number >= _WHOLE}
    heirs = {owner for owner in whole if any(one.owner in whole - {owner} for one in fields[owner].values())}
    ranked = sorted(whole - heirs, key=lambda owner: -held[owner])
    if not ranked or (len(ranked) > 1 and held[ranked[0]] == held[ranked[1]]):
        return None
    return fields[ranked[0]]


def find_defaults(
    stale: Iterable[StaleKey], options: tuple[Options, Options], now: Mapping[str, Evidence]
) -> Iterator[tuple[str, str, str]]:
    """Keys whose new name has another number as its default, with both: what it counts may have changed too."""
    then, here = (
        {one.evidence: one.default for fields in side.classes.values() for one in fields.values()} for side in options
    )
    for one in stale:
        place = now.get(one.suggestion or "")
        was, is_now = (
            then.get(one.pin_evidence) if one.pin_evidence else None,
            here.get(place) if place is not None else None,
        )
        if was and is_now and was != is_now and was.isdecimal() and is_now.isdecimal():
            yield one.key, was, is_now


def find_told(message: str, key: str, near: Set[str]) -> str | None:
    """The new key that the message of a commit names beside an old one: `old -> new`, `| old | new |`."""
    for found in re.finditer(rf"(?<![\w.]){re.escape(key)}(?![\w.]){_TELLS}([A-Za-z_][\w.]*\w)", message):
        if found[1] in near:
            return found[1]
    return None
