"""Readings that are recalled: over any edit, what comes from memos is what reading all anew says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from histories import History
from layline.config import Backend, Project, Settings
from layline.core.patch import Inventory, TargetKind
from layline.git import open_repository
from layline.interpreter.callers.find import Search
from layline.interpreter.callers.sites import Callers
from layline.patches.installer import Known, know_nothing
from layline.patches.inventory.read import read_downstream, read_inventory
from layline.source import Cache, Tree
from layline.source.memos import Memos
from snippets import AUTO_IMPORT, ENGINE, handler

BASE = {
    "own/__init__.py": "",
    "own/main.py": "import own.patches\n",
    "own/engine/__init__.py": "from own.engine.core import register_patch, get_args, get_param\n",
    "own/engine/core.py": ENGINE,
    "own/patches/__init__.py": AUTO_IMPORT,
    "own/patches/plain_patches.py": handler("import up.plain\nup.plain.f = len", arguments='"plain", backend="up"'),
    "own/other.py": "import up.other\n\n\ndef put():\n    up.other.g = len\n",
}
BACKEND = Backend(path="third_party/up", packages=("up",), patches=("own/patches",), integration=("own",))
SETTINGS = Settings(project=Project(name="own"), backends={"up": BACKEND})
PATCH = "own/patches/case_patches.py"


@dataclass(frozen=True)
class Case:
    """A project before and after one edit."""

    name: str
    before: dict[str, str | None]
    after: dict[str, str | None]


CASES = (
    Case("line moved in another file", {"own/help.py": "def new(): pass\n"}, {"own/help.py": "\n\ndef new(): pass\n"}),
    Case("name appears", {"own/help.py": ""}, {"own/help.py": "def new(): pass\n"}),
    Case("name vanishes", {"own/help.py": "def new(): pass\n"}, {"own/help.py": ""}),
    Case("module appears", {}, {"own/help.py": "def new(): pass\n"}),
    Case("module vanishes", {"own/help.py": "def new(): pass\n"}, {"own/help.py": None}),
    Case("package takes the place of a module", {"own/help.py": "def new(): pass\n"}, {"own/help/__init__.py": "new = 1\n"}),
    Case("star import", {"own/help.py": "from own.far import *\n"}, {"own/far.py": "def new(): pass\n"}),
    Case(
        "star import of a name that another one hides",
        {"own/help.py": "from own.far import *\n", "own/far.py": "def new(): pass\n"},
        {"own/help.py": "from own.far import *\nfrom own.near import new\n", "own/near.py": "new = 3\n"},
    ),
    Case("re-exported from elsewhere", {"own/help.py": "from own.a import new\n", "own/a.py": "def new(): pass\n"}, {"own/a.py": "new = 7\n"}),
    Case("shadowing root", {"own/help.py": "def new(): pass\n"}, {"src/own/help.py": "new = 1\n", "pyproject.toml": ""}),
    Case("no longer Python", {"own/help.py": "def new(): pass\n"}, {"own/help.py": "def new(:\n"}),
    Case("a neighbour changes", {"own/help.py": "def new(): pass\n\n\ndef far(): return 1\n"}, {"own/help.py": "def new(): pass\n\n\ndef far(): return 2\n"}),
    Case("made by a function of another file", {"own/help.py": "from own.far import make\n\nnew = make()\n", "own/far.py": "def make():\n    return len\n"}, {"own/far.py": "def make():\n    return max\n"}),
    Case("a name of the top level that a function reads", {"own/help.py": "KEPT = len\n\n\ndef make():\n    return KEPT\n\n\nnew = make()\n"}, {"own/help.py": "KEPT = max\n\n\ndef make():\n    return KEPT\n\n\nnew = make()\n"}),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_edit(tmp_path: Path, case: Case) -> None:
    source = handler("from own.help import new\nimport up.case\nup.case.f = new", arguments='"case", backend="up"')
    files = {**BASE, PATCH: source, **case.before}
    recalled = compare(tmp_path, [files, case.after])
    assert recalled > 0, "the other patch sees nothing of it"


STRAY = (
    Case("helper elsewhere", {"own/help.py": "def put(of, new): pass\n", "own/go.py": "from own.help import put\nimport up.x\n\n\ndef run():\n    put(up.x, len)\n"}, {"own/help.py": "def put(of, new):\n    of.f = new\n"}),
    Case("installing base class", {"own/base.py": "class Base:\n    names = ()\n", "own/heir.py": "from own.base import Base\n\n\nclass Heir(Base):\n    names = ('f',)\n"}, {"own/base.py": "import up.y\n\n\nclass Base:\n    names = ()\n\n    def go(self):\n        for name in self.names:\n            setattr(up.y, name, len)\n"}),
    Case("named as text", {"own/go.py": "import importlib, up.z\n\n\ndef run():\n    up.z.f = importlib.import_module('own.' + 'late').new\n"}, {"own/late.py": "def new(): pass\n"}),
    Case("named as text, and imported by name", {"own/go.py": "import importlib, up.z\nfrom own.late import one\n\n\ndef run():\n    up.z.e = one()\n    up.z.f = importlib.import_module('own.' + 'late').new()\n", "own/late.py": "def one():\n    return abs\n\n\ndef new():\n    return len\n"}, {"own/late.py": "def one():\n    return abs\n\n\ndef new():\n    return max\n"}),
    Case("a submodule read from its package", {"own/go.py": "import own.sub.late, up.z\n\n\ndef run(of=own):\n    up.z.f = of.sub.late.new()\n", "own/sub/__init__.py": "", "own/sub/late.py": "def new():\n    return len\n"}, {"own/sub/late.py": "def new():\n    return max\n"}),
    Case("a method of a base class two files away", {"own/go.py": "import up.z\nfrom own.mid import Mid\n\n\ndef run():\n    Mid().put(up.z)\n", "own/mid.py": "from own.base import Base\n\n\nclass Mid(Base):\n    pass\n", "own/base.py": "class Base:\n    def put(self, of):\n        of.f = len\n"}, {"own/base.py": "class Base:\n    def put(self, of):\n        of.g = len\n"}),
    Case("lines of a helper move", {"own/help.py": "def first(): pass\n\n\ndef put(of, new):\n    of.f = new\n", "own/go.py": "from own.help import put\nimport up.x\n\n\ndef run():\n    put(up.x, len)\n"}, {"own/help.py": "def first():\n    pass\n\n\ndef put(of, new):\n    of.f = new\n"}),
    Case("a decorator of ours is handed a function", {"own/mark.py": "import up.d\n\n\ndef mark(name):\n    def put(new):\n        setattr(up.d, name(), new)\n        return new\n    return put\n", "own/names.py": "def where(): return 'f'\n", "own/go.py": "from own.mark import mark\nfrom own.names import where\n\n\n@mark(where)\ndef run(): pass\n"}, {"own/names.py": "def where(): return 'g'\n"}),
    Case("registry filled by another import", {"own/reg.py": "import up.r\nTABLE = []\n\n\ndef go():\n    for name in TABLE:\n        setattr(up.r, name, len)\n", "own/fill.py": "from own.reg import TABLE\nTABLE.append('a')\nimport up.other\nup.other.k = len\n"}, {"own/fill.py": "from own.reg import TABLE\nTABLE.append('b')\nimport up.other\nup.other.k = len\n"}),
    Case("caller appears", {}, {"own/caller.py": "from own.other import put\n\n\ndef start():\n    put()\n"}),
    Case("two modules that import one another", {"own/a.py": "from own.b import K\nimport up.c\nJ = 'j'\nup.c.f = K\n", "own/b.py": "from own.a import J\nimport up.c\nK = 'k'\nup.c.g = J\n"}, {"own/b.py": "from own.a import J\nimport up.c\nK = 'l'\nup.c.g = J\n"}),
)  # fmt: skip


@pytest.mark.parametrize("case", STRAY, ids=lambda case: case.name)
def test_an_edit_beside_registrations(tmp_path: Path, case: Case) -> None:
    compare(tmp_path, [{**BASE, **case.before}, case.after, dict.fromkeys(case.after)])


def compare(folder: Path, steps: Sequence[Mapping[str, str | None]]) -> int:
    """How many readings were recalled; each commit is read with the memos of those before and with none."""
    history = History.start(folder / "own")
    recalled = 0
    for number, files in enumerate(steps):
        commit = history.commit(f"step {number}", dict(files))
        found = []
        for memos in (Memos(Cache(folder / "cache", "memo"), "base"), Memos()):
            reading = read_downstream(Tree(open_repository(history.path), commit), SETTINGS, None, memos)
            found.append(read_inventory(reading, "up"))
            recalled += memos.recalled
            memos.save()
        assert found[0] == found[1], number
    return recalled


@pytest.mark.parametrize("case", [*CASES, *STRAY], ids=lambda case: case.name)
def test_a_check_is_content(tmp_path: Path, case: Case) -> None:
    """`LAYLINE_CHECK`: rows that would be believed are those found anew; rows that would not are no differences."""
    source = handler("from own.help import new\nimport up.case\nup.case.f = new", arguments='"case", backend="up"')
    gone = {path: None for path, text in case.after.items() if text is not None}
    steps: list[dict[str, str | None]] = [{**BASE, PATCH: source, **case.before}, case.after, {**gone}]
    assert check(tmp_path, steps) > 0


def check(folder: Path, steps: Sequence[Mapping[str, str | None]]) -> int:
    history = History.start(folder / "own")
    seen: list[str] = []

    def equal(what: str, kept: dict[str, object] | None, fresh: dict[str, object]) -> None:
        seen.append(what)
        assert kept == fresh, what

    for number, files in enumerate(steps):
        commit = history.commit(f"step {number}", dict(files))
        memos = Memos(Cache(folder / "cache", "memo"), "base", equal)
        read_inventory(read_downstream(Tree(open_repository(history.path), commit), SETTINGS, None, memos), "up")
        memos.save()
    return len(seen)


HERE = Known(TargetKind.DEFINITION)
GONE = Known(TargetKind.ABSENT)
PINS = (
    ("every answer is the same", {"up.plain.f": HERE, "up.other.g": HERE}, 0),
    ("a target is gone there", {"up.plain.f": HERE, "up.other.g": GONE}, 1),
    ("every target is gone there", {"up.plain.f": GONE, "up.other.g": GONE}, 2),
)  # fmt: skip
"""What upstream answers at another pin, and how many modules are read anew for it."""


@pytest.mark.parametrize(("answers", "anew"), [row[1:] for row in PINS], ids=[row[0] for row in PINS])
def test_another_pin(tmp_path: Path, answers: dict[str, Known], anew: int) -> None:
    history = History.start(tmp_path / "own")
    tree = Tree(open_repository(history.path), history.commit("first", dict(BASE)))

    def read(pins: str, told: dict[str, Known], memos: Memos) -> Inventory:
        reading = read_downstream(tree, SETTINGS, None, memos)
        reading.units.upstream.pins = pins
        found = read_inventory(reading, "up", lambda name: told.get(name, know_nothing(name)))
        memos.save()
        return found

    then: dict[str, Known] = {"up.plain.f": HERE, "up.other.g": HERE}
    made = []
    for pins, told in (("old", then), ("new", answers), ("old", then), ("new", answers)):
        memos = Memos(Cache(tmp_path / "cache", "memo"), "base")
        assert read(pins, told, memos) == read(pins, told, Memos())
        made.append(memos.made)
    assert made[1:] == [anew, 0, 0]


@pytest.mark.parametrize(("answers", "anew"), [row[1:] for row in PINS], ids=[row[0] for row in PINS])
def test_who_calls_our_functions_is_not_asked_again_at_another_pin(
    tmp_path: Path, answers: dict[str, Known], anew: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only our own files decide it, also where an effect itself is another at that pin (`anew`)."""
    history = History.start(tmp_path / "own")
    calls = {"own/use.py": "import os\nfrom own.other import put\n\nif os.environ.get('PUT'):\n    put()\n"}
    asked: list[str] = []
    find = Search.find

    def note(search: Search, name: str) -> Callers:
        asked.append(name)
        return find(search, name)

    monkeypatch.setattr(Search, "find", note)
    seen = []
    for files in ({**BASE, **calls}, {"own/use.py": "from own.other import put\n\nput()\n"}):
        tree = Tree(open_repository(history.path), history.commit("step", dict(files)))
        for pins, told in (("old", {"up.plain.f": HERE, "up.other.g": HERE}), ("new", answers)):
            memos = Memos(Cache(tmp_path / "cache", "memo"), "base")
            reading = read_downstream(tree, SETTINGS, None, memos)
            reading.units.upstream.pins = pins
            asked.clear()

            def look_up(name: str, told: dict[str, Known] = told) -> Known:
                return told.get(name, know_nothing(name))

            (item,) = read_inventory(reading, "up", look_up).unregistered
            memos.save()
            seen.append((bool(asked), item.called_from, item.effect.when is not None))
    assert seen == [
        (True, ("own/use.py:5",), True),
        (False, ("own/use.py:5",), True),
        (True, ("own/use.py:3",), False),
        (False, ("own/use.py:3",), False),
    ]
