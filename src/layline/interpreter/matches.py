"""`match` as the chain of `if`s that it is: each case where its pattern holds and none before it did."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.source.walking import remember, walk


@remember
def unfold(node: ast.Match) -> tuple[ast.stmt, ...]:
    """Statements that do the same; a subject that is called for is asked once."""
    subject, first = node.subject, list[ast.stmt]()
    if any(isinstance(item, ast.Call) for item in walk(subject)):
        subject = ast.Name(id=ast.unparse(subject), ctx=ast.Load())
        first = [_place(ast.Assign(targets=[ast.Name(id=subject.id, ctx=ast.Store())], value=node.subject), node)]
    rest: list[ast.stmt] = []
    for case in reversed(node.cases):
        tests = [*_find_tests(subject, case.pattern), *([case.guard] if case.guard is not None else [])]
        whole = tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests)
        rest = [_place(ast.If(test=whole, body=case.body, orelse=rest), case.body[0])] if tests else case.body
        rest = [*(_place(one, case.body[0]) for one in _find_captured(subject, case.pattern)), *rest]
    return (*first, *rest)


def _find_tests(subject: ast.expr, pattern: ast.pattern) -> Iterator[ast.expr]:
    """The test that a pattern stands for; none where it takes anything."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return
        case ast.MatchAs(pattern=ast.pattern() as inner):
            yield from _find_tests(subject, inner)
        case ast.MatchValue(value=value):
            yield ast.Compare(left=subject, ops=[ast.Eq()], comparators=[value])
        case ast.MatchSingleton(value=value):
            yield ast.Compare(left=subject, ops=[ast.Is()], comparators=[ast.Constant(value)])
        case ast.MatchClass(cls=kind, patterns=[], kwd_patterns=[]):
            yield ast.Call(func=ast.Name(id="isinstance", ctx=ast.Load()), args=[subject, kind], keywords=[])
        case ast.MatchOr(patterns=patterns):
            ways = [list(_find_tests(subject, one)) for one in patterns]
            if all(ways):
                yield ast.BoolOp(op=ast.Or(), values=[test for way in ways for test in way])
        case _:  # of its parts nothing is known
            yield ast.Name(id=f"{ast.unparse(subject)} matches {ast.unparse(pattern)}", ctx=ast.Load())


def _find_captured(subject: ast.expr, pattern: ast.pattern) -> Iterator[ast.stmt]:
    if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
        yield ast.Assign(targets=[ast.Name(id=pattern.name, ctx=ast.Store())], value=subject)


def _place(made: ast.stmt, at: ast.stmt) -> ast.stmt:
    """A statement that nobody wrote, where the one stands that it is made of."""
    return ast.fix_missing_locations(ast.copy_location(made, at))
