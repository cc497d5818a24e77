from __future__ import annotations

import textwrap

import pytest

from layline.core.evidence import Skipped
from layline.source import Definition, Module, parse_module
from layline.source.parsing import find_bound_names


def read(text: str) -> Module:
    module = parse_module("m.py", textwrap.dedent(text).encode())
    assert isinstance(module, Module)
    return module


def the(text: str, qualname: str) -> Definition:
    found = read(text).best(qualname)
    assert found is not None
    return found


IMPORTS = [
    ("import a.b", [("a.b", 0, None, "a")]),
    ("import a.b as m", [("a.b", 0, None, "m")]),
    ("from a import b, c as d", [("a", 0, "b", "b"), ("a", 0, "c", "d")]),
    ("from .. import x", [("", 2, "x", "x")]),
    ("from .a import *", [("a", 1, "*", "")]),
]


@pytest.mark.parametrize(("text", "expected"), IMPORTS)
def test_imports(text: str, expected: list[tuple[str, int, str | None, str]]) -> None:
    assert [(item.module, item.level, item.name, item.alias) for item in read(text).imports] == expected


def test_alternatives_are_one_group() -> None:
    module = read("""
        import plain
        try:
            from fast import f
        except ImportError:
            try:
                from medium import f
            except ImportError:
                from slow import f
        if cond:
            import one as m
        else:
            import two as m
    """)
    placed = {item.module: (item.group, item.branch) for item in module.imports}
    assert placed == {"plain": (0, 0), "fast": (3, 0), "medium": (3, 1), "slow": (3, 1), "one": (10, 0), "two": (10, 1)}


def test_type_checking_and_function_imports_are_told_apart() -> None:
    module = read("""
        import typing
        if typing.TYPE_CHECKING:
            from a import T
        def f():
            from b import g
        class C:
            def m(self):
                import c
    """)
    assert [(item.module, item.type_checking, item.scope) for item in module.imports] == [
        ("typing", False, ""),
        ("a", True, ""),
        ("b", False, "f"),
        ("c", False, "C.m"),
    ]
    assert set(module.bound_imports) == {"typing", "T"}


def test_definitions_of_every_kind() -> None:
    module = read("""
        LIMIT: int = 3
        a, (b, *c) = 1, (2, 3)
        @deco(1)
        async def f(x, /, y: int = 2, *rest, z, **more) -> str: ...
        class C(Base, Generic[T], metaclass=M):
            size: int = 0
            @property
            def m(self): return inner()
            class D:
                def deep(self): ...
        C.late = f
        with open(p) as handle:
            for line in handle: last = line
    """)
    assert [(item.qualname, str(item.kind)) for item in module.definitions] == [
        ("LIMIT", "assignment"),
        ("a", "assignment"),
        ("b", "assignment"),
        ("c", "assignment"),
        ("f", "function"),
        ("C", "class"),
        ("C.size", "field"),
        ("C.m", "function"),
        ("C.D", "class"),
        ("C.D.deep", "function"),
        ("C.late", "field"),
        ("handle", "assignment"),
        ("line", "assignment"),
        ("last", "assignment"),
    ]
    function = module.best("f")
    assert function is not None
    assert function.signature == "(x, /, y=2, *rest, z, **more)"
    assert (function.is_async, function.decorators, function.returns) == (True, ("deco(1)",), "str")
    assert (function.lines, function.line) == ((4, 5), 5)
    owner = module.best("C")
    assert owner is not None
    assert owner.bases == ("Base", "Generic[T]")
    assert module.members("C") == ("size", "m", "D", "late")


SIGNATURES = [
    "()",
    "(a)",
    "(a, /, b=1, *, c, d=None)",
    "(*args, **kwargs)",
    "(a, /)",
    "(*, only)",
]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_signatures_print_as_written(signature: str) -> None:
    assert the(f"def f{signature}: ...", "f").signature == signature


PREFERRED = [
    ("try:\n    def f(): return 1\nexcept E:\n    f = None\n", ("function", 2)),
    ("f = None\ntry:\n    def f(): return 1\nexcept E: pass\n", ("function", 3)),
    ("if x:\n    def f(): return 1\nelse:\n    def f(): return 2\n", ("function", 2)),
    ("def f(): return 1\ndef f(): return 2\n", ("function", 2)),
    ("@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): return a\n", ("function", 5)),
]


