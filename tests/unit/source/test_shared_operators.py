"""CPython shares the nodes of operators between all trees; what others hang on them must not reach a fingerprint."""

from __future__ import annotations

import ast

from layline.source.fingerprint import fingerprint


def test_attributes_of_shared_operators_do_not_count() -> None:
    body = ast.parse("a + b").body
    before = fingerprint(body)
    operator = body[0].value.op  # type: ignore[attr-defined]
    operator.parent = body[0]
    try:
        assert fingerprint(ast.parse("a + b").body) == before
    finally:
        del operator.parent
