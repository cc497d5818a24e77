"""Report → Markdown (CommonMark and tables). All text is escaped: what a repository says is never markup."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from layline.core.report import Bullets, Chart, Code, Paragraph, Table
from layline.render.charts import fence_of
from layline.render.inline import link_of, parts, plain, skipped_line
from layline.render.markup import FOLD_END, fold_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.report import Block, Cell, Inline, Report, Section

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")
_LINE_START = re.compile(r"^(\s*)([#+\-=])|^(\s*\d+)([.)])(?=\s|$)")


def render_markdown(report: Report) -> str:
    """The whole report as one document with a single first-level heading."""
    lines = [f"# {escape(report.title)}", ""]
    for name, value in report.meta:
        lines.append(f"- {escape(name)}: {escape(value)}")
    if report.meta:
        lines.append("")
    for alert in report.alerts:
        lines += [f"> **{escape(alert.severity.value)}**: {escape(alert.message)}", ""]
    for section in report.sections:
        lines += _render_section(section, 2)
    if report.skipped:
        lines += ["## Skipped", ""]
        lines += _render_block(Bullets(tuple(skipped_line(item) for item in report.skipped)))
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(text: str) -> str:
    """Literal text: no markup, no raw HTML, one line."""
    flat = " ".join(text.split())
    return _begin_line(_SPECIAL.sub(r"\\\1", flat))


def _begin_line(text: str) -> str:
    """What stands first on a line begins no heading and no list."""
    return _LINE_START.sub(r"\1\3\\\2\4", text)


def render_inline(text: Inline) -> str:
    return "".join(_render_cell(cell) for cell in parts(text))


def _render_cell(cell: Cell) -> str:
    shown = code_span(cell.text) if cell.code else _SPECIAL.sub(r"\\\1", cell.text.replace("\n", " "))
    link = link_of(cell)
    return f"[{shown}](<{link}>)" if link else shown


def code_span(text: str) -> str:
    """A code span with fences longer than any run of backticks inside; pipes are escaped for tables."""
    flat = " ".join(text.split())
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}".replace("|", "\\|")


def _render_section(section: Section, level: int) -> Iterator[str]:
    if section.folded or section.title:
        yield fold_line(section.title) if section.folded else f"{'#' * min(level, 6)} {escape(section.title)}"
        yield ""
    for block in section.blocks:
        yield from _render_block(block)
        yield ""
    for inner in section.sections:
        yield from _render_section(inner, level if section.folded else level + 1)
    if section.folded:
        yield FOLD_END
        yield ""


def _render_block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text=text):
            yield _begin_line(render_inline(text))
        case Bullets(items=items, ordered=ordered):
            for number, item in enumerate(items, 1):
                yield f"{f'{number}.' if ordered else '-'} {_begin_line(render_inline(item))}"
        case Code(text=text, language=language):
            longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
            fence = "`" * max(3, longest + 1)
            yield f"{fence}{language}\n{text.rstrip()}\n{fence}"
        case Table():
            yield from _render_table(block)
        case Chart():
            yield fence_of(block)  # data to any reader, a drawing on our pages and in our PDFs
        case _:
            assert_never(block)


def _render_table(table: Table) -> Iterator[str]:
    if table.caption:
        yield f"*{escape(table.caption)}*"
        yield ""
    yield "| " + " | ".join(escape(column) for column in table.columns) + " |"
    yield "|" + "|".join(" ---: " if index in table.numeric else " --- " for index in range(len(table.columns))) + "|"
    for row in table.rows:
        yield "| " + " | ".join(render_inline(cell) if plain(cell) else " " for cell in row) + " |"
    if table.more:
        yield ""
        yield f"{table.more} more in {escape(table.more_where)}."
