"""Which modules of an index define a name, or something with a given body: told by their encoded rows, so that only
those are decoded which somebody asks about.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.source.index import Index

_ROW = re.compile(r'\["((?:[^"\\]|\\.)*)",[0-9],[0-9]+,[0-9]+,[0-9]+,"([^"]*)"')
"""How a definition's row begins: qualname, kind, three lines, fingerprint (`source.definitions`)."""


@dataclass(frozen=True, slots=True)
class Places:
    """Names of modules, in order."""

    by_name: dict[str, list[str]]
    """By the last name of what they define."""
    by_print: dict[str, list[str]]


def find_places(index: Index) -> Places:
    """Of every module that can be read."""
    found = Places({}, {})
    for module, text in index.read_encoded():
        rows = list(find_rows(text))
        for name in {qualname.rpartition(".")[2] for qualname, _ in rows}:
            found.by_name.setdefault(name, []).append(module)
        for fingerprint in {fingerprint for _, fingerprint in rows}:
            found.by_print.setdefault(fingerprint, []).append(module)
    return found


def find_rows(text: str) -> Iterator[tuple[str, str]]:
    """Qualified name and fingerprint of each definition, in order."""
    yield from ((_decode(qualname), fingerprint) for qualname, fingerprint in _ROW.findall(text))


def _decode(text: str) -> str:
    return str(json.loads(f'"{text}"')) if "\\" in text else text
