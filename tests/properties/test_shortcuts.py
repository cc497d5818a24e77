"""Every shortcut of the readers answers what the long way answers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import layline
from layline.change.similarity import Shingles, count_shared
from layline.core.evidence import Skipped
from layline.coupling.upstream_keys import _pattern, _read_mentions, _spellings
from layline.interpreter.prefilter import may_write
from layline.source.excerpts import find_spans, parse_around
from layline.source.facts import parse_facts
from layline.source.fingerprint import normalise, strip_docstring
from layline.source.parsing import parse_module
from layline.source.walking import walk

OURS = sorted(Path(layline.__file__).parent.rglob("*.py"))[::7]
_SILENT = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
_PLAIN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
_IGNORED = {"lineno", "col_offset", "end_lineno", "end_col_offset", "ctx", "kind", "type_comment"}

blocks = st.sampled_from(
    (
        "def f(a, b=g(1)):\n    return g(a)(f(a))",
        "class C(B):\n    x = f(1)\n    def g(self):\n        return (f)(1)",
        (
            "class D:\n    @f(3)\n    def g(self): return f(2); f(3)\n    class E:\n        def h(self):\n            "
            "def f(): g()"
        ),
        "f(2)",
        "from m import (\n    f,\n    g\n)\n# why",
        "@f(3)\ndef k(): pass",
        "if g:\n    def f():\n        f \\\n        (4)",
        "y = '''\ndef f(\n'''",
        "def q():\n    z = [f  # why\n     (5)]",
        "async def h(): await f()",
        "u = lambda: f(g(6))",
        "# f(7)",
        "",
        "def w():\n    ｆ(8)",
        "try:\n\tdef f():\n\t\tg('é')\nexcept E: pass",
    )
)
programs = st.lists(blocks, min_size=1, max_size=6).map("\n".join)


def spell_plainly(node: ast.AST, words: list[str]) -> None:
    """The definition of the normal form: every field of every node, in order."""
    words.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name)
        if name in _IGNORED:
            continue
        if isinstance(value, list):
            words.append("[")
            for item in strip_docstring(value) if isinstance(node, _PLAIN) and name == "body" else value:
                spell_plainly(item, words) if isinstance(item, ast.AST) else words.append(repr(item))
            words.append("]")
        elif isinstance(value, ast.AST):
            spell_plainly(value, words)
        else:
            words.append(value if isinstance(value, str) and name != "value" else repr(value))


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_words_of_a_tree_are_those_of_its_fields(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    plain: list[str] = []
    fast: list[str] = []
    spell_plainly(tree, plain)
    normalise(tree, fast)
    assert fast == plain


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_the_walk_is_that_of_ast_without_contexts_and_operators(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, _SILENT)]


def calls_in(tree: ast.Module, names: set[str], offset: int) -> list[tuple[int, str]]:
    found = []
    for node in walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in names:
                found.append((node.lineno + offset, ast.dump(node)))
    return found


@settings(max_examples=300)
@given(programs, st.sampled_from([{"f"}, {"f", "g"}]))
def test_calls_in_excerpts_are_the_calls_of_the_file(text: str, names: set[str]) -> None:
    module = parse_module("m.py", text.encode())
    assert not isinstance(module, Skipped), module
    pattern = re.compile(rb"\b(?:" + b"|".join(name.encode() for name in sorted(names)) + rb")\b[\s\\)]*[(#]")
    parts = parse_around(text.encode(), module, pattern)
    assert not isinstance(parts, Skipped)
    found = [call for tree, offset in parts for call in calls_in(tree, names, offset)]
    assert sorted(found, key=lambda call: call[0]) == sorted(
        calls_in(ast.parse(text), names, 0), key=lambda call: call[0]
    )


def test_a_call_outside_any_definition_needs_the_whole_file() -> None:
    text = b"def f():\n    g()\n\ng()\n"
    module = parse_module("m.py", text)
    assert not isinstance(module, Skipped)
    assert find_spans(text, module, re.compile(rb"\bg\b")) is None
    assert find_spans(text.removesuffix(b"\ng()\n"), module, re.compile(rb"\bg\b")) == [(1, 2)]


words = st.text(alphabet="ab_-. ()é", max_size=12)


class OneBlob:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def stream_blobs(self, oids: list[str]) -> list[object]:
        from layline.git import Blob

        return [Blob(oid, self.data) for oid in oids]


@given(words, st.lists(words.filter(bool), max_size=5))
def test_mentions_by_words_are_mentions_by_pattern(text: str, keys: list[str]) -> None:
    data = text.encode()
    spellings = {key: frozenset(_spellings(key)) for key in keys}
    ((_, found),) = _read_mentions(OneBlob(data), ["1"], spellings)  # type: ignore[arg-type]  # reads blobs alone
    for spelled in spellings.values():
        for word in spelled:
            assert (word in found) == (_pattern(word).search(data) is not None)


snippets = st.lists(
    st.sampled_from(
        (
            "setattr(m, 'f', g)",
            "setattr(self, a)",
            "sys.modules['a']",
            "wrap_function(m)",
            "_wrap(a)",
            "rewrap()",
            "x_w(1)",
            "_w(a)",
            "register_patches(1)",
            "getsource",
            "patch_to(C)",
            "apply_patch(1)",
            "sys.meta_path",
            "when_imported",
            "import mock",
            "o.__class__ = K",
            "MethodType(f, o)",
            "import up.m",
            "from up.m import f as g",
            "from other import f",
            "import other as up",
            "up.m.f = 1",
            "g.h = 2",
            "del up.m",
            "f[1] = 2",
        ),
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=300)
@given(snippets, st.sampled_from([(), ("up",), ("up.m", "third")]))
def test_a_file_that_may_write_is_never_passed_over(text: str, packages: tuple[str, ...]) -> None:
    """However the same statements are laid out, and whatever is said about them in remarks and texts."""
    found = may_write(parse_facts(text.encode()), packages)
    spread = "".join(f"{line}  # setattr(m, 'f', g)\n'up.m.f = 1'\n" for line in text.splitlines())
    assert may_write(parse_facts(spread.encode()), packages) is found
    joined = text.replace("\n", "; ").replace("import f as g", "import (\n    f  # mock\n    as g,\n)")
    assert may_write(parse_facts(joined.encode()), packages) is found


grams = st.lists(st.sampled_from("abcdefg"), max_size=30).map(lambda words: Counter((word,) for word in words))


@given(grams, grams)
def test_shared_runs_are_counted_as_they_are_in_common(one: Shingles, two: Shingles) -> None:
    assert count_shared(one, two) == count_shared(two, one) == (one & two).total()
