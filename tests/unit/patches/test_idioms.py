"""Each idiom: what is found, and what is left alone. The documentation prints these tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import handler, only, read_snippet

R, W, S = "binding-replacement", "function-wrapping", "source-rewrite"

FINDS: list[tuple[str, str, list[tuple[str, str]]]] = [
    # idiom, body of the handler, (style, target) of each effect
    ("module alias", "import up.a as m\nm.f = lambda: 1", [(R, "up.a.f")]),
    ("full dotted path", "import up.a.b\nup.a.b.f = print", [(R, "up.a.b.f")]),
    ("name imported from a package", "from up import a\na.f = print", [(R, "up.a.f")]),
    ("class attribute", "from up.a import C\nC.forward = lambda self: 1", [(R, "up.a.C.forward")]),
    ("class through its module", "import up.a as m\nm.C.__init__ = lambda self: None", [(R, "up.a.C.__init__")]),
    ("static method", "from up.a import C\n@staticmethod\ndef g(x): return x\nC.f = g", [(R, "up.a.C.f")]),
    ("property", "from up.a import C\nC.p = property(lambda self: 1)", [(R, "up.a.C.p")]),
    ("setattr with a literal", "import up.a as m\nsetattr(m, 'f', print)", [(R, "up.a.f")]),
    ("setattr in a loop", "import up.a as m\nfor n in ('f', 'g'): setattr(m, n, print)", [(R, "up.a.f"), (R, "up.a.g")]),
    ("loop over modules", "import up.a, up.b\nfor m in [up.a, up.b]: m.f = print", [(R, "up.a.f"), (R, "up.b.f")]),
    ("loop over a table", "import up.a as m\nT = {'f': print, 'g': len}\nfor n, v in T.items(): setattr(m, n, v)", [(R, "up.a.f"), (R, "up.a.g")]),
    ("getattr with a default", "import up.a as m\nc = getattr(m, 'C', None)\nif c is not None:\n    c.forward = print", [(R, "up.a.C.forward")]),
    ("sys.modules", "import sys\nsys.modules['up.a'].f = print", [(R, "up.a.f")]),
    ("sys.modules.get", "import sys\nm = sys.modules.get('up.a')\nif m is not None:\n    m.f = print", [(R, "up.a.f")]),
    ("importlib", "import importlib\nm = importlib.import_module('up.a')\nm.f = print", [(R, "up.a.f")]),
    ("importlib in a loop", "from importlib import import_module\nfor n in ('a', 'b'):\n    import_module(f'up.{n}').f = print", [(R, "up.a.f"), (R, "up.b.f")]),
    ("stub module", "import sys, types\nm = types.ModuleType('up.x')\nm.f = print\nsys.modules['up.x'] = m", [(R, "up.x.f"), (R, "up.x")]),
    ("deletion", "from up.a import C\ndel C.m", [(R, "up.a.C.m")]),
    ("module flag", "import up.a as m\nm.HAVE_X = True", [(R, "up.a.HAVE_X")]),
    ("private slot", "import up.a as m\nm._get_workspace = None", [(R, "up.a._get_workspace")]),
    ("name through __dict__", "from up.a import C\nC.__dict__['m'] = print", [(R, "up.a.C.m")]),
    ("dataclass default", "from up.a import C\nC.__dataclass_fields__['router'].default = int", [(R, "up.a.C.router")]),
    ("saved and wrapped", "import up.a as m\nold = m.f\ndef g(*a):\n    return old(*a)\nm.f = g", [(W, "up.a.f")]),
    ("factory", "import up.a as m\ndef make(old):\n    def g(*a): return old(*a)\n    return g\nm.f = make(m.f)", [(W, "up.a.f")]),
    ("partial with the original", "import functools, up.a as m\ndef g(x, *, old): return old(x)\nm.f = functools.partial(g, old=m.f)", [(W, "up.a.f")]),
    ("wrapped by a library", "import torch, up.a as m\nm.f = torch.compile(m.f)", [(W, "up.a.f")]),
    ("original one closure away", "import up.a as m\nold = m.f\ndef inner(x): return old(x)\ndef g(x): return inner(x)\nm.f = g", [(W, "up.a.f")]),
    ("stash on upstream", "import up.a as m\nm._orig_f = m.f\ndef g(x): return m._orig_f(x)\nm.f = g", [(W, "up.a.f")]),
    ("wraps that never calls", "import functools, up.a as m\n@functools.wraps(m.f)\ndef g(x): return x\nm.f = g", [(R, "up.a.f")]),
    ("original returned", "import up.a as m\nold = m.f\ndef g(x): return old if x else None\nm.f = g", [(W, "up.a.f")]),
    ("branch that returns", "import up.a as m\nif ctx.new:\n    old = m.f\n    def g(x): return old(x)\n    m.f = g\n    return\nold = None", [(W, "up.a.f")]),
    ("class swapped for a subclass", "import up.a as m\nclass D(m.C): pass\nm.C = D", [(R, "up.a.C")]),
    ("transient swap", "import up.a as m\nold = m.f\ndef g(x):\n    saved = m.h\n    m.h = len\n    try: return old(x)\n    finally: m.h = saved\nm.f = g", [(W, "up.a.f"), (R, "up.a.h")]),
    ("version alternatives", "try:\n    import up.new as m\nexcept ImportError:\n    import up.old as m\nm.f = print", [(R, "up.new.f"), (R, "up.old.f")]),
    ("entry of a table", "from up.a import TABLE\nTABLE['k'] = print", [(R, "up.a.TABLE")]),
    ("source rewrite", "import inspect, up.a as m\ns = inspect.getsource(m.f).replace('old', 'new')\nns = {}\nexec(s, m.f.__globals__, ns)\nm.f = ns['f']", [(S, "up.a.f")]),
    ("wrapt", "import wrapt\nwrapt.wrap_function_wrapper('up.a', 'C.m', lambda w, i, a, k: w(*a))", [(W, "up.a.C.m")]),
    ("conditional expression", "import up.a as m, up.b as n\n(m if ctx else n).f = print", [(R, "up.a.f"), (R, "up.b.f")]),
    ("helper returns a tuple", "def find():\n    from up.a import C\n    return C, 'C'\nc, name = find()\nc.forward = print", [(R, "up.a.C.forward")]),
    ("instance of our class", "import up.a as m\nclass P:\n    def __init__(self, mod): self.mod = mod\n    def go(self): self.mod.f = print\nP(m).go()", [(R, "up.a.f")]),
    ("sweep over loaded modules", "import sys, up.a as m\nold = m.f\nfor x in list(sys.modules.values()):\n    if getattr(x, 'f', None) is old:\n        setattr(x, 'f', print)", [(R, "up.a.f")]),
]  # fmt: skip

IGNORES: list[tuple[str, str]] = [
    ("marker on a class", "from up.a import C\nC._own_patched = True"),
    ("marker on a module", "import up.a as m\nm._is_patched = True"),
    ("stashed original", "import up.a as m\nm._original_f = m.f"),
    ("marker on a wrapper", "def g(): pass\ng._own_wrapper = True"),
    ("attribute of self", "class A:\n    def go(self): self.x = print\nA().go()"),
    ("restored at once", "import up.a as m\nm.f = m.f"),
    ("function metadata", "import up.a as m\nm.f.__doc__ = 'x'"),
    ("read of a target", "import up.a as m\nm.f"),
    ("local dict", "d = {}\nd['k'] = print"),
    ("branch never taken", "import up.a as m\nif False:\n    m.f = print"),
    ("text in a docstring", "'''import up.a; up.a.f = print'''"),
]


@pytest.mark.parametrize(("name", "body", "expected"), FINDS, ids=[row[0] for row in FINDS])
def test_idiom_is_found(tmp_path: Path, name: str, body: str, expected: list[tuple[str, str]]) -> None:
    patch = only(read_snippet(tmp_path, handler(body)))
    assert [(effect.style.value, effect.target) for effect in patch.effects] == expected
    assert all(effect.certain for effect in patch.effects)


@pytest.mark.parametrize(("name", "body"), IGNORES, ids=[row[0] for row in IGNORES])
def test_bookkeeping_is_no_effect(tmp_path: Path, name: str, body: str) -> None:
    assert only(read_snippet(tmp_path, handler(body))).effects == ()
