"""Trend, watch and impact on one little history: what they say, and that nothing is said twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from layline.app.fleet import impact
from layline.app.over_time import gap_trend, watch
from layline.cli.show import render
from layline.config import Pin
from layline.errors import ConfigError
from layline.upgrade.news import News, Place, Remembered, find_news
from upgrading import Files, Project, make_project

DAY = 86_400
START = 1_767_225_600
"""2026-01-01T00:00:00Z"""
RUN = "def run(x):\n    total = 0\n    for step in range(x):\n        total += step\n    return total\n"
TWICE = RUN.replace("step\n", "2 * step\n")
HELP = "def help_out(x):\n    return x\n\n\ndef help_more(x):\n    return x, x\n"
BROKE = [("broke", "keel.a.run"), ("broke", "keel.c.help_more"), ("broke", "keel.c.help_out")]
"""The last two on one line: one place."""
DAYS: list[tuple[str, Files, list[tuple[str, str]]]] = [
    # (what upstream commits on a day, its files, what is told on that day alone)
    ("pin", {"keel/a.py": RUN, "keel/b.py": RUN, "keel/c.py": HELP}, []),
    ("Remove run and help (#2)", {"keel/a.py": "x = 1\n", "keel/c.py": ""}, BROKE),
    ("Bring run back (#3)", {"keel/a.py": RUN}, [("mended", "keel.a.run")]),
    ("Bring help back (#4)", {"keel/c.py": HELP}, [*(("mended", name) for _, name in BROKE[1:]), ("safe", "")]),
    ("Step twice as far in b (#5)", {"keel/b.py": TWICE}, [("can-go", "keel.b.run")]),
    ("Say nothing (#6)", {"README.md": "keel\n"}, []),
    ("Remove both again (#7)", {"keel/a.py": "", "keel/c.py": ""}, BROKE),
]
OURS: Files = {
    "own/patch.py": f"import keel.a\nimport keel.b\n\n\n{TWICE.replace('run', 'mine')}\n\nkeel.a.run = mine\nkeel.b.run = mine\n",
    "own/use.py": "from keel.c import help_more, help_out\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("time"), [(subject, files) for subject, files, _ in DAYS], OURS)


def test_watch_tells_each_thing_once_on_the_day_it_happens(project: Project, tmp_path: Path) -> None:
    """The upstream has one commit a day from 1 January on."""

    def tell(day: int) -> list[tuple[str, str]]:
        state, badge = tmp_path / "state.json", tmp_path / "badge.json"
        answer = watch(project.open(), today=date(2026, 1, day), state=state, badge=badge)
        events = answer.data["events"]
        tips = answer.data["tips"].values()
        assert answer.needs_person == bool(events)
        return [(one["kind"], "" if one["target"] in tips else one["target"]) for one in events]

    assert [tell(number) for number, _ in enumerate(DAYS, 1)] == [news for _, _, news in DAYS]
    assert '"message": "2 places will break"' in (tmp_path / "badge.json").read_text()
    assert {kind for _, _, news in DAYS for kind, _ in news} == {kind.value for kind in News}


ON_GITHUB = [
    # (day, what is written for it after the day before, in parts)
    (
        2,
        [
            "::notice::This is the first answer: 2 places of ours break at the tips. The next answer shows only what is new."
        ],
    ),
    (3, ["::notice::1 message since 2026-01-02: 1 mended.", "keel.a.run: does not break any more (broken by BROKE)"]),
    (
        4,
        [
            "::notice::3 messages since 2026-01-03: 2 mended, 1 safe.",
            "::notice::keel: nothing of ours breaks at the tip any more (TIP)",
            "help_more",
            "help_out",
        ],
    ),
    (5, ["::notice::1 message since 2026-01-04: 1 can-go.", "keel.b.run: the patch can be deleted"]),
    (6, ["::notice::Nothing is new since 2026-01-05."]),
]


def test_watch_tells_github_what_it_tells_people(project: Project, tmp_path: Path) -> None:
    """Also that it is the first answer, that nothing is new, and, at no place of ours, that a tip is safe."""
    for day, told in ON_GITHUB:
        answer = watch(project.open(), today=date(2026, 1, day), state=tmp_path / "state.json")
        lines = render(answer, "github").splitlines()
        names = {"BROKE": project.upstream.commits[1][:12], "TIP": project.upstream.commits[day - 1][:12]}
        wanted = [one.replace("BROKE", names["BROKE"]).replace("TIP", names["TIP"]) for one in told]
        assert [part in line for part, line in zip(wanted, lines, strict=True)] == [True] * len(told), lines
        notices = [line.removeprefix("::notice::") for line in lines if line.startswith("::notice::")]
        assert render(answer, "text").splitlines()[: len(notices)] == notices


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
    assert answer.data["projects"][0]["breaks"][0]["place"] == "own/patch.py:12"
    assert "breaks 2 places in 1 of 1 project." in answer.report.title
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
    assert [(one["date"], one["behind"], one["breaks"], one["moved"]) for one in points] == [
        ("2026-01-01", 0, 0, False),
        ("2026-02-01", 6, 2, False),  # a patch and an import outside patches, as `patches drift` counts them
        ("2026-03-01", 4, 1, True),  # what the new pin lacks cannot break
        ("2026-03-12", 4, 1, False),
    ]
    assert (
        "no commits behind and no places that break on 2026-01-01; the pin moved once in between."
        in answer.report.title
    )
    charts = [block for block in answer.report.sections[0].blocks if getattr(block, "kind", "") == "trend"]
    assert [len(chart.series) for chart in charts] == [2, 2]  # type: ignore[union-attr]


WRITTEN = "The pin of earlier days is not known: only layline.toml names it."


def test_trend_says_where_the_pin_of_earlier_days_is_not_known(project: Project) -> None:
    """A pin in a settings file has a history where that file is committed."""
    workspace = project.open()
    pinned = replace(workspace.settings.backend("keel"), path=None, pin=Pin(revision=project.upstream.commits[0]))
    settings = replace(workspace.settings, backends={"keel": pinned})
    answer = gap_trend(replace(workspace, settings=settings), "keel", since=date(2026, 1, 1))
    assert WRITTEN in answer.report.title
    assert len(answer.data["points"]) == 1
    assert [one["what"] for one in answer.data["skipped"]] == [f"before {answer.data['points'][0]['date']}"]
    assert WRITTEN not in gap_trend(workspace, "keel", since=date(2026, 1, 1)).report.title
