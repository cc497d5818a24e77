"""Who calls our patching functions is searched again only where an edit may change it."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.config import Backend, Project, Settings
from layline.core.condition import Condition
from layline.core.evidence import Location
from layline.core.patch import Inventory
from layline.coupling.version_guards import VersionGuards
from layline.git import open_repository
from layline.interpreter.callers.find import Search
from layline.interpreter.callers.sites import Callers
from layline.patches.excluded import find_guards
from layline.patches.inventory.read import read_downstream, read_inventory
from layline.source import Cache, Tree
from layline.source.memos import Memos

BACKEND = Backend(path="third_party/up", packages=("up",), patches=("own/patches",), integration=("own",))
SETTINGS = Settings(project=Project(name="own"), backends={"up": BACKEND})
BASE: dict[str, str | None] = {
    "own/__init__.py": "",
    "own/put.py": "import up.a\n\n\ndef put():\n    up.a.f = len\n",
    "own/use.py": "from own.put import put\n\n\ndef go(fast):\n    if fast:\n        put()\n",
    "own/main.py": "import os\nfrom own.use import go\n\nif os.environ.get('GO'):\n    go(1)\n",
    "own/far.py": "def far():\n    return 1\n",
    "own/kinds.py": "import up.b\n\n\nclass Kind:\n    def __init__(self):\n        up.b.f = len\n",
    "own/made.py": "from own.kinds import Kind\n\n\ndef make():\n    return Kind()\n",
    "own/top.py": "import up.c\n\nup.c.f = len\n",
    "examples/run.py": "from own.far import far\nfar()\n",
}
PUT = {"own.put.put", "own.use.go"}
"""Whoever looks for what decides the call of one looks for the callers of both."""
MADE, TOP = {"own.kinds.Kind.__init__"}, {"own.top"}
NOBODY: set[str] = set()
EDITS: list[tuple[str, dict[str, str | None], set[str]]] = [
    # what is edited, how, whose callers must be searched for again
    ("a file that names none of them", {"own/far.py": "def far():\n    return 2\n"}, NOBODY),
    ("a new file that names none of them", {"own/near.py": "def near():\n    return 2\n"}, NOBODY),
    ("a text of another kind", {"README.md": "put()\n"}, NOBODY),
    ("a comment", {"own/far.py": "def far():  # put()\n    return 1\n"}, NOBODY),
    ("a caller asks for something else", {"own/use.py": "from own.put import put\n\n\ndef go(slow):\n    if slow:\n        put()\n"}, PUT),
    ("a caller appears", {"own/far.py": "from own.put import put\n\n\ndef far():\n    put()\n"}, PUT),
    ("a caller appears in an example", {"examples/run.py": "from own.put import put\nput()\n"}, PUT),
    ("a caller vanishes", {"own/use.py": "def go(fast):\n    return fast\n"}, PUT),
    ("a caller of the caller appears", {"own/far.py": "from own.use import go\n\n\ndef far():\n    go(0)\n"}, PUT),
    ("what decides the caller of the caller", {"own/main.py": "from own.use import go\n\ngo(1)\n"}, PUT),
    ("it is named as text", {"own/far.py": "from importlib import import_module\nimport_module('own.top')\n"}, PUT | TOP),
    ("it is handed over as text", {"own/far.py": "def far(hook):\n    hook('own.put.put')\n"}, PUT),
    ("a name that is put together", {"own/far.py": "from importlib import import_module\n\n\ndef far(name):\n    import_module(f'own.{name}')\n"}, PUT | TOP),
    ("an import appears", {"own/far.py": "import own.top\n"}, TOP),
    ("a module appears inside it", {"own/top.py": None, "own/top/__init__.py": "import up.c\n\nup.c.f = len\n", "own/top/more.py": ""}, TOP),
    ("a class appears below", {"own/far.py": "from own.kinds import Kind\n\n\nclass Far(Kind):\n    pass\n\n\nFar()\n"}, MADE),
    ("the package offers it", {"own/__init__.py": "from own.put import put\n"}, PUT | MADE | TOP),
    ("another module takes its place", {"own/put/__init__.py": "def put():\n    return 1\n"}, PUT),
    ("what builds the package", {"pyproject.toml": "[project]\nname = 'own'\n"}, PUT | MADE | TOP),
    ("a caller is no Python any more", {"own/use.py": "def go(:\n"}, PUT),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "searched"), [row[1:] for row in EDITS], ids=[row[0] for row in EDITS])
def test_an_edit(
    tmp_path: Path, edit: dict[str, str | None], searched: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History.start(tmp_path / "own")
    asked: set[str] = set()
    find = Search.find

    def note(search: Search, name: str) -> Callers:
        asked.add(name)
        return find(search, name)

    def read(commit: str, memos: Memos) -> Inventory:
        found = read_inventory(
            read_downstream(Tree(open_repository(history.path), commit), SETTINGS, None, memos), "up"
        )
        memos.save()
        return found

    monkeypatch.setattr(Search, "find", note)
    told: list[set[str]] = []
    for files in (BASE, edit, {path: BASE.get(path) for path in edit}):
        commit = history.commit("step", dict(files))
        asked.clear()
        recalled = read(commit, Memos(Cache(tmp_path / "cache", "memo"), "base"))
        told.append(set(asked))
        assert recalled == read(commit, Memos())
    every = PUT | MADE | TOP
    assert told[0] >= every
    assert told[1] & every <= searched
    assert not searched or told[1] & searched


HEAD = "import up.a\nfrom packaging.version import parse\n"
GUARDED: dict[str, str | None] = {
    "own/__init__.py": "",
    "own/put.py": f"{HEAD}from own.new import NEW\n\n\ndef put():\n    if NEW:\n        up.a.f = len\n",
    "own/new.py": f"{HEAD}from own.old import FIRST\nNEW = parse(up.__version__) >= parse(FIRST)\n",
    "own/old.py": "FIRST = '2'\n",
    "own/far.py": "def far():\n    return 1\n",
}
GUARDS: list[tuple[str, dict[str, str | None], bool]] = [
    # what is edited, how, whether what stands around the line is read again
    ("a file that it does not see", {"own/far.py": "def far():\n    return 2\n"}, False),
    ("a new file", {"own/near.py": "NEW = 1\n"}, False),
    ("the test", {"own/new.py": f"{HEAD}NEW = parse(up.__version__) < parse('3')\n"}, True),
    ("what the test reads of a third file", {"own/old.py": "FIRST = '1'\n"}, True),
    ("a package takes the place of the third file", {"own/old/__init__.py": "FIRST = '1'\n"}, True),
    ("the third file vanishes", {"own/old.py": None}, True),
    ("the file of the line", {"own/put.py": f"{HEAD}\n\n\n\ndef put():\n    if 1:\n        up.a.f = len\n"}, True),
]


@pytest.mark.parametrize(("edit", "is_read"), [row[1:] for row in GUARDS], ids=[row[0] for row in GUARDS])
def test_tests_of_versions_around_a_line(
    tmp_path: Path, edit: dict[str, str | None], is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = History.start(tmp_path / "own")
    asked: list[Location] = []
    find = VersionGuards.find

    def note(guards: VersionGuards, location: Location, name: str = "") -> Condition | None:
        asked.append(location)
        return find(guards, location, name)

    def read(commit: str, memos: Memos) -> Condition | None:
        reading = read_downstream(Tree(open_repository(history.path), commit), SETTINGS, None, memos)
        found = find_guards({line}, reading.searches)
        memos.save()
        return found[line]

    monkeypatch.setattr(VersionGuards, "find", note)
    line = Location("own/put.py", 8)
    told: list[bool] = []
    for files in (GUARDED, edit, {path: GUARDED.get(path) for path in edit}):
        commit = history.commit("step", dict(files))
        asked.clear()
        recalled = read(commit, Memos(Cache(tmp_path / "cache", "memo"), "base"))
        told.append(bool(asked))
        assert recalled == read(commit, Memos())
    assert told[:2] == [True, is_read]
    assert recalled is not None


def test_a_check_compares_what_would_be_believed(tmp_path: Path) -> None:
    history = History.start(tmp_path / "own")
    seen: list[str] = []

    def equal(what: str, kept: dict[str, object] | None, fresh: dict[str, object]) -> None:
        seen.append(what)
        assert kept == fresh, what

    for files in (BASE, *(row[1] for row in EDITS)):
        commit = history.commit("step", dict(files))
        memos = Memos(Cache(tmp_path / "cache", "memo"), "base", equal)
        read_inventory(read_downstream(Tree(open_repository(history.path), commit), SETTINGS, None, memos), "up")
        memos.save()
    assert {f"callers of {name}" for name in PUT | MADE | TOP} <= set(seen)
