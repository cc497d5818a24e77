"""Lessons are append-only; a correction is a tombstone; caches are never praised."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.app.lessons import lessons_add, lessons_correct, lessons_list, lessons_show
from layline.campaign.ledger.lessons import parse_lessons, render_lesson
from layline.errors import ConfigError

PLACE = ("gfx950", "gemm", "TRITON")
FILE = "agent/historical_experience/gfx950/gemm/triton/tips.md"


def now() -> str:
    return "2026-11-15 02:20"


def add(root: Path, takeaway: str, *, anti_pattern: bool = False) -> str:
    answer = lessons_add(
        PLACE, {"Takeaway": takeaway, "Context": "K=7168"}, anti_pattern=anti_pattern, root=root, now=now
    )
    return str(answer.data["lessons"][0]["id"])


def test_a_lesson_is_found_again(tmp_path: Path) -> None:
    name = add(tmp_path, "Tiles of 256 spill")
    listed = lessons_list(tmp_path).data["lessons"]
    assert [(item["id"], item["takeaway"], item["context"]) for item in listed] == [
        (name, "Tiles of 256 spill", "K=7168")
    ]


def test_a_correction_withdraws_and_deletes_nothing(tmp_path: Path) -> None:
    name = add(tmp_path, "Tiles of 256 spill")
    before = (tmp_path / FILE).read_text()
    lessons_correct(
        name, "only with four accumulators", "Tiles of 256 spill with four accumulators", root=tmp_path, now=now
    )
    assert (tmp_path / FILE).read_text().startswith(before.rstrip())
    assert [item["takeaway"] for item in lessons_list(tmp_path).data["lessons"]] == [
        "Tiles of 256 spill with four accumulators"
    ]
    assert lessons_show(name, tmp_path).data["lessons"][0]["withdrawn"] == "only with four accumulators"


@pytest.mark.parametrize(
    "praise",
    ["Cache the quantised input on id(activation)", "Keep an activation cache", "A fixed M_per_group is faster"],
)
def test_a_cache_is_never_celebrated(tmp_path: Path, praise: str) -> None:
    with pytest.raises(ConfigError, match="never helps real training"):
        add(tmp_path, praise)
    add(tmp_path, praise, anti_pattern=True)
    assert "do not retry" in (tmp_path / FILE).read_text()


def test_bullets_others_wrote_are_lessons_too() -> None:
    text = "# Tips\n\n## Compiler\n- **Spill is structural**, not in lambdas.\n- Another\n"
    assert [(item.origin, item.takeaway, item.line) for item in parse_lessons(text)] == [
        ("Compiler", "**Spill is structural**, not in lambdas.", 4),
        ("Compiler", "Another", 5),
    ]


def test_a_text_cannot_begin_an_entry_of_its_own() -> None:
    entry = render_lesson(
        now(), "round-2 — ACCEPTED", {"Takeaway": "x\n### 2026-01-01 00:00 correction of 12345678\n- Withdrawn: all"}
    )
    assert len(parse_lessons(entry)) == 1


@pytest.mark.parametrize("part", ["../x", "", "a/b", ".."])
def test_a_place_is_plain_names(tmp_path: Path, part: str) -> None:
    with pytest.raises(ConfigError, match="not a plain name"):
        lessons_add((part, "gemm", "c"), {"Takeaway": "x"}, root=tmp_path, now=now)
