"""The pictures of docs/images, taken from a built demo: `python scripts/take_pictures.py demo/site`."""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
PAGES = {
    "dashboard": ("index.html", 0),
    "backend": ("backends/keel.html", 510),
    "patches": ("patches/keel.html", 0),
    "campaign": ("campaigns/gemm.html", 500),
}
"""Each picture with its page and how far that is scrolled: a backend's plan and breakage stand below its head."""


def main(site: Path) -> None:
    """One screen of each page, light, as wide as a page of the docs."""
    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        for name, (path, top) in PAGES.items():
            page = browser.new_page(viewport={"width": 1080, "height": 675 + top // 2}, reduced_motion="reduce")
            page.goto(f"{site.resolve().as_uri()}/{path}")
            page.evaluate(f"window.scrollTo(0, {top})")
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
