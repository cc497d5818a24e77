"""What people write into a generated text between two lines: kept when the text is generated again."""

from __future__ import annotations

from layline.errors import Error

MADE_BY = "[//]: # (layline: generated; what you write between the remarks lines is kept, the rest is not)"
REMARKS_BEGIN = "[//]: # (layline: remarks begin)"
REMARKS_END = "[//]: # (layline: remarks end)"
"""Comments that every Markdown dialect hides, raw HTML allowed or not."""


def with_remarks(text: str, old: str | None) -> str:
    """The generated text, with the remarks of the text it replaces."""
    return f"{MADE_BY}\n\n{text}\n{REMARKS_BEGIN}\n{read_remarks(old)}{REMARKS_END}\n"


def read_remarks(text: str | None) -> str:
    """What a person wrote between the two lines; they must both be there, each once."""
    if text is None or REMARKS_BEGIN not in text:
        return "\n"
    _, _, rest = text.partition(f"{REMARKS_BEGIN}\n")
    remarks, end, after = rest.partition(f"{REMARKS_END}")
    if not end or REMARKS_BEGIN in rest or REMARKS_END in after:
        raise Error(
            "The remarks block of the report is damaged.",
            hint=f"Keep exactly one line `{REMARKS_BEGIN}` and, below it, one line `{REMARKS_END}`.",
        )
    return remarks


def without_remarks(text: str) -> str:
    return with_remarks(text.partition(f"{MADE_BY}\n\n")[2].partition(f"\n{REMARKS_BEGIN}")[0], None)
