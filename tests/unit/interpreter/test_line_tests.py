"""What must hold for a line to be reached, as the source says it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from layline.interpreter.line_tests import find_line_tests
from layline.interpreter.line_words import read_own_tests
from layline.patches.guards.show import show_condition
from snippets import read_files

GATES: list[tuple[str, str | None]] = [
    # a block (the line of interest says HERE), the condition
    ("HERE", None),
    ("if a:\n    HERE", "a"),
    ("if a:\n    pass\nelse:\n    HERE", "not a"),
    ("if a:\n    pass\nelif v == 'v2':\n    HERE", "not a and v == 'v2'"),
    ("if not a:\n    return\nHERE", "a"),
    ("if a:\n    return\nelif b:\n    raise E\nHERE", "not a and not b"),
    ("if a or b:\n    return\nHERE", "not a and not b"),
    ("if a and b:\n    return\nHERE", "not (a and b)"),
    ("if a:\n    if b:\n        return\nHERE", "not (a and b)"),
    ("if a:\n    x = 1\nelse:\n    x = 2\nHERE", None),
    ("for n in ns:\n    if not hasattr(o, n):\n        continue\n    HERE", "hasattr(o, n)"),
    ("for n in ns:\n    if n:\n        break\nHERE", None),
    ("try:\n    import z\nexcept ImportError:\n    return\nHERE", "z is importable"),
    ("try:\n    from z import y\n    HERE\nexcept ImportError:\n    pass", "z.y is importable"),
    ("try:\n    import z\nexcept ImportError:\n    HERE", "z is not importable"),
    ("try:\n    c = m.C\nexcept AttributeError:\n    return\nHERE", "`c = m.C` raises no AttributeError"),
    ("try:\n    f()\nexcept E:\n    raise\nHERE", None),
    ("try:\n    f()\nexcept E:\n    return\nexcept m.G:\n    return\nHERE", "`f()` raises no E or G"),
    ("try:\n    f()\nexcept Exception:\n    return\nHERE", "`f()` raises no exception"),
    ("try:\n    f()\nexcept E:\n    HERE", "`f()` raises E"),
    ("a and HERE()", "a"),
    ("a or HERE()", "not a"),
    ("HERE() if c else None", "c"),
    ("assert a\nHERE", "a"),
    ("if not x.on:\n    x.on = True\nif a:\n    assert x.on\nHERE", None),
    ("if not getattr(x, 'on', False):\n    setattr(x, 'on', True)\nassert x.on\nassert y\nHERE", "y"),
    ("x.on = True\nif not x.on:\n    return\nHERE", None),
    ("x.on = True\nx.on = read()\nassert x.on\nHERE", "x.on"),
    ("if b:\n    x.on = True\nassert x.on\nHERE", "x.on"),
    ("if not b:\n    x.on = True\nassert x.on\nHERE", "x.on"),
    # what an assertion says of values chooses nothing
    ("assert a % b == 0, 'odd'\nassert isinstance(a, int)\nHERE", None),
    ("assert x is not None and x.y > 2\nif a:\n    HERE", "a and an earlier check does not raise"),
    ("if a:\n    assert len(b) == 2\n    assert b\n    HERE", "a and b and an earlier check does not raise"),
    ("if a:\n    if b:\n        assert c % d == 0\nHERE", None),
    ("if a:\n    assert HAVE\n    assert c % d == 0\nHERE", "not a or (HAVE and c % d == 0)"),
    (
        "if a:\n    if b:\n        assert HAVE\n    elif c:\n        assert d.on\nif e:\n    HERE",
        "e and an earlier check does not raise",
    ),
    (
        "with it():\n    if a:\n        if b:\n            assert HAVE\nif e:\n    HERE",
        "e and an earlier check does not raise",
    ),
    ("assert Policy is not None\nassert len(b) > 0\nHERE", "Policy is not None and an earlier check does not raise"),
    ("assert d.type == 'npu'\nHERE", "d.type == 'npu'"),
    ("assert Version(k.__version__) >= V5\nHERE", "Version(k.__version__) >= V5"),
    ("if a % b:\n    raise E\nHERE", "not (a % b)"),
    ("while go:\n    HERE", "go"),
    ("match a:\n    case 1:\n        HERE", "a matches 1"),
    ("if True:\n    HERE", None),
    ("hits = []\nhits.append(x)\nif hits:\n    HERE", "hits"),
    ("use = env.get('A') == '1'\nif use:\n    HERE", "use (= env.get('A') == '1')"),
    ("if use is None:\n    use = ask()\nif use:\n    HERE", "use"),
    ("global done\nif done:\n    return\ndone = True\nHERE", None),
    ("global done\nif a or done:\n    return\ndone = True\nHERE", "not a"),
    ("global done\nif not a:\n    return\nif not done:\n    HERE\n    done = True", "a"),
    ("global on\nif not on:\n    return\nHERE", "on"),
    ("with x:\n    if y:\n        return\nHERE", "not y"),
    # what another test decides
    ("if k == 'a':\n    pass\nelif k in ['b', 'c']:\n    HERE", "k in ['b', 'c']"),
    ("if k in ['a', 'b']:\n    return\nif k == 'b':\n    HERE", "k not in ['a', 'b'] and k == 'b'"),
    ("if k == 'a' or k.startswith('x'):\n    pass\nelif k == 'b' and z:\n    HERE", "k == 'b' and z"),
    ("if k == 'a' or z:\n    pass\nelif k == 'b':\n    HERE", "not z and k == 'b'"),
    ("if k == 'a':\n    return\nk = f(k)\nif k == 'b':\n    HERE", "k != 'a' and k == 'b'"),
    ("if k != 'a':\n    pass\nelif k == 'a':\n    HERE", "k == 'a'"),
    ("if o.k == 1:\n    pass\nelif o.k == 2:\n    HERE", "o.k == 2"),
    ("if k == 'a':\n    x()\nelif k in ['b', 'd']:\n    y()\nelif k == 'c':\n    return\nHERE", "k != 'c'"),
    ("if k == 'a':\n    x()\nelif k == 'c':\n    return\nHERE", "k != 'c'"),
    ("if k == 'a' and z:\n    x()\nelif k == 'c':\n    return\nHERE", "k != 'c'"),
    ("if k == 'c' and z:\n    x()\nelif k == 'c':\n    return\nHERE", "z or k != 'c'"),
]


@pytest.mark.parametrize(("source", "expected"), GATES)
def test_a_line_is_reached_when(source: str, expected: str | None) -> None:
    line = next(i for i, text in enumerate(source.splitlines(), 1) if "HERE" in text)
    body = ast.parse(source).body
    assert (show_condition(read_own_tests(list(find_line_tests(body, line)), body)) or None) == expected


WHENS: list[tuple[str, str, list[tuple[str | None, str | None]]]] = [
    # what decides, file, (target, when)
    (
        "a default",
        "def go(deep=True):\n    import up.a as m\n    if deep:\n        m.f = print\n",
        [("up.a.f", "deep")],
    ),
    (
        "its object",
        (
            "class A:\n    v = 1\n    def go(self):\n        import up.a as m\n        if self.v == 1:\n            "
            "m.f = print\n        else:\n            m.g = print\n"
        ),
        [("up.a.f", "self.v == 1"), ("up.a.g", "self.v != 1")],
    ),
    (
        "which module",
        "def go(x):\n    if x.old:\n        import up.a as m\n    else:\n        import up.b as m\n    m.f = print\n",
        [("up.a.f", "x.old"), ("up.b.f", "not x.old")],
    ),
    (
        "which name",
        "def go(x):\n    import up.a as m\n    name = 'f' if x.old else 'g'\n    setattr(m, name, print)\n",
        [("up.a.f", "x.old"), ("up.a.g", "not x.old")],
    ),
    (
        "which object only",
        (
            "from types import MethodType\ndef go(x):\n    if isinstance(x, list):\n        m = x.a\n    else:\n       "
            " m = x\n    m.forward = lambda: 1\n"
        ),
        [(None, None)],
    ),
    (
        "a helper",
        (
            "def put_on(m, f):\n    if not hasattr(m, 'old'):\n        setattr(m, 'f', f)\n\ndef go():\n    import "
            "up.a\n    put_on(up.a, print)\n"
        ),
        [("up.a.f", "in put_on: not hasattr(m, 'old')")],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), WHENS, ids=[row[0] for row in WHENS])
def test_an_effect_happens_when(
    tmp_path: Path, name: str, source: str, expected: list[tuple[str | None, str | None]]
) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.target, (show_condition(item.effect.when) or None)) for item in found] == expected


STYLES: list[tuple[str, str, str]] = [
    # how the original is reached, file, style
    ("not at all", "def go(model):\n    model.forward = lambda x: 1\n", "binding-replacement"),
    (
        "a closure",
        "def go(model):\n    old = model.forward\n    def new(x):\n        return old(x)\n    model.forward = new\n",
        "function-wrapping",
    ),
    (
        "kept on the object",
        (
            "def new(self, x):\n    return self.forward_origin(x)\ndef go(model):\n    model.forward_origin = "
            "model.forward\n    model.forward = MethodType(new, model)\n"
        ),
        "function-wrapping",
    ),
    (
        "a partial",
        (
            "from functools import partial\ndef new(old, x):\n    return old(x)\ndef go(model):\n    model.forward = "
            "partial(new, model.forward)\n"
        ),
        "function-wrapping",
    ),
    (
        "a factory",
        (
            "def wrap(fn):\n    def inner(*a):\n        return fn(*a)\n    return inner\ndef go(model):\n    "
            "model.forward = wrap(model.forward)\n"
        ),
        "function-wrapping",
    ),
    (
        "far down",
        "def new(self, x):\n"
        + "    x = x + 1\n" * 900
        + (
            "    return self.forward_origin(x)\ndef go(model):\n    model.forward_origin = model.forward\n    "
            "model.forward = MethodType(new, model)\n"
        ),
        "function-wrapping",
    ),
    (
        "a default",
        "def go(model):\n    def new(x, _old=model.forward):\n        return _old(x)\n    model.forward = new\n",
        "function-wrapping",
    ),
    (
        "of another object",
        (
            "def go(model, other):\n    old = other.forward\n    def new(x):\n        return old(x)\n    model.forward "
            "= new\n"
        ),
        "binding-replacement",
    ),
]
LONG_FACTORY = (
    """
