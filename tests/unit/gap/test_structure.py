"""Updating a report keeps its title, the order and words of its sections, and sections of others."""

from __future__ import annotations

from layline.gap.structure import KEPT, keep_structure, split

NEW = (
    "# P keel vs upstream main\n\n- Date: 2026-02-02\n\n## In short\n\nnew short\n\n## High-level comparison\n\nnew high\n\n"
    "## Dependencies\n\nnew deps\n\n## Integration and coupling\n\nnew integration\n\n## Evidence sources\n\nnew evidence\n"
)
OLD = (
    "# Our Keel Report\n\n> Date: 2026-01-01\n\n## High-Level Comparison\n\nold high\n\n## Outer Integration Layer\n\nold\n\n"
    "### Inner\n\nold inner\n\n## Change Hotspots\n\nby hand\n\n```\n## no heading\n```\n\n## Torch / Dependency Comparison\n\nold\n"
)


def titles(text: str) -> list[str]:
    return [part.title for part in split(text)[1]]


def test_title_order_and_words_stay_and_our_text_is_new() -> None:
    text = keep_structure(NEW, OLD)
    assert text.startswith("# Our Keel Report\n\n- Date: 2026-02-02\n")
    assert titles(text) == [
        "In short",
        "High-Level Comparison",
        "Outer Integration Layer",
        "Change Hotspots",
        "Torch / Dependency Comparison",
        "Evidence sources",
    ]
    assert "new deps" in text
    assert "old" not in text


def test_a_section_of_others_is_kept_once_marked() -> None:
    text = keep_structure(NEW, OLD)
    assert text.count("by hand") == text.count(KEPT) == 1
    assert "## no heading" in text
    assert keep_structure(NEW, text) == text


def test_our_own_sections_that_ended_go() -> None:
    old = keep_structure(NEW + "\n## Skipped\n\n- a file\n", None)
    assert "Skipped" not in keep_structure(NEW, old)


def test_a_first_report_and_one_without_sections_change_nothing() -> None:
    assert keep_structure(NEW, None) == NEW
    assert keep_structure(NEW, "# By hand\n") == NEW
