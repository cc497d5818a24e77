"""Updating a report keeps its structure: its title, the order and words of its sections, and sections of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(?m)^## +(.+?)[ \t]*$")
_FENCE = re.compile(r"(?m)^(```|~~~)")
_MEANINGS = (
    ("In short", re.compile(r"\bin short\b|executive|tl;?dr", re.IGNORECASE)),
    ("Recommendation", re.compile(r"recommendation", re.IGNORECASE)),
    ("Key dependency differences", re.compile(r"dependenc", re.IGNORECASE)),
    ("Dependencies", re.compile(r"dependenc", re.IGNORECASE)),
    ("Evidence sources", re.compile(r"evidence|\bsources\b|references", re.IGNORECASE)),
    ("Directories and capabilities", re.compile(r"director|capabilit", re.IGNORECASE)),
    ("Representative upstream changes", re.compile(r"representative|upstream changes|hotspots?", re.IGNORECASE)),
    ("Integration and coupling", re.compile(r"integration|coupling", re.IGNORECASE)),
    ("Integration layer", re.compile(r"integration|coupling", re.IGNORECASE)),
    ("High-level comparison", re.compile(r"high.?level|overview", re.IGNORECASE)),
    ("High level", re.compile(r"high.?level|overview", re.IGNORECASE)),
)
"""Our sections, and how others call the same thing."""
_OWN = frozenset(name for name, _ in _MEANINGS) | {"Appendix", "Skipped"}
KEPT = "*Kept from an earlier version of this report; not checked by Layline.*"


@dataclass(frozen=True, slots=True)
class Part:
    """One second-level section of a Markdown text."""

    title: str
    body: str
    """All below the heading, up to the next one."""

    def render(self) -> str:
        return f"## {self.title}\n{self.body}"


def keep_structure(new: str, old: str | None) -> str:
    """The new text in the old one's order and words; what is in neither vocabulary of ours stays, marked as
    unchecked.
    """
    if old is None:
        return new
    (new_head, new_parts), (old_head, old_parts) = split(new), split(old)
    if not old_parts:
        return new
    left = {part.title: part for part in new_parts}
    ordered: list[tuple[str | None, Part]] = []
    for part in old_parts:
        meant = _find_meaning(part.title, left)
        if meant is not None:
            ordered.append((meant, Part(part.title, left.pop(meant).body)))
        elif part.title not in _OWN:
            ordered.append((None, _mark(part)))
    _insert(ordered, [part.title for part in new_parts], left)
    text = _keep_title(new_head, old_head) + "".join(part.render() for _, part in ordered)
    return text.rstrip("\n") + "\n"


def split(text: str) -> tuple[str, list[Part]]:
    """What stands before the first second-level heading, and the sections; headings inside fences are text."""
    fences = [match.start() for match in _FENCE.finditer(text)]
    found = [match for match in _HEADING.finditer(text) if sum(at < match.start() for at in fences) % 2 == 0]
    if not found:
        return text, []
    ends = [*(match.start() for match in found[1:]), len(text)]
    parts = [Part(match[1], _end(text[match.end() + 1 : end])) for match, end in zip(found, ends, strict=True)]
    return text[: found[0].start()], parts


def _end(body: str) -> str:
    return body.rstrip("\n") + "\n\n"


def _find_meaning(title: str, left: dict[str, Part]) -> str | None:
    if title in left:
        return title
    return next((name for name, words in _MEANINGS if name in left and words.search(title)), None)


def _mark(part: Part) -> Part:
    return part if KEPT in part.body else Part(part.title, f"\n{KEPT}\n{part.body}")


def _insert(ordered: list[tuple[str | None, Part]], names: list[str], left: dict[str, Part]) -> None:
    """Sections the old text has not: each after the section of ours that comes before it."""
    for at, name in enumerate(names):
        if name in left:
            before = [place for place, (meant, _) in enumerate(ordered) if meant in names[:at]]
            ordered.insert(before[-1] + 1 if before else 0, (name, left[name]))


def _keep_title(new: str, old: str) -> str:
    """The new head under the old first-level heading."""
    was = next(_find_titles(old), None)
    now = next(_find_titles(new), None)
    return new.replace(now, was, 1) if was and now else new


def _find_titles(head: str) -> Iterator[str]:
    yield from (line for line in head.splitlines() if line.startswith("# "))
