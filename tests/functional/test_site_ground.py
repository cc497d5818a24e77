"""What a build may read, where it may write, and what it says when it cannot."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import layline as package
from commands import Result, run_script
from layline.cli.main import main
from record_samples import gap_record, spoil, write, write_record
from sites import SETTINGS, make_project, read_site

BUILD = ("dashboard", "build", "--no-pdf", "--output-dir")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "work" / "harbor")


def layline(*arguments: str, cwd: Path) -> Result:
    """Run a command in this process: the same door, without starting Python each time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([*arguments])
        except SystemExit as stopped:
            return Result(int(stopped.code or 0), out.getvalue(), err.getvalue())


def build(project: Path, to: str = "../site", *more: str) -> Result:
    return layline(*BUILD, to, *more, cwd=project)


def refuse(done: Result, *words: str) -> None:
    """Refused with one sentence, not with a traceback or an answer."""
    assert done.code == 2, (done.out, done.err)
    assert "bug" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ('[dashboard]\nsections = "../outside.json"\n', "sections"),
        ('[dashboard]\nsections = "/etc/hostname"\n', "sections"),
        ('[dashboard]\nsections = "sub/../../outside.json"\n', "sections"),
        ('[dashboard]\npdf_engine = "weasyprint"\npdf_style = "../outside.css"\n', "pdf_style"),
    ],
)
def test_settings_read_nothing_outside_the_project(project: Path, setting: str, named: str) -> None:
    write(project.parent / "outside.json", '{"links": [{"title": "Outside", "path": "https://example.com/x"}]}')
    write(project.parent / "outside.css", "p { color: red }")
    write(project / "layline.toml", SETTINGS + setting)
    refuse(build(project), named, "outside the project")
    assert not (project.parent / "site").exists()


@pytest.mark.parametrize("docs", ["../../other/docs", "/tmp", "..", "docs/../.."])
def test_docs_lie_inside_the_project(project: Path, docs: str) -> None:
    make_project(project.parent.parent / "other")
    write(project / "layline.toml", SETTINGS.replace('name = "Harbor"', f'name = "Harbor"\ndocs = "{docs}"'))
    refuse(build(project), "project.docs", "outside the project")
    refuse(layline("dashboard", "index", cwd=project), "project.docs", "outside the project")


@pytest.mark.parametrize("to", [".git", ".git/site", ".git/hooks/site", "../other/.git/site"])
def test_a_site_is_not_written_into_git_folders(project: Path, to: str) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project.parent / "other").mkdir()
    before = read_site(project / ".git")
    refuse(build(project, to), ".git")
    assert read_site(project / ".git") == before


def test_two_records_cannot_claim_one_pdf(project: Path) -> None:
    other = spoil(spoil(gap_record(), "id", "engine-release"), "local.commit", "d" * 40)
    write_record(project, "gap", json.dumps(other), name="engine-release")
    done = build(project)
    refuse(done, "engine-release.json", "engine-upstream-main.json", "reports/engine/upstream-main/report.pdf")


def test_two_pdfs_that_differ_in_case_alone_are_one(project: Path) -> None:
    other = spoil(gap_record(), "id", "engine-release")
    for artifact in other["artifacts"]:
        artifact["path"] = artifact["path"].replace("/engine/", "/Engine/")
    write_record(project, "gap", json.dumps(other), name="engine-release")
    for name in ("report", "summary"):
        write(project / f"docs/backend-gap/reports/Engine/upstream-main/{name}.md", "# A\n")
    refuse(build(project), "engine-release.json")


def sections(project: Path, source: str) -> None:
    write(project / "layline.toml", SETTINGS + '[dashboard]\nsections = "pages.json"\n')
    write(project / "pages.json", json.dumps({"sections": [{"name": "extra", "source": source}]}))


@pytest.mark.parametrize("source", [".", "./", "./.", ".git", "sub/.git", ".github", "sub//../."])
def test_a_section_is_a_plain_folder_of_the_project(project: Path, source: str) -> None:
    for folder in (".", ".git", "sub/.git", ".github"):
        write(project / folder / "index.html", "<p>secret</p>")
    sections(project, source)
    refuse(build(project), "sections[0]")


def test_dotfiles_of_a_section_are_not_published_and_told(project: Path) -> None:
    for name in ("index.html", ".env", ".git/config", "in/.htpasswd", ".well-known/security.txt"):
        write(project / "pages" / name, "words")
    sections(project, "pages")
    done = build(project, "../site", "--format", "json")
    assert done.code == 0, done.err
    found = sorted(path for path in read_site(project.parent / "site") if path.startswith("extra/"))
    assert found == ["extra/.well-known/security.txt", "extra/index.html"]
    assert [item["what"] for item in done.json["skipped"]] == ["pages/.env", "pages/.git", "pages/in/.htpasswd"]