import up.a
class Kept:
    def __init__(self):
        self._f = up.a.f
    @property
    def f(self):
        return self._f
def make(kept):
    old = kept.f
    def new(x):
"""
    + "        x = x + 1\n" * 30
    + """
        return old(x)
    return new
def go():
    kept = Kept()
    up.a.f = make(kept)
"""
)
RESTORE = """
from contextlib import contextmanager
@contextmanager
def go(x):
    if x.old:
        import up.a as m
    else:
        import up.b as m
    old = m.f
    m.f = print
    try:
        yield
    finally:
        m.f = old
"""


def test_a_long_factory_is_followed_to_the_original_it_kept(tmp_path: Path) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": LONG_FACTORY}).unregistered
    assert item.effect.style.value == "function-wrapping"


def test_what_is_put_back_on_either_of_two_modules_is_transient(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": RESTORE}).unregistered
    assert [(item.effect.target, item.effect.moment.value) for item in found] == [
        ("up.a.f", "transient"),
        ("up.b.f", "transient"),
    ]


@pytest.mark.parametrize(("name", "source", "style"), STYLES, ids=[row[0] for row in STYLES])
def test_a_method_put_on_an_object_wraps_if_it_reaches_the_original(
    tmp_path: Path, name: str, source: str, style: str
) -> None:
    found = read_files(tmp_path, {"own/boot.py": f"from types import MethodType\n{source}"}).unregistered
    assert {item.effect.style.value for item in found} == {style}
