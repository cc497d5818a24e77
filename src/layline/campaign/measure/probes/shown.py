"""What a probe hands back."""

from __future__ import annotations

from collections.abc import Iterator

Shown = Iterator[tuple[str, str]]
"""Properties, each with the evidence for it."""
