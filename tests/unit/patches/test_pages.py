"""The inventory as CSV and as a page: text of a repository is never markup, and no formula."""

from __future__ import annotations

from layline.core.evidence import Location
from layline.core.patch import Effect, Inventory, Patch, Style
from layline.patches.data import encode_inventory
from layline.render.csv import render_csv
from layline.render.inventory_html import render_inventory_page

HOSTILE = '<script>alert("x")</script>'


def test_hostile_text_is_escaped() -> None:
    place = Location("own/<b>.py", 3)
    effect = Effect(style=Style.BINDING_REPLACEMENT, target=HOSTILE, location=place)
    patch = Patch(
        id=HOSTILE,
        backend="up",
        phase=None,
        priority=None,
        location=place,
        handler="h",
        handler_lines=(3, 4),
        description=HOSTILE,
        effects=(effect,),
    )
    page = render_inventory_page(
        [encode_inventory(Inventory(backend="up", commit="0" * 40, patches=(patch,)))], "https://example.org/x", "own"
    )
    assert "alert(&quot;x&quot;)" in page
    assert page.count("<script>") == 1
    assert "src=" not in page
    assert "http" not in page.replace("https://example.org/x", "")


def test_csv_cells_are_no_formulas() -> None:
    assert render_csv(("a",), [("=1+1",), ("-5",), ("x,y",)]) == 'a\n\'=1+1\n-5\n"x,y"\n'
