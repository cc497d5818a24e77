"""Distances that the prose of a record gives and its own figures do not.

Text is written by people and agents, figures by programs; where they differ the page says so and lets neither win. A
clause that also gives the right figure (`413 → 458`) tells a history and contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from layline.core.records import GapRecord, PeriodicRecord

_NUMBER = r"(?<![\w.,#+−-])(\d{1,3}(?:,\d{3})+|\d{1,7})(?![\d,]*\.\d)"
_DISTANCE = re.compile(
    rf"{_NUMBER}[ -]commits?\s+(?:behind|gap)\b"
    rf"|\b(?:gap|distance)\s*(?:of|is|was|:|=)?\s*{_NUMBER}[ -]commits?\b"
    rf"|\b(?:behind|lags?|trails?)\s+(?:upstream(?:'s)?\s+)?(?:main\s+|HEAD\s+|tip\s+)?by\s+{_NUMBER}\s+commits?\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[.;])\s+")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """One clause beside the figure of the same record."""

    label: str
    said: int
    figure: int
    clause: str


def find_in_gap(record: GapRecord) -> Iterator[Contradiction]:
    summary = record.dashboard_summary
    texts = [record.scope, *record.highlights]
    if summary:
        texts += [summary.headline, *summary.why_it_matters, *summary.feature_deltas, *summary.integration_risks]
    yield from _compare(texts, record.backend.label, record.stats.commit_gap)


def find_in_periodic(record: PeriodicRecord, labels: Mapping[str, str]) -> Iterator[Contradiction]:
    """Only findings that name one target: which of two a number belongs to is not for a program to guess."""
    figures = {
        key: status.commit_gap
        for key in record.statuses
        if (status := record.status(key)) and status.commit_gap is not None
    }
    for text in record.key_findings:
        named = [key for key in record.statuses if _names(text, key, labels.get(key, key))]
        if len(named) == 1 and named[0] in figures:
            yield from _compare([text], labels.get(named[0], named[0]), figures[named[0]])


def _compare(texts: Iterable[str], label: str, figure: int) -> Iterator[Contradiction]:
    seen: set[int] = set()
    for text in texts:
        for clause in _CLAUSE.split(text):
            said = [_number(found) for found in _DISTANCE.finditer(clause)]
            if said and figure not in said and f"{figure:,}" not in clause and str(figure) not in clause:
                new = [number for number in said if number not in seen]
                seen.update(said)
                yield from (Contradiction(label, number, figure, clause.strip()) for number in new)


def _number(found: re.Match[str]) -> int:
    return int(next(group for group in found.groups() if group).replace(",", ""))


def _names(text: str, key: str, label: str) -> bool:
    plain = _plain(text)
    return any(_plain(name) in plain for name in (key, label) if _plain(name))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()
