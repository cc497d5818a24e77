"""docs/sample.md says what is planted; the table of targets is held against truth."""

from __future__ import annotations

from pathlib import Path

from layline.sample import expected as truth

PAGE = Path(__file__).parents[3] / "docs" / "sample.md"


def row(patch: truth.ExpectedPatch, effect: truth.ExpectedEffect) -> str:
    untold = "never there: a stand-in" if "consolidate" in patch.id else "as its definition"
    state = effect.drift or ("moved or renamed" if effect.new_address else untold)
    word = "; see" if effect.drift == "binding-lost" else " to"
    address = f"{word} `{effect.new_address}`" if effect.new_address else ""
    since = f"#{effect.culprit}" if effect.culprit else ""
    return f"| `{patch.id}` | `{effect.target}` | {state}{address} | {since} |"


def test_the_table_of_targets_is_true() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = page.partition("### What becomes of each target")[2].splitlines()
    rows = [line for line in told if line.startswith("| `")]

    assert rows == [row(patch, effect) for patch in truth.PATCHES for effect in patch.effects if effect.target]
