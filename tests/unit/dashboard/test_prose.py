from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.dashboard.prose import (
    BRIEF,
    Addresses,
    brief_words,
    set_finding,
    set_reason,
    set_words,
    signed,
    window_words,
)

KNOWN = Addresses(
    "https://example.org/harbor", (("d3528a21301db2d1", "https://example.org/engine/commit/d3528a21301db2d1"),)
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PR #7 & more", '<a href="https://example.org/harbor/pull/7" rel="noopener">PR #7</a> &amp; more'),
        ("upstream (#4207)", "upstream (#4207)"),
        (
            "pin d3528a21 moved",
            (
                'pin <a href="https://example.org/engine/commit/d3528a21301db2d1" '
                'rel="noopener"><code>d3528a21</code></a> moved'
            ),
        ),
        ("tip 7cdf652c", "tip <code>7cdf652c</code>"),
        ("20260508 and defaced", "20260508 and defaced"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("see a/b_c.py", "see a/<wbr>b_<wbr>c.py"),
        ("<script>", "&lt;script&gt;"),
        ("since 2026-06-23,", 'since <span class="nb">2026-06-23</span>,'),
        ("in 2026-W26: 83 % code", 'in <span class="nb">2026-W26</span>: <span class="nb">83 %</span> code'),
    ],
)
def test_words_are_escaped_and_linked_where_the_address_is_known(text: str, shown: str) -> None:
    assert str(set_words(text, KNOWN)) == shown


@given(st.text(max_size=900))
def test_no_word_of_a_finding_is_lost_or_becomes_markup(text: str) -> None:
    from html.parser import HTMLParser

    seen: list[str] = []
    tags: set[str] = set()
    reader = HTMLParser()
    reader.handle_data = seen.append  # type: ignore[method-assign,assignment]
    reader.handle_starttag = lambda tag, _attrs: tags.add(tag)  # type: ignore[method-assign,assignment]
    finding = set_finding(text, KNOWN)
    reader.feed(f"{finding.shown} {finding.folded}")
    reader.close()
    assert tags <= {"a", "code", "span", "wbr"}
    told = "".join((finding.head + "".join(seen)).split()).replace("`", "").replace(":", "")
    wanted = "".join(text.split()).replace("`", "").replace(":", "")
    assert told == wanted or len(text) > 12  # long hashes are cut to twelve digits


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("3 pull requests merged in the window (Docs: 1, Bug Fix: 2).", "3 pull requests merged in the window."),
        (
            "One sentence that is long enough to stand. " + "Another word " * 20,
            "One sentence that is long enough to stand.",
        ),
        ("word " * 40, f"{'word ' * 25}word …"),
    ],
)
def test_the_first_screen_holds_findings_whole(text: str, shown: str) -> None:
    assert brief_words(text) == shown
    assert len(brief_words(text)) <= BRIEF + 2


def test_a_long_reason_opens_with_its_first_clause() -> None:
    reason = set_reason("moved: now up.new.Attention; " + "our replacement needs up.old.Name, which is gone; " * 6)
    assert (
        reason.shown == "moved: now up.<wbr>new.<wbr>Attention; our replacement needs up.<wbr>old.Name, which is gone"
    )
    assert reason.folded.startswith("our replacement needs")
    assert set_reason("removed: up has no name x").folded == ""


def test_long_findings_are_folded_at_a_sentence() -> None:
    finding = set_finding("Head: " + "One sentence that is fairly long and ends here. " * 12, Addresses())
    assert finding.head == "Head"
    assert finding.shown.endswith("ends here.")
    assert finding.folded.startswith("One sentence")
    assert len(finding.shown) <= 260


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2026-05-04T00:00:00+08:00", "2026-05-08T09:01:00+08:00", "4 – 8 May 2026, to 09:01 (UTC)"),
        ("2026-04-27T00:00:00+08:00", "2026-05-01T00:00:00+08:00", "27 Apr – 1 May 2026 (UTC)"),
        ("2025-12-29T00:00:00+00:00", "2026-01-04T00:00:00+00:00", "29 Dec 2025 – 4 Jan 2026 (UTC)"),
        ("2026-06-02T09:00:00+08:00", "2026-06-02T17:53:00+08:00", "2 Jun 2026, to 17:53 (UTC)"),
    ],
)
def test_windows_read_like_dates(start: str, end: str, shown: str) -> None:
    assert window_words(start, end, "UTC") == shown


def test_changes_carry_their_sign() -> None:
    assert [signed(value) for value in (1200, -3, 0)] == ["+1,200", "−3", "±0"]


@pytest.mark.parametrize(
    ("repository", "shown"),
    [
        ("https://forge/up", 'a &lt; b (<a href="https://forge/up/pull/24" rel="noopener">#24</a>), not #25'),
        ("javascript:x", "a &lt; b (#24), not #25"),
    ],
)
def test_words_about_one_upstream_link_the_changes_they_name(repository: str, shown: str) -> None:
    assert str(set_words("a < b (#24), not #25", Addresses(upstream=repository))) == shown
    assert (
        str(set_words("a < b (#24), not #25", Addresses(repository="https://forge/our"))) == "a &lt; b (#24), not #25"
    )
