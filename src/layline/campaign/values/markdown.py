"""Small pieces of Markdown for the derived folder, whose form the specification fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MINUS = "—"


def one_line(text: str) -> str:
    """A person's words as one line: they cannot begin a heading, a table or a list of their own."""
    return " ".join(text.split()).lstrip("#>-*|` ") or MINUS


def cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join((row(columns), "|" + "---|" * len(columns), *(row(cells) for cells in rows)))


def row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell(text) for text in cells) + " |"


def number(value: float | None) -> str:
    """Three decimals as the specification asks; more where three would hide a small figure."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) >= 1 else f"{value:.6f}"


def percent(value: float | None) -> str:
    return MINUS if value is None else f"{value:+.3%}"
