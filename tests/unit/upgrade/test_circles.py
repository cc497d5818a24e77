"""Import circles: which loading surely fails, and which only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.upgrade.circles import find_circle

START = "from keel.a import one\n"
CIRCLES = [
    # (what it shows, keel/a.py, keel/b.py, the name that is asked for too early)
    ("asked_before_made", "from keel.b import two\none = 1\n", "from keel.a import one\ntwo = 2\n", "keel.a.one"),
    ("function", "from keel.b import two\ndef one(): ...\n", "from keel.a import one\ntwo = 2\n", "keel.a.one"),
    ("relative", "from .b import two\none = 1\n", "from .a import one\ntwo = 2\n", "keel.a.one"),
    ("made_first", "one = 1\nfrom keel.b import two\n", "from keel.a import one\ntwo = 2\n", None),
    ("module_only", "import keel.b\none = 1\n", "import keel.a\ntwo = 2\n", None),
    ("no_way_back", "from keel.b import two\none = 1\n", "two = 2\n", None),
    (
        "typing",
        "from keel.b import two\none = 1\n",
        "import typing\nif typing.TYPE_CHECKING:\n    from keel.a import one\ntwo = 2\n",
        None,
    ),
    ("in_a_function", "from keel.b import two\none = 1\n", "def two():\n    from keel.a import one\n", None),
    (
        "caught",
        "from keel.b import two\none = 1\n",
        "try:\n    from keel.a import one\nexcept ImportError:\n    one = 0\ntwo = 2\n",
        None,
    ),
    (
        "lazy",
        "def __getattr__(name): ...\nfrom keel.b import two\none = 1\n",
        "from keel.a import one\ntwo = 2\n",
        None,
    ),
    ("star", "from keel.c import *\nfrom keel.b import two\none = 1\n", "from keel.a import one\ntwo = 2\n", None),
    ("submodule", "from keel.b import two\none = 1\n", "from keel import c\ntwo = 2\n", None),
    (
        "loaded_under_a_test",
        "import keel\nif keel:\n    import keel.b\nfrom keel.b import two\none = 1\n",
        "import sys\nif sys:\n    import keel.d\nfrom keel.d import one\ntwo = 2\n",
        None,
    ),
]


def test_the_packages_of_a_file_are_loaded_before_it(tmp_path: Path) -> None:
    """`own/__init__.py` imports the file: whoever asks for the file has loaded the package, and with it the file."""
    history = History.start(tmp_path / "up")
    history.commit("start", {"own/__init__.py": "from own.use import one\n", "own/use.py": "one = 1\n"})
    tree = Tree(open_repository(tmp_path / "up"), history.commits[-1])
    assert find_circle("own.use", build_index([Part(tree=tree)])) is None


@pytest.mark.parametrize(("one", "two", "expected"), [pytest.param(*row[1:], id=row[0]) for row in CIRCLES])
def test_a_circle_is_told_where_loading_surely_fails(tmp_path: Path, one: str, two: str, expected: str | None) -> None:
    files = {"keel/__init__.py": "", "keel/a.py": one, "keel/b.py": two, "keel/c.py": "", "keel/d.py": "one = 1\n"}
    history = History.start(tmp_path / "up")
    history.commit("start", {**files, "own.py": START})
    tree = Tree(open_repository(tmp_path / "up"), history.commits[-1])
    found = find_circle("own", build_index([Part(tree=tree)]))
    assert (found.name if found is not None else None) == expected
