"""What another body of upstream's means in one line: the names that came and went, else how many lines."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.question import Question
from layline.source import Symbol
from layline.source.resolve import Resolver
from layline.source.walking import walk

_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def judge_body(question: Question, severity: Severity) -> Iterator[Finding]:
    """Of a target that keeps its signature and is worth a look: what its body does now and did not do before."""
    comparison = question.comparison
    if question.kind is not DriftKind.BODY_CHANGED or severity is not Severity.LOOK or comparison.why:
        return
    then = _read(question.sides.pin, comparison.before)
    now = _read(question.sides.tip, comparison.after)
    reasons = _compare(then, now) if then is not None and now is not None else [Why(Reason.VALUE)]
    yield from (Finding(severity=Severity.OK, why=why) for why in reasons)


def _read(side: Resolver, symbol: Symbol) -> ast.AST | None:
    if symbol.definition is None or symbol.module is None:
        return None
    return side.index.read_node(symbol.module, symbol.definition)


def _compare(then: ast.AST, now: ast.AST) -> Iterator[Why]:
    old, new = _find_names(then), _find_names(now)
    came = tuple(name for name in new if name not in old)
    went = tuple(name for name in old if name not in new)
    if came:
        yield Why(Reason.BODY_USES, names=came)
    if went:
        yield Why(Reason.BODY_DROPS, names=went)
    if not came and not went:
        before, after = (_find_lines(node) for node in (then, now))
        changed = [line for line in difflib.ndiff(before, after) if line.startswith(("+ ", "- "))]
        number = max(sum(line.startswith(sign) for line in changed) for sign in "+-") if changed else 0
        yield Why(Reason.BODY_LINE if number == 1 else Reason.BODY_LINES, counts=(number,))


def _find_lines(node: ast.AST) -> list[str]:
    """The lines of a body in one normal spelling, without what only people read."""
    for item in walk(node):
        if isinstance(item, _DOCUMENTED) and ast.get_docstring(item, clean=False) is not None:
            item.body = item.body[1:] or [ast.Pass()]
    body = node.body if isinstance(node, _DOCUMENTED) else [node]
    return [line for statement in body for line in ast.unparse(statement).splitlines()]


def _find_names(node: ast.AST) -> dict[str, None]:
    """What a body reads, calls and imports, in the order in which it does."""
    found: dict[str, None] = {}
    for item in walk(node):
        match item:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                found[name] = None
            case ast.alias(name=name):
                found[name.rpartition(".")[2]] = None
    return found
