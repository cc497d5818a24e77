"""Imports that follow upstream's moves: what is edited, how it is laid out, and what must not be touched."""

from __future__ import annotations

import pytest

from layline.upgrade.imports import follow_names
from layline.upgrade.spelled import follow_spelled

MOVES = {
    "keel.run.run": "keel.engine.run",
    "keel.run.stop": "keel.brakes.halt",
    "keel.old": "keel.new",
    "keel.far": "hull.far",
    "keel.state.depth": "keel.state.draught",
    "keel.run.Ship.sail": "keel.run.Ship.steer",
}
FOLLOWS = [
    ("one name", "from keel.run import run\n", "from keel.engine import run\n"),
    ("renamed keeps its binding", "from keel.run import stop\n", "from keel.brakes import halt as stop\n"),
    ("alias stays", "from keel.run import stop as end\n", "from keel.brakes import halt as end\n"),
    ("alias that is the new name", "from keel.run import stop as halt\n", "from keel.brakes import halt\n"),
    (
        "the others stay",
        "from keel.run import run, keep  # why\n",
        "from keel.run import keep  # why\nfrom keel.engine import run\n",
    ),
    (
        "two homes",
        "# first\nfrom keel.run import run, stop\n",
        "# first\nfrom keel.engine import run\nfrom keel.brakes import halt as stop\n",
    ),
    (
        "brackets and comments",
        "from keel.run import (\n    keep,  # a\n    run,\n)\nx = 1  # b\n",
        "from keel.run import (\n    keep,  # a\n)\nfrom keel.engine import run\nx = 1  # b\n",
    ),
    (
        "inside a function",
        "def f():\n    from keel.run import run, keep\n    return run\n",
        "def f():\n    from keel.run import keep\n    from keel.engine import run\n    return run\n",
    ),
    (
        "another name in the same module",
        "from keel.state import (\n    depth,  # a\n    keep,\n)\n",
        "from keel.state import (\n    draught as depth,  # a\n    keep,\n)\n",
    ),
    ("module under an alias", "import keel.old as o\n", "import keel.new as o\n"),
    ("module without an alias, beside it", "import keel.old\nkeel.old.f()\n", "import keel.new\nkeel.new.f()\n"),
    ("module from its package", "from keel import old\n", "from keel import new as old\n"),
    (
        "attribute of a module that stays",
        "from keel import state\nstate.depth()\n",
        "from keel import state\nstate.draught()\n",
    ),
    ("member", "from keel.run import Ship\nShip.sail\n", "from keel.run import Ship\nShip.steer\n"),
    ("windows line ends", "from keel.run import run\r\nx = 1\r\n", "from keel.engine import run\r\nx = 1\r\n"),
]
LEAVES = [
    ("another module of that name", "from other.run import run\n"),
    ("relative", "from .run import run\n"),
    ("star", "from keel.run import *\n"),
    ("two statements on a line", "from keel.run import run; run()\n"),
    ("module without an alias, in another package", "import keel.far\nkeel.far.f()\n"),
    ("a name bound to two things", "from keel import state\ndef f():\n    from own import state\n    state.depth()\n"),
    ("a word in a text", "x = 'keel.run.run'\n"),
    ("an attribute of something else", "state = object()\nstate.depth\n"),
    ("not Python", "from keel.run import (\n"),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in FOLLOWS], ids=[row[0] for row in FOLLOWS])
def test_an_import_follows_its_name(before: str, after: str) -> None:
    found = follow_names(before, MOVES)
    assert found is not None
    assert found.text == after


@pytest.mark.parametrize("text", [row[1] for row in LEAVES], ids=[row[0] for row in LEAVES])
def test_nothing_else_is_touched(text: str) -> None:
    assert follow_names(text, MOVES) is None


HOMES = {"keel.deep.ops": "hull.third.ops", "keel.deep.index.f": "hull.index.f", "keel.state.g": "keel.state.h"}
SPELLED = [
    (
        "import and every use",
        "import keel.deep.ops  # why\n\nkeel.deep.ops.sub.f = mine\nkeel.deep.ops.g(keel.deep.ops)\n",
        "import hull.third.ops  # why\n\nhull.third.ops.sub.f = mine\nhull.third.ops.g(hull.third.ops)\n",
    ),
    (
        "a package alone does not load the new module",
        "import os, keel\n\nkeel.deep.index.f = mine\nkeel.keep()\n",
        "import hull.index\nimport os, keel\n\nhull.index.f = mine\nkeel.keep()\n",
    ),
    (
        "in a function, with windows line ends",
        "def p():\r\n    import keel\r\n    keel.deep.index.f = 1\r\n",
        "def p():\r\n    import hull.index\r\n    import keel\r\n    hull.index.f = 1\r\n",
    ),
    ("in its module", "import keel.state\nkeel.state.g.x = 1\n", "import keel.state\nkeel.state.h.x = 1\n"),
    ("another use needs the package", "import keel.deep.ops\nkeel.deep.ops.f = 1\nkeel.keep()\n", None),
    ("it knows the new home", "import keel, hull\nkeel.deep.index.f = 1\nhull.index.f = 1\n", None),
    ("the package's name is something else, too", "import keel\ndef p(keel):\n    keel.deep.index.f = 1\n", None),
    ("over two lines", "import keel\n(keel.deep\n    .index.f)\n", None),
    ("under an alias", "import keel as k\nk.deep.index.f = 1\n", None),
    ("a statement in front", "x = 1; import keel\nkeel.deep.index.f = 1\n", None),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in SPELLED], ids=[row[0] for row in SPELLED])
def test_a_name_that_is_spelled_out_follows_with_its_import(before: str, after: str | None) -> None:
    modules = {"hull.third.ops", "hull.third.ops.sub", "hull.index", "keel.state"}
    found = follow_spelled(
        before, HOMES, lambda name: max((one for one in modules if f"{name}.".startswith(f"{one}.")), key=len)
    )
    assert (found.text if found is not None else None) == after
