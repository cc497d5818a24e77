from __future__ import annotations

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.core.evidence import Alert, Evidence, Severity, Skipped
from layline.core.report import Bullets, Cell, Chart, Code, Paragraph, Report, Section, Table
from layline.render.html import Links, render_article, render_html, render_page, render_sections
from layline.render.markup import parse_document, safe_link

SHOWN: list[tuple[str, str]] = [
    ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
    ("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>"),
    ("a <b>bold</b> b", "<p>a &lt;b&gt;bold&lt;/b&gt; b</p>"),
    ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
    ("[x](http://example.org)", "<p>[x](http://example.org)</p>"),
    ("[x](https://example.org/?a=1&b=2)", '<p><a href="https://example.org/?a=1&amp;b=2" rel="noopener">x</a></p>'),
    ("[x](#nowhere)", "<p>x</p>"),
    ("![secret](https://example.org/x.png)", '<p><em class="image">[image: secret]</em></p>'),
    ("*a* **b** ~~c~~ `d|e`", "<p><em>a</em> <strong>b</strong> <s>c</s> <code>d|e</code></p>"),
    ("`a/b_c.py`", "<p><code>a/<wbr>b_<wbr>c.py</code></p>"),
    ("`a_b/__init__.py`", "<p><code>a_<wbr>b/<wbr>__init__.py</code></p>"),
    (
        "`kit.core.Layer, 2026-06-30 0.9.0 a.py:38`",
        "<p><code>kit.<wbr>core.<wbr>Layer, 2026-06-30 0.9.0 a.py:38</code></p>",
    ),
    ("3. x\n4. y", '<ol start="3"><li>x</li>\n<li>y</li>\n</ol>'),
]


@pytest.mark.parametrize(("markdown", "shown"), SHOWN)
def test_markdown_becomes_safe_html(markdown: str, shown: str) -> None:
    assert render_article(markdown).html.strip() == shown


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://example.org", True),
        ("report.md#x", True),
        ("#x", True),
        ("../a.md", True),
        ("http://example.org", False),
        ("JaVaScript:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("\x01javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("/etc/passwd", False),
        ("//example.org", False),
        ("\\\\example.org", False),
        ("", False),
    ],
)
def test_only_https_and_local_links_are_links(address: str, safe: bool) -> None:
    assert safe_link(address) is safe


def test_title_is_given_once_and_headings_have_anchors_of_their_own() -> None:
    article = render_article("# Title\n\n## Same\n\n## Same\n\n## Same-1\n\n#### Deep\n")
    assert article.title == "Title"
    assert "Title" not in article.html
    assert [heading.anchor for heading in article.headings] == ["same", "same-1", "same-1-1", "deep"]
    assert [heading.level for heading in article.headings] == [2, 2, 2, 3]


def test_links_between_sources_follow_the_site_and_dead_ones_are_told() -> None:
    links = Links(resolve=lambda address: "summary.html" if address == "summary.md" else None)
    article = render_article("[a](summary.md) and [b](gone.md)", links)
    assert '<a href="summary.html" rel="noopener">a</a> and b' in article.html
    assert article.dead_links == ("gone.md",)


def test_known_commits_in_code_lead_to_their_page() -> None:
    links = Links(commits=(("d3528a21301d", "https://example.org/commit/d3528a21301d"),))
    html = render_article("`d3528a21` `deadbeef`", links).html
    assert '<a href="https://example.org/commit/d3528a21301d" rel="noopener"><code>d3528a21</code></a>' in html
    assert "<code>deadbeef</code>" in html


@pytest.mark.parametrize("words", ["`d3528a21`", "**`d3528a21`**"])
def test_a_commit_inside_a_link_is_not_a_link_of_its_own(words: str) -> None:
    links = Links(commits=(("d3528a21301d", "https://example.org/commit/d3528a21301d"),))

    assert render_article(f"[{words}](https://example.org/x)", links).html.count("<a ") == 1


def test_chart_fences_are_drawn_and_other_fences_are_text() -> None:
    chart = "```csv chart=bars unit=files title=Areas\nseries,x,y\na,core,12\na,moe,4\n```\n"
    assert "<svg" in render_article(chart).html
    assert "<svg" not in render_article(chart.replace("12", "twelve")).html
    assert "&lt;svg&gt;" in render_article("```html\n<svg>\n```\n").html


REPORT = Report(
    title="A <title>",
    meta=(("Project", "Harbor & Co"),),
    alerts=(Alert(severity=Severity.BREAKS, message="<b>"),),
    sections=(
        Section(
            title="One",
            blocks=(
                Paragraph(
                    ("see ", Cell("x", evidence=Evidence(repo="https://e.org/r", commit="a" * 40, command="git log")))
                ),
                Bullets(("a", "<i>")),
                Code("<pre>"),
                Table(columns=("n", ""), rows=(("<td>", Cell("a_b", code=True)),), numeric=frozenset({0}), more=2),
                Chart(kind="trend", title="T", series=(("s", (("2026-01-01", 1.0), ("2026-02-01", 2.0))),)),
            ),
            sections=(Section(title="Inner"),),
        ),
    ),
    skipped=(Skipped("a file", "too <large>"),),
)


def test_report_is_valid_html_with_its_evidence() -> None:
    html = render_html(REPORT)
    html5lib.HTMLParser(strict=True).parseFragment(html)
    assert f'<a href="https://e.org/r/commit/{"a" * 40}" rel="noopener" title="git log">x</a>' in html
    assert "2 more in the evidence file" in html
    assert '<h3 id="inner">' in html
    assert "too &lt;large&gt;" in html


def test_page_is_one_valid_file_whose_policy_allows_its_own_style_alone() -> None:
    page = render_page(REPORT)
    html5lib.HTMLParser(strict=True).parse(page)
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "<script" not in page


@given(st.text(alphabet=st.sampled_from("<>&'\"`*_[]()#!|\\ \n-:/jas.https0123"), max_size=120))
def test_no_markdown_makes_an_element_of_its_own(text: str) -> None:
    html = render_article(text).html
    tree = html5lib.parseFragment(html, namespaceHTMLElements=False)
    names = {item.tag for item in tree.iter() if isinstance(item.tag, str)}
    assert not names & {"script", "img", "iframe", "style", "object", "form", "input", "link", "meta"}
    for item in tree.iter("a"):
        href = item.get("href", "")
        assert href.startswith(("https://", "#")) or ":" not in href.split("/")[0]


def test_nul_and_byte_order_mark_do_not_break_a_document() -> None:
    assert parse_document("\ufeff# T\x00").title == "T\ufffd"


def test_sections_of_a_page_name_the_column_of_each_cell() -> None:
    """On a narrow screen the head of a table is not shown; a report by itself keeps its head."""
    table = Table(columns=("area", "commits"), rows=(("core", "7"),), numeric=frozenset({1}))
    assert '<td class="num" data-label="commits">7</td>' in render_sections([Section(title="Areas", blocks=(table,))])
    whole = render_html(Report(title="t", sections=(Section(title="Areas", blocks=(table,)),)))
    assert '<td class="num">7</td>' in whole
