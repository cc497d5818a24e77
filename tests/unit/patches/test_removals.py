"""Many absent names asked about at once get the answers that each gets alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.patches.removals import find_removals
from layline.source import Index, Part, Tree, build_index
from layline.source.resolve import Resolver

TARGETS = (
    "up.a.old",
    "up.a.older",
    "up.a.never",
    "up.a.elsewhere",
    "up.a.elsewhere_not",
    "up.a.twice",
    "up.b.never",
    "up.b.old",
    "up.gone.f",
    "up.grown.Kept.f",
    "up.grown.Moved.f",
    "up.front.Kept.f",
    "other.f",
)


@dataclass
class Asked:
    """What `find_removals` reads of the upstreams."""

    index: Index
    resolver: Resolver
    skipped: tuple[str, ...] = field(default=())


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    upstream = History.start(tmp_path_factory.mktemp("removals") / "up")
    upstream.commit(
        "Begin", {"up/__init__.py": "", "up/a.py": "def old(): pass\nolder = 1\n", "up/b.py": "", "up/gone.py": ""}
    )
    upstream.commit("Drop older (#2)", {"up/a.py": "def old(): pass\n"})
    upstream.commit("Drop old (#3)", {"up/a.py": "kept = 1\n"})
    upstream.commit("Drop gone (#4)", {"up/gone.py": None})
    members = "class Kept:\n    def f(self): pass\n\n\nclass Moved:\n    def f(self): pass\n"
    upstream.commit("Grow", {"up/grown.py": members})
    upstream.commit(
        "Split (#5)",
        {
            "up/grown.py": None,
            "up/grown/__init__.py": "from up.grown.kept import Kept\n",
            "up/grown/kept.py": "class Kept:\n    def f(self): pass\n",
            "up/grown/moved.py": "class Moved:\n    def f(self): pass\n",
            "up/front.py": "from up.grown.kept import Kept\n",
        },
    )
    upstream.commit("Drop f (#6)", {"up/grown/kept.py": "class Kept:\n    pass\n"})
    tip = upstream.commit(
        "Define it where it belongs",
        {
            "up/y.py": "def twice(): pass\n",
            "up/z.py": "def elsewhere_nothing(): pass\n\n\nclass elsewhere: pass\ndef twice(): pass\n",
        },
    )
    repository = open_repository(Path(upstream.path))
    index = build_index([Part(tree=Tree(repository, tip))])
    return Asked(index, Resolver(index))


def test_together_as_alone(upstreams: Asked) -> None:
    together = dict(find_removals(TARGETS, upstreams))  # type: ignore[arg-type]
    alone = {target: dict(find_removals([target], upstreams))[target] for target in TARGETS}  # type: ignore[arg-type]
    assert together == alone


def test_each_answer(upstreams: Asked) -> None:
    found = dict(find_removals(TARGETS, upstreams))  # type: ignore[arg-type]
    told = {
        target: None if one is None else (one.subject if one.commit else None, one.elsewhere)
        for target, one in found.items()
    }
    assert told == {
        "up.a.old": ("Drop old (#3)", None),
        "up.a.older": ("Drop older (#2)", None),
        "up.a.never": (None, None),
        "up.a.elsewhere": (None, "up/z.py:4"),
        "up.a.elsewhere_not": (None, None),
        "up.a.twice": (None, "up/y.py:1, up/z.py:5"),
        "up.b.never": (None, None),
        "up.b.old": (None, None),
        "up.gone.f": ("Drop gone (#4)", None),
        "up.grown.Kept.f": ("Drop f (#6)", None),
        "up.grown.Moved.f": ("Split (#5)", "up/grown/moved.py:1"),
        "up.front.Kept.f": ("Drop f (#6)", None),
        "other.f": None,
    }
