"""What a report recommends, as a chip shows it: words and colour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from layline.core.records import recommendation_label

UNMEASURED = "not measured"
_TONES = {"monitor": "good", "plan sync": "plan", "urgent sync": "bad"}


def tone_of(recommendation: str | None) -> str:
    return _TONES.get(recommendation_label(recommendation) or "", "none")


def judge(recommendation: str | None, behind: int | None, fields: Mapping[str, Any]) -> tuple[str, str]:
    """Words and tone. Without a distance a calm word is no good news: it has no colour, and where the report counted
    nothing else either (`fields` are what it says) it is not repeated.
    """
    tone = tone_of(recommendation)
    if behind is not None or tone in {"bad", "plan"}:
        return recommendation or "no recommendation", tone
    counted = any(type(value) is int for value in fields.values())
    return (recommendation or "no recommendation") if counted else UNMEASURED, "none"
