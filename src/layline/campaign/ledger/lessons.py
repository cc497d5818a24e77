"""Lessons: what other campaigns can reuse, in the file the specification calls `tips.md`. Append-only; a wrong lesson
gets a tombstone.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.campaign.values.markdown import one_line
from layline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FIELDS = ("Context", "Signal", "Takeaway", "Applicability")
ANTI_PATTERN = "Known anti-pattern (benchmark over-fit; do not retry): "
_ENTRY = re.compile(r"###\s+(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s+(.*?)\s*\Z")
_CORRECTION = re.compile(r"correction of ([0-9a-f]{8})\b")
_FIELD = re.compile(r"-\s+(\w+):\s*(.*)\Z")
_CACHE = re.compile(
    r"id\(\s*(?:activation|grad_out|grad|a|x|input)\w*\s*\)|(?:activation|grad_out)[ -]cache|fixed\s+`?M_per_group",
    re.IGNORECASE,
)
_WARNED = re.compile(r"anti-pattern|over-?fit|do not|never|forbid", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One lesson; `withdrawn` says why it no longer holds."""

    id: str
    line: int
    at: str | None
    origin: str
    """`round-3 — ACCEPTED (campaign x)`, or the heading a foreign bullet stands under."""
    fields: Mapping[str, str] = field(default_factory=dict)
    withdrawn: str | None = None

    @property
    def takeaway(self) -> str:
        return self.fields.get("Takeaway") or " ".join(self.fields.values())


def parse_lessons(text: str) -> tuple[Lesson, ...]:
    """Every lesson of a file, ours and bullets others wrote; corrections applied."""
    found: list[Lesson] = []
    tombstones: dict[str, str] = {}
    for heading, line, block in _blocks(text):
        entry = _ENTRY.match(heading)
        if entry is None:
            found += _read_bullets(heading, line, block)
            continue
        correction = _CORRECTION.search(entry[2])
        fields = _read_fields(block)
        if correction:
            tombstones[correction[1]] = fields.get("Withdrawn") or "withdrawn"
        if not correction or "Takeaway" in fields:
            found.append(Lesson(id=_id(heading, *block), line=line, at=entry[1], origin=entry[2], fields=fields))
    return tuple(
        Lesson(
            id=item.id,
            line=item.line,
            at=item.at,
            origin=item.origin,
            fields=item.fields,
            withdrawn=tombstones.get(item.id),
        )
        for item in found
    )


def _blocks(text: str) -> Iterator[tuple[str, int, list[str]]]:
    heading, start, block = "", 1, []  # type: ignore[var-annotated]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            yield heading, start, block
            heading, start, block = line, number, []
        else:
            block.append(line)
    yield heading, start, block


def _read_fields(block: list[str]) -> dict[str, str]:
    return {found[1]: found[2] for line in block if (found := _FIELD.match(line))}


def _read_bullets(heading: str, start: int, block: list[str]) -> Iterator[Lesson]:
    origin = heading.lstrip("# ").strip()
    for offset, line in enumerate(block, 1):
        if line.startswith(("- ", "* ")):
            yield Lesson(
                id=_id(heading, line),
                line=start + offset,
                at=None,
                origin=origin,
                fields={"Takeaway": line[2:].strip()},
            )


def _id(*parts: str) -> str:
    return hashlib.sha256("\n".join(part.rstrip() for part in parts if part.strip()).encode()).hexdigest()[:8]


def render_lesson(at: str, origin: str, fields: Mapping[str, str]) -> str:
    """An entry to append; refuses to sell a cache as a technique."""
    takeaway = fields.get("Takeaway", "")
    if not takeaway.strip():
        raise ConfigError("A lesson needs its takeaway.")
    for text in fields.values():
        if _CACHE.search(text) and not _WARNED.search(" ".join(fields.values())):
            raise ConfigError(
                "This lesson praises a cache or a fixed workload that never helps real training.",
                hint="Record it as a known anti-pattern (--anti-pattern).",
            )
    lines = [f"- {name}: {one_line(fields[name])}" for name in FIELDS if fields.get(name)]
    return "\n".join((f"### {at} {origin}", *lines, ""))


def render_correction(at: str, lesson: Lesson, reason: str, takeaway: str | None) -> str:
    """A tombstone: the old lesson stays where it is and is no longer shown."""
    if not reason.strip():
        raise ConfigError("A correction needs a reason.")
    lines = [f"### {at} correction of {lesson.id}", f"- Withdrawn: {one_line(reason)}"]
    if takeaway:
        lines.append(f"- Takeaway: {one_line(takeaway)}")
    return "\n".join((*lines, ""))


def find_id(entry: str) -> str:
    """The id an entry will have once it is in a file."""
    heading, *block = entry.splitlines()
    return _id(heading, *block)
