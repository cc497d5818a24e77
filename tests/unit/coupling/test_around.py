"""A write in a method of ours that fails whenever upstream calls it is never reached, whatever becomes of its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from drift_rows import drift_row
from histories import History
from layline.core.evidence import Location
from layline.coupling.around import mark_unreached
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Tree

OURS = (
    "class Ours(Layer):\n    def __init__(self, size):\n        def swap():\n            spec.parts.core = Core\n"
    "        swap()\n\n    def forward(self, x):\n        spec.parts.core = Core\n"
)
LINES = [
    # (what it shows, the line of the write, what is said of which override, severity and today)
    ("in the method that fails", 4, (State.NEVER_FITTED, 2), ("breaks", "does-not-fit")),
    ("in another method", 8, (State.NEVER_FITTED, 2), ("ok", "fits")),
    ("in one that may not take something new", 4, (State.CANNOT_ACCEPT, 2), ("ok", "fits")),
]


@pytest.mark.parametrize(("line", "said", "expected"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_write_behind_a_call_that_fails_does_not_fit(
    tmp_path: Path, line: int, said: tuple[State, int], expected: tuple[str, str]
) -> None:
    downstream = History.start(tmp_path / "down")
    commit = downstream.commit("ours", {"harbour/keel.py": OURS})
    override = Coupling(
        touch=Touch.OVERRIDE,
        target="keel.layer.Layer.__init__",
        location=Location("harbour/keel.py", said[1]),
        state=said[0],
        consequence=Consequence.LOOK,
    )
    row = drift_row("ok", "unchanged", f"harbour/keel.py:{line}", "keel.layer.Parts.core")
    modules = Modules(Tree(open_repository(downstream.path), commit))
    (found,) = mark_unreached([row], [override], modules)
    assert (found.severity.value, found.today) == expected
    assert found.fails_already is (expected[0] == "breaks")
