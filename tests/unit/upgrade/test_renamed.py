"""Parameters that upstream gave another name: when two are the same, and what is edited of ours."""

from __future__ import annotations

import ast

import pytest

from layline.source import parse_module
from layline.upgrade.renamed import Renamed, find_renamed, rename_parameters

PAIRS = [
    # (upstream before, upstream after, what was renamed)
    ("def f(a, groups=None):\n    use(groups.tp)", "def f(a, pool=None):\n    use(pool.tp)", {"groups": "pool"}),
    ("def f(groups):\n    g(groups=groups)", "def f(pool):\n    g(pool=pool)", {"groups": "pool"}),
    ("def f(groups):\n    self.groups = groups", "def f(pool):\n    self.pool = pool", {"groups": "pool"}),
    # another thing at the same place, of the same kind and default
    ("def f(low=0.1):\n    drop(low)", "def f(high=0.1):\n    scale(high)", {}),
    # another default; another kind; nothing is done with it; it is still there
    ("def f(groups=None):\n    use(groups)", "def f(pool=()):\n    use(pool)", {}),
    ("def f(groups):\n    use(groups)", "def f(*, pool):\n    use(pool)", {}),
    ("def f(groups):\n    pass", "def f(pool):\n    pass", {}),
    ("def f(groups):\n    use(groups)", "def f(pool, groups):\n    use(pool)", {}),
]


@pytest.mark.parametrize(("before", "after", "wanted"), PAIRS)
def test_a_parameter_is_the_same_where_the_body_does_the_same_with_it(
    before: str, after: str, wanted: dict[str, str]
) -> None:
    sides = [parse_module("keel/run.py", text.encode()) for text in (before, after)]
    one, two = (side.best("f") for side in sides)  # type: ignore[union-attr]
    assert one is not None
    assert two is not None
    assert find_renamed(one, two, (ast.parse(before).body[0], ast.parse(after).body[0])) == wanted


EDITS = [
    # (ours, line, in a call, ours after; None: it is left alone)
    ("f(1, groups=g)  # kept\n", 1, True, "f(1, pool=g)  # kept\n"),
    ("x = f(\n    groups = groups,\n)\n", 1, True, "x = f(\n    pool = groups,\n)\n"),
    ("f(groups=1, pool=2)\n", 1, True, None),
    ("f(1); f(groups=2); f(groups=3)\n", 1, True, None),
    (
        "def f(self, groups=None):  # ours\n    self.groups = groups\n    return g(groups=groups)\n",
        1,
        False,
        "def f(self, pool=None):  # ours\n    self.groups = pool\n    return g(groups=pool)\n",
    ),
    ("@wrap\ndef f(groups):\n    return groups\n", 2, False, "@wrap\ndef f(pool):\n    return pool\n"),
    ("def f(groups):\n    pool = 1\n    return groups, pool\n", 1, False, None),
    ("def f(groups):\n    return lambda groups: groups\n", 1, False, None),
    ("def f(a):\n    return a\n", 1, False, None),
    ("def f(groups):\n    return a.pool(pool=groups)\n", 1, False, "def f(pool):\n    return a.pool(pool=pool)\n"),
]


@pytest.mark.parametrize(("text", "line", "in_call", "wanted"), EDITS)
def test_names_change_and_layout_stays(text: str, line: int, in_call: bool, wanted: str | None) -> None:
    assert rename_parameters(text, Renamed(line, (("groups", "pool"),), in_call)) == wanted
