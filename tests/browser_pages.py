"""Pages of a built site, opened from disk in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def opened(browser: Browser, site: Path, path: str, **options: Any) -> Iterator[Page]:
    """The page, straight from disk; anything it asks for outside the site fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce", **options})
    page = context.new_page()
    asked: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.goto(f"{site.as_uri()}/{path}")
    yield page
    assert [url for url in asked if not url.startswith(site.as_uri())] == []
    assert told == []
    context.close()
