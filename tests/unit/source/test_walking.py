"""The walk over syntax trees, held against Python's own."""

from __future__ import annotations

import ast

import pytest

from layline.source.walking import find_children, walk

_SILENT = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
TEXTS = [
    "@d(1)\nasync def f(a, /, b: int = 2, *c, d, e=3, **g) -> None:\n    global h, i\n    await a\n",
    "class A(B, metaclass=C):\n    x: int\n    y = {**a, 'b': 1, 2: c}\n",
    "match a:\n    case {'x': 1, **rest}: pass\n    case [1, *_] | B(c, d=2) if e: pass\n    case None: pass\n    case str() as s: pass\n",
    "try:\n    from a import b as c, d\nexcept* (E, F) as g:\n    raise H from g\nelse:\n    del a[1:2, ::3]\nfinally:\n    import x.y\n",
    "with a as b, c:\n    [x async for x in y if x if not x]; lambda *a, k=1: (yield)\nwhile a < b <= c and not d or e:\n    break\n",
    "for a in b:\n    f'{a!r:>{w}}'; (z := 1); a.b += -c ** 2 if d else {*e}; assert a, b\nelse:\n    continue\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_every_node_is_met_once_nearer_ones_first(text: str) -> None:
    tree = ast.parse(text)
    assert list(walk(tree)) == [node for node in ast.walk(tree) if not isinstance(node, _SILENT)]
    for node in walk(tree):
        assert find_children(node) == [one for one in ast.iter_child_nodes(node) if not isinstance(one, _SILENT)]


def test_a_kind_whose_documentation_does_not_name_its_fields_is_walked_all_the_same() -> None:
    class Pair(ast.expr):
        _fields = ("operator", "items", "last")

    names = [ast.Name(id=word, ctx=ast.Load()) for word in "abc"]
    pair = Pair()
    for field, value in zip(Pair._fields, (ast.Add(), names[:2], names[2]), strict=True):
        setattr(pair, field, value)
    assert list(walk(pair)) == [pair, *names]
    assert find_children(pair) == names
