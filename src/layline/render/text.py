"""Report → text for people: plain in a pipe, coloured on a terminal."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from layline.core.evidence import Severity
from layline.core.report import Bullets, Chart, Code, Paragraph, Table
from layline.render.inline import Tell, plain, tell_skipped

if TYPE_CHECKING:
    from layline.core.report import Block, Report, Section

_UNWRAPPED = 100_000
_COLUMN = 60
"""A column is at most this wide; longer cells stick out."""
_GAP = "   "
COLOURS = {Severity.BREAKS: "bold red", Severity.LOOK: "yellow", Severity.OK: "green"}


def render_text(report: Report, *, width: int | None = None, color: bool = False, tell: Tell = tell_skipped) -> str:
    """The report as text `width` columns wide (None: nothing is wrapped); the same bytes for the same arguments.
    `tell`: how what was skipped is told.
    """
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or _UNWRAPPED,
        force_terminal=color,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
    )
    _print_wrapped(console, report.title, style="bold")
    for name, value in report.meta:
        _print_wrapped(console, f"{name}: {value}", style="dim")
    for alert in report.alerts:
        _print_wrapped(console, f"{alert.severity.word}: {alert.message}", style=COLOURS[alert.severity])
    for section in report.sections:
        _print_section(console, section, 0)
    if report.skipped:
        console.print(Text("\nSkipped", style="bold"))
        for line in tell(report.skipped):
            _print_wrapped(console, line, "  ", style="yellow")
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def safe(text: str) -> str:
    """Text without control characters: a repository must not steer the reader's terminal."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def _print_wrapped(console: Console, text: str, head: str = "", *, style: str = "") -> None:
    """Broken between words only, so that names and paths can be searched; further lines stand below the first word."""
    indent = " " * len(head)
    for number, line in enumerate(safe(text).splitlines() or [""]):
        start = indent if number else head
        wrapped = textwrap.wrap(
            line,
            width=max(console.width, len(indent) + 20),
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for part in wrapped or [start]:
            console.print(Text(part, style=style), soft_wrap=True)


def _print_section(console: Console, section: Section, depth: int) -> None:
    if section.title:
        console.print(Text(f"\n{safe(section.title)}", style="bold" if depth == 0 else "bold dim"))
    for block in section.blocks:
        _print_block(console, block)
    for inner in section.sections:
        _print_section(console, inner, depth + 1)


def _print_block(console: Console, block: Block) -> None:
    match block:
        case Paragraph(text=text):
            _print_wrapped(console, plain(text))
        case Bullets(items=items, ordered=ordered):
            for number, item in enumerate(items, 1):
                _print_wrapped(console, plain(item), f"  {f'{number}.' if ordered else '-'} ")
        case Code(text=text):
            for line in safe(text).splitlines():
                console.print(Text(f"    {line}"), soft_wrap=True)
        case Table():
            _print_table(console, block)
        case Chart(kind="roofline" | "lineage"):
            pass  # two axes do not fit a line; the table beside it has the figures
        case Chart():
            for name, points in block.series:
                _print_wrapped(console, f"{block.title}, {name}: {', '.join(f'{x}={y:g}' for x, y in points)}", "  ")
        case _:
            assert_never(block)


def _print_table(console: Console, table: Table) -> None:
    """The same look wherever it is printed: one line for each row, columns below one another. A cell that is longer than
    a column may be wide moves the rest of its line, and is never broken.
    """
    rows = [[" ".join(safe(plain(cell)).split()) for cell in row] for row in table.rows]
    heads = [safe(column) for column in table.columns]
    widths = [min(_COLUMN, max(map(cell_len, column))) for column in zip(heads, *rows, strict=False)]

    def draw(cells: list[str], style: str = "") -> None:
        padded = (
            _pad(cell, width, right=index in table.numeric)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        console.print(Text(_GAP.join(padded).rstrip(), style=style), soft_wrap=True)

    draw(heads, "dim")
    rule = min(sum(widths) + len(_GAP) * (len(widths) - 1), console.width)
    console.print(Text("─" * rule, style="dim"), soft_wrap=True)
    for row in rows:
        draw(row)
    if table.more:
        console.print(Text(f"  … {table.more} more in {safe(table.more_where)}", style="dim"))


def _pad(text: str, width: int, *, right: bool) -> str:
    space = " " * max(0, width - cell_len(text))
    return space + text if right else text + space
