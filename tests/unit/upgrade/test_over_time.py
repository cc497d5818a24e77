"""Trend, watch and impact on one little history: what they say, and that nothing is said twice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from layline.app.fleet import impact
from layline.app.over_time import gap_trend, watch
from layline.errors import ConfigError
from layline.upgrade.news import Place, Remembered, find_news
from upgrading import Files, Project, make_project

DAY = 86_400
START = 1_767_225_600
"""2026-01-01T00:00:00Z"""
RUN = "def run(x):\n    total = 0\n    for step in range(x):\n        total += step\n    return total\n"
STEPS: list[tuple[str, Files]] = [
    ("pin", {"keel/a.py": RUN, "keel/b.py": RUN}),
    ("Remove run from a (#2)", {"keel/a.py": "x = 1\n"}),
    ("Say nothing (#3)", {"README.md": "keel\n"}),
    ("Bring run back (#4)", {"keel/a.py": RUN}),
]
OURS: Files = {
    "own/patch.py": "import keel.a\nimport keel.b\n\n\ndef mine(x):\n    return 2\n\n\nkeel.a.run = mine\nkeel.b.run = mine\n"
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("time"), STEPS, OURS)


def test_watch_tells_each_thing_on_the_day_it_happens(project: Project, tmp_path: Path) -> None:
    """The upstream has one commit a day from 1 January on."""
    told = []
    for day in range(1, 6):
        answer = watch(
            project.open(), today=date(2026, 1, day), state=tmp_path / "state.json", badge=tmp_path / "badge.json"
        )
        told.append([(event["kind"], event["target"]) for event in answer.data["events"]])
        assert answer.needs_person == bool(answer.data["events"])
    assert told[0] == []
    assert told[1] == [("broke", "keel.a.run")]
    assert told[2] == []
    assert [kind for kind, _ in told[3]] == ["mended", "safe"]
    assert told[4] == []
    assert '"message": "fits"' in (tmp_path / "badge.json").read_text()


def test_watch_says_which_state_it_cannot_read(project: Project, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    with pytest.raises(ConfigError, match=r"state\.json cannot be read"):
        watch(project.open(), today=date(2026, 1, 2), state=tmp_path / "state.json")


def test_lines_that_only_moved_are_no_news() -> None:
    old = Remembered(pin="p", tip="a", broken={"own/x.py keel.f patches": Place(place="own/x.py:3", target="keel.f")})
    new = Remembered(pin="p", tip="b", broken={"own/x.py keel.f patches": Place(place="own/x.py:9", target="keel.f")})
    assert list(find_news("keel", old, new)) == []


def test_impact_names_the_project_and_the_line(project: Project, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(f'projects = ["{project.root}"]\n')
    answer = impact(project.upstream.commits[1], fleet)
    assert answer.data["projects"][0]["breaks"][0]["place"] == "own/patch.py:9"
    assert answer.needs_person
    assert not impact(project.upstream.commits[2], fleet).needs_person


@pytest.mark.parametrize("text", ["", "projects = []", "projects = [1]", "{"])
def test_a_fleet_without_projects_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "fleet.toml").write_text(text)
    with pytest.raises(ConfigError):
        impact("main", tmp_path / "fleet.toml")


def test_trend_is_cut_where_the_pin_moved(project: Project) -> None:
    project.downstream.gitlink("third_party/keel", project.upstream.commits[2])
    project.downstream.commit("Move the pin", at=START + 40 * DAY)
    project.downstream.commit("Later", {"x.txt": ""}, at=START + 70 * DAY)
    answer = gap_trend(project.open(), "keel", since=date(2026, 1, 1))
    points = answer.data["points"]
    assert [(one["date"], one["behind"], one["moved"]) for one in points] == [
        ("2026-01-01", 0, False),
        ("2026-02-01", 3, False),
        ("2026-03-01", 1, True),
        ("2026-03-12", 1, False),
    ]
    charts = [block for block in answer.report.sections[0].blocks if getattr(block, "kind", "") == "trend"]
    assert [len(chart.series) for chart in charts] == [2, 2]  # type: ignore[union-attr]
