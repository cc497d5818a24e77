"""Pages of a built site, opened from disk in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

_FORGET = "localStorage.clear(); sessionStorage.clear()"
_TABS: dict[tuple[Browser, bool, bool], Page] = {}
"""One tab for each browser, with and without scripts, with and without its policy: a new one is a new process, which
costs more than most pages."""


def _refuse(dialog: Dialog, told: list[str]) -> None:
    told.append(dialog.message)
    dialog.dismiss()


@contextmanager
def opened(
    browser: Browser,
    site: Path,
    path: str,
    *,
    viewport: tuple[int, int] = (1440, 900),
    java_script_enabled: bool = True,
    bypass_csp: bool = False,
    **media: Any,
) -> Iterator[Page]:
    """The page, straight from disk; anything it asks for outside the site fails the test. What an earlier page left
    behind is gone: its size, its media, what it remembered."""
    tab = (browser, java_script_enabled, bypass_csp)
    page = _TABS.pop(tab, None)  # a tab in which a test fails is not used again
    if page is None:
        page = browser.new_context(java_script_enabled=java_script_enabled, bypass_csp=bypass_csp).new_page()
    asked: list[str] = []
    told: list[str] = []
    heard: dict[str, Any] = {
        "request": lambda request: asked.append(request.url),
        "console": lambda message: told.append(message.text) if message.type in {"error", "warning"} else None,
        "pageerror": lambda error: told.append(str(error)),
        "dialog": lambda dialog: _refuse(dialog, told),
    }
    for event, listener in heard.items():
        page.on(event, listener)  # type: ignore[call-overload]
    page.set_viewport_size({"width": viewport[0], "height": viewport[1]})
    page.emulate_media(**{"media": "null", "color_scheme": "null", "reduced_motion": "reduce", **media})
    page.goto(f"{site.as_uri()}/{path}")
    yield page
    assert [url for url in asked if not url.startswith(site.as_uri())] == []
    assert told == []
    for event, listener in heard.items():
        page.remove_listener(event, listener)
    if java_script_enabled:
        page.evaluate(_FORGET)
    page.goto("about:blank")
    _TABS[tab] = page
