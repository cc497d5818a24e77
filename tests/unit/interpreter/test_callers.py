"""Who calls the function around an effect: by what names resolve to."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.patch import Unregistered
from layline.patches.guards.show import show_condition
from snippets import read_files

BOOT = "def start_up():\n    import up.a as m\n    m.f = print\n"
LOADER = """
class Base:
    def load(self):
        return self.prepare()

    def prepare(self):
        pass


class Mine(Base):
    def prepare(self):
        super().prepare()
        import up.a as m
        m.f = print


class Below(Mine):
    def prepare(self):
        super().prepare()
"""
OTHER = "class Other:\n    def prepare(self): pass\n    def go(self):\n        self.prepare()\n"
FUNCTIONS: list[tuple[str, str, tuple[str, ...]]] = [
    # how it is called, the other file, what is found
    ("imported", "from own.boot import start_up\nstart_up()\n", ("own/x.py:2",)),
    ("over several lines", "from .boot import (\n    start_up,\n)\nstart_up()\n", ("own/x.py:4",)),
    ("under another name", "from own.boot import start_up as go\ngo()\n", ("own/x.py:2",)),
    ("through the module", "from own import boot\nboot.start_up()\n", ("own/x.py:2",)),
    ("through the whole path", "import own.boot\nown.boot.start_up()\n", ("own/x.py:2",)),
    ("inside a function", "def main():\n    from own.boot import start_up\n    start_up()\n", ("own/x.py:3",)),
    ("as a decorator", "from own.boot import start_up\n@start_up\ndef f(): pass\n", ("own/x.py:2",)),
    (
        "handed on",
        "from own.boot import start_up\nimport atexit\natexit.register(start_up)\n",
        ("own/x.py:3 (passed as a value)",),
    ),
    ("in another process", "from own.boot import start_up\nstart_up.remote()\n", ("own/x.py:2",)),
    ("in a docstring", '"""start_up() does it."""\nfrom own.boot import start_up\n', ()),
    ("in a comment", "from own.boot import start_up  # start_up()\n", ()),
    (
        "inside a function of the same name",
        "def start_up():\n    from own.boot import start_up\n    start_up()\n",
        ("own/x.py:3",),
    ),
    ("a parameter of that name", "def g(start_up):\n    start_up()\n", ()),
    ("another function of that name", "from own.third import start_up\nstart_up()\n", ()),
    (
        "a method of that name",
        "class A:\n    def start_up(self): pass\n    def go(self):\n        self.start_up()\n",
        (),
    ),
]
METHODS: list[tuple[str, str, tuple[str, ...], int]] = [
    # how it is called, the other file, what is found there, calls on unknown objects
    ("an unrelated class", OTHER, (), 0),
    ("an unknown object", "def go(x):\n    x.prepare()\n", (), 1),
    ("an object of it", "from own.boot import Mine\nMine().prepare()\n", ("own/x.py:2",), 0),
    ("a variable", "from own.boot import Mine\ndef go():\n    it = Mine()\n    it.prepare()\n", ("own/x.py:4",), 0),
    ("an annotated parameter", "from own.boot import Base\ndef go(it: Base):\n    it.prepare()\n", ("own/x.py:3",), 0),
    ("an object of the class above", "from own.boot import Base\nBase().prepare()\n", (), 0),
    ("the class itself", "from own.boot import Mine\ndef go(it):\n    Mine.prepare(it)\n", ("own/x.py:3",), 0),
    (
        "an attribute",
        (
            "from own.boot import Mine\nclass A:\n    def __init__(self):\n        self.it = Mine()\n    def "
            "go(self):\n        self.it.prepare()\n"
        ),
        ("own/x.py:6",),
        0,
    ),
    (
        "a mixin",
        (
            "from own.boot import Mine\nclass Mixin:\n    def go(self):\n        self.prepare()\nclass Both(Mixin, "
            "Mine):\n    pass\n"
        ),
        ("own/x.py:4",),
        0,
    ),
    ("text of another package", "import json\njson.prepare()\n", (), 0),
    ("an object of another package", "from other import it\nit.prepare()\n", (), 0),
    (
        "one of a list that an object keeps",
        (
            "from own.boot import Mine\nclass A:\n    def fill(self):\n        it = Mine()\n"
            "        self.all.append(it)\n    def go(self):\n        self.all[0].prepare()\n"
            "        return [one.prepare() for one in self.all]\n"
        ),
        ("own/x.py:7", "own/x.py:8"),
        0,
    ),
    (
        "an actor, in another process",
        "import ray\nfrom own.boot import Mine\ndef go():\n    it = Mine.remote()\n    it.prepare.remote()\n",
        ("own/x.py:5",),
        0,
    ),
    (
        "an actor of a class that an object keeps",
        (
            "import ray\nfrom own.boot import Mine\nclass A:\n    def __init__(self):\n"
            "        self.made = ray.remote(Mine)\n        self.all = []\nclass B(A):\n    def fill(self):\n"
            "        it = self.made.options(name='it').remote()\n        self.all.append(it)\n"
            "    def go(self):\n        return [one.prepare.remote() for one in self.all]\n"
        ),
        ("own/x.py:12",),
        0,
    ),
    ("an unknown actor", "def go(x):\n    x.prepare.remote()\n", (), 1),
]
ASKED: list[tuple[str, str, tuple[str, ...]]] = [
    # what is done with a class, the other file, where making its objects is told
    ("made", "from own.boot import Mine\nMine()\n", ("own/x.py:2",)),
    ("handed on", "from own.boot import Mine\ndef go(f):\n    f(Mine)\n", ("own/x.py:3 (passed as a value)",)),
    ("compared", "from own.boot import Mine\ndef go(x):\n    return type(x) is Mine\n", ()),
    ("one of several compared", "from own.boot import Mine\ndef go(x):\n    return type(x) in (Mine, int)\n", ()),
    ("asked for", "from own.boot import Mine\ndef go(x):\n    return isinstance(x, Mine)\n", ()),
    ("matched", "from own.boot import Mine\ndef go(x):\n    match x:\n        case Mine():\n            pass\n", ()),
]
READ: list[tuple[str, str, tuple[str, ...]]] = [
    # how a property is read, the other file, where
    ("read", "from own.boot import Mine\nit = Mine().place\n", ("own/x.py:2 (read)",)),
    ("read for a part", "from own.boot import Mine\nMine().place.go()\n", ("own/x.py:2 (read)",)),
    ("set", "from own.boot import Mine\nMine().place = 3\n", ()),
]
UNKNOWN: list[tuple[str, str, int]] = [
    # how a method is used on an object of unknown class, the other file, how many such are counted
    ("called", "def go(x):\n    x.set_up()\n", 1),
    ("handed on", "def go(x, f):\n    f(x.set_up)\n", 1),
    ("compared", "def go(x, f):\n    return x.set_up is f\n", 0),
    ("named for somebody to look up", "def go(run):\n    run(method=['set_up'])\n", 1),
    ("asked for by name", "def go(x):\n    return hasattr(x, 'set_up')\n", 0),
]


def read_one(tmp_path: Path, files: dict[str, str]) -> Unregistered:
    (item,) = read_files(tmp_path, files).unregistered
    return item


@pytest.mark.parametrize(("name", "source", "expected"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_a_function_is_called_where_its_name_resolves_to_it(
    tmp_path: Path, name: str, source: str, expected: tuple[str, ...]
) -> None:
    files = {"own/boot.py": BOOT, "own/x.py": source, "own/third.py": "def start_up(): pass\n"}
    assert read_one(tmp_path, files).called_from == expected


def test_examples_call_what_their_users_call_and_tests_do_not_count(tmp_path: Path) -> None:
    call = "from own.boot import start_up\nstart_up()\n"
    files = {"own/boot.py": BOOT, "examples/run.py": call, "tests/test_run.py": call, "examples/test_run.py": call}
    assert read_one(tmp_path, files).called_from == ("examples/run.py:2",)


def test_a_re_exported_function_is_followed_home(tmp_path: Path) -> None:
    files = {
        "own/deep/__init__.py": "from .boot import *\n",
        "own/deep/boot.py": BOOT,
        "own/x.py": "from own.deep import start_up\nstart_up()\n",
    }
    assert read_one(tmp_path, files).called_from == ("own/x.py:2",)


@pytest.mark.parametrize(("name", "source", "expected", "unknown"), METHODS, ids=[row[0] for row in METHODS])
def test_a_method_is_called_where_dispatch_can_reach_it(
    tmp_path: Path, name: str, source: str, expected: tuple[str, ...], unknown: int
) -> None:
    item = read_one(tmp_path, {"own/boot.py": LOADER, "own/x.py": source})
    above_and_below = ("own/boot.py:4", "own/boot.py:19")
    assert item.called_from == (*above_and_below, *expected)
    assert item.unknown_callers == unknown


@pytest.mark.parametrize(("name", "source", "expected"), ASKED, ids=[row[0] for row in ASKED])
def test_a_class_that_is_only_asked_for_is_not_handed_on(
    tmp_path: Path, name: str, source: str, expected: tuple[str, ...]
) -> None:
    boot = "class Mine:\n    def __init__(self):\n        import up.a as m\n        m.f = print\n"
    assert read_one(tmp_path, {"own/boot.py": boot, "own/x.py": source}).called_from == expected


@pytest.mark.parametrize(("name", "source", "expected"), READ, ids=[row[0] for row in READ])
def test_reading_a_property_runs_it(tmp_path: Path, name: str, source: str, expected: tuple[str, ...]) -> None:
    boot = "class Mine:\n    @property\n    def place(self):\n        import up.a as m\n        m.f = print\n"
    assert read_one(tmp_path, {"own/boot.py": boot, "own/x.py": source}).called_from == expected
    setter = "    @place.setter\n    def place(self, value): pass\n"
    assert read_one(tmp_path, {"own/boot.py": boot + setter, "own/x.py": source}).called_from == expected


@pytest.mark.parametrize(("name", "source", "unknown"), UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_a_method_of_an_unknown_object_is_counted(tmp_path: Path, name: str, source: str, unknown: int) -> None:
    boot = "class Mine:\n    def set_up(self):\n        import up.a as m\n        m.f = print\n"
    other = "class Other:\n    def set_up(self): pass\nfrom own.boot import Mine\n"
    item = read_one(tmp_path, {"own/boot.py": boot, "own/x.py": other + source})
    assert item.unknown_callers == unknown


def test_a_class_of_another_package_may_call_what_it_knows(tmp_path: Path) -> None:
    boot = "from other import Base\nclass Mine(Base):\n    def on_start(self):\n        import up.a as m\n        m.f = print\n"
    assert read_one(tmp_path, {"own/boot.py": boot}).called_from == ("other.Base (a class above it)",)


LIKE: list[tuple[str, str, tuple[str, ...], int]] = [
    # what the object is said to be, its annotation, where the call is told, unknown ones
    ("nothing", "", ("own/x.py:3 (by the names of object and method)",), 0),
    ("the class above", ": Base", ("own/x.py:3 (by the names of object and method)",), 0),
    ("a class that names tell to be above", ": Mine", ("own/x.py:3 (by the names of object and method)",), 0),
    ("another class", ": Other", (), 1),
]


@pytest.mark.parametrize(("said", "places", "unknown"), [row[1:] for row in LIKE], ids=[row[0] for row in LIKE])
def test_an_object_that_is_called_like_its_class(
    tmp_path: Path, said: str, places: tuple[str, ...], unknown: int
) -> None:
    boot = "from other import Base\nclass MyMine(Base):\n    def set_up(self):\n        import up.a as m\n        m.f = print\n"
    call = f"from other import Base, Mine, Other\ndef go(mine{said}):\n    mine.set_up()\n"
    item = read_one(tmp_path, {"own/boot.py": boot, "own/x.py": call})
    assert (item.called_from, item.unknown_callers) == (places, unknown)


OVERRIDES: list[tuple[str, str, tuple[str, ...]]] = [
    # what the class below does, its other method, what calls the one that patches
    ("nothing", "pass", ("own/boot.py:4",)),
    ("overrides the caller", "def step(self):\n        return 3", ()),
    ("overrides and calls it", "def step(self):\n        return super().step()", ("own/boot.py:4",)),
    ("overrides and calls it by name", "def step(self):\n        return Base.step(self)", ("own/boot.py:4",)),
    (
        "overrides and calls it from another",
        "def step(self): pass\n    def go(self):\n        super().step()",
        ("own/boot.py:4",),
    ),
]


@pytest.mark.parametrize(("name", "body", "expected"), OVERRIDES, ids=[row[0] for row in OVERRIDES])
def test_a_caller_that_the_class_overrides_calls_nothing(
    tmp_path: Path, name: str, body: str, expected: tuple[str, ...]
) -> None:
    base = (
        "class Base:\n    def step(self):\n        x = 1\n        return self.prepare()\n    def prepare(self): pass\n"
    )
    mine = f"class Mine(Base):\n    def prepare(self):\n        import up.a as m\n        m.f = print\n    {body}\n"
    assert read_one(tmp_path, {"own/boot.py": base + mine}).called_from == expected


ARGUMENTS: list[tuple[str, str, str, bool]] = [
    # what it shows, the line's test, the call, whether it reaches the line
    ("the default denies", "not slow", "go(1)", False),
    ("the default allows", "slow", "go(1)", True),
    ("a constant denies", "slow", "go(1, False)", False),
    ("a constant allows", "not slow", "go(1, slow=False)", True),
    ("a value that only a run knows", "not slow", "go(1, x.slow)", True),
    ("whatever is handed on", "not slow", "go(*x)", True),
    ("another default", "quiet is not None", "go(1)", False),
    ("given", "quiet is not None", "go(1, quiet=x)", True),
    ("two tests", "not slow and quiet is None", "go(1)", False),
    ("one of two tests", "not slow or quiet is None", "go(1)", True),
    ("a beginning that denies", "slow.startswith('b')", "go(1, 'abc')", False),
    ("a beginning that allows", "slow.startswith('a')", "go(1, 'abc')", True),
    ("a beginning of what only a run knows", "slow.startswith('b')", "go(1, x.slow)", True),
    ("a test of something else", "not slow.x", "go(1)", True),
]


@pytest.mark.parametrize(("name", "test", "call", "reaches"), ARGUMENTS, ids=[row[0] for row in ARGUMENTS])
def test_a_call_reaches_a_line_if_its_arguments_let_it(
    tmp_path: Path, name: str, test: str, call: str, reaches: bool
) -> None:
    boot = f"def go(a, slow=True, quiet=None):\n    if {test}:\n        import up.a as m\n        m.f = print\n"
    files = {"own/boot.py": boot, "own/x.py": f"from own.boot import go\ndef main(x):\n    {call}\n"}
    assert read_one(tmp_path, files).called_from == (("own/x.py:3",) if reaches else ())


MADE = [
    # (what it shows, the call, whether it reaches the line)
    ("made with another value", "Mine(kind='b').go()", False),
    ("made with that value", "Mine(kind='a').go()", True),
    ("made without", "Mine().go()", True),
    ("made before", "it = Mine(kind='b')\n    it.go()", False),
    ("made before, or otherwise", "it = Mine(kind='b')\n    it = x\n    it.go()", True),
]


@pytest.mark.parametrize(("call", "reaches"), [row[1:] for row in MADE], ids=[row[0] for row in MADE])
def test_a_call_reaches_a_line_if_its_object_was_made_for_it(tmp_path: Path, call: str, reaches: bool) -> None:
    boot = (
        "class Mine:\n    kind: str = 'a'\n    def go(self):\n        if self.kind is None:\n"
        "            self.kind = 'a'\n            return\n        if self.kind == 'a':\n"
        "            import up.a as m\n            m.f = print\n"
    )
    files = {"own/boot.py": boot, "own/x.py": f"from own.boot import Mine\ndef main(x):\n    {call}\n"}
    assert bool(read_one(tmp_path, files).called_from) == reaches


LEFT = [
    # (what it shows, the call, whether it reaches the line)
    ("the default denies", "Mine(size=2).go()", False),
    ("given", "Mine(size=2, kind='b').go()", True),
    ("set by who made it", "it = Mine(size=2)\n    it.kind = x\n    it.go()", True),
    ("more is handed on than is shown", "Mine(**x).go()", True),
    ("a class below has its own default", "Other(size=2).go()", True),
]


@pytest.mark.parametrize(("call", "reaches"), [row[1:] for row in LEFT], ids=[row[0] for row in LEFT])
def test_what_an_object_is_made_without_has_its_default(tmp_path: Path, call: str, reaches: bool) -> None:
    boot = (
        "class Mine:\n    kind: str = 'a'\n    size: int = 1\n    def go(self):\n        if self.kind == 'b':\n"
        "            import up.a as m\n            m.f = print\n\nclass Other(Mine):\n    kind: str = 'b'\n"
    )
    files = {"own/boot.py": boot, "own/x.py": f"from own.boot import Mine, Other\ndef main(x):\n    {call}\n"}
    assert bool(read_one(tmp_path, files).called_from) == reaches


CHOSEN = [
    # (what it shows, the call, whether it leads to what the line writes)
    ("nothing is written", "go(x, True)", False),
    ("ours is written", "go(x, False)", True),
    ("only a run knows", "go(x, x.fast)", True),
]


@pytest.mark.parametrize(("call", "leads"), [row[1:] for row in CHOSEN], ids=[row[0] for row in CHOSEN])
def test_a_call_leads_to_what_its_arguments_choose(tmp_path: Path, call: str, leads: bool) -> None:
    boot = (
        "import up.a\ndef mine(): ...\ndef go(x, quiet):\n    f = None\n    if x:\n        if not quiet:\n"
        "            f = mine\n    up.a.f = f\n"
    )
    files = {"own/boot.py": boot, "own/x.py": f"from own.boot import go\ndef main(x):\n    {call}\n"}
    assert bool(read_one(tmp_path, files).called_from) == leads


def test_a_parameter_that_the_function_sets_itself_decides_nothing(tmp_path: Path) -> None:
    boot = (
        "def go(slow=True):\n    slow = slow and 0\n    if not slow:\n        import up.a as m\n        m.f = print\n"
    )
    files = {"own/boot.py": boot, "own/x.py": "from own.boot import go\ndef main():\n    go()\n"}
    assert read_one(tmp_path, files).called_from == ("own/x.py:3",)


def test_a_parameter_that_another_branch_sets_decides(tmp_path: Path) -> None:
    boot = (
        "def go(a, name=None):\n    if a:\n        name = 'x'\n    else:\n        if name is not None:\n"
        "            import up.a as m\n            m.f = print\n"
    )
    item = read_one(tmp_path, {"own/boot.py": boot, "own/x.py": "from own.boot import go\ndef main(x):\n    go(x)\n"})
    assert item.called_from == ()
    assert show_condition(item.effect.when) == "not a and name is not None; and no call here asks for name"


def test_making_an_object_calls_its_init(tmp_path: Path) -> None:
    source = "class A:\n    def __init__(self):\n        import up.a as m\n        m.f = print\nclass B(A): pass\nB()\n"
    assert read_one(tmp_path, {"own/boot.py": source}).called_from == ("own/boot.py:6",)


REDIRECTION = "class Redirection:\n    def __call__(self, x):\n        import up.a as m\n        m.f = print\n"
OBJECTS: list[tuple[str, str, tuple[str, ...]]] = [
    # how it is called, the other file, what is found
    ("a variable", "def go():\n    it = Redirection()\n    it(3)\n", ("own/x.py:4",)),
    (
        "an attribute",
        (
            "class A:\n    def __init__(self):\n        self.it = Redirection()\n    def go(self):\n"
            "        return self.it(3)\n"
        ),
        ("own/x.py:6",),
    ),
    (
        "an attribute of a class above",
        (
            "class A:\n    def __init__(self):\n        self.it = Redirection()\n"
            "class B(A):\n    def go(self):\n        return self.it(3)\n"
        ),
        ("own/x.py:7",),
    ),
    ("made and called", "def go():\n    return Redirection()(3)\n", ("own/x.py:3",)),
    ("handed on", "def go(add):\n    add(Redirection())\n", ("own/x.py:3 (made here, called elsewhere)",)),
    ("another attribute of that name", "class A:\n    def go(self):\n        self.it(3)\n", ()),
]


@pytest.mark.parametrize(("name", "source", "expected"), OBJECTS, ids=[row[0] for row in OBJECTS])
def test_calling_an_object_calls_its_call(tmp_path: Path, name: str, source: str, expected: tuple[str, ...]) -> None:
    files = {"own/boot.py": REDIRECTION, "own/x.py": f"from own.boot import Redirection\n{source}"}
    assert read_one(tmp_path, files).called_from == expected


def test_a_hook_named_as_text_beside_its_module_is_told(tmp_path: Path) -> None:
    config = (
        "def hook(module, home, name): pass\nhook('up.a', 'own.boot', 'start_up')\nhook('up.a', 'own.other', "
        "'start_up')\n"
    )
    found = read_one(tmp_path, {"own/boot.py": BOOT, "own/config.py": config}).called_from
    assert found == ("own/config.py:2 (named as text)",)


def test_the_top_level_of_a_module_runs_where_it_is_imported(tmp_path: Path) -> None:
    files = {"own/boot.py": "import up.a\nup.a.f = print\n", "own/x.py": "import os\nfrom own import boot\n"}
    assert read_one(tmp_path, files).called_from == ("own/x.py:2 (import)",)


TABLE = "TABLE = {'a': 'own.boot.Mine', 'b': 'own.other.Mine'}\n"
LOAD = (
    "import importlib\ndef take(key):\n    path = TABLE[key]\n    home, name = path.rsplit('.', 1)\n"
    "    return getattr(importlib.import_module(home), name)\n"
)
LOADED: list[tuple[str, dict[str, str], tuple[str, ...], int]] = [
    # how it is named, the other files, where that is loaded, how many names nobody is seen to load
    (
        "by a text",
        {"x": "import importlib\nimportlib.import_module('own.boot')\n"},
        ("own/x.py:2 (import by name)",),
        0,
    ),
    ("by a table", {"x": TABLE + LOAD}, ("own/x.py:6 (import by name, through TABLE)",), 0),
    (
        "by a table of another file",
        {"t": TABLE, "x": f"from own.t import TABLE\n{LOAD}"},
        ("own/x.py:6 (import by name, through TABLE)",),
        0,
    ),
    (
        "by a function that is handed the name",
        {
            "x": f"from own.y import take\n{TABLE}take(TABLE['a'])\n",
            "y": "from importlib import import_module\ndef take(name):\n    import_module(name)\n",
        },
        ("own/y.py:3 (import by name)",),
        0,
    ),
    (
        "in a loop",
        {"x": "import importlib\nfor one in ['own.boot', 'own.other']:\n    importlib.import_module(one)\n"},
        ("own/x.py:3 (import by name)",),
        0,
    ),
    (
        "by a text that is worked out",
        {"x": "import importlib\ndef go(a):\n    importlib.import_module(f'own.{a}')\n"},
        ("own/x.py:3 (import by name, worked out there)",),
        0,
    ),
    ("by a table that nobody is seen to load", {"x": TABLE}, (), 1),
    ("by a call of another package", {"x": "import other\nother.go('own.boot.Mine')\n"}, (), 1),
    ("by a logger", {"x": "import logging\nlogging.getLogger('own.boot')\n"}, (), 0),
    ("by a test", {"x": "def go(a):\n    return a == 'own.boot'\n"}, (), 0),
    ("what another module holds", {"x": "P = 'own.boot_b.Mine'\n"}, (), 0),
    ("what is not there", {"x": "P = 'own.boot.seconds'\n"}, (), 0),
]


@pytest.mark.parametrize(("files", "places", "unknown"), [row[1:] for row in LOADED], ids=[row[0] for row in LOADED])
def test_a_module_is_loaded_where_its_name_is(
    tmp_path: Path, files: dict[str, str], places: tuple[str, ...], unknown: int
) -> None:
    boot = {"own/boot.py": "import up.a\nup.a.f = print\nclass Mine: pass\n", "own/other.py": ""}
    item = read_one(tmp_path, boot | {f"own/{name}.py": source for name, source in files.items()})
    assert (item.called_from, item.unknown_callers) == (places, unknown)


def test_the_top_level_of_a_package_runs_where_a_module_inside_it_is_imported(tmp_path: Path) -> None:
    gate = "def go(a):\n    if a:\n        import own.deep\n"
    files = {"own/deep/__init__.py": "import up.a as m\nm.f = print\n", "own/deep/b.py": "", "own/x.py": gate}
    item = read_one(tmp_path, files)
    assert item.called_from == ("own/x.py:3 (import)", "every import of a module inside it")
    assert show_condition(item.effect.when) == ""
