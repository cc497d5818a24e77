"""Candidate writes of a file, counted from its syntax alone."""

from __future__ import annotations

import pytest

from layline.source.facts import parse_facts

COUNTS = [
    # idiom, code, (line, what it was imported as, attribute)
    ("a module", "import up.a as m\nm.f = g\n", [(2, "up.a", "f")]),
    ("a class", "from up.a import C\nC.m = g\n", [(2, "up.a.C", "m")]),
    ("an item", "from up.a import TABLE\nTABLE['k'] = g\n", [(2, "up.a.TABLE", "")]),
    ("a deletion", "from up.a import C\ndel C.m\n", [(2, "up.a.C", "m")]),
    ("setattr", "import up\nsetattr(up.a, 'f', g)\n", [(2, "up", "f")]),
    ("an alias", "import up\nc = getattr(up.a, 'C', None)\nc.m = g\n", [(3, "up", "m")]),
    ("a loaded module", "import sys\nm = sys.modules['up.a']\nm.f = g\n", [(3, "sys.modules", "f")]),
    ("imported by name", "import importlib\nimportlib.import_module(n).f = g\n", [(2, "import_module", "f")]),
    ("in a function", "def go():\n    import up.a as m\n    m.f = g\n", [(3, "up.a", "f")]),
    ("relative", "from . import own\nown.f = g\n", [(2, ".own", "f")]),
    ("behaviour of an object", "def go(model):\n    model.forward = g\n", [(2, "", "forward")]),
    ("through a dictionary", "def go(x):\n    x.__dict__['f'] = g\n", [(2, "", "")]),
    ("a method bound", "def go(x):\n    x.step = MethodType(g, x)\n", [(2, "", "step")]),
    ("of what self holds", "class A:\n    def go(self):\n        self.model.forward = g\n", [(3, "", "forward")]),
]
PASSES_OVER = [
    ("own attribute", "class A:\n    def go(self):\n        self.f = lambda: 1\n"),
    ("a local table", "def go():\n    table = {}\n    table['k'] = 1\n"),
    ("what a call made", "import up\nx = up.make()\nx.size = 1\n"),
    ("a plain value on a parameter", "def go(args):\n    args.size = 1\n"),
    ("a docstring", '"""m.f = g"""\n'),
]


@pytest.mark.parametrize(("name", "source", "expected"), COUNTS, ids=[row[0] for row in COUNTS])
def test_a_candidate_is_counted(name: str, source: str, expected: list[tuple[int, str, str]]) -> None:
    assert [(site.line, site.root, site.last) for site in parse_facts(source.encode()).sites] == expected


@pytest.mark.parametrize(("name", "source"), PASSES_OVER, ids=[row[0] for row in PASSES_OVER])
def test_other_writes_are_none(name: str, source: str) -> None:
    assert parse_facts(source.encode()).sites == ()
