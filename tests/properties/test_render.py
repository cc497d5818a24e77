"""What a repository says is text: it never becomes markup and never steers a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from layline.core.report import Bullets, Cell, Paragraph, Report, Section, Table
from layline.render.markdown import render_markdown
from layline.render.text import render_text

TEXT = st.text(
    alphabet=st.one_of(st.sampled_from("<>&|`*_[]()#!~\\-+=.1 \t\n\x1b\x07"), st.characters(codec="utf-8")), max_size=60
)
DANGEROUS = {
    "html_inline",
    "html_block",
    "image",
    "em_open",
    "strong_open",
    "s_open",
    "code_block",
    "fence",
    "hr",
    "blockquote_open",
}


def _report(text: str, *, code: bool = False) -> Report:
    cell = Cell(text, code=code)
    blocks = (Paragraph(("before ", cell)), Bullets((cell, "second")), Table(columns=("a", text), rows=((cell, "x"),)))
    return Report(title=text, sections=(Section(title=text, blocks=blocks),))


@given(TEXT, st.booleans())
def test_markdown_text_is_never_markup(text: str, code: bool) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    kinds = {token.type for token in _flatten(parser.parse(render_markdown(_report(text, code=code))))}
    assert not kinds & DANGEROUS
    assert "link_open" not in kinds


@given(TEXT)
def test_markdown_tables_keep_their_shape(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(render_markdown(_report(text, code=True)))
    assert [token.type for token in tokens].count("td_open") == 2
    assert [token.type for token in tokens].count("th_open") == 2


@given(TEXT)
def test_text_holds_no_control_characters(text: str) -> None:
    shown = render_text(_report(text))
    assert all(character.isprintable() or character == "\n" for character in shown)


@given(TEXT)
def test_same_report_same_bytes(text: str) -> None:
    assert render_markdown(_report(text)) == render_markdown(_report(text))
    assert render_text(_report(text)) == render_text(_report(text))


def _flatten(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()
