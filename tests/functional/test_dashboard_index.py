from __future__ import annotations

import json
from pathlib import Path

import pytest

from layline.cli.main import main
from record_samples import spoil, weekly_record, write, write_project, write_record

SETTINGS = """
[project]
name = "Harbor"

[periodic]
required = ["engine", "loader"]
"""


def run(root: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["dashboard", "index", "-c", str(root / "layline.toml"), *arguments])
    return int(stopped.value.code or 0)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(tmp_path / "layline.toml", SETTINGS)
    return write_project(tmp_path)


def test_indexes_are_written_and_written_again_the_same(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project) == 0
    assert "3 records, all valid." in capsys.readouterr().out
    indexes = sorted(str(path.relative_to(project)) for path in project.rglob("index.json"))
    assert indexes == [
        "docs/backend-gap/dashboard-data/index.json",
        "docs/monthly_reports/dashboard-data/index.json",
        "docs/reports-data/index.json",
        "docs/weekly_reports/dashboard-data/index.json",
    ]
    before = {path: (project / path).read_bytes() for path in indexes}
    assert run(project) == 0
    assert before == {path: (project / path).read_bytes() for path in indexes}


def test_a_record_of_another_day_or_upstream_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = '[backends.engine]\nlabel = "Engine"\nupstream = "https://github.com/example/motor"\n'
    write(project / "layline.toml", SETTINGS + engine)
    assert run(project, "--date", "2026-05-01", "--format", "json") == 0
    doubtful = {item["what"]: item["why"] for item in json.loads(capsys.readouterr().out)["doubtful"]}
    assert doubtful["engine-upstream-main"] == "is dated 2026-05-08, later than today (2026-05-01)"
    assert run(project, "--date", "2026-06-01") == 0
    said = " ".join(capsys.readouterr().out.split())
    foreign = "compares with https://github.com/example/engine; layline.toml names https://github.com/example/motor"
    assert f"engine-upstream-main {foreign}" in said
    assert "looked at" not in said


def test_only_one_kind_is_read_and_written(project: Path) -> None:
    write_record(project, "gap", "{")
    assert run(project, "--only", "weekly") == 0
    assert [path.parent.parent.name for path in project.rglob("index.json")] == ["weekly_reports"]


def test_one_invalid_record_writes_nothing_and_says_where(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(project, "weekly", json.dumps(spoil(weekly_record(), "report_id", "2025-W53")))
    assert run(project) == 2
    error = capsys.readouterr().err
    assert "docs/weekly_reports/dashboard-data/reports/2026-W19.json: report_id" in error
    assert "has no week 53" in error
    assert list(project.rglob("index.json")) == []


def test_required_keys_are_configuration(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project / "layline.toml", '[project]\nname = "Harbor"\n[periodic]\npreset = "primus"\n')
    assert run(project) == 2
    assert "megatron_status: is missing" in capsys.readouterr().err
    write(project / "layline.toml", '[project]\nname = "Harbor"\n')
    assert run(project) == 0


def test_a_file_that_is_no_index_is_not_overwritten(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = write(project / "docs/reports-data/index.json", '{"mine": true}')
    assert run(project) == 2
    assert "is in the way" in capsys.readouterr().err
    assert mine.read_text() == '{"mine": true}'
    assert not (project / "docs/weekly_reports/dashboard-data/index.json").exists()


def test_an_unknown_preset_is_one_sentence(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project / "layline.toml", '[project]\nname = "Harbor"\n[periodic]\npreset = "prime"\n')
    assert run(project) == 2
    assert "there is no preset called 'prime'" in capsys.readouterr().err


def test_check_writes_nothing_and_names_a_stale_index(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(project, "--check") == 0
    assert list(project.rglob("index.json")) == [], "an index that was never written is not stale"
    assert run(project) == 0
    assert run(project, "--check") == 0
    index = project / "docs/weekly_reports/dashboard-data/index.json"
    index.write_text(index.read_text().replace('"total_reports": 1', '"total_reports": 7'))
    before = index.read_bytes()
    capsys.readouterr()
    assert run(project, "--check") == 1
    assert "docs/weekly_reports/dashboard-data/index.json does not match its records" in " ".join(
        capsys.readouterr().out.split()
    )
    assert index.read_bytes() == before


def test_check_names_an_invalid_record(project: Path) -> None:
    write_record(project, "gap", "{")
    assert run(project, "--check") == 2
