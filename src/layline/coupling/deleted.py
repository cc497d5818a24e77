"""Attributes that our replacement takes away from what it is handed, though the original leaves them for other methods
of its class to read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.looked_at import find_asked
from layline.coupling.question import Question
from layline.coupling.today import tell_today
from layline.source.walking import walk


def judge_deleted(question: Question) -> Iterator[Finding]:
    """What the original sets at the pin, ours deletes, and a method beside it that we leave alone reads unasked."""
    ours, before, pin = question.ours, question.comparison.before, question.sides.pin
    if ours is None or before.definition is None or before.module is None or not question.is_decided:
        return
    original = pin.index.read_node(before.module, before.definition)
    owner = pin.resolve(f"{before.module}.{before.definition.owner}") if before.definition.owner else before
    body = pin.index.read_node(before.module, owner.definition) if owner.definition is not None else None
    if not isinstance(ours.node, ast.FunctionDef) or not isinstance(original, ast.FunctionDef):
        return
    pairs = list(zip(_find_parameters(ours.node), _find_parameters(original), strict=False))
    parts = [
        Why(Reason.DELETES_READ, f"{mine}.{word}", f"{before.definition.owner}.{reader}")
        for mine, theirs in pairs
        for word in _find_deleted(ours.node, mine)
        if _sets(original, theirs, word)
        for reader in list(_find_readers(body, theirs, word))[:1]
        if f"{owner.home}.{reader}" not in question.sides.targets
    ]
    if parts:
        yield tell_today(tuple(parts))


def _find_parameters(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def _find_deleted(function: ast.FunctionDef, owner: str) -> Iterator[str]:
    """Attributes that are gone however the function is run to its end: `del x.y`, also `if hasattr(x, "y")`."""
    found: dict[str, int] = {}
    for statement in function.body:
        asked = isinstance(statement, ast.If) and not statement.orelse and set(find_asked(statement.test))
        for one in statement.body if asked and isinstance(statement, ast.If) else (statement,):
            found |= {word: one.lineno for word in _read_deletion(one, owner) if not asked or word in asked}
    yield from (word for word, line in found.items() if not _sets(function, owner, word, after=line))


def _read_deletion(statement: ast.stmt, owner: str) -> Iterator[str]:
    match statement:
        case ast.Delete(targets=targets):
            for one in targets:
                if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == owner:
                    yield one.attr
        case ast.Expr(
            value=ast.Call(func=ast.Name(id="delattr"), args=[ast.Name(id=name), ast.Constant(value=str(word))])
        ) if name == owner:
            yield word


def _sets(function: ast.AST, owner: str, word: str, after: int = 0) -> bool:
    """Whether a function puts a value there; what names the attribute as a text may do so."""
    for item in walk(function):
        match item:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Store()):
                if (name, attribute) == (owner, word) and item.lineno > after:
                    return True
            case ast.Call(args=[*_, ast.Constant(value=text), _]):
                if text == word and item.lineno > after:
                    return True
    return False


def _find_readers(body: ast.AST | None, owner: str, word: str) -> Iterator[str]:
    """Methods of a class that read an attribute of a parameter of that name, set it nowhere and do not ask before."""
    for method in body.body if isinstance(body, ast.ClassDef) else ():
        if not isinstance(method, ast.FunctionDef) or owner not in _find_parameters(method):
            continue
        uses = [one for one in walk(method) if isinstance(one, ast.Attribute) and one.attr == word]
        own = [one for one in uses if isinstance(one.value, ast.Name) and one.value.id == owner]
        reads = bool(own) and all(isinstance(one.ctx, ast.Load) for one in own)
        if reads and word not in find_asked(method) and not _sets(method, owner, word):
            yield method.name
