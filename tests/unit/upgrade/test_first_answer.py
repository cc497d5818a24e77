"""Who waits for a plan is told first what breaks: that is what `patches drift` has found before."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.upgrade.question import ask
from upgrading import Files, make_project

BEFORE: Files = {"keel/deck.py": "def hoist(sail):\n    return sail\n\n\ndef furl(sail):\n    return sail\n"}
AFTER: Files = {"keel/deck.py": "def furl(sail):\n    return sail\n"}
OURS: Files = {"own/deck.py": "import keel.deck\n\n\ndef go(sail):\n    return keel.deck.hoist(sail)\n"}


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (AFTER, "1 place of ours breaks at {tip}: own/deck.py:5 (keel.deck.hoist)"),
        ({"keel/other.py": ""}, "`patches drift` finds no place of ours that breaks at {tip}"),
    ],
    ids=["one breaks", "none breaks"],
)
def test_what_breaks_is_told_before_the_places_are_judged_at_each_commit(
    tmp_path: Path, after: Files, told: str
) -> None:
    project = make_project(tmp_path, [("Begin", BEFORE), ("Go on", after)], OURS)
    results: list[str] = []

    def note(what: str, done: int, total: int, at: str = "") -> None:
        if done > total and what not in results:
            results.append(what)

    ask(project.open(), "keel", "main", note)
    tip = project.upstream.commits[-1][:8]
    assert results[0] == told.format(tip=tip)
    assert len(results) == 1  # what does not fit a commit by itself is counted by another rule
