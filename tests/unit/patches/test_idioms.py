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
    (
        "setattr in a loop",
        "import up.a as m\nfor n in ('f', 'g'): setattr(m, n, print)",
        [(R, "up.a.f"), (R, "up.a.g")],
    ),
    ("loop over modules", "import up.a, up.b\nfor m in [up.a, up.b]: m.f = print", [(R, "up.a.f"), (R, "up.b.f")]),
    (
        "loop over a table",
        "import up.a as m\nT = {'f': print, 'g': len}\nfor n, v in T.items(): setattr(m, n, v)",
        [(R, "up.a.f"), (R, "up.a.g")],
    ),
    (
        "getattr with a default",
        "import up.a as m\nc = getattr(m, 'C', None)\nif c is not None:\n    c.forward = print",
        [(R, "up.a.C.forward")],
    ),
    (
        "a class that makes objects of the original, too",
        "import up.a as m\nold = m.C\nclass D:\n    def __new__(cls, x): return [] if x else old(x)\nm.C = D",
        [(W, "up.a.C")],
    ),
    (
        "a class that makes other objects",
        "import up.a as m\nold = m.C\nclass D:\n    def __new__(cls, x): return super().__new__(cls)\nm.C = D",
        [(R, "up.a.C")],
    ),
    (
        "an entry that keeps the one before it",
        "from up.a import T\nold = T['k']\ndef g(*a): return old(*a)\nT['k'] = g",
        [(W, "up.a.T")],
    ),
    (
        "entries that are handed to a wrapper",
        "from up.a import T\ndef wrap(f): return lambda *a: f(*a)\nfor k in list(T.keys()):\n    T[k] = wrap(T[k])",
        [(W, "up.a.T")],
    ),
    ("sys.modules", "import sys\nsys.modules['up.a'].f = print", [(R, "up.a.f")]),
    ("sys.modules.get", "import sys\nm = sys.modules.get('up.a')\nif m is not None:\n    m.f = print", [(R, "up.a.f")]),
    ("importlib", "import importlib\nm = importlib.import_module('up.a')\nm.f = print", [(R, "up.a.f")]),
    (
        "importlib in a loop",
        "from importlib import import_module\nfor n in ('a', 'b'):\n    import_module(f'up.{n}').f = print",
        [(R, "up.a.f"), (R, "up.b.f")],
    ),
    (
        "stub module",
        "import sys, types\nm = types.ModuleType('up.x')\nm.f = print\nsys.modules['up.x'] = m",
        [(R, "up.x.f"), (R, "up.x")],
    ),
    (
        "stub module in the place of a missing one",
        "import types, up.a as m\nif not hasattr(m, 'fast'):\n    m.fast = types.ModuleType('fast')\n    m.fast.f = print",
        [(R, "up.a.fast"), (R, "up.a.fast.f")],
    ),
    ("deletion", "from up.a import C\ndel C.m", [(R, "up.a.C.m")]),
    ("module flag", "import up.a as m\nm.HAVE_X = True", [(R, "up.a.HAVE_X")]),
    ("private slot", "import up.a as m\nm._get_workspace = None", [(R, "up.a._get_workspace")]),
    ("name through __dict__", "from up.a import C\nC.__dict__['m'] = print", [(R, "up.a.C.m")]),
    ("dataclass default", "from up.a import C\nC.__dataclass_fields__['router'].default = int", [(R, "up.a.C.router")]),
    ("saved and wrapped", "import up.a as m\nold = m.f\ndef g(*a):\n    return old(*a)\nm.f = g", [(W, "up.a.f")]),
    (
        "factory",
        "import up.a as m\ndef make(old):\n    def g(*a): return old(*a)\n    return g\nm.f = make(m.f)",
        [(W, "up.a.f")],
    ),
    (
        "partial with the original",
        "import functools, up.a as m\ndef g(x, *, old): return old(x)\nm.f = functools.partial(g, old=m.f)",
        [(W, "up.a.f")],
    ),
    ("wrapped by a library", "import torch, up.a as m\nm.f = torch.compile(m.f)", [(W, "up.a.f")]),
    (
        "original one closure away",
        "import up.a as m\nold = m.f\ndef inner(x): return old(x)\ndef g(x): return inner(x)\nm.f = g",
        [(W, "up.a.f")],
    ),
    ("stash on upstream", "import up.a as m\nm._orig_f = m.f\ndef g(x): return m._orig_f(x)\nm.f = g", [(W, "up.a.f")]),
    (
        "wraps that never calls",
        "import functools, up.a as m\n@functools.wraps(m.f)\ndef g(x): return x\nm.f = g",
        [(R, "up.a.f")],
    ),
    ("original returned", "import up.a as m\nold = m.f\ndef g(x): return old if x else None\nm.f = g", [(W, "up.a.f")]),
    (
        "branch that returns",
        (
            "import up.a as m\nif ctx.new:\n    old = m.f\n    def g(x): return old(x)\n    m.f = g\n    return\nold = "
            "None"
        ),
        [(W, "up.a.f")],
    ),
    ("class swapped for a subclass", "import up.a as m\nclass D(m.C): pass\nm.C = D", [(R, "up.a.C")]),
    (
        "transient swap",
        (
            "import up.a as m\nold = m.f\ndef g(x):\n    saved = m.h\n    m.h = len\n    try: return old(x)\n    "
            "finally: m.h = saved\nm.f = g"
        ),
        [(W, "up.a.f"), (R, "up.a.h")],
    ),
    (
        "version alternatives",
        "try:\n    import up.new as m\nexcept ImportError:\n    import up.old as m\nm.f = print",
        [(R, "up.new.f"), (R, "up.old.f")],
    ),
    ("entry of a table", "from up.a import TABLE\nTABLE['k'] = print", [(R, "up.a.TABLE")]),
    (
        "source rewrite",
        (
            "import inspect, up.a as m\ns = inspect.getsource(m.f).replace('old', 'new')\nns = {}\nexec(s, "
            "m.f.__globals__, ns)\nm.f = ns['f']"
        ),
        [(S, "up.a.f")],
    ),
    (
        "source rewrite taken apart into lines",
        (
            "import inspect, up.a as m\ns = inspect.getsource(m.C.__init__).split('\\n')\ns = '\\n'.join(x[4:] for x in s)\n"
            "exec(s.replace('__init__', 'made'), globals())\nm.C.__init__ = made"
        ),
        [(S, "up.a.C.__init__")],
    ),
    ("wrapt", "import wrapt\nwrapt.wrap_function_wrapper('up.a', 'C.m', lambda w, i, a, k: w(*a))", [(W, "up.a.C.m")]),
    (
        "conditional expression",
        "import up.a as m, up.b as n\n(m if ctx else n).f = print",
        [(R, "up.a.f"), (R, "up.b.f")],
    ),
    (
        "helper returns a tuple",
        "def find():\n    from up.a import C\n    return C, 'C'\nc, name = find()\nc.forward = print",
        [(R, "up.a.C.forward")],
    ),
    (
        "instance of our class",
        (
            "import up.a as m\nclass P:\n    def __init__(self, mod): self.mod = mod\n    def go(self): self.mod.f = "
            "print\nP(m).go()"
        ),
        [(R, "up.a.f")],
    ),
    (
        "sweep over loaded modules",
        (
            "import sys, up.a as m\nold = m.f\nfor x in list(sys.modules.values()):\n    if getattr(x, 'f', None) is "
            "old:\n        setattr(x, 'f', print)"
        ),
        [(R, "up.a.f")],
    ),
    (
        "partialmethod",
        "import functools\nfrom up.a import C\ndef g(self, x): pass\nC.f = functools.partialmethod(g, 1)",
        [(R, "up.a.C.f")],
    ),
    ("setattr by delattr", "from up.a import C\ndelattr(C, 'm')", [(R, "up.a.C.m")]),
    (
        "wrapt by keywords",
        "import wrapt\nwrapt.wrap_function_wrapper(module='up.a', name='C.m', wrapper=print)",
        [(W, "up.a.C.m")],
    ),
    (
        "wrapt in a loop of f-strings",
        (
            "import wrapt\nfor n in ('x', 'y'):\n    wrapt.wrap_function_wrapper('up.a', f'C.{n}', lambda w, i, a, k: "
            "w(*a))"
        ),
        [(W, "up.a.C.x"), (W, "up.a.C.y")],
    ),
    (
        "f-string over a choice",
        (
            "import wrapt\nname = 'Old' if ctx.old else 'New'\nwrapt.wrap_function_wrapper('up.a', f'{name}.get', "
            "lambda w, i, a, k: w(*a))"
        ),
        [(W, "up.a.Old.get"), (W, "up.a.New.get")],
    ),
    (
        "wrapt's decorator",
        "import wrapt\n@wrapt.patch_function_wrapper('up.a', 'C.m')\ndef g(w, i, a, k): return w(*a)",
        [(W, "up.a.C.m")],
    ),
    (
        "wrapt's factory",
        "import wrapt\nwrapt.wrap_object('up.a', 'C.m', wrapt.FunctionWrapper, (print,))",
        [(W, "up.a.C.m")],
    ),
    (
        "wrapt by hand",
        (
            "import wrapt\nparent, name, old = wrapt.resolve_path('up.a', 'C.m')\nwrapt.apply_patch(parent, name, "
            "lambda *a: old(*a))"
        ),
        [(W, "up.a.C.m")],
    ),
    (
        "constructor by wrapt",
        "import wrapt, up.a\nwrapt.wrap_function_wrapper(up.a.C, '__init__', lambda w, i, a, k: w(*a))",
        [(W, "up.a.C.__init__")],
    ),
    (
        "path split by hand",
        (
            "from importlib import import_module\nclass P:\n    def __init__(self, get, path, new): self.get, "
            "self.path, self.new = get, path, new\n    def go(self):\n        owner = self.get()\n        *parts, last "
            "= self.path.split('.')\n        for part in parts: owner = getattr(owner, part)\n        setattr(owner, "
            "last, self.new)\nP(lambda: import_module('up.a'), 'C.f', print).go()"
        ),
        [(R, "up.a.C.f")],
    ),
    (
        "table of dotted paths",
        (
            "import up.a\nT = {'C.f': print, 'g': len}\nfor path, new in T.items():\n    owner, parts = up.a, "
            "path.split('.')\n    for part in parts[:-1]: owner = getattr(owner, part)\n    setattr(owner, parts[-1], new)"
        ),
        [(R, "up.a.C.f"), (R, "up.a.g")],
    ),
    (
        "fastcore's patch_to",
        "from fastcore.basics import patch_to\nfrom up.a import C\n@patch_to(C)\ndef m(self): return 1",
        [(R, "up.a.C.m")],
    ),
    (
        "fastcore's patch",
        "from fastcore.basics import patch\nfrom up.a import C\n@patch\ndef m(self: C): return 1",
        [(R, "up.a.C.m")],
    ),
    (
        "gorilla's class",
        (
            "import gorilla\nfrom up.a import C\n@gorilla.patches(C)\nclass X:\n    def m(self): return 1\n    def "
            "n(self): return 2"
        ),
        [(R, "up.a.C.m"), (R, "up.a.C.n")],
    ),
    (
        "gorilla's object",
        "import gorilla\nfrom up.a import C\ngorilla.apply(gorilla.Patch(C, 'm', print))",
        [(R, "up.a.C.m")],
    ),
    ("mock that starts", "from unittest import mock\nmock.patch('up.a.f', print).start()", [(R, "up.a.f")]),
    (
        "mock for a block",
        "from unittest.mock import patch\ndef g():\n    with patch('up.a.f', new=print): pass\ng()",
        [(R, "up.a.f")],
    ),
    (
        "mock of an attribute",
        "from unittest import mock\nimport up.a\nmock.patch.object(up.a.C, 'm', print).start()",
        [(R, "up.a.C.m")],
    ),
    (
        "several mocks",
        "from unittest import mock\nmock.patch.multiple('up.a', f=print, g=len).start()",
        [(R, "up.a.f"), (R, "up.a.g")],
    ),
    (
        "mock of a table",
        "from unittest import mock\nimport up.a\nmock.patch.dict(up.a.TABLE, {'k': print}).start()",
        [(R, "up.a.TABLE")],
    ),
    ("code object", "import up.a as m\ndef g(): pass\nm.f.__code__ = g.__code__", [(R, "up.a.f")]),
    ("base classes", "import up.a as m\nclass B: pass\nm.C.__bases__ = (B,)", [(R, "up.a.C.__bases__")]),
    ("globals of a function", "import up.a as m\nm.C.f.__globals__['h'] = print", [(R, "up.a.h")]),
    ("dataclass field added", "from up.a import C\nC.__annotations__['x'] = int\nC.x = 1", [(R, "up.a.C.x")]),
    (
        "compiled pattern",
        (
            "import inspect, re, up.a as m\nP = re.compile('x+')\nns = {}\nexec(P.sub('y', inspect.getsource(m.f)), "
            "ns)\nm.f = ns['f']"
        ),
        [(S, "up.a.f")],
    ),
    (
        "hook on import",
        "from wrapt import when_imported\n@when_imported('up.a')\ndef hook(module): module.f = print",
        [(R, "up.a.f")],
    ),
    (
        "hook registered on import",
        (
            "from wrapt import register_post_import_hook\ndef hook(module): module.f = print\n"
            "register_post_import_hook(hook, 'up.a')"
        ),
        [(R, "up.a.f")],
    ),
    ("list changed by a method", "from up.a import MODELS\nMODELS.append(print)", [(R, "up.a.MODELS")]),
    ("entry removed", "from up.a import MODELS\nMODELS.pop('k', None)", [(R, "up.a.MODELS")]),
    ("number changed", "import up.a as m\nm.N += 1", [(R, "up.a.N")]),
    ("attribute getter", "import operator, up.a\noperator.attrgetter('C')(up.a).m = print", [(R, "up.a.C.m")]),
    (
        "reduced path",
        "import functools, up.a\nfunctools.reduce(getattr, 'C.D'.split('.'), up.a).m = print",
        [(R, "up.a.C.D.m")],
    ),
    ("resolved name", "import pkgutil\npkgutil.resolve_name('up.a:C').m = print", [(R, "up.a.C.m")]),
    (
        "object that keeps the original",
        (
            "import up.a as m\nclass Wrapper:\n    def __init__(self, old): self.old = old\n    def __call__(self, "
            "*a): return self.old(*a)\nm.f = Wrapper(m.f)"
        ),
        [(W, "up.a.f")],
    ),
    ("original as a default", "import up.a as m\ndef g(x, _old=m.f): return _old(x)\nm.f = g", [(W, "up.a.f")]),
]

