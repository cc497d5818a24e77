"""What a PDF says around its document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a PDF says around the document."""

    project: str = ""
    commit: str = ""
    date: str = ""
    """YYYY-MM-DD; also the date inside the file."""
    title: str = ""
    """Used where the document has no title of its own."""
    lang: str = "en"
    one_page: bool = False
    """Set as large as one page allows; what cannot fit is an error."""
    paper: str = "a4"
