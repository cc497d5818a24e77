"""What a reader sees first, measured in a real browser."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser_pages import opened
from record_samples import gap_record, spoil, write
from sites import make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def evidence(**changes: Any) -> dict[str, Any]:
    """An evidence file that tells of two places that break: one by two names, and a patch."""
    record = gap_record()

    def fact(name: str, line: int, value: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "value": value, "evidence": [{"at": 0, "path": "harbor/use.py", "lines": [line, line]}]}

    broken = {"consequence": "will break", "state": "removed", "now": None, "detail": "", "since": "c" * 40}
    return {
        "schema": "layline.evidence/1",
        "pin": record["local"]["commit"],
        "tip": record["upstream"]["commit"],
        "commits": [{"repo": "https://github.com/example/harbor", "commit": "d" * 40}],
        "facts": [
            fact("coupling.harbor/use.py:4.import.engine.a", 4, broken),
            fact("coupling.harbor/use.py:4.call.engine.b", 4, broken),
            fact("coupling.harbor/use.py:8.call.engine.c", 8, {"consequence": "ok", "state": "ok"}),
            fact(
                "patch.engine.step.harbor/use.py:12.engine.step",
                12,
                {"kind": "unchanged", "severity": "breaks", "detail": "it reads a name that is gone", "since": None},
            ),
            {
                "name": "plan.1",
                "value": {"commit": "b" * 40, "date": "2026-05-07", "reason": "the tip", "behind": 7, "places": 0},
                "evidence": [],
            },
        ],
    } | changes


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of a project with evidence, and forty reports."""
    from layline.app.dashboard_build import dashboard_build

    root = make_project(tmp_path_factory.mktemp("project"), weeks=40)
    write(root / "docs/backend-gap/dashboard-data/evidence/engine-upstream-main.json", json.dumps(evidence()))
    place = tmp_path_factory.mktemp("sites") / "site"
    dashboard_build(place, root / "layline.toml", pdf=False)
    return place


def test_the_latest_snapshot_leads_and_every_backend_follows_on_the_first_screen(
    chromium: Browser, proved: Path
) -> None:
    with opened(chromium, proved, "index.html") as page:
        lead = page.locator(".lead").bounding_box()
        rows = [row.bounding_box() for row in page.locator("tr.standing").all()]
        assert lead is not None
        assert lead["height"] <= 240
        assert page.locator(".lead .cadence").inner_text().lower() == "monthly"
        assert page.locator(".lead .brief > li").count() <= 3
        assert len(rows) == 2
        for row in rows:
            assert row is not None
            assert row["y"] + row["height"] <= 900
        assert "2 of 3 places break" in " ".join(page.locator("tr.standing").first.inner_text().split())


def test_on_a_phone_backends_stand_on_the_second_screen_at_the_latest(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "index.html", viewport=(390, 844)) as page:
        row = page.locator("tr.standing").first.bounding_box()
        assert row is not None
        assert row["y"] < 2 * 844
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        label = page.evaluate("getComputedStyle(document.querySelector('tr.standing td'), '::before').content")
        assert label == '"Verdict"'


def test_text_is_readable_from_the_first_frame(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "index.html", reduced_motion="no-preference") as page:
        assert page.evaluate("document.getAnimations().length") == 0
        assert page.evaluate("getComputedStyle(document.querySelector('.lead')).opacity") == "1"


def test_a_backend_page_shows_plan_then_every_broken_place_linked(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "backends/engine.html") as page:
        titles = [title.split("#")[0].strip() for title in page.locator("h2").all_inner_texts()]
        assert titles[:2] == ["Upgrade plan", "What breaks"]
        rows = page.locator("#breakage ~ table tbody tr")
        assert rows.count() == 2
        link = rows.first.locator("a").first.get_attribute("href")
        assert link == f"https://github.com/example/harbor/blob/{'d' * 40}/harbor/use.py#L4"
        assert "our replacement no longer fits" in rows.nth(1).inner_text()
        assert page.locator(".dive").count() == 0


def test_search_finds_places_and_reports_from_disk(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "search/index.html") as page:
        page.fill("input[name=q]", "harbor/use.py:12")
        assert page.locator(".results li:visible").count() == 1
        page.fill("input[name=q]", "W19")
        assert "2026-W19" in page.locator(".results li:visible").first.inner_text()
    with opened(chromium, proved, "search/index.html", java_script_enabled=False) as page:
        assert page.locator(".results li").count() > 40


def test_an_odd_fragment_is_no_script_error(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "index.html#100%") as page:
        assert page.locator("h1").is_visible()


def test_commands_can_be_copied(chromium: Browser, proved: Path) -> None:
    with opened(chromium, proved, "backends/engine.html") as page:
        assert page.locator("pre .copy").count() >= 1


def test_evidence_of_other_commits_is_no_proof_and_said_so(chromium: Browser, tmp_path: Path) -> None:
    from layline.app.dashboard_build import dashboard_build

    root = make_project(tmp_path / "harbor")
    write(
        root / "docs/backend-gap/dashboard-data/evidence/engine-upstream-main.json",
        json.dumps(evidence(tip="f" * 40)),
    )
    write(root / "docs/patches/dashboard-data/engine.json", '{"schema": "layline.patches/9"}')
    dashboard_build(tmp_path / "site", root / "layline.toml", pdf=False)
    with opened(chromium, tmp_path / "site", "index.html") as page:
        assert "not measured" in page.locator("tr.standing").first.inner_text()
        page.locator(".unshown summary").click()
        told = page.locator(".unshown").inner_text()
        assert "the evidence is about tip ffffffffffff" in told
        assert "layline.patches/9" in told
    with opened(chromium, tmp_path / "site", "backends/engine.html") as page:
        assert "the evidence is about tip ffffffffffff" in page.locator(".note").first.inner_text()


def test_records_that_contradict_themselves_are_named(tmp_path: Path, chromium: Browser) -> None:
    from layline.app.dashboard_build import dashboard_build

    odd = spoil(gap_record(), "generated_at", "2026-05-01")
    root = make_project(tmp_path / "harbor", gap=[odd])
    settings = (root / "layline.toml").read_text()
    write(
        root / "layline.toml",
        settings.replace('label = "Engine"', 'label = "Engine"\nupstream = "https://example.com/other"'),
    )
    dashboard_build(tmp_path / "site", root / "layline.toml", pdf=False)
    with opened(chromium, tmp_path / "site", "index.html") as page:
        told = page.locator(".unshown").text_content() or ""
        assert "before its own tip of 2026-05-07" in told
        assert "layline.toml names https://example.com/other" in told
    with opened(chromium, tmp_path / "site", "backends/engine.html") as page:
        assert "layline.toml names https://example.com/other" in (page.locator("main").text_content() or "")


def test_what_is_dated_in_the_future_is_marked_and_leads_nothing(tmp_path: Path, chromium: Browser) -> None:
    from layline.app.dashboard_build import dashboard_build

    root = make_project(tmp_path / "harbor")
    dashboard_build(tmp_path / "site", root / "layline.toml", pdf=False, today=date(2026, 5, 1))
    with opened(chromium, tmp_path / "site", "index.html") as page:
        told = page.locator(".unshown").text_content() or ""
        assert "engine-upstream-main: is dated 2026-05-08, later than today (2026-05-01)" in " ".join(told.split())
    dashboard_build(tmp_path / "site", root / "layline.toml", pdf=False, today=date(2026, 7, 1))
    with opened(chromium, tmp_path / "site", "index.html") as page:
        assert page.locator(".unshown").count() == 0
