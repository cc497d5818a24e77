"""Functions of ours that are handed on behind a test of versions, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.condition import Condition, ConditionKind
from layline.core.evidence import Location
from layline.coupling.installed import InstalledFunctions
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Tree
from layline.source.sight import Sight

OLD = "def old(self):\n    return self.gone()\n"
BUILD = (
    "def build(number):\n    if number >= parse('2.0'):\n        return [put('keel.C.m', print)]\n"
    "    return [put('keel.C.m', old)]\n"
)
HEAD = "import keel\nfrom packaging.version import parse\n"
CALL = "from sail.ways import build\nfrom packaging.version import parse\nimport keel\nbuild(parse(keel.__version__))\n"
CASES = [
    # (what it shows, the file, another one, what its line asks for)
    ("behind an early return, by a parameter", HEAD + OLD + BUILD, CALL, "not keel.__version__ >= 2.0"),
    ("a parameter of two values", HEAD + OLD + BUILD, f"{CALL}build(parse('1.0'))\n", None),
    ("a call without the argument", HEAD + OLD + BUILD, "from sail.ways import build\nbuild()\n", None),
    ("one call without the argument", HEAD + OLD + BUILD, f"{CALL}build()\n", None),
    ("named in another file", HEAD + OLD + BUILD, f"{CALL}from sail.ways import old\n", None),
    (
        "called in a function of another file behind a test",
        HEAD + OLD,
        f"{HEAD}from sail.ways import old\ndef go():\n    if parse(keel.__version__) < parse('3'):\n        old(1)\n",
        "keel.__version__ < 3",
    ),
    (
        "handed on in another file behind a test",
        HEAD + OLD,
        f"{HEAD}from sail.ways import old\ndef go():\n    if parse(keel.__version__) < parse('3'):\n        put(old)\n",
        None,
    ),
    (
        "called in another file without a test as well",
        HEAD + OLD,
        f"{HEAD}from sail.ways import old\ndef go():\n    old(2)\n    if parse(keel.__version__) < parse('3'):\n        old(1)\n",
        None,
    ),
    (
        "one use without a test",
        f"{HEAD}{OLD}{BUILD}def more():\n    return [old]\n",
        CALL,
        None,
    ),
    (
        "behind a test of its own",
        f"{HEAD}{OLD}def go():\n    if parse(keel.__version__) < parse('3'):\n        keel.m = old\n",
        "",
        "keel.__version__ < 3",
    ),
    (
        "the other branch of a choice",
        f"{HEAD}{OLD}def go():\n    put('m', print if parse(keel.__version__) >= parse('3') else old)\n",
        "",
        "not keel.__version__ >= 3",
    ),
    (
        "a branch of a choice about something else",
        f"{HEAD}{OLD}def go(flag):\n    put('m', print if flag else old)\n",
        "",
        None,
    ),
    (
        "the test of a choice",
        f"{HEAD}{OLD}def go():\n    put('m', 1 if old else parse(keel.__version__) >= parse('3'))\n",
        "",
        None,
    ),
    (
        "named in a comment of another file",
        f"{HEAD}{OLD}def go():\n    if parse(keel.__version__) < parse('3'):\n        keel.m = old\n",
        "# see old\n",
        None,
    ),
    ("nobody uses it", HEAD + OLD, "", None),
    ("nobody uses it, a comment names it", HEAD + OLD, "# see old\n", None),
    ("on import", f"{HEAD}{OLD}keel.m = old\n", "", None),
]
CLASS = "class Sail(Base):\n    @staticmethod\n    def old():\n        return 1\n"
TESTED = "    if flag and older:\n        Sail.old()\n"
GO = "def go(flag):\n    older = parse(keel.__version__).major < 2\n" + TESTED
MORE = "    def more(self):\n        older = parse(keel.__version__).major < 2\n        if older:\n            self.old()\n"
METHODS = [
    # (what it shows, the file, another one, what its line asks for)
    ("one call", CLASS + HEAD + GO, "", ASKED := "keel.__version__ < 2"),
    ("two calls, one in another method", CLASS + MORE + HEAD + GO, "", ASKED),
    ("a call in another file", CLASS, HEAD + "from sail.ways import Sail\n" + GO, ASKED),
    ("a call without the test", f"{CLASS}{HEAD}{GO}def more():\n    Sail.old()\n", "", None),
    ("handed on", f"{CLASS}{HEAD}{GO}    put(Sail.old)\n", "", None),
    ("named by a text", f"{CLASS}{HEAD}{GO}", "getattr(1, 'old')\n", None),
    ("another class has one", f"{CLASS}{HEAD}{GO}", CLASS, None),
    ("a method of its objects", CLASS.replace("    @staticmethod\n", "\n") + HEAD + GO, "", None),
    ("nobody calls it", CLASS, "", None),
]


def say(condition: Condition) -> str:
    if condition.kind is ConditionKind.NOT:
        return f"not {say(condition.parts[0])}"
    parts = dict.fromkeys(map(say, condition.parts))
    return " and ".join(filter(None, parts)) if condition.parts else str(condition)


@pytest.mark.parametrize(("source", "other", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_what_must_hold_for_a_function_to_be_put_to_use(
    tmp_path: Path, source: str, other: str, expected: str | None
) -> None:
    history = History.start(tmp_path / "sail")
    commit = history.commit("all", {"sail/__init__.py": "", "sail/ways.py": source, "sail/call.py": other})
    tree = Tree(open_repository(history.path), commit)
    found = InstalledFunctions(Modules(tree), Sight(tree, ("",)).find_naming).find(Location("sail/ways.py", 4))
    assert (say(found) if found is not None else None) == expected


@pytest.mark.parametrize(("source", "other", "expected"), [row[1:] for row in METHODS], ids=[row[0] for row in METHODS])
def test_what_must_hold_for_a_method_to_be_called(
    tmp_path: Path, source: str, other: str, expected: str | None
) -> None:
    test_what_must_hold_for_a_function_to_be_put_to_use(tmp_path, source, other, expected)
