"""A folded section: one line of a page, whole on paper, and the only HTML that Markdown of ours holds."""

from __future__ import annotations

import pytest

from layline.core.report import Paragraph, Report, Section, Table
from layline.render.html import render_article, render_html
from layline.render.lint import find_markdown_problems
from layline.render.markdown import render_markdown
from layline.render.markup import parse_document
from layline.render.text import render_text
from layline.render.typst import render_typst

TABLE = Table(columns=("what", "where"), rows=(("a <b>", "x | y"),))
FOLDED = Section(title="Rows & more (1)", blocks=(TABLE,), folded=True)
REPORT = Report(title="R", sections=(Section(title="S", blocks=(Paragraph("before"),), sections=(FOLDED,)),))


def test_markdown_folds_and_stays_clean() -> None:
    text = render_markdown(REPORT)
    assert "<details><summary>Rows &amp; more (1)</summary>\n\n| what | where |" in text
    assert text.rstrip().endswith("</details>")
    assert list(find_markdown_problems(text)) == []


def test_a_page_folds_what_markdown_folds() -> None:
    html = render_article(render_markdown(REPORT)).html
    assert "<details><summary>Rows &amp; more (1)</summary>" in html
    assert html.index("<table>") < html.index("</details>")
    assert html.count("<details>") == html.count("</details>") == 1
    assert render_html(REPORT).count("<details><summary>Rows &amp; more (1)</summary>") == 1


def test_paper_and_terminals_show_it_open() -> None:
    source = render_typst(parse_document(render_markdown(REPORT)))
    assert 'strong[#"Rows & more (1)"]' in source
    assert "table.header" in source
    assert "Rows & more (1)" in render_text(REPORT)
    assert "what" in render_text(REPORT)


@pytest.mark.parametrize(
    "text",
    [
        "<details><summary>open</summary>\n\nnever closed\n",
        "<details open><summary>x</summary>\n\ny\n\n</details>\n",
        "<details><summary><b>x</b></summary>\n\ny\n\n</details>\n",
        "    <details><summary>code</summary>\n    </details>\n",
        "<script>x</script>\n",
    ],
)
def test_other_html_stays_text(text: str) -> None:
    html = render_article(f"# T\n\n{text}").html
    assert "<details" not in html
    assert "<script" not in html
    assert "&lt;" in html


def test_folds_nest_and_their_headings_keep_their_anchors() -> None:
    inner = "<details><summary>two</summary>\n\n## Deep\n\nwords\n\n</details>"
    article = render_article(f"# T\n\n<details><summary>one</summary>\n\n## Top\n\n{inner}\n\n</details>\n\nafter\n")
    assert article.html.count("<details>") == 2
    assert [heading.anchor for heading in article.headings] == ["top", "deep"]
    assert article.html.rstrip().endswith("<p>after</p>")
