"""Table cells and commands that the report, the summary and the evidence share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.evidence import Evidence, Location
from layline.core.report import Cell
from layline.git import DIFF_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.core.report import Inline
    from layline.gap.changes import UpstreamChange
    from layline.gap.dependencies import Declaration
    from layline.gap.model import Gap


def plain_text(text: Inline) -> str:
    """The words of an inline text without its links."""
    if isinstance(text, tuple):
        return "".join(plain_text(part) for part in text)
    return text.text if isinstance(text, Cell) else text


def join_text(*parts: Inline) -> Inline:
    """Several inline texts as one."""
    flat: list[str | Cell] = []
    for part in parts:
        flat += part if isinstance(part, tuple) else [part]
    return tuple(piece for piece in flat if piece != "")


def listed_text(parts: Sequence[Inline]) -> Inline:
    """`a, b and c` of texts that hold links."""
    found: list[Inline] = []
    for number, part in enumerate(parts):
        found += [part] if not number else [" and " if number == len(parts) - 1 else ", ", part]
    return join_text(*found)


def change_cell(gap: Gap, commit: str, number: int | None) -> Cell:
    """`#2386`, linked to its commit; the commit where no pull request is named."""
    return Cell(f"#{number}" if number else commit[:8], evidence=Evidence(repo=gap.upstream, commit=commit))


def commit_cell(repo: str, commit: str, *, length: int = 12) -> Cell:
    return Cell(commit[:length], evidence=Evidence(repo=repo, commit=commit), code=True)


def place_cell(repo: str, commit: str, place: Location, *, text: str | None = None) -> Cell:
    evidence = Evidence(repo=repo, commit=commit, path=place.path, lines=(place.line, place.line))
    return Cell(text or str(place), evidence=evidence, code=True)


def own_place(gap: Gap, place: str, *, text: str | None = None) -> Cell:
    """A place of ours (`file:line`), linked to its line."""
    path, _, line = place.rpartition(":")
    if not line.isdigit():
        return Cell(text or place)
    return place_cell(gap.downstream, gap.downstream_commit.hash, Location(path, int(line)), text=text or place)


def evidence_cell(evidence: Evidence | None, *, text: str | None = None) -> Inline:
    if evidence is None:
        return "—"
    lines = f":{evidence.lines[0]}" if evidence.lines else ""
    return Cell(text or f"{evidence.path}{lines}", evidence=evidence, code=True)


def requirement_text(item: Declaration | None) -> str:
    """A declaration as its file spells it, short: bounds, extras, marker; `any version` where it names none."""
    if item is None:
        return "—"
    extras = f"[{item.extras}]" if item.extras else ""
    marker = f"; {item.marker}" if item.marker else ""
    return f"{extras} {item.spec or 'any version'}{marker}".strip()


def change_link(gap: Gap, change: UpstreamChange) -> Inline:
    """A change with the number of its pull request, linked to the commit."""
    name = f"#{change.number}" if change.number else change.commits[0][:12]
    return Cell(name, evidence=Evidence(repo=gap.upstream, commit=change.commits[0]))


def diff_command(gap: Gap, option: str = "--shortstat") -> str:
    return f"git diff {option} {' '.join(DIFF_SETTINGS)} {gap.pin.commit.hash} {gap.tip.commit.hash}"


def span(gap: Gap) -> str:
    return f"{gap.pin.commit.hash}..{gap.tip.commit.hash}"
