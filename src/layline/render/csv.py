"""Rows → CSV: quoted where needed, and never a formula for the spreadsheet that opens it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def render_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return out.getvalue()


def _safe(cell: object) -> str:
    text = "" if cell is None else str(cell)
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} and not text.lstrip("-").isdigit() else text
