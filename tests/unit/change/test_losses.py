from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver

Files = dict[str, str | None]
LAZY = "import sys\nfrom .lazy import Lazy\nif TYPE_CHECKING:\n    from .a import {}\nelse:\n"
LAZY = f"from typing import TYPE_CHECKING\n{LAZY}    sys.modules[__name__] = Lazy(__name__)\n"
RUN = "class Run:\n    def go(self, x):\n        return x\n\n    def stay(self):\n        return 1\n"
MODULE = "import torch\n\n\n" + RUN.replace("Run:", "Run(torch.Module):")
BELOW = "with quiet():\n    from .b import Run as _Run\n\n\nclass Run(_Run):\n    pass\n"

LOST = [
    # (what it shows, files at the pin, of each commit, the name, whose commit took it away)
    (
        "an import for type checkers in a module that replaces itself",
        {"pkg/__init__.py": LAZY.format("Run, old"), "pkg/a.py": f"{RUN}old = 1\n"},
        [
            ("drops another", {"pkg/__init__.py": LAZY.format("Run")}),
            ("drops it", {"pkg/__init__.py": LAZY.format("more")}),
        ],
        "pkg.Run",
        "drops it",
    ),
    (
        "a class that is inherited from where it moved",
        {"pkg/__init__.py": "", "pkg/a.py": RUN},
        [
            ("moves it", {"pkg/b.py": RUN, "pkg/a.py": BELOW}),
            ("drops the method", {"pkg/b.py": RUN.replace("def go", "def went")}),
            ("later", {"pkg/c.py": ""}),
        ],
        "pkg.a.Run.go",
        "drops the method",
    ),
    (
        "a name that a star brings after it moved",
        {"pkg/__init__.py": "from .a import Run\n", "pkg/a.py": RUN},
        [
            ("by a star", {"pkg/__init__.py": "from .b import *\n", "pkg/b.py": RUN, "pkg/a.py": None}),
            ("leaves the star's file", {"pkg/b.py": None, "pkg/c.py": RUN}),
            ("drops the star", {"pkg/__init__.py": ""}),
        ],
        "pkg.Run",
        "leaves the star's file",
    ),
    (
        "what a revert brought back",
        {"pkg/__init__.py": "", "pkg/a.py": RUN},
        [("takes it", {"pkg/a.py": ""}), ("reverts", {"pkg/a.py": RUN}), ("takes it again", {"pkg/a.py": "X = 1\n"})],
        "pkg.a.Run",
        "takes it again",
    ),
    (
        "an import of a name that its file has lost",
        {"pkg/__init__.py": "from .a import Run\n", "pkg/a.py": RUN},
        [("its file", {"pkg/a.py": "X = 1\n"}), ("the import", {"pkg/__init__.py": ""})],
        "pkg.Run",
        "its file",
    ),
    (
        "what only another package may give a class goes with the class",
        {"pkg/__init__.py": LAZY.format("Run, old"), "pkg/a.py": f"{MODULE}old = 1\n"},
        [
            ("drops another", {"pkg/__init__.py": LAZY.format("Run")}),
            ("drops it", {"pkg/__init__.py": LAZY.format("more"), "pkg/b.py": MODULE, "pkg/a.py": None}),
        ],
        "pkg.Run.tie",
        "drops it",
    ),
]


@pytest.mark.parametrize(("pin", "commits", "name", "blamed"), [row[1:] for row in LOST], ids=[row[0] for row in LOST])
def test_who_took_away_a_name_is_who_cut_its_last_road(
    tmp_path: Path, pin: Files, commits: list[tuple[str, Files]], name: str, blamed: str
) -> None:
    history = History.start(tmp_path / "repo")
    first = history.commit("pin", dict(pin))
    hashes = {history.commit(subject, dict(files)): subject for subject, files in commits}
    repository, tip = open_repository(history.path), history.commits[-1]
    pinned, newest = (
        Resolver(build_index([Part(tree=Tree(repository, commit), packages=("pkg",))])) for commit in (first, tip)
    )
    comparer = Comparer(pinned, newest, [Tracer(repository, first, tip)])
    assert hashes.get(comparer.find_loss(comparer.compare(name)) or "") == blamed
