"""What a port takes along: all that a function needs, and nothing else of what it stands in."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.patches.port.slicing import Slicer
from layline.source import Tree

FILES = {
    "own/__init__.py": "",
    "own/far.py": "def far(): pass\n",
    "own/near.py": "def near(): pass\nWIDTH = 3\n",
    "own/kept.py": "def kept(): pass\n",
    "own/run.py": """\
from own.far import far
from own.kept import kept
from own.near import WIDTH, near


class Trainer:
    def train(self):
        far()

    def width(self):
        return WIDTH

    def setup(self, model):
        size = near()
        far()

        def cast():
            return size

        def wide():
            return self.width()

        def plain(x):
            return x

        with kept() as held:
            def inside():
                return held

        model.head.forward = plain


def install():
    far()
""",
}
NEEDS: tuple[tuple[str, list[str]], ...] = (
    ("Trainer.setup.plain", []),
    ("Trainer.setup.cast", ["own.near"]),
    ("Trainer.setup.wide", ["own.near"]),
    ("Trainer.setup.inside", ["own.kept"]),
    ("Trainer.train", ["own.far"]),
    ("Trainer.setup", ["own.far", "own.kept", "own.near"]),
    ("Trainer.gone", ["own.far", "own.kept", "own.near"]),
)  # fmt: skip
"""The scope of an installer, and the other modules it needs; of what is not found, the whole of what holds it."""


@pytest.mark.parametrize(("scope", "needs"), NEEDS, ids=[scope for scope, _ in NEEDS])
def test_a_function_inside_takes_what_it_needs(tmp_path: Path, scope: str, needs: list[str]) -> None:
    history = History.start(tmp_path / "own")
    tree = Tree(open_repository(history.path), history.commit("first", dict(FILES)))
    found = Slicer(Modules(tree, (".",)), frozenset()).follow_inner("own.run", scope.split("."))
    assert found.modules == sorted([*needs, "own.run"])
