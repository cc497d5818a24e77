"""`layline cache …`."""

from __future__ import annotations

from pathlib import Path

from layline.cli.group import group
from layline.cli.show import format_option, show


@group()
def cache() -> None:
    """What is kept on disk between runs (LAYLINE_CACHE moves it)."""


@cache.command("info")
@format_option("text", "json", "md")
def cache_info(format_: str, output: Path | None) -> int:
    """Show where the cache is, what it holds and how large it may grow."""
    from layline.app.cache import cache_info as info

    return show(info(), format_, output)


@cache.command("clear")
@format_option("text", "json", "md")
def cache_clear(format_: str, output: Path | None) -> int:
    """Delete kept readings and answers; mirrors made by --fetch stay."""
    from layline.app.cache import cache_clear as clear

    return show(clear(), format_, output)
