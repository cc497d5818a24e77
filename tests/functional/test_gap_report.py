"""`gap report` on a tiny layered project: files, determinism, remarks, what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from commands import Result, layline
from layered import make_layered
from upgrading import Files, make_project

REPORT = "docs/backend-gap/reports/keel/upstream-main/report.md"
SUMMARY = "docs/backend-gap/reports/keel/upstream-main/summary.md"
RECORD = "docs/backend-gap/dashboard-data/reports/keel-upstream-main.json"
EVIDENCE = "docs/backend-gap/dashboard-data/evidence/keel-upstream-main.json"
FILES = (REPORT, SUMMARY, RECORD, EVIDENCE)


def report(root: Path, *arguments: str, date: str = "2026-01-05") -> Result:
    return layline("gap", "report", "keel", "--date", date, *arguments, cwd=root)


def read_all(root: Path) -> dict[str, str]:
    return {name: (root / name).read_text() for name in FILES}


def test_the_four_files_are_written_and_a_second_run_changes_no_byte(tmp_path: Path) -> None:
    make_layered(tmp_path)
    first = report(tmp_path, "--format", "json")
    assert first.code == 0, first.err
    files = {one["path"]: one["changed"] for one in first.json["reports"][0]["files"]}
    assert files == dict.fromkeys(FILES, True)
    before = read_all(tmp_path)
    again = report(tmp_path, "--format", "json")
    assert not any(one["changed"] for one in again.json["reports"][0]["files"])
    assert read_all(tmp_path) == before


FAR = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
FARTHER = {
    "TZ": "America/New_York",
    "LC_ALL": "C.UTF-8",
    "LANG": "de_DE.UTF-8",
    "PYTHONHASHSEED": "2",
    "USER": "x",
    "HOME": "/nowhere",
    "COLUMNS": "40",
}


def test_place_cache_umask_zone_and_locale_change_no_byte(tmp_path: Path) -> None:
    """Cold in one place of the world, from its cache in another."""
    plain, other = tmp_path / "plain", tmp_path / "another place" / "deeper"
    for root in (plain, other):
        root.mkdir(parents=True)
        make_layered(root)
    assert report(plain).code == 0
    expected = {name: (plain / name).read_bytes() for name in FILES}
    for umask, surroundings in ((0o077, FARTHER), (0o022, FAR)):
        before = os.umask(umask)
        try:
            env = {**surroundings, "LAYLINE_CACHE": str(tmp_path / "cold")}
            done = layline("gap", "report", "keel", "--date", "2026-01-05", cwd=other, env=env)
        finally:
            os.umask(before)
        assert done.code == 0, done.err
        assert {name: (other / name).read_bytes() for name in FILES} == expected
        for name in FILES:
            (other / name).unlink()


def test_sections_stand_in_the_published_order(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    headings = [line for line in (tmp_path / REPORT).read_text().splitlines() if line.startswith("## ")]
    assert headings[:8] == [
        "## In short",
        "## High-level comparison",
        "## Dependencies",
        "## Directories and capabilities",
        "## Representative upstream changes",
        "## Integration and coupling",
        "## Evidence sources",
        "## Appendix",
    ]
    headings = [line for line in (tmp_path / SUMMARY).read_text().splitlines() if line.startswith("## ")]
    assert headings == [
        "## High level",
        "## Recommendation",
        "## Key dependency differences",
        "## Representative upstream changes",
        "## Integration layer",
        "## Evidence sources",
    ]


def test_the_first_page_is_prose_and_tells_what_is_new_since_the_last_report(tmp_path: Path) -> None:
    upstream = make_layered(tmp_path).upstream
    first = report(tmp_path, "--format", "json")
    assert first.json["reports"][0]["problems"] == []
    assert "Since the last report" not in (tmp_path / REPORT).read_text()
    report(tmp_path, date="2026-01-12")
    text = (tmp_path / REPORT).read_text()
    short = text.partition("## In short")[2].partition("## High-level")[0]
    assert "(2026-01-05): pin, tip and the number of places that break are the same." in short
    assert "|" not in short
    report(tmp_path, date="2026-01-12")
    assert (tmp_path / REPORT).read_text() == text
    assert layline("gap", "verify", RECORD, cwd=tmp_path).code == 0
    upstream.commit("More (#5)", {"keel/more.py": "x = 1\n"})
    report(tmp_path, date="2026-01-19")
    now = "): the pin has not moved, we are 3 commits behind (2 then), 1 place of ours breaks (1 then)."
    assert now in (tmp_path / REPORT).read_text()


def test_every_fact_has_evidence_and_names_are_unique(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    evidence = json.loads((tmp_path / EVIDENCE).read_text())
    names = [fact["name"] for fact in evidence["facts"]]
    assert len(names) == len(set(names))
    assert all(fact["evidence"] for fact in evidence["facts"])
    values = {fact["name"]: fact["value"] for fact in evidence["facts"]}
    assert (values["behind"], values["files"], values["pin.version"], values["tip.version"]) == (2, 3, "1.0", "1.1")


def test_remarks_survive_regeneration_and_the_rest_does_not(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    place = tmp_path / REPORT
    begin = "[//]: # (layline: remarks begin)\n"
    place.write_text(place.read_text().replace(begin, f"{begin}\nWe wait for *1.2*.\n") + "stray text\n")
    assert report(tmp_path, date="2026-01-06").code == 0
    text = place.read_text()
    assert "We wait for *1.2*." in text
    assert "stray text" not in text
    assert "2026-01-06" in text


def test_damaged_remarks_are_refused_not_lost(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    place = tmp_path / SUMMARY
    place.write_text(place.read_text().replace("[//]: # (layline: remarks end)\n", "My words.\n"))
    result = report(tmp_path)
    assert result.code == 2
    assert "remarks block" in result.err
    assert "My words." in place.read_text()


@pytest.mark.parametrize("name", [REPORT, SUMMARY])
def test_a_report_of_someone_else_is_not_overwritten(tmp_path: Path, name: str) -> None:
    make_layered(tmp_path)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("# By hand\n")
    result = report(tmp_path)
    assert result.code == 2
    assert "--replace" in result.err
    assert (tmp_path / name).read_text() == "# By hand\n"
    assert not (tmp_path / RECORD).exists()
    assert report(tmp_path, "--replace").code == 0


def test_a_dated_record_and_its_file_names_are_kept(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    record = json.loads((tmp_path / RECORD).read_text())
    record["artifacts"][0]["path"] = "./reports/keel/upstream-main/report.fr.pdf"
    dated = tmp_path / "docs/backend-gap/dashboard-data/reports/keel-upstream-main-2026-01-02.json"
    dated.write_text(json.dumps({**record, "id": dated.stem}))
    for name in FILES:
        (tmp_path / name).unlink()
    result = report(tmp_path, "--replace", "--format", "json")
    assert result.code == 0, result.err
    written = json.loads(dated.read_text())
    assert (written["id"], written["generated_at"]) == (dated.stem, "2026-01-05")
    assert (tmp_path / "docs/backend-gap/reports/keel/upstream-main/report.fr.md").exists()
    assert not (tmp_path / RECORD).exists()


def test_one_backend_or_all(tmp_path: Path) -> None:
    make_layered(tmp_path)
    assert layline("gap", "report", "--date", "2026-01-05", cwd=tmp_path).code == 0  # there is but one
    assert layline("gap", "report", "--all", "--date", "2026-01-05", cwd=tmp_path).code == 0
    assert (tmp_path / RECORD).exists()


def test_updating_a_report_of_someone_else_keeps_its_structure(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    old = (
        "# Our Keel Report\n\n## Outer Integration Layer\n\nold\n\n## Change Hotspots\n\nold\n\n## Staffing\n\nOur words.\n\n"
        "## High-Level Comparison\n\nold\n"
    )
    (tmp_path / REPORT).write_text(old)
    result = report(tmp_path, "--replace", "--format", "json")
    assert result.json["reports"][0]["problems"] == []
    text = (tmp_path / REPORT).read_text()
    titles = [line for line in text.splitlines() if line.startswith(("# ", "## "))]
    assert titles[:1] == ["# Our Keel Report"]
    kept = [line for line in titles if "Outer" in line or "Hotspots" in line or "Staffing" in line]
    assert kept == ["## Outer Integration Layer", "## Change Hotspots", "## Staffing"]
    assert "## High-Level Comparison" in titles
    assert "Our words." in text
    assert "\nold\n" not in text
    assert layline("gap", "verify", RECORD, cwd=tmp_path).code == 0
    report(tmp_path)
    assert (tmp_path / REPORT).read_text() == text


def test_the_rows_are_folded_and_what_breaks_is_not(tmp_path: Path) -> None:
    make_layered(tmp_path)
    report(tmp_path)
    text = (tmp_path / REPORT).read_text()
    main, _, appendix = text.partition("## Appendix")
    assert "<details>" not in main
    assert "### Errors: " in main
    assert appendix.count("<details><summary>") == appendix.count("</details>") > 2
    assert "Errors, row by row" in appendix
    evidence = {fact["name"]: fact["value"] for fact in json.loads((tmp_path / EVIDENCE).read_text())["facts"]}
    causes = [places for name, places in evidence.items() if name.startswith("cause.")]
    assert sum(map(len, causes)) == len({place for places in causes for place in places})


@pytest.mark.parametrize(
    ("ours", "advice"),
    [([], "plan sync"), (["sail>=1"], "plan sync"), (["sail>=2"], "monitor")],
)
def test_a_need_that_ours_meet_already_plans_no_sync(tmp_path: Path, ours: list[str], advice: str) -> None:
    """A tip of two days later asked for one more package: that alone was a reason to sync."""

    def declare(name: str, *needs: str) -> str:
        return f'[project]\nname = "{name}"\nversion = "1.0"\ndependencies = {json.dumps(needs)}\n'

    steps: list[tuple[str, Files]] = [
        ("Begin", {"keel/a.py": "x = 1\n", "pyproject.toml": declare("keel", "sail>=1")}),
        ("Raise it (#2)", {"pyproject.toml": declare("keel", "sail>=2")}),
    ]
    project = make_project(tmp_path, steps, {"own/use.py": "import keel.a\n", "pyproject.toml": declare("own", *ours)})
    settings = project.root / "layline.toml"
    written = settings.read_text().replace("[project]", '[project]\nrepository = "https://example.org/own"')
    settings.write_text(written.replace("packages = ", 'upstream = "https://example.org/keel"\npackages = '))
    told = layline("gap", "report", "--date", "2026-01-05", "--format", "json", cwd=project.root)
    assert told.code == 0, told.err
    assert told.json["reports"][0]["recommendation"]["label"] == advice
