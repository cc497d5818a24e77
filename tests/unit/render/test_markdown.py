"""Text of a repository in Markdown: it begins no heading and no list, and what was skipped leads to its place."""

from __future__ import annotations

import pytest

from layline.core.evidence import Skipped, locate_skipped
from layline.core.report import Bullets, Paragraph, Report, Section
from layline.render.html import render_html
from layline.render.markdown import escape, render_markdown
from layline.render.markup import parse_document, text_of


@pytest.mark.parametrize(
    "text", ["# title", "1. item", "2.5 times", "- item", "+ item", "= rule", "12) item", "#4711", "a # b", "--- x"]
)
def test_any_text_reads_back_as_itself(text: str) -> None:
    for told in (escape(text), render_markdown(_report(Paragraph(text))), render_markdown(_report(Bullets((text,))))):
        document = parse_document(told)
        assert text_of(document.nodes[-1]) == text
        assert document.nodes[-1].type in {"paragraph", "bullet_list"}
        assert [heading.text for heading in document.headings] in ([], ["S"])


def test_a_section_without_a_title_has_no_heading() -> None:
    told = render_markdown(Report(title="T", sections=(Section(title="", blocks=(Paragraph("text"),)),)))
    assert told == "# T\n\ntext\n"


def test_what_was_skipped_links_to_its_line() -> None:
    left = Skipped.at("setup.py", 12, "is computed"), Skipped.at("a b.yaml", None, "not YAML"), Skipped("patches", "no")
    report = Report(title="T", sections=(), skipped=locate_skipped(left, "https://example.org/x", "a" * 40))
    line = f"https://example.org/x/blob/{'a' * 40}/setup.py#L12"
    whole = f"https://example.org/x/blob/{'a' * 40}/a%20b.yaml"
    markdown, page = render_markdown(report), render_html(report)
    assert f"- [setup.py:12](<{line}>): is computed\n- [a b.yaml](<{whole}>): not YAML\n- patches: no\n" in markdown
    assert f'href="{line}"' in page
    assert f'href="{whole}"' in page


def _report(block: Paragraph | Bullets) -> Report:
    return Report(title="T", sections=(Section(title="S", blocks=(block,)),))
