"""The documentation lists every field that is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.shapes import GAP_FIELDS, PERIODIC_FIELDS

PAGE = (Path(__file__).parents[3] / "docs" / "records.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [field.path for field in (*GAP_FIELDS, *PERIODIC_FIELDS)])
def test_every_field_stands_in_the_docs(path: str) -> None:
    """In a row of its own, or by its last name in the row of the object that holds it."""
    held = path.removesuffix("[]").removesuffix(".*")
    holder, _, name = held.rpartition(".")
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{holder}` |")]
    assert f"`{held}`" in PAGE or any(f"`{name}`" in row for row in rows)