def test_mistyped_docs_do_not_replace_a_full_site_by_an_empty_one(project: Path) -> None:
    assert build(project).code == 0
    before = read_site(project.parent / "site")
    write(project / "layline.toml", SETTINGS.replace('name = "Harbor"', 'name = "Harbor"\ndocs = "dosc"'))
    done = build(project)
    refuse(done, "dosc", "docs")
    refuse(layline("dashboard", "index", cwd=project), "dosc")
    assert read_site(project.parent / "site") == before
    assert not (project / "dosc").exists()


def test_records_that_are_all_gone_do_not_empty_a_full_site(project: Path) -> None:
    assert build(project).code == 0
    before = read_site(project.parent / "site")
    (project / "docs").rename(project / "elsewhere")
    refuse(build(project), "no report", "../site")
    (project / "docs").mkdir()
    refuse(build(project), "no report")
    assert read_site(project.parent / "site") == before


def test_files_of_others_in_the_folder_of_the_site_stay(project: Path) -> None:
    assert build(project).code == 0
    site = project.parent / "site"
    write(site / "CNAME", "dashboard.example.com\n")
    write(site / "downloads/wheel.whl", "wheel")
    write(site / "weekly/notes.html", "<p>by hand")
    done = build(project, "../site", "--format", "json")
    assert done.code == 0, done.err
    assert (site / "CNAME").read_text() == "dashboard.example.com\n"
    assert (site / "downloads/wheel.whl").read_text() == "wheel"
    assert (site / "weekly/notes.html").is_file()
    assert done.json["kept"] == ["CNAME", "downloads/wheel.whl", "weekly/notes.html"]
    assert layline("dashboard", "check", "../site", cwd=project).code == 0


def test_what_an_earlier_build_wrote_goes_when_its_report_goes(project: Path) -> None:
    assert build(project).code == 0
    site = project.parent / "site"
    assert (site / "weekly/2026-W19.html").is_file()
    (project / "docs/weekly_reports/dashboard-data/reports/2026-W19.json").unlink()
    assert build(project).code == 0
    assert not (site / "weekly/2026-W19.html").exists()


def test_a_site_of_an_older_layline_keeps_the_files_it_never_wrote(project: Path) -> None:
    assert build(project).code == 0
    site = project.parent / "site"
    write(site / ".layline-site.json", '{"schema": "layline.site/1", "made_by": "layline dashboard build"}\n')
    write(site / "CNAME", "dashboard.example.com\n")
    write(site / "weekly/2020-W01.html", "<p>an old page")
    assert build(project).code == 0
    assert (site / "CNAME").is_file()
    assert not (site / "weekly/2020-W01.html").exists()


FULL = """
import os, resource, subprocess, sys
small, *command = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], check=True)
os.execv(command[0], command)
"""


def test_a_full_disk_is_told_as_such(project: Path) -> None:
    small = project.parent / "small"
    small.mkdir()
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no private mounts on this machine")
    command = [sys.executable, "-m", "layline", *BUILD, str(small / "site")]
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", FULL, str(small), *command],
        cwd=project,
        env={
            "PYTHONPATH": str(Path(package.__file__).parent.parent),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr
    assert "bug" not in done.stderr


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))
from layline.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("arguments", [(*BUILD, "../site"), ("dashboard", "index")])
def test_a_file_that_may_not_grow_is_told_as_such(project: Path, arguments: tuple[str, ...]) -> None:
    script = project.parent / "limited.py"
    script.write_text(LIMITED)
    done = run_script(script, *arguments, cwd=project, env={"LAYLINE_CACHE": str(project.parent / "cache")})
    assert done.code == 2, done.err
    assert "File too large" in done.err
    assert "bug" not in done.err
    assert not (project.parent / "site").exists()


def test_emoji_in_one_document_do_not_stop_the_build(project: Path) -> None:
    report = project / "docs/backend-gap/reports/engine/upstream-main/report.md"
    write(report, "# Ready 🚀\n\n✅ 完\n")
    done = layline("dashboard", "build", "--output-dir", "../site", "--format", "json", cwd=project)
    assert done.code == 0, done.err
    assert (project.parent / "site/reports/engine/upstream-main/report.pdf").is_file()
    told = [item for item in done.json["skipped"] if item["what"].endswith("report.md")]
    assert len(told) == 1
    assert "3 characters have no glyph" in told[0]["why"]


def test_indexes_are_written_only_for_what_there_is(tmp_path: Path) -> None:
    project = make_project(tmp_path / "harbor", weeks=1, monthly=[], gap=[])
    before = set(read_site(project))
    assert layline("dashboard", "index", cwd=project).code == 0
    assert set(read_site(project)) - before == {
        "docs/reports-data/index.json",
        "docs/weekly_reports/dashboard-data/index.json",
    }
