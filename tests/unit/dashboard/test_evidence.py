from __future__ import annotations

from typing import Any

import pytest

from layline.core.records import GapRecord, read_gap_record
from layline.core.report import Cell, Chart, Table
from layline.dashboard.breakage import Breakage, _read_plan, find_breakage
from layline.dashboard.evidence import find_sections
from layline.render.html import render_sections
from record_samples import gap_record

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
    assert [section.title for section in sections] == ["Areas", "Dependencies"]
    html = render_sections(sections)
    chart, table = sections[0].blocks
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
    record = read_gap_record(gap_record())
    assert isinstance(record, GapRecord)
    find_breakage(record, {**plain, "pin": record.local.commit, "tip": record.upstream.commit})


def test_breakage_is_counted_by_place() -> None:
    record = read_gap_record(gap_record())
    assert isinstance(record, GapRecord)
    again = {**FACTS[0], "name": "coupling.harbor/run.py:12.call.engine.core.go"}
    patch = {
        "name": "patch.engine.run.harbor/run.py:12.engine.core.Runner.run",
        "value": {"kind": "removed", "severity": "breaks", "detail": "gone", "since": "c" * 40},
        "evidence": [{"at": 0, "path": "harbor/run.py", "lines": [12, 12]}],
    }
    failing = {
        "name": "patch.engine.stop.harbor/stop.py:7.engine.core.stop",
        "value": {"kind": "unchanged", "severity": "breaks", "broken_by_upgrade": False, "detail": "", "since": None},
        "evidence": [{"at": 0, "path": "harbor/stop.py", "lines": [7, 7]}],
    }  # at the pin already: gap report and drift do not count it either
    plain = {
        "facts": [*FACTS, again, patch, failing],
        "commits": COMMITS,
        "pin": record.local.commit,
        "tip": record.upstream.commit[:12],
    }
    found = find_breakage(record, plain)
    assert found is not None
    assert [(one.place, one.patch, one.culprit) for one in found.places] == [
        ("harbor/run.py:12", "engine.run", "c" * 40)
    ]
    assert found.places[0].reasons == ("removed: gone",)
    assert found.touched == 3
    counted = {"name": "places", "value": {"break": 1, "stop applying": 2, "need a look": 3, "fit": 4}}
    told = find_breakage(record, {**plain, "facts": [*plain["facts"], counted]})
    assert told is not None
    assert (told.count, told.stops, told.look, told.touched) == (1, 2, 3, 10)
    assert find_breakage(record, {**plain, "tip": "f" * 40}) is None


def test_a_place_is_told_with_the_change_that_the_report_blames() -> None:
    """Two rows of one place have two culprits; the report counts the place under the first of them."""
    record = read_gap_record(gap_record())
    assert isinstance(record, GapRecord)
    late = {**FACTS[0], "value": {**FACTS[0]["value"], "since": "d" * 40}}
    early = {
        **FACTS[0],
        "name": "coupling.harbor/run.py:12.call.engine.core.go",
        "value": {"consequence": "will break", "state": "cannot accept", "detail": "size is new", "since": "c" * 40},
    }
    commits = [*COMMITS, {"repo": "https://e.org/engine", "commit": "c" * 40}]
    cause = {"name": "cause.#58", "value": ["harbor/run.py:12"], "evidence": [{"at": 2}]}
    plain = {
        "facts": [late, early, cause],
        "commits": commits,
        "pin": record.local.commit,
        "tip": record.upstream.commit,
    }
    found = find_breakage(record, plain)
    assert found is not None
    assert [(one.culprit, one.reasons) for one in found.places] == [
        ("c" * 40, ("our code no longer fits: size is new",))
    ]
    assert found.name_of("c" * 40) == "#58"


def test_what_one_side_has_not_is_no_link() -> None:
    added = {
        "name": "dependency.metadata.runtime.requirement.einops",
        "value": ["—", ">=0.8", ["added"]],
        "evidence": [{"at": 1, "path": "pyproject.toml", "lines": [9, 9]}],
    }
    table = next(find_sections({"facts": [added], "commits": COMMITS})).blocks[1]
    assert isinstance(table, Table)
    was, now = table.rows[0][2:4]
    assert isinstance(was, Cell)
    assert isinstance(now, Cell)
    assert (was.text, was.evidence) == ("—", None)
    assert now.evidence is not None


@pytest.mark.parametrize(("steps", "shown"), [(3, [0, 1, 2]), (10, list(range(10))), (14, [*range(5, 13), 13])])
def test_a_long_plan_stands_open_where_the_work_is(steps: int, shown: list[int]) -> None:
    """Its last step is the tip: no work, and never left out."""
    facts = [
        {
            "name": f"plan.{number}",
            "value": {"commit": str(number), "lines": number, "methods": 0 if number < steps - 1 else -99},
            "evidence": [],
        }
        for number in range(steps)
    ]
    plan = tuple(_read_plan(facts))
    told = Breakage(record="r", date="d", places=(), to_fix=0, touched=0, look=0, plan=plan)
    assert [int(step.commit) for step in told.weighty] == shown
