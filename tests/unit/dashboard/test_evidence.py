from __future__ import annotations

from typing import Any

import pytest

from layline.core.report import Chart, Table
from layline.dashboard.evidence import find_sections
from layline.render.html import render_sections

COMMITS = [{"repo": "https://e.org/harbor", "commit": "a" * 40}, {"repo": "https://e.org/engine", "commit": "b" * 40}]
FACTS: list[dict[str, Any]] = [
    {
        "name": "coupling.harbor/run.py:12.import.engine.core.Runner",
        "value": {"consequence": "will break", "state": "renamed", "now": "engine.core.Engine", "detail": None},
        "evidence": [
            {"at": 0, "path": "harbor/run.py", "lines": [12, 12]},
            {"at": 1, "path": "engine/core.py", "lines": [3, 9]},
        ],
    },
    {"name": "coupling.harbor/x.py:1.import.engine.y", "value": {"consequence": "ok", "state": "same"}, "evidence": []},
    {
        "name": "area.scheduler",
        "value": [1, 2, 3, 4, 50, 6, 7],
        "evidence": [{"at": 1, "command": "git diff --numstat"}],
    },
    {"name": "area.docs", "value": [0, 0, 0, 1, 2, 0, 9], "evidence": [{"at": 1}]},
    {
        "name": "dependency.metadata.requires-python.python.python",
        "value": [">=3.10", ">=3.12", ["floor raised"]],
        "evidence": [{"at": 1, "path": "pyproject.toml", "lines": [26, 26]}],
    },
    {
        "name": "dependency.metadata.extra dev.requirement.numpy",
        "value": [None, "", ["added"]],
        "evidence": [{"at": 1, "path": "pyproject.toml", "lines": [9, 9]}],
    },
]


def test_evidence_becomes_charts_and_tables_that_lead_to_their_places() -> None:
    sections = tuple(find_sections({"facts": FACTS, "commits": COMMITS}))
    assert [section.title for section in sections] == ["Coupling", "Areas", "Dependencies"]
    html = render_sections(sections)
    assert f"https://e.org/harbor/blob/{'a' * 40}/harbor/run.py#L12" in html
    assert f"https://e.org/engine/blob/{'b' * 40}/engine/core.py#L3-L9" in html
    assert "renamed, now engine.core.Engine" in html
    chart, table = sections[1].blocks
    assert isinstance(chart, Chart)
    assert isinstance(table, Table)
    assert chart.series == (("commits", (("docs", 9.0), ("scheduler", 7.0))),)
    assert f"https://e.org/engine/blob/{'b' * 40}/pyproject.toml#L26" in html
    assert "any version" in html


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"facts": "x", "commits": 3},
        {"facts": [None, {"name": 3}, {"name": "coupling.x", "value": []}], "commits": [None]},
        {
            "facts": [{"name": "area.x", "value": [1, 2]}, {"name": "dependency.metadata.x", "value": None}],
            "commits": [],
        },
        {"facts": [{**FACTS[0], "evidence": [{"at": 99}, {"at": -1}, "x"]}], "commits": COMMITS},
    ],
)
def test_foreign_evidence_never_breaks_a_page(plain: dict[str, Any]) -> None:
    render_sections(find_sections(plain))
