"""What can be read from a file by following names: which edits of other files change it, and which do not."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import pytest

from layline.source.parts import encode_parts
from layline.source.sighted import Sighted, find_paths

START = """
import helm.wide
try:
    from helm.wide import reach
except ImportError:
    reach = None
from helm import log as notes
from helm.deck import hoist, Mast
from helm.late import *

def set_sail(wind: "Gust"):
    notes.say("up")
    hoist(Mast(), wind)
"""
BASE: dict[str, str] = {
    "start.py": START,
    "helm/__init__.py": "",
    "helm/log.py": "import sys\n\nLEVEL = 1\n\n\ndef say(text):\n    print(LEVEL, text)\n\n\ndef shout(text):\n    print(text)\n",
    "helm/deck.py": (
        "from helm.rope import pull\nfrom helm.mark import mark\n\nUNUSED = 1\n\n\n"
        "def hoist(mast, wind):\n    pull(mast)\n\n\nclass Mast:\n    def up(self):\n        return 1\n\n\n"
        "def lower(mast):\n    from helm.idle import rest\n\n    rest()\n\n\n@mark\ndef marked():\n    return 1\n"
    ),
    "helm/rope.py": "def pull(what):\n    return what\n\n\ndef cut(what):\n    return what\n",
    "helm/mark.py": "def mark(given):\n    return given\n",
    "helm/idle.py": "STATE = {}\n\n\ndef rest():\n    return 1\n\n\ndef wake():\n    return 2\n\n\nSTATE.update(a=1)\n",
    "helm/late.py": "def sleep():\n    return 1\n",
    "helm/wide.py": "def reach():\n    return 1\n",
    "helm/far.py": "def away():\n    return 1\n",
}


def edit(path: str, old: str, new: str) -> dict[str, str]:
    assert old in BASE[path]
    return {path: BASE[path].replace(old, new)}


STAYS: dict[str, dict[str, str]] = {
    "a file that nobody imports": edit("helm/far.py", "return 1", "return 2"),
    "a function that nobody in sight names": edit("helm/log.py", "def shout(text):", "def shout(text, loud):"),
    "a function that only such a one names": edit("helm/rope.py", "def cut(what):", "def cut(what, how):"),
    "an assignment that nobody in sight names": edit("helm/deck.py", "UNUSED = 1", "UNUSED = 2"),
    "a new function": edit("helm/log.py", "def shout", "def whisper():\n    return 1\n\n\ndef shout"),
    "lines move": edit("helm/log.py", "LEVEL = 1", "# said\n\n\nLEVEL = 1"),
    "an import from elsewhere": edit("helm/log.py", "import sys\n", "import sys\nimport os\n"),
    "a module that is imported whole and not used": edit("helm/wide.py", "return 1", "return 2"),
    "what may be missing, and is not used": edit("helm/wide.py", "return 1", "return 3"),
    "what a function names that nobody names": edit(
        "helm/idle.py", "def rest():\n    return 1", "def rest():\n    return 3"
    ),
}
CHANGES: dict[str, dict[str, str]] = {
    "the file itself": edit("start.py", '"up"', '"down"'),
    "a function by its name": edit("helm/deck.py", "pull(mast)", "pull(wind)"),
    "a method of a class": edit("helm/deck.py", "def up(self):\n        return 1", "def up(self):\n        return 2"),
    "an attribute of a module": edit("helm/log.py", "print(LEVEL, text)", "print(text)"),
    "an assignment that is read there": edit("helm/log.py", "LEVEL = 1", "LEVEL = 2"),
    "a function that such a one names": edit(
        "helm/rope.py", "def pull(what):\n    return what", "def pull(what):\n    return 1"
    ),
    "anything of a starred module": edit("helm/late.py", "return 1", "return 2"),
    "what loading a module does": edit("helm/idle.py", "STATE.update(a=1)", "STATE.update(a=2)"),
    "what is handed to a decorator of ours": edit(
        "helm/deck.py", "def marked():\n    return 1", "def marked():\n    return 2"
    ),
    "a decorator of ours": edit("helm/mark.py", "return given", "return None"),
    "another import of ours": edit("helm/far.py", "def away", "from helm import rope\n\n\ndef away")
    | edit("helm/log.py", "import sys\n", "import sys\nimport helm.far\n"),
    "a name that is imported from elsewhere now": edit(
        "helm/deck.py", "from helm.rope import pull", "from ropes import pull"
    ),
    "a definition behind a statement that runs": edit("helm/log.py", "LEVEL = 1\n", "print(1)\nLEVEL = 1\n"),
    "a name that stands only in a text": edit(
        "start.py", "from helm.late", "from helm.gust import Gust\nfrom helm.late"
    )
    | {"helm/gust.py": "class Gust:\n    pass\n"},
    "a module appears where a name led": {"helm/deck/hoist.py": "def hoist():\n    return 1\n"},
    "a star appears": edit("helm/mark.py", "def mark", "from helm.far import *\n\n\ndef mark"),
    "any name may be read": edit("helm/mark.py", "return given", "return globals()[given]"),
    "no longer Python": {"helm/log.py": "def say(:\n"},
}


@pytest.mark.parametrize("name", STAYS)
def test_edits_that_no_name_leads_to(name: str) -> None:
    assert digest({**BASE, **STAYS[name]}) == digest(BASE)


@pytest.mark.parametrize("name", CHANGES)
def test_edits_that_names_lead_to(name: str) -> None:
    assert digest({**BASE, **CHANGES[name]}) != digest(BASE)


def test_a_reader_of_all_names_depends_on_all() -> None:
    base = {**BASE, **edit("helm/log.py", "print(LEVEL, text)", "print(globals()[text])")}
    other = {**base, "helm/log.py": base["helm/log.py"].replace("def shout(text):", "def shout(text, loud):")}
    assert digest(base) != digest(other)


def test_names_in_circles() -> None:
    files = {
        "start.py": "from a import one\n\none()\n",
        "a.py": "from b import two\n\n\ndef one():\n    return two()\n",
        "b.py": "from a import one\n\n\ndef two():\n    return one()\n\n\ndef three():\n    return 3\n",
    }
    changed = {**files, "b.py": files["b.py"].replace("return one()", "return one")}
    unread = {**files, "b.py": files["b.py"].replace("return 3", "return 4")}
    assert digest(changed) != digest(files) == digest(unread)
    assert digest({**files, "a.py": "from b import one\n", "b.py": "from a import one\n"}) != digest(files)


def test_paths_in_values() -> None:
    plain = {"a/b.py:3": ["see c.py:1, d/e.py", {"path": "f.py", "line": 2}], "n": 1}
    assert sorted(find_paths(plain)) == ["a/b.py", "c.py", "d/e.py", "f.py"]


def digest(files: Mapping[str, str]) -> str:
    names = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in files}
    rows = {path: _read(text) for path, text in files.items()}

    def lead(path: str, level: int, name: str) -> list[str]:
        package = path.removesuffix("/__init__.py").replace("/", ".").split(".")[:-level] if level else []
        found = names.get(".".join([*package, *([name] if name else [])]))
        return [found] if found is not None else []

    def find_loaded(path: str) -> list[tuple[str, str]]:
        row = rows[path]
        inner = [target for _, _, taken in row["p"].values() for _, *target in taken] if row else []
        taken = [*inner, *(target for targets in row["m"].values() for target in targets)] if row else []
        asked = [name for module, _, what in taken for name in (module, f"{module}.{what}")]
        return [(name, names[name]) for name in asked if name in names]

    return Sighted(rows.__getitem__, lead, find_loaded, lambda path: files[path]).digest(["start.py"])


def _read(text: str) -> dict[str, Any] | None:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    return encode_parts(tree, text.encode(), [list(ast.walk(one)) for one in tree.body])
