from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import html5lib
import pytest

from commands import Result, layline
from layline.cli.main import main
from layline.dashboard.publish import MARKER, write_files
from layline.errors import Error
from record_samples import gap_record, monthly_record, spoil, weekly_record, write, write_record
from sites import SETTINGS, make_project, make_weeks, read_site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "harbor")


def build(project: Path, *more: str, to: str = "../site") -> Result:
    """Run the command in this process: the same door, without starting Python each time."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(project), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(["dashboard", "build", "--output-dir", to, *more])
        except SystemExit as stopped:
            return Result(int(stopped.code or 0), out.getvalue(), err.getvalue())


def test_site_is_built_checked_and_the_source_untouched(project: Path) -> None:
    before = read_site(project)
    done = build(project, "--format", "json")
    assert (done.code, done.err) == (0, "")
    site = project.parent / "site"
    assert set(done.json["files"]) >= {
        "index.html",
        "backends/engine.html",
        "backends/loader.html",
        "weekly/2026-W19.html",
        "monthly/2026-05.html",
        "reports/engine/upstream-main/report.html",
        "reports/engine/upstream-main/report.pdf",
        "reports/engine/upstream-main/summary.pdf",
        "dashboard-data/index.json",
        "dashboard-data/reports/engine-upstream-main.json",
        "reports-data/index.json",
        "data/index.html",
        "data/standings.csv",
        "badges/engine.svg",
        "badges/engine.json",
        "sections.json",
    }
    assert read_site(project) == before
    assert sorted(path.name for path in project.parent.iterdir()) == ["harbor", "site"]
    checked = layline("dashboard", "check", str(site), cwd=project)
    assert (checked.code, checked.err) == (0, "")


@pytest.mark.usefixtures("empty_cache")
def test_same_records_same_bytes_and_nothing_rendered_twice(project: Path) -> None:
    first = build(project, "--format", "json")
    made = read_site(project.parent / "site")
    again = build(project, "--format", "json")
    assert first.json["rendered"] > 0
    assert (again.json["rendered"], again.json["unchanged"]) == (0, first.json["rendered"])
    assert read_site(project.parent / "site") == made
    fresh = layline(
        "dashboard",
        "build",
        "--output-dir",
        str(project.parent / "other"),
        cwd=project,
        env={"LAYLINE_CACHE": str(project.parent / "cache"), "TZ": "Asia/Tokyo", "LC_ALL": "C", "USER": "x"},
    )
    assert fresh.code == 0
    assert read_site(project.parent / "other") == made


@pytest.mark.usefixtures("empty_cache")
def test_what_a_build_keeps_is_told_and_cleared_with_the_rest(project: Path) -> None:
    first = build(project, "--no-pdf", "--format", "json").json
    kept = layline("cache", "info", "--format", "json", cwd=project).json["contents"]
    assert "site" in {row["what"] for row in kept}
    assert layline("cache", "clear", cwd=project).code == 0
    again = build(project, "--no-pdf", "--format", "json").json
    assert (again["rendered"], again["unchanged"]) == (first["rendered"], 0)


@pytest.mark.usefixtures("empty_cache")
def test_one_changed_document_renders_only_itself(project: Path) -> None:
    build(project)
    write(project / "docs/backend-gap/reports/engine/upstream-main/summary.md", "# Other\n\nwords\n")
    assert build(project, "--format", "json").json["rendered"] == 3  # its text, its page and its PDF


def test_every_page_is_valid_html_and_says_what_it_must(project: Path) -> None:
    build(project, "--no-pdf")
    site = project.parent / "site"
    for page in site.rglob("*.html"):
        html5lib.HTMLParser(strict=True).parse(page.read_text(encoding="utf-8"))
    home = (site / "index.html").read_text(encoding="utf-8")
    assert home.index("Latest snapshot") < home.index("Where each backend stands") < home.index("Backend deep dives")
    order = [
        home.index(title) for title in ("Why it matters", "New capabilities", "Dependency shifts", "Integration risks")
    ]
    assert order == sorted(order)
    assert 'class="cadence monthly"' in home.partition("Latest snapshot")[0]
    assert ".pdf" not in home
    assert "not measured" in home
    report = (site / "reports/engine/upstream-main/report.html").read_text(encoding="utf-8")
    assert 'href="summary.html"' in report
    assert "first = 1\n\nsecond = 2" in report
    assert "<svg" in report


def test_filters_are_hidden_until_they_are_worth_it(tmp_path: Path) -> None:
    build(make_project(tmp_path / "few", weeks=2), "--no-pdf", to="../a")
    assert "data-filters" not in (tmp_path / "a/index.html").read_text(encoding="utf-8")
    build(make_project(tmp_path / "many", weeks=20), "--no-pdf", to="../b")
    many = (tmp_path / "b/index.html").read_text(encoding="utf-8")
    assert 'name="cadence"' in many
    assert 'name="recommendation"' in many


def test_sources_that_differ_are_shown_with_their_dates(tmp_path: Path) -> None:
    old = spoil(spoil(gap_record(), "generated_at", "2026-04-30"), "stats.commit_gap", 403)
    project = make_project(tmp_path / "harbor", gap=[old], monthly=[])
    build(project, "--no-pdf")
    home = re.sub(r"\s+", " ", (tmp_path / "site/index.html").read_text(encoding="utf-8"))
    assert '<strong>Newer:</strong> 9 behind on 8 May 2026 (<a href="weekly/2026-W19.html">2026-W19</a>)' in home
    assert "412" not in home


def test_empty_project_has_a_site_too(tmp_path: Path) -> None:
    write(tmp_path / "harbor/layline.toml", SETTINGS)
    assert build(tmp_path / "harbor").code == 0
    assert "Nothing to show yet" in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_periodic_markdown_is_bundled_only_where_asked(project: Path) -> None:
    write(project / "docs/weekly_reports/2026-W19-harbor-weekly.md", "# Weekly\n\n## Merged\n\n- one\n")
    build(project, "--no-pdf")
    assert 'id="full"' not in (project.parent / "site/weekly/2026-W19.html").read_text(encoding="utf-8")
    write(project / "layline.toml", SETTINGS + "[dashboard]\nperiodic_pages = true\n")
    build(project, "--no-pdf")
    assert 'id="full"' in (project.parent / "site/weekly/2026-W19.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("size", "left_out"), [(9_000_000, False), (20_000_001, True)])
def test_a_heavy_evidence_file_never_stops_the_site(project: Path, size: int, left_out: bool) -> None:
    name = "dashboard-data/evidence/engine-upstream-main.json"
    file = project / "docs/backend-gap" / name
    head = b'{"schema": "layline.evidence/1", "facts": [], "commits": [], "note": "'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(head + b"x" * (size - len(head) - 2) + b'"}')
    done = build(project, "--no-pdf", "--format", "json")
    assert done.code == 0, done.err
    assert (name in done.json["files"]) is not left_out
    assert any(item["what"].endswith(name) for item in done.json["skipped"]) is left_out


def test_without_the_maker_of_pdfs_the_way_round_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(project.parent / "empty"))
    monkeypatch.setitem(sys.modules, "typst", None)
    done = build(project)
    assert done.code == 2
    assert done.err.rstrip().endswith("hint: `--no-pdf` builds the site without PDFs.")


def test_sections_are_mounted_and_missing_ones_told(project: Path) -> None:
    write(project / "layline.toml", SETTINGS + '[dashboard]\nsections = "pages.json"\n')
    manifest = {
        "sections": [
            {"name": "projection", "title": "Projection", "source": "examples/site"},
            {"name": "gone", "source": "no/such"},
        ],
        "links": [{"title": "Install", "path": "./simple/", "probe": True, "hint": "pip install"}],
    }
    write(project / "pages.json", json.dumps(manifest))
    write(project / "examples/site/index.html", "<p>foreign</p>")
    done = build(project, "--no-pdf", "--format", "json")
    assert done.code == 0
    assert done.json["skipped"] == [{"what": "section 'gone'", "why": "no/such is not in the checkout"}]
    site = project.parent / "site"
    assert (site / "projection/index.html").read_text() == "<p>foreign</p>"
    assert json.loads((site / "sections.json").read_text())["sections"] == [
        {"name": "projection", "title": "Projection", "path": "./projection/"}
    ]
    home = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="projection/index.html"' in home
    assert 'href="simple/" data-probe hidden' in home


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ({"sections": [{"name": "assets", "source": "x"}]}, "not a free name"),
        ({"sections": [{"name": "../x", "source": "x"}]}, "not a free name"),
        ({"sections": [{"name": "index.html", "source": "x"}]}, "not a free name"),
        ({"sections": [{"name": "x", "source": "/etc"}]}, "not a folder below"),
        ({"sections": [{"name": "x", "source": "../.."}]}, "not a folder below"),
        ({"sections": [{"name": "x", "source": "docs/link"}]}, "symlink"),
        ({"sections": [{"name": "x", "source": "docs/held"}]}, "is a symlink"),
        ({"links": [{"title": "x", "path": "javascript:alert(1)"}]}, "neither https"),
        ({"links": [{"title": "x", "path": "../../x"}]}, "neither https"),
        ([], "not an object"),
    ],
)
def test_bad_section_manifests_are_refused(project: Path, manifest: Any, reason: str) -> None:
    write(project / "layline.toml", SETTINGS + '[dashboard]\nsections = "pages.json"\n')
    write(project / "pages.json", json.dumps(manifest))
    (project / "docs/link").symlink_to("/etc")
    write(project / "docs/held/index.html", "x")
    (project / "docs/held/passwd").symlink_to("/etc/passwd")
    done = build(project, "--no-pdf")
    assert done.code == 2
    assert reason in done.err
    assert not (project.parent / "site").exists()


def test_output_directories_that_are_not_ours_are_refused(project: Path) -> None:
    write(project.parent / "foreign/notes.txt", "precious")
    (project.parent / "link").symlink_to(project.parent / "foreign")
    write(project.parent / "forged/.layline-site.json", "{}")
    for wanted, reason in [
        (".", "project itself"),
        ("..", "contains it"),
        ("/", "contains it"),
        ("docs", "not made by"),
        ("../foreign", "not made by"),
        ("../forged", "not made by"),
        ("../link", "symlink"),
        ("layline.toml", "not a folder"),
    ]:
        before = read_site(project)
        done = build(project, "--no-pdf", to=wanted)
        assert done.code == 2, wanted
        assert reason in done.err or "is a file" in done.err
        assert read_site(project) == before
    assert (project.parent / "foreign/notes.txt").read_text() == "precious"


def test_a_broken_record_leaves_the_old_site(project: Path) -> None:
    build(project, "--no-pdf")
    before = read_site(project.parent / "site")
    write_record(project, "weekly", json.dumps(spoil(weekly_record(), "merged_pr_count", -1)), name="2026-W19")
    done = build(project, "--no-pdf")
    assert done.code == 2
    assert "2026-W19.json: merged_pr_count: is -1" in done.err
    assert read_site(project.parent / "site") == before


def test_a_killed_build_leaves_the_old_site_and_the_next_one_sweeps(project: Path) -> None:
    build(project, "--no-pdf")
    site = project.parent / "site"
    before = read_site(site)
    write(project / "docs/backend-gap/reports/engine/upstream-main/report.md", "# New\n")
    script = (
        "import layline.app.dashboard_build as b, time\n"
        "b.refuse_broken = lambda folder, cached: time.sleep(3600)\n"
        "from pathlib import Path\n"
        f"b.dashboard_build(Path({str(site)!r}), Path({str(project / 'layline.toml')!r}), pdf=False)\n"
    )
    source = str(Path(layline.__globals__["package"].__file__).resolve().parent.parent)
    running = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": source})
    while not list(project.parent.glob(".site.building-*/index.html")):
        assert running.poll() is None, "it ended before it wrote a page"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert read_site(site) == before
    assert len(list(project.parent.glob(".site.building-*"))) == 1
    assert build(project, "--no-pdf").code == 0
    assert not list(project.parent.glob(".site.building-*"))
    assert read_site(site) != before


def test_summary_that_cannot_fit_one_page_is_named(project: Path) -> None:
    write(
        project / "docs/backend-gap/reports/engine/upstream-main/summary.md", "# Long\n\n" + "words and words\n\n" * 400
    )
    done = build(project)
    assert done.code == 0
    assert "summary.md: its PDF: does not fit on one page at 9 pt and takes several" in " ".join(done.out.split())
    assert (project.parent / "site" / "index.html").exists()


TEXTS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 1234567 * 9 }}{% raw %}",
    "</title></style><svg onload=x>",
    "javascript:alert(1)",
    "' onmouseover='x",
]


@pytest.mark.parametrize("text", TEXTS)
def test_script_in_every_text_field_stays_text(tmp_path: Path, text: str) -> None:
    project = make_project(
        tmp_path / "harbor",
        gap=[_poison(gap_record(), text)],
        weekly=[_poison(weekly_record(), text)],
        monthly=[_poison(monthly_record(), text)],
        settings=SETTINGS.replace('"Harbor"', json.dumps(text)).replace('"Engine"', json.dumps(text)),
    )
    write(
        project / "docs/backend-gap/reports/engine/upstream-main/report.md",
        f"# {text}\n\n{text}\n\n| {text} |\n|---|\n| {text} |\n",
    )
    done = build(project, "--no-pdf")
    assert (done.code, done.err) == (0, "")
    for page in (tmp_path / "site").rglob("*.html"):
        tree = html5lib.parse(page.read_text(encoding="utf-8"), namespaceHTMLElements=False)
        scripts = list(tree.iter("script"))
        assert len(scripts) == 1
        assert (scripts[0].text or "") == ""
        assert not list(tree.iter("img")) or page.parent.name in {"backends", "data"}
        assert not any(key.startswith("on") for item in tree.iter() for key in item.attrib)
        assert not any((item.get("href") or "").startswith("javascript") for item in tree.iter("a"))
        assert "11111103" not in "".join(tree.itertext())


def _poison(record: dict[str, Any], text: str) -> dict[str, Any]:
    """The record with `text` in every field that may hold any text."""
    spoiled = record
    for place in (
        "title",
        "scope",
        "highlights.0",
        "dashboard_summary.headline",
        "dashboard_summary.why_it_matters.0",
        "dashboard_summary.feature_deltas.0",
        "dashboard_summary.dependency_deltas.0",
        "dashboard_summary.integration_risks.0",
        "artifacts.0.label",
        "backend.label",
        "local.version",
        "upstream.version",
        "upstream.ref",
        "key_findings.0",
        "local.source_path",
        "integration.integration_model",
        "loader_status.drift_type",
    ):
        if place.split(".")[0] in spoiled:
            spoiled = spoil(spoiled, place, text)
    if "category_breakdown" in spoiled:
        spoiled = {**spoiled, "category_breakdown": {text: 3}}
        spoiled = spoil(spoiled, "recommendations.engine", f"monitor {text}")
        spoiled = spoil(spoiled, "engine_status.recommendation", f"monitor {text}")
    return spoiled


def test_marker_says_whose_folder_it_is(project: Path) -> None:
    build(project, "--no-pdf")
    assert json.loads((project.parent / "site" / MARKER).read_text())["schema"] == "layline.site/1"
    assert len(make_weeks(3)) == 3


@pytest.mark.parametrize("key", ["../../../evil", "/tmp/evil", "a b", "<script>", "x/y", "a#b?c", ""])
def test_status_keys_that_are_no_names_are_refused(project: Path, key: str) -> None:
    record = make_weeks(1)[0]
    record[f"{key}_status"] = dict(record["engine_status"])
    write_record(project, "weekly", json.dumps(record), name=record["report_id"])
    done = build(project, "--no-pdf")
    assert done.code == 2
    assert "names a target" in done.err
    assert sorted(path.name for path in project.parent.iterdir()) == ["harbor"]


@pytest.mark.parametrize("path", ["../x.html", "/tmp/x.html", "a/../../x.html", "a//b.html", "./x.html"])
def test_no_file_is_written_outside_the_site(tmp_path: Path, path: str) -> None:
    with pytest.raises(Error, match="is not inside the site"):
        write_files(tmp_path / "site", {path: b"x"})
    assert not list(tmp_path.rglob("*.html"))


def test_a_long_archive_stays_light_and_searchable(tmp_path: Path) -> None:
    project = make_project(tmp_path / "harbor", weeks=160)
    assert build(project, "--no-pdf").code == 0
    home = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    assert len(home) < 100_000
    assert home.count("data-item") == 162
    assert "2023-W" in home
