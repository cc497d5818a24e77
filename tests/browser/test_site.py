from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from browser_pages import opened
from record_samples import gap_record, spoil, weekly_record
from sites import make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PAGES = (
    "index.html",
    "backends/engine.html",
    "weekly/2026-W19.html",
    "reports/engine/upstream-main/report.html",
    "patches/engine.html",
    "campaigns/gemm.html",
    "data/index.html",
    "search/index.html",
)
WIDTHS = (320, 390, 900, 1440, 1920)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.mark.parametrize("path", PAGES)
def test_pages_fit_every_width_in_light_and_dark(chromium: Browser, site: Path, path: str) -> None:
    grounds = set()
    with opened(chromium, site, path) as page:
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            for width in WIDTHS if scheme == "light" else WIDTHS[:1]:  # dark sets colours alone
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert "serif" in page.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily")
    assert len(grounds) == 2


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(chromium: Browser, site: Path, path: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    with opened(chromium, site, path, bypass_csp=True) as page:
        page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        page.evaluate(axe.Axe().axe_script)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": 1440 if scheme == "light" else 390, "height": 900})
            found = page.evaluate("axe.run({preload: false, resultTypes: ['violations']})")["violations"]
            assert [(item["id"], item["nodes"][0]["html"]) for item in found] == []


def test_everything_is_readable_without_script(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html", java_script_enabled=False) as page:
        assert page.locator("h1").inner_text() == "Harbor Monthly Engineering Report — 2026-05"
        assert page.locator("tr.standing").count() == 2
        assert page.locator("[data-filters]").is_hidden()
        assert page.locator(".older > summary").first.is_visible()
        page.locator(".older > summary").first.click()
        assert page.locator(".older .entry").first.is_visible()


def test_filters_narrow_the_archive_and_live_in_the_address(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html") as page:
        everything = page.locator("[data-item]").count()
        page.select_option("select[name=cadence]", "monthly")
        assert page.locator("[data-item]:visible").count() == 1
        assert page.locator("[data-count]").inner_text() == f"1 of {everything}"
        page.fill("input[name=q]", "no such words")
        assert page.locator("[data-empty]").is_visible()
        page.click("[data-clear]")
        assert page.locator("[data-empty]").is_hidden()
    with opened(chromium, site, "index.html?cadence=weekly&q=W02") as page:
        assert page.locator("[data-item]:visible").count() == 1
        assert page.locator("select[name=cadence]").input_value() == "weekly"
    with opened(chromium, site, "index.html?cadence=%3Cscript%3E&recommendation=nonsense") as page:
        assert page.locator("select[name=cadence]").input_value() == ""


def test_patches_are_searched_sorted_and_linked(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "patches/engine.html") as page:
        page.fill("input[name=q]", "use_attention")
        assert page.locator("tbody tr:visible").count() == 1
        page.fill("input[name=q]", "")
        page.select_option("select[name=style]", "config-rewrite")
        assert page.locator("tbody tr:visible .name").inner_text() == "engine.loader"
        page.select_option("select[name=style]", "")
        page.click("th:has-text('Severity') button")
        assert page.locator("tbody tr .name").first.inner_text() == "engine.attention"
        page.click("th:has-text('Severity') button")
        assert page.locator("tbody tr .name").first.inner_text() == "engine.scheduler"
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    with opened(chromium, site, "patches/engine.html#patch-engine.loader") as page:
        assert page.locator("#patch-engine\\.loader details").get_attribute("open") is not None


def test_no_phase_breaks_inside_and_no_finding_is_cut(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "patches/engine.html", viewport=(900, 900)) as page:
        cell = "document.querySelector('.inventory td:nth-child(2)')"
        assert page.evaluate(f"getComputedStyle({cell}).whiteSpace") == "nowrap"
    for width in (390, 900, 1440):
        with opened(chromium, site, "index.html", viewport=(width, 900)) as page:
            cut = (
                "[...document.querySelectorAll('.brief > li')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
            )
            assert page.evaluate(cut) == 0, width


def test_a_patch_is_whole_on_a_phone_and_on_paper(chromium: Browser, site: Path) -> None:
    """On a phone each value has its label; paper has no folds, and nothing that only a click would use."""
    label = "getComputedStyle(document.querySelector('.inventory td:nth-child(2)'), '::before').content"
    with opened(chromium, site, "patches/engine.html", viewport=(390, 844)) as page:
        assert page.evaluate(label) == '"Phase"'
        assert page.locator(".nav a[aria-current]").all_inner_texts() == ["Patches"]
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('.inventory td.what')).display") == "contents"
        for unused in (".inventory summary", ".screen-only", ".filters"):
            assert page.locator(unused).first.is_hidden(), unused


def test_theme_can_be_chosen_and_is_remembered(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html", color_scheme="light") as page:
        assert page.locator("html").get_attribute("data-theme") is None
        page.click("[data-theme-toggle]")
        page.click("[data-theme-toggle]")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == "dark"


def test_keyboard_reaches_the_content_first(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_print_shows_what_was_folded_and_hides_the_controls(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html", java_script_enabled=False) as page:
        page.emulate_media(media="print")
        assert page.locator(".older .entry").first.is_visible()
        assert page.locator(".nav").is_hidden()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_motion_is_off_where_it_is_not_wanted(chromium: Browser, site: Path) -> None:
    with opened(chromium, site, "index.html") as page:
        assert page.evaluate("document.getAnimations().length") == 0


LONG = "x" * 290
HOSTILE = [
    '<img src=x onerror="alert(1)">',
    "<script>alert(1)</script>",
    LONG,
    "中文標題 עברית",
    "</script><svg onload=alert(1)>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_neither_runs_nor_breaks_the_layout(chromium: Browser, tmp_path: Path, text: str) -> None:
    from layline.app.dashboard_build import dashboard_build

    weekly = spoil(spoil(weekly_record(), "title", text), "key_findings.0", f"{text} {text}")
    gap = gap_record()
    for place in ("title", "backend.label", "dashboard_summary.headline", "artifacts.0.label", "highlights.0"):
        gap = spoil(gap, place, text)
    project = make_project(tmp_path / "harbor", weekly=[weekly], gap=[gap], monthly=[])
    settings = (project / "layline.toml").read_text().replace('"Engine"', json.dumps(text, ensure_ascii=False))
    (project / "layline.toml").write_text(settings)
    dashboard_build(tmp_path / "site", project / "layline.toml", pdf=False)
    with opened(chromium, tmp_path / "site", "index.html", viewport=(320, 700)) as page:
        for path in ("index.html", "backends/engine.html", "weekly/2026-W19.html"):
            page.goto(f"{(tmp_path / 'site').as_uri()}/{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 320
            assert page.evaluate("document.scripts.length") == 1
