"""The list of patches as CSV, or as one self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.report import Answer
from layline.patches.csv_rows import CSV_COLUMNS, find_csv_rows
from layline.render.csv import render_csv
from layline.render.inventory_html import render_inventory_page

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def render_list(workspace: Workspace, answer: Answer, format_: str) -> str:
    """The list as CSV or as one self-contained page."""
    inventories = answer.data.get("backends") or [answer.data]
    if format_ == "html":
        return render_inventory_page(inventories, workspace.downstream.name, workspace.settings.project.name)
    return render_csv(CSV_COLUMNS, (row for inventory in inventories for row in find_csv_rows(inventory)))
