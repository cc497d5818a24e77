"""Where names in a printed table break, and which column gets the room."""

from __future__ import annotations

import pytest

from layline.render.columns import Run, lay_out, split_pieces


@pytest.mark.parametrize(
    ("text", "room", "pieces"),
    [
        ("components/quantization/float8.py:18", 12.0, ["components/", "quantization/", "float8.py:18"]),
        ("patches/turbo_linear_patches.py:43", 14.0, ["patches/", "turbo_linear_patches.py:43"]),
        ("turbo_linear_patches.py:43", 6.0, ["turbo_", "linear_", "patches.", "py:", "43"]),
        ("up.models.boat.Crew", 12.0, ["up.", "models.", "boat.Crew"]),
    ],
)
def test_a_path_breaks_between_its_parts_first(text: str, room: float, pieces: list[str]) -> None:
    assert list(split_pieces(text, room, mono=True)) == pieces


def test_one_long_cell_does_not_take_the_room_of_a_column_that_is_always_long() -> None:
    rows = [[[Run("removed")], [Run("a/b.py:1, " * 12)]] for _ in range(9)]
    rows.append([[Run("renamed, and here is much to be told about it " * 4)], [Run("a/b.py:1")]])
    said, places = lay_out(rows, 47.5).widths
    assert places > 2 * said
