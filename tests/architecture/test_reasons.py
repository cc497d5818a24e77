"""No code decides by a sentence of ours: reasons are values, words are made when they are shown."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from layline.source.walking import walk

SOURCE = Path(__file__).parents[2] / "src" / "layline"
PROSE = {"detail", "message", "reason", "active_reason", "why", "said", "summary", "retire"}
"""Fields that hold words for a person."""
SEARCHES = {"startswith", "endswith", "split", "rsplit", "partition", "rpartition", "find", "index", "count"}
SHOWERS = {"show_condition", "show_guard", "show_both", "say_all"}
"""Functions that make such words from values."""
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "split", "sub"}
FILES = sorted(SOURCE.rglob("*.py"))


def find_searches(tree: ast.AST) -> Iterator[int]:
    """Lines that look for words in a sentence: `"x" in row.detail`, `row.detail.split(…)`, `re.search(…, row.detail)`."""
    for node in walk(tree):
        match node:
            case ast.Compare(left=ast.Constant() | ast.JoinedStr(), ops=[ast.In() | ast.NotIn()], comparators=[held]):
                if _is_prose(held):
                    yield node.lineno
            case ast.Compare(left=held, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str(text))]):
                if _is_prose(held) and " " in text:
                    yield node.lineno
            case ast.Call(func=ast.Attribute(value=held, attr=name), args=[_, *_]) if name in SEARCHES and _is_prose(
                held
            ):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr=name), args=[*_, held]) if name in PATTERNS:
                if _is_prose(held):
                    yield node.lineno


def _is_prose(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in SHOWERS:
            return True
        case ast.BoolOp(values=[held, *_]):
            return _is_prose(held)
    return isinstance(node, ast.Attribute) and node.attr in PROSE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"gone" in row.detail', True),
        ('row.detail.partition(";")[0]', True),
        ('error.message.startswith("needs ")', True),
        ('re.search("x", one.reason)', True),
        ('_STAYS.search(one.reason or "")', True),
        ('row.reason == "not read"', True),
        ('"in the caller" in show_condition(effect.when)', True),
        ("row.why.reason is Reason.GONE", False),
        ("row.why.reason in PROBLEMS", False),
        ('f"why: {row.detail}"', False),
    ],
)
def test_what_counts_as_a_search(text: str, found: bool) -> None:
    assert bool(list(find_searches(ast.parse(text)))) is found


def test_no_code_searches_in_our_own_sentences() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in FILES
        for text in [path.read_text(encoding="utf-8")]
        if any(f".{word}" in text for word in PROSE) or any(f"{word}(" in text for word in SHOWERS)
        for line in find_searches(ast.parse(text))
    ]
    assert found == []
