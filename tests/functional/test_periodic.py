"""`layline periodic` on a small layered project with real git histories."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from histories import History
from layline.cli.main import main
from record_samples import weekly_record, write

SETTINGS = """
[project]
name = "Harbor Kit"
repository = "https://github.com/example/harbor"
git = "harbor"

[periodic]
timezone = "Asia/Shanghai"
required = ["engine"]

[periodic.statuses.loader]
kind = "in-repo"
pins.ci = { file = ".github/workflows/ci.yaml", variable = "LOADER_COMMIT" }
pins.tool = { file = ".github/workflows/ci.yaml", variable = "TOOL_COMMIT", counted = false }

[backends.engine]
label = "Engine"
path = "third_party/engine"
upstream = "https://github.com/example/engine"
objects = "engine"

[backends.loader]
pin = { file = ".github/workflows/ci.yaml", variable = "LOADER_COMMIT" }
upstream = "https://github.com/example/loader"
objects = "loader"

[backends.absent]
path = "third_party/absent"
objects = "nowhere"
"""


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


@dataclass
class Project:
    root: Path
    engine: History
    loader: History
    harbor: History

    def run(self, *arguments: str) -> int:
        with pytest.raises(SystemExit) as stopped:
            main(["periodic", *arguments, "-c", str(self.root / "layline.toml")])
        return int(stopped.value.code or 0)

    def record(self, name: str = "2026-W19", cadence: str = "weekly") -> dict[str, Any]:
        path = self.root / f"docs/{cadence}_reports/dashboard-data/reports/{name}.json"
        plain: dict[str, Any] = json.loads(path.read_text())
        return plain


def workflow(loader: str, tool: str = "") -> str:
    return f"env:\n  LOADER_COMMIT: {loader}\n" + (f"  TOOL_COMMIT: {tool}\n" if tool else "")


@pytest.fixture
def project(template: Project, tmp_path: Path) -> Project:
    """A copy: making the histories takes longer than most tests."""
    root = tmp_path / "project"
    shutil.copytree(template.root, root)
    histories = (template.engine, template.loader, template.harbor)
    return Project(root, *(History(root / item.path.name, list(item.commits)) for item in histories))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    tmp_path = tmp_path_factory.mktemp("template")
    write(tmp_path / "layline.toml", SETTINGS)
    engine, loader = History.start(tmp_path / "engine"), History.start(tmp_path / "loader")
    for number in range(6):
        day = f"2026-05-0{number + 1}T12:00:00+00:00"
        engine.commit(f"feat: engine step {number} (#{100 + number})", {f"core/step{number}.py": "x = 1\n"}, at=at(day))
        loader.commit(f"loader step {number}", {"loader.py": f"x = {number}\n"}, at=at(day))
    harbor = History.start(tmp_path / "harbor")
    harbor.gitlink("third_party/engine", engine.commits[0])
    ci = ".github/workflows/ci.yaml"
    harbor.commit("start", {"a.py": "x = 0\n", ci: workflow(loader.commits[0])}, at=at("2026-05-02T12:00:00+08:00"))
    harbor.commit("fix: late on Sunday (#1)", {"a.py": "x = 1\n"}, at=at("2026-05-03T23:59:59+08:00"))
    harbor.commit("fix(a): first second of Monday (#2)", {"a.py": "x = 2\n"}, at=at("2026-05-04T00:00:00+08:00"))
    harbor.git("checkout", "-q", "-b", "topic")
    harbor.commit("work in progress", {"docs/guide.md": "# Guide\n"}, at=at("2026-05-05T08:00:00+08:00"))
    harbor.git("checkout", "-q", "main")
    message = "Merge pull request #3 from someone/topic\n\nExplain the guide"
    harbor.git("merge", "-q", "--no-ff", "-m", message, "topic", at=at("2026-05-05T09:00:00+08:00"))
    harbor.commit("pushed directly", {"b.py": "x = 1\n"}, at=at("2026-05-05T10:00:00+08:00"))
    harbor.commit(
        "Raise the loader (#4)", {ci: workflow(loader.commits[3], "f" * 40)}, at=at("2026-05-06T10:00:00+08:00")
    )
    harbor.commit("perf: after the window (#5)", {"a.py": "x = 3\n"}, at=at("2026-05-08T09:02:00+08:00"))
    return Project(tmp_path, engine, loader, harbor)


def test_a_week_is_told_from_history_alone(project: Project) -> None:
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    record = project.record()
    assert record["time_window"] == {
        "timezone": "Asia/Shanghai",
        "start": "2026-05-04T00:00:00+08:00",
        "end": "2026-05-08T09:01:00+08:00",
    }
    assert record["report_path"] == "docs/weekly_reports/2026-W19-harbor-kit-weekly.md"
    assert record["report_github_url"] == f"https://github.com/example/harbor/blob/main/{record['report_path']}"
    assert record["merged_pr_count"] == 3
    assert {name: count for name, count in record["category_breakdown"].items() if count} == {
        "Dependencies": 1,
        "Bug Fix": 1,
        "Docs": 1,
    }
    status = record["engine_status"]
    assert (status["pin_commit"], status["upstream_head"]) == (project.engine.commits[0], project.engine.commits[5])
    assert (status["commit_gap"], status["commit_gap_change"]) == (5, 3)
    assert status["changed_since"] == "2026-05-04T00:00+08:00"
    assert status["pin_changed_in_window"] is False


def test_pins_that_moved_are_told_with_their_distance(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.run("weekly", "--until", "2026-05-08T09:01", "--format", "json") == 0
    answer = json.loads(capsys.readouterr().out)
    pins = [(pin["name"], pin["before"], pin["after"], pin["distance"], pin["pull_request"]) for pin in answer["pins"]]
    assert pins == [
        ("LOADER_COMMIT", project.loader.commits[0], project.loader.commits[3], 3, 4),
        ("TOOL_COMMIT", None, "f" * 40, None, 4),
    ]
    status = answer["record"]["loader_status"]
    assert status["month_start_ts"] == "2026-05-01T00:00:00+08:00"
    assert (status["current_ci_commit"], status["month_start_ci_commit"]) == (project.loader.commits[3], None)
    assert (status["current_tool_commit"], status["commit_gap"]) == ("f" * 40, 2)
    assert status["recommendation"] == "monitor (new pin landed)"


def test_merge_commits_are_told_by_title_and_author_of_the_branch(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.run("weekly", "--until", "2026-05-08T09:01", "--format", "json", "--no-write") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(pull["number"], pull["title"]) for pull in answer["pull_requests"]] == [
        (4, "Raise the loader"),
        (3, "Explain the guide"),
        (2, "fix(a): first second of Monday"),
    ]
    assert answer["pull_requests"][2]["merged"] == "2026-05-04T00:00:00+08:00"
    assert len(answer["direct_commits"]) == 1
    assert not (project.root / "docs").exists()


def test_the_next_report_counts_from_the_one_before(project: Project) -> None:
    assert project.run("weekly", "--week", "2026-W18") == 0
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    status = project.record()["engine_status"]
    assert (status["commit_gap"], status["commit_gap_change"], status["changed_since"]) == (5, 3, "2026-W18")
    finding = next(text for text in project.record()["key_findings"] if text.startswith("Engine"))
    assert "+3 since 2026-W18" in finding
    assert "Recommendation: monitor (unchanged)" in finding


def test_running_a_window_again_changes_no_byte(project: Project) -> None:
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    written = {path: path.read_bytes() for path in sorted((project.root / "docs").rglob("*")) if path.is_file()}
    assert len(written) == 2
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    assert written == {path: path.read_bytes() for path in sorted((project.root / "docs").rglob("*")) if path.is_file()}


def test_a_window_is_updated_in_place(project: Project) -> None:
    assert project.run("weekly", "--until", "2026-05-06T00:00") == 0
    assert project.record()["merged_pr_count"] == 2
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert project.record()["merged_pr_count"] == 4
    assert len(list((project.root / "docs").rglob("*.json"))) == 1


def test_what_is_written_passes_the_dashboard(project: Project) -> None:
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert project.run("monthly", "--month", "2026-05") == 0
    with pytest.raises(SystemExit) as stopped:
        main(["dashboard", "index", "-c", str(project.root / "layline.toml")])
    assert not stopped.value.code
    index = json.loads((project.root / "docs/reports-data/index.json").read_text())
    assert index["summary"]["cadence_counts"] == {"weekly": 1, "monthly": 1}


def test_a_month_looks_back_over_its_quarter(project: Project) -> None:
    assert project.run("monthly", "--month", "2026-05", "--until", "2026-05-31T12:00") == 0
    record = project.record("2026-05", "monthly")
    assert record["merged_pr_count"] == 5
    status = record["loader_status"]
    assert (status["drift_type"], status["quarter_start_ts"]) == ("quarterly_in_repo", "2026-04-01T00:00:00+08:00")


def test_without_a_period_the_newest_commit_decides(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.run("weekly") == 0
    assert project.record()["generated_at"] == "2026-05-08T09:02:00+08:00"
    said = " ".join(capsys.readouterr().out.split())
    assert "that of the newest commit in the clones (Harbor Kit, 2026-05-08); --week names another" in said


def test_a_clone_that_ends_before_the_period_is_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.engine.commit("later (#106)", {"core/late.py": "x = 1\n"}, at=at("2026-05-20T12:00:00+00:00"))
    assert project.run("weekly") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "pull requests: the newest commit of Harbor Kit here is dated 2026-05-08, before this period began" in said
    assert "0 pull requests" not in said
    assert "0 merged" not in said
    assert "window is not known: our clone ends on 2026-05-08." in said


def test_a_backend_that_cannot_be_read_is_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert "drift of absent" in capsys.readouterr().out
    assert "absent_status" not in project.record()


def test_a_required_target_without_figures_is_unmeasured_and_no_zero(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project.root / "layline.toml", SETTINGS.replace('objects = "engine"', 'objects = "nowhere"'))
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert "engine was not measured" in capsys.readouterr().out
    status = project.record()["engine_status"]
    assert status["commit_gap"] is None
    assert project.record()["recommendations"]["engine"] == "monitor (not measured)"


def test_places_that_break_enter_the_recommendation(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    uses = "from core.step0 import x\n\nprint(x)\n"
    project.harbor.commit("feat: use the engine (#20)", {"uses.py": uses}, at=at("2026-05-09T09:00:00+08:00"))
    gone: dict[str, str | bytes | None] = {"core/step0.py": "y = 2\n", "core/__init__.py": ""}
    project.engine.commit("feat!: drop x (#120)", gone, at=at("2026-05-09T10:00:00+08:00"))
    settings = SETTINGS.replace('objects = "engine"', 'objects = "engine"\npackages = ["core"]')
    write(project.root / "layline.toml", settings)
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert "places_that_break" not in project.record()["engine_status"]
    assert project.run("weekly", "--week", "2026-W19", "--couplings") == 0
    status = project.record()["engine_status"]
    assert status["places_that_break"] == 1
    assert status["recommendation_rule"] == "1 place breaks; a sync is planned from 1 on (plan_breaks in layline.toml)"
    assert "1 file we use" in " ".join(capsys.readouterr().out.split())


def test_remarks_of_people_are_kept(project: Project) -> None:
    assert project.run("weekly", "--until", "2026-05-06T00:00") == 0
    page = project.root / project.record()["report_path"]
    begin = "[//]: # (layline: remarks begin)\n"
    page.write_text(page.read_text().replace(begin, f"{begin}Talk to the loader's people.\n"))
    assert project.run("weekly", "--week", "2026-W19") == 0
    assert "Talk to the loader's people." in page.read_text()
    assert "4 pull requests merged" in page.read_text()


def test_a_page_of_another_tool_is_not_overwritten(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    page = write(project.root / "docs/weekly_reports/2026-W19-harbor-kit-weekly.md", "# Mine\n")
    assert project.run("weekly", "--week", "2026-W19") == 2
    assert "2026-W19-harbor-kit-weekly.md: not written by Layline" in capsys.readouterr().err
    assert page.read_text() == "# Mine\n"


def test_nothing_is_written_through_a_symlink(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    (project.root / "docs").symlink_to(outside)
    assert project.run("weekly", "--week", "2026-W19") == 2
    assert "is a symlink or not a folder" in capsys.readouterr().err
    assert list(outside.iterdir()) == []


def test_an_upstream_that_may_not_have_been_fetched_is_told(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project.run("monthly", "--month", "2026-05") == 0
    assert "the newest known commit of Engine main is 25 days older than the window's end" in " ".join(
        capsys.readouterr().out.split()
    )
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    assert "newest known commit" not in capsys.readouterr().out


def test_an_invalid_earlier_record_is_told_and_not_compared_with(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project.root / "docs/weekly_reports/dashboard-data/reports/2026-W18.json", "{")
    assert project.run("weekly", "--until", "2026-05-08T09:01") == 0
    assert "2026-W18.json: line 1 is not JSON" in " ".join(capsys.readouterr().out.split())


def test_a_record_of_another_tool_is_not_overwritten(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    mine = project.root / "docs/weekly_reports/dashboard-data/reports/2026-W19.json"
    write(mine, json.dumps(weekly_record()))
    assert project.run("weekly", "--week", "2026-W19") == 2
    assert "not written by Layline" in capsys.readouterr().err
    assert json.loads(mine.read_text()) == weekly_record()
    assert project.run("weekly", "--week", "2026-W19", "--replace") == 0
    assert project.record()["generator"] == "layline.periodic/1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("weekly", "--week", "2025-W53"), "has no week 53"),
        (("weekly", "--week", "2026-W19", "--until", "soon"), "is not a time"),
        (("weekly", "--week", "2020-W10"), "has no commit up to"),
        (("monthly", "--month", "2026-13"), "names a month that does not exist: 13"),
    ],
)
def test_a_mistake_is_one_sentence(
    project: Project, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert project.run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_hostile_titles_stay_text(project: Project) -> None:
    evil = "fix: <script>alert(1)</script> \x1b[31m | `x` " + "y" * 5000 + " (#9)"
    project.harbor.commit(evil, {"a.py": "x = 9\n"}, at=at("2026-05-09T09:00:00+08:00"))
    project.engine.commit(
        "feat: \u202eevil " + "z" * 5000 + " (#200)", {"core/e.py": "x = 1\n"}, at=at("2026-05-09T09:00:00+08:00")
    )
    assert project.run("weekly", "--week", "2026-W19") == 0
    text = (project.root / project.record()["report_path"]).read_text()
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "\x1b" not in text
    assert "\u202e" not in text