WITHOUT_TARGET: list[tuple[str, str, str]] = [
    # idiom, body of the handler, what it changes, or why it cannot be named
    (
        "entry of a registry",
        "from up.auto import AutoModel\nclass K: pass\nAutoModel.register(K, K)",
        "up.auto.AutoModel.register()",
    ),
    (
        "registry as a decorator",
        "from up.ops import CustomOp\n@CustomOp.register_oot(name='RMSNorm')\nclass A: pass",
        "up.ops.CustomOp.register_oot('RMSNorm')",
    ),
    (
        "operator library",
        "from torch import library\nlib = library.Library('up', 'IMPL')\ndef g(): pass\nlib.impl('f', g)",
        ".".join(("torch", "library", "Library.impl('f')")),
    ),
    ("environment joined", "import os\nos.environ |= {'X': '1'}", "env:X"),
    (
        "finder on sys.meta_path",
        (
            "import sys\nclass Finder:\n    def find_spec(self, name, path, target=None):\n        return None if name "
            "== 'up.a' else None\nsys.meta_path.insert(0, Finder())"
        ),
        "an import hook: what it changes is decided when a module is imported; it names up.a",
    ),
    (
        "class of an object",
        "def go(model):\n    class D: pass\n    model.__class__ = D\ngo(ctx.model)",
        "sets `__class__` of `ctx.model`, an object that only exists at run time",
    ),
    (
        "attribute of an object's class",
        "def go(model):\n    def g(self): pass\n    type(model).forward = g\ngo(ctx.model)",
        "sets `forward` of the class of `ctx.model`, an object that only exists at run time",
    ),
    (
        "method bound onto an object",
        "def go(model):\n    def g(self): pass\n    model.forward = g.__get__(model)\ngo(ctx.model)",
        "sets a method as `forward` of `ctx.model`, an object that only exists at run time",
    ),
    (
        "class found by upstream",
        "from up.dynamic import find_class\ndef g(self): pass\nfind_class('visual.Block').forward = g",
        "sets `forward` of what up.dynamic.find_class('visual.Block') returns",
    ),
    (
        "wrapt on an object",
        (
            "import wrapt\ndef go(client):\n    wrapt.wrap_function_wrapper(client, 'send', lambda w, i, a, k: w(*a))\n"
            "go(ctx.client)"
        ),
        "wraps `send` of `ctx.client`, an object that only exists at run time",
    ),
]

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
    ("private mark", "import up.a as m\nm._patch = True"),
    ("environment variable joined", "import os\nos.environ"),
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


@pytest.mark.parametrize(("name", "body", "what"), WITHOUT_TARGET, ids=[row[0] for row in WITHOUT_TARGET])
def test_what_has_no_target_is_still_told(tmp_path: Path, name: str, body: str, what: str) -> None:
    (effect,) = only(read_snippet(tmp_path, handler(body))).effects
    assert effect.target is None
    assert what in (*effect.mutates, effect.reason)


MOMENTS = [
    ("from unittest.mock import patch\ndef g():\n    with patch('up.a.f', new=print): pass\ng()", "transient"),
    ("from unittest.mock import patch\npatch('up.a.f', new=print).start()", "install"),
    ("from wrapt import when_imported\n@when_imported('up.a')\ndef hook(module): module.f = print", "deferred"),
]


@pytest.mark.parametrize(("body", "moment"), MOMENTS)
def test_the_moment_is_told(tmp_path: Path, body: str, moment: str) -> None:
    (effect,) = only(read_snippet(tmp_path, handler(body))).effects
    assert effect.moment.value == moment
