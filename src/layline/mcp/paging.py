"""Answers that fit a context window: one page of the long list, long texts cut, handles for the rest. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from layline.core.prose import count
from layline.core.prose import shorten as cut
from layline.core.report import Answer, Bullets, Paragraph, Section
from layline.core.word import Word
from layline.render.inline import plain

BUDGET = 24_000
"""Characters of JSON in one answer; about six thousand tokens."""
_LONG_TEXT = 1_200
_INNER_ROWS = 12
_WORDS_BEFORE = 4


class Page(BaseModel, frozen=True):
    """Which part of the long list this answer holds."""

    of: str
    offset: int
    shown: int
    total: int
    next_offset: int | None


class Packed(BaseModel, frozen=True):
    """What every tool returns."""

    summary: str
    needs_person: bool
    data: dict[str, Any]
    page: Page | None


def pack(answer: Answer, *, of: str | None = None, offset: int = 0, limit: int = 50) -> Packed:
    """The answer's summary and as many rows of its list `of` (default: the longest) from `offset` on as fit."""
    data = dict(answer.data)
    key = of if of is not None and isinstance(data.get(of), list) else longest_list(data)
    title = answer.listing.title if answer.listing is not None else answer.report.title
    summary = summarise(answer) if offset == 0 else f"{title} (continued)"
    if key is None:
        return Packed(summary=summary, needs_person=answer.needs_person, data=shorten(data), page=None)
    rows = data[key]
    fitting = fit(rows[offset : offset + limit], BUDGET - len(summary) - size(shorten(data, without=key)))
    end = offset + len(fitting)
    page = Page(
        of=key, offset=offset, shown=len(fitting), total=len(rows), next_offset=end if end < len(rows) else None
    )
    return Packed(
        summary=summary, needs_person=answer.needs_person, data={**shorten(data, without=key), key: fitting}, page=page
    )


def summarise(answer: Answer) -> str:
    """Title, alerts and the sentences of the report, without its tables."""
    if answer.listing is not None:
        told = [answer.listing.title, *answer.listing.meta]
        told += [f"{alert.severity.word}: {alert.message}" for alert in answer.listing.alerts[:10]]
        if answer.report.skipped:
            told.append(f"{count(len(answer.report.skipped), 'thing')} could not be read (see `skipped`).")
        return "\n".join(told)[:4_000]
    lines = [answer.report.title]
    lines += [f"{alert.severity.word}: {alert.message}" for alert in answer.report.alerts[:10]]
    for section in answer.report.sections[:3]:
        lines += _sentences(section)
    if answer.report.skipped:
        lines.append(f"{count(len(answer.report.skipped), 'thing')} could not be read (see `skipped`).")
    return "\n".join(lines)[:4_000]


def _sentences(section: Section) -> list[str]:
    found = []
    for block in section.blocks:
        if isinstance(block, Paragraph):
            found.append(plain(block.text))
        elif isinstance(block, Bullets):
            found += [f"- {plain(item)}" for item in block.items[:8]]
    return found


def longest_list(data: Mapping[str, Any]) -> str | None:
    """The key of the list with the most JSON in it; None where no list has more than one row."""
    lists = {key: size(value) for key, value in data.items() if isinstance(value, list) and len(value) > 1}
    return max(lists, key=lambda key: (lists[key], key)) if lists else None


def fit(rows: list[Any], budget: int) -> list[Any]:
    """The first rows that fit the budget, each shortened where it is long; at least one."""
    kept: list[Any] = []
    used = 0
    for row in rows:
        short = shorten(row)
        used += size(short)
        if kept and used > budget:
            break
        kept.append(short)
    return kept


def shorten(value: Any, *, without: str | None = None) -> Any:
    """Long texts end in `… (N characters)`, long inner lists in `… N more`."""
    match value:
        case str() if len(value) > _LONG_TEXT:
            return f"{value[:_LONG_TEXT]}… ({len(value)} characters)"
        case list() if len(value) > _INNER_ROWS:
            return [*(shorten(item) for item in value[:_INNER_ROWS]), f"… {len(value) - _INNER_ROWS} more"]
        case list():
            return [shorten(item) for item in value]
        case Mapping():
            return {key: shorten(item) for key, item in value.items() if key != without}
        case _:
            return value


def shorten_around(text: str, word: Word, most: int) -> str:
    """A text that is too long, from a few words before the first that holds what was looked for."""
    if len(text) <= most:
        return text
    words = text.split()
    first = next((index for index, one in enumerate(words) if word.stands_in(one)), 0)
    begin = max(first - _WORDS_BEFORE, 0)
    return ("… " if begin else "") + cut(" ".join(words[begin:]), most)


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))