@pytest.mark.parametrize(("text", "expected"), PREFERRED)
def test_the_definition_a_reader_means(text: str, expected: tuple[str, int]) -> None:
    found = the(text, "f")
    assert (str(found.kind), found.line) == expected


def test_exports() -> None:
    assert read(
        "__all__ = ['a'] + ['b']\n__all__ += ['c']\n__all__.extend(('d',))\n__all__.append('e')"
    ).exports == tuple("abcde")
    assert read("x = 1").exports is None


SAME_BODY = [
    ("def f(a):\n    return a+1", "def f(a):\n    # why\n    '''doc'''\n    return (a + 1)"),
    ("def f():\n    g(a,b)", "def f():\n    g(\n        a,\n        b,\n    )"),
    ("def f():\n    x = 'a' 'b'", 'def f():\n    x = "ab"'),
    ("def f(a): return a", "@d\ndef f(b, c=1): return a"),
    ("class f:\n    'doc'\n    def m(self): return 1", "class f:\n    def m(self):\n        'doc'\n        return 1"),
]
OTHER_BODY = [
    ("def f(): return 1", "def f(): return 2"),
    ("def f(): return 'Name'", "def f(): return Name"),
    ("def f():\n    if a:\n        b()\n    c()", "def f():\n    if a:\n        b()\n        c()"),
    ("def f(): return a < b", "def f(): return a > b"),
    ("class f:\n    def m(self): return 1", "class f:\n    def n(self): return 1"),
    ("class f:\n    x = 1", "class f:\n    x = 2"),
    ("f = 1", "f = 1.0"),
]


@pytest.mark.parametrize(("before", "after"), SAME_BODY)
def test_fingerprint_ignores_form(before: str, after: str) -> None:
    assert the(before, "f").fingerprint == the(after, "f").fingerprint


@pytest.mark.parametrize(("before", "after"), OTHER_BODY)
def test_fingerprint_sees_meaning(before: str, after: str) -> None:
    assert the(before, "f").fingerprint != the(after, "f").fingerprint


UNREADABLE = [
    (b"def f(:", "cannot parse it: "),
    (b"\xff\xfe", "not UTF-8"),
    (b"x = " + b"(" * 500 + b")" * 500, "cannot parse it: "),
    (b"x = " + b"-" * 200_000 + b"1", "nested too deeply"),
    (b"x = " + b"a." * 50_000 + b"a", "nested too deeply"),
    (b"#" * (2 * 1024 * 1024 + 1), "more than"),
    (b"a\0b", "cannot parse it: "),
]


@pytest.mark.parametrize(("data", "why"), UNREADABLE)
def test_unreadable_blobs_say_why(data: bytes, why: str) -> None:
    found = parse_module("m.py", data)
    assert isinstance(found, Skipped)
    assert why in found.why


def test_warnings_of_analysed_code_are_not_ours() -> None:
    assert read("x = '\\d'\nassert (1, 'always true')\n").names() == ("x",)


EVERY_IMPORT = """
import a.b
from . import near as close
from many import (
    one,
    two as second,
)
from stars import *
try:
    import fast
except ImportError:
    import slow as fast
else:
    import after
try:
    import told
except ImportError as error:
    raise RuntimeError("told") from error
finally:
    import last
if TYPE_CHECKING:
    from kinds import Kind
elif SOME:
    import other
for item in ():
    import looped
with open("x"):
    import opened
while False:
    import never
class Inside:
    import of_class
def function():
    import of_function
match x:
    case 1:
        import matched
"""


def test_names_that_imports_bind_are_those_of_the_module() -> None:
    data = EVERY_IMPORT.encode()
    module = parse_module("m.py", data)
    assert isinstance(module, Module)
    assert find_bound_names(data) == module.bound_imports.keys()
    assert {"a", "close", "second", "*", "fast", "after", "Kind", "matched"} <= find_bound_names(data)


def test_no_python_binds_nothing() -> None:
    assert find_bound_names(b"import (") == frozenset()
