"""An evidence file (`layline.evidence/1`) as sections of a backend's page: each row leads to where it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from layline.core.report import Cell, Chart, Inline, Paragraph, Section, Table
from layline.dashboard.breakage import read_evidence

MOST_ROWS = 15
NOTHING = "—"
"""What an evidence file writes where one side has no such requirement."""


def find_sections(plain: Mapping[str, Any]) -> Iterator[Section]:
    """Yields what the file tells of areas and dependencies; a part it does not tell is left out."""
    facts = [
        item for item in _list(plain.get("facts")) if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    ]
    commits = [item for item in _list(plain.get("commits")) if isinstance(item, Mapping)]
    for part in (_areas, _dependencies):
        section = part(facts, commits)
        if section is not None:
            yield section


Facts = list[Mapping[str, Any]]


def _areas(facts: Facts, commits: Facts) -> Section | None:
    found = [fact for fact in facts if fact["name"].startswith("area.") and _numbers(fact.get("value"), 7)]
    if not found:
        return None
    found.sort(key=lambda fact: (-fact["value"][6], fact["name"]))
    amounts = tuple((fact["name"].removeprefix("area."), float(fact["value"][6])) for fact in found)
    chart = Chart(
        kind="bars", title="Commits that touch each area of upstream", series=(("commits", amounts),), unit="commits"
    )
    rows = tuple(_area_row(fact, commits) for fact in found)
    columns = ("area", "commits", "files added", "removed", "renamed", "modified", "lines")
    return Section(title="Areas", blocks=(chart, Table(columns=columns, rows=rows, numeric=frozenset(range(1, 7)))))


def _area_row(fact: Mapping[str, Any], commits: Facts) -> tuple[Inline, ...]:
    added, removed, renamed, modified, insertions, deletions, touched = fact["value"]
    places = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
    lines = Cell(f"+{insertions:,} −{deletions:,}", evidence=places[0] if places else None)
    return (
        fact["name"].removeprefix("area."),
        f"{touched:,}",
        f"{added:,}",
        f"{removed:,}",
        f"{renamed:,}",
        f"{modified:,}",
        lines,
    )


def _dependencies(facts: Facts, commits: Facts) -> Section | None:
    found = [
        fact for fact in facts if fact["name"].startswith("dependency.metadata.") and len(_list(fact.get("value"))) == 3
    ]
    if not found:
        return None
    rows = tuple(_dependency_row(fact, commits) for fact in found[:MOST_ROWS])
    table = Table(columns=("package", "scope", "pin", "tip", "change"), rows=rows, more=max(len(found) - MOST_ROWS, 0))
    return Section(
        title="Dependencies",
        blocks=(
            Paragraph(
                "From package metadata, the strongest evidence; requirement files, workflows and containers are "
                "in the detailed report."
            ),
            table,
        ),
    )


def _dependency_row(fact: Mapping[str, Any], commits: Facts) -> tuple[Inline, ...]:
    scope, _, rest = str(fact["name"]).removeprefix("dependency.metadata.").partition(".")
    name = rest.partition(".")[2] or rest
    was, now = (None if side == NOTHING else side for side in fact["value"][:2])
    places = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
    before = places[0] if was is not None and places else None
    after = places[-1] if now is not None and places else None
    return (
        Cell(name, code=True),
        scope,
        Cell(_shown(was), evidence=before, code=was is not None),
        Cell(_shown(now), evidence=after, code=now is not None),
        ", ".join(str(change) for change in _list(fact["value"][2])),
    )


def _numbers(value: Any, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(type(item) is int for item in value)


def _shown(value: Any) -> str:
    return NOTHING if value is None else str(value) or "any version"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
