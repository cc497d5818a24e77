"""What our code asks before it reads or calls: `hasattr(x, "y")`, `"y" in inspect.signature(f).parameters`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.source.fingerprint import dotted_text
from layline.source.walking import find_children, walk

_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MAKES = ".__init__"


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What a piece of code gives to functions of `inspect`, and the words that it looks for with `in`."""

    names: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()

    def __or__(self, other: LookedAt) -> LookedAt:
        return LookedAt(self.names | other.names, self.words | other.words)


def find_looked_at(body: list[ast.stmt], *, deep: bool) -> LookedAt:
    """Of these statements; of functions below only where `deep`."""
    names, words = set(), set()
    for node in (one for statement in body for one in (walk(statement) if deep else _walk_flat(statement))):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="inspect")), args=[asked, *_]):
                name = dotted_text(asked)
                names.update([name.removesuffix(_MAKES)] if name is not None else [])
            case ast.Compare(left=ast.Constant(value=str(word)), ops=[ast.In() | ast.NotIn()]):
                words.add(word)
    return LookedAt(frozenset(names), frozenset(words))


def _walk_flat(statement: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(statement, _BLOCKS):
        yield statement
        for below in find_children(statement):
            yield from _walk_flat(below)


def find_asked(function: ast.AST) -> Iterator[str]:
    """`hasattr(x, "word")`, `getattr(x, "word", other)`: what is read of it elsewhere in the function is asked for."""
    return find_asked_by(node for node in walk(function) if isinstance(node, ast.Call))


def find_asked_by(calls: Iterable[ast.Call]) -> Iterator[str]:
    """The same, by the calls in it."""
    for node in calls:
        match node:
            case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(word))]):
                yield word
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(word)), _]):
                yield word


def asks_first(test: ast.expr) -> bool:
    """`if hasattr(x, "y")` and the like: what follows runs only where the name is there."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"
        for node in walk(test)
    )
