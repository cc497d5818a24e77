"""What `dashboard check` finds: each row breaks a good site in one way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from layline.dashboard.check.markup import decode_page, encode_page, find_page_problems, read_page
from layline.dashboard.check.site import check_site
from sites import make_project


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from layline.app.dashboard_build import dashboard_build

    project = make_project(tmp_path_factory.mktemp("harbor"))
    site = tmp_path_factory.mktemp("sites") / "site"
    dashboard_build(site, project / "layline.toml")
    return site


def edit(path: str, old: str, new: str) -> Callable[[Path], object]:
    def change(site: Path) -> None:
        text = (site / path).read_text(encoding="utf-8")
        assert old in text
        (site / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def put(path: str, content: bytes) -> Callable[[Path], object]:
    return lambda site: (site / path).write_bytes(content)


def drop(path: str) -> Callable[[Path], object]:
    return lambda site: (site / path).unlink()


MAIN = '<main id="main" class="wrap" tabindex="-1">'
BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (drop("index.html"), "index.html: is missing"),
    (drop("dashboard-data/index.json"), "dashboard-data/index.json: is missing"),
    (drop("reports-data/index.json"), "reports-data/index.json: is missing"),
    (drop("reports/engine/upstream-main/report.pdf"), "report.pdf, which is not there"),
    (drop("dashboard-data/reports/engine-upstream-main.json"), "is only in the index"),
    (put("dashboard-data/reports/other.json", b'{"id": "other"}'), "other: is only in dashboard-data/reports"),
    (drop("weekly/2026-W19.html"), "has no page weekly/2026-W19.html"),
    (drop("badges/engine.svg"), "asks for ../badges/engine.svg, which is not there"),
    (drop("assets/layline.css"), "asks for assets/layline.css, which is not there"),
    (put("data/standings.json", b'{"a": 1, "a": 2}'), "appears twice"),
    (put("data/standings.json", b"{NaN}"), "is not JSON"),
    (put("reports/engine/upstream-main/report.pdf", b"<html>"), "is not a PDF"),
    (put("assets/layline.js", b"x" * 40_000), "the limit is 30,000"),
    (put("data/standings.csv", b""), "is empty"),
    (put("badges/engine.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"), "could run or fetch"),
    (put("badges/engine.svg", b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>"), "declares a document type"),
    (put("badges/engine.svg", b"<svg"), "not well-formed"),
    (put("assets/layline.css", b"@import 'x.css';"), "fetches something"),
    (put("assets/layline.css", b"a { background: URL (https://e.org/x) }"), "fetches something"),
    (
        edit("index.html", MAIN, f'{MAIN}<img src="https://e.org/x.png" alt="">'),
        "asks the browser to fetch https://e.org/x.png",
    ),
    (edit("index.html", MAIN, f'{MAIN}<img src="//e.org/x.png" alt="">'), "asks the browser to fetch //e.org/x.png"),
    (edit("index.html", MAIN, f'{MAIN}<img src="badges/engine.svg">'), "has no alt"),
    (edit("index.html", MAIN, f"{MAIN}<script>x</script>"), "has a script inside the page"),
    (edit("index.html", MAIN, f"{MAIN}<style>p {{}}</style>"), "<style> does not belong"),
    (edit("index.html", MAIN, f"{MAIN}<iframe></iframe>"), "<iframe> does not belong"),
    (edit("index.html", MAIN, f'{MAIN}<p onclick="x">a</p>'), "attribute onclick"),
    (edit("index.html", MAIN, f'{MAIN}<p style="x">a</p>'), "attribute style"),
    (edit("index.html", MAIN, f'{MAIN}<a href="javascript:x">a</a>'), "neither https nor a place"),
    (edit("index.html", MAIN, f'{MAIN}<a href="http://e.org">a</a>'), "neither https nor a place"),
    (edit("index.html", MAIN, f'{MAIN}<a href="/x">a</a>'), "neither https nor a place"),
    (edit("index.html", MAIN, f'{MAIN}<a href="gone.html">a</a>'), "links to gone.html, which is not there"),
    (edit("index.html", MAIN, f'{MAIN}<a href="../x.html">a</a>'), "links to ../x.html, which is not there"),
    (edit("index.html", MAIN, f'{MAIN}<a href="#gone">a</a>'), "that page has no such anchor"),
    (edit("index.html", MAIN, f'{MAIN}<a href="data/index.html#gone">a</a>'), "that page has no such anchor"),
    (edit("index.html", MAIN, f'{MAIN}<p id="main">a</p>'), "the id 'main' appears twice"),
    (edit("index.html", MAIN, f"{MAIN}<p><div>a</div></p>"), "<div> inside <p>"),
    (edit("index.html", MAIN, f"{MAIN}<b>a"), "closes <b>"),
    (edit("index.html", MAIN, f"{MAIN}<li>a</li>"), "<li> inside <main>"),
    (edit("index.html", MAIN, f'{MAIN}<p a="1" a="2">a</p>'), "has the attribute a twice"),
    (edit("index.html", "default-src 'none'; ", ""), "does not forbid external requests"),
    (edit("index.html", "script-src 'self'", "script-src 'self' 'unsafe-inline'"), "does not forbid external requests"),
    (edit("index.html", ' lang="en"', ""), "has no lang attribute"),
    (edit("index.html", "<!DOCTYPE html>", ""), "does not begin with <!DOCTYPE html>"),
    (lambda site: (site / "leak").symlink_to("/etc/passwd"), "leak: is a symlink"),
    (put("sections.json", json.dumps({"sections": [{"name": "gone"}]}).encode()), "there is no gone/index.html"),
]


def test_a_good_site_has_no_problem(good: Path) -> None:
    checked = check_site(good)
    assert checked.problems == ()
    assert checked.pages > 8
    assert checked.links > 100


@pytest.mark.parametrize(("breaks", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_a_broken_site_is_told_why(good: Path, tmp_path: Path, breaks: Callable[[Path], object], reason: str) -> None:
    site = tmp_path / "site"
    shutil.copytree(good, site)
    breaks(site)
    assert any(reason in str(problem) for problem in check_site(site).problems), reason


def test_what_was_found_in_a_page_can_be_kept(good: Path) -> None:
    page = read_page((good / "index.html").read_text(encoding="utf-8"))
    kept = decode_page(json.loads(json.dumps(encode_page(page))))
    assert kept == page
    assert list(find_page_problems(kept)) == []
