"""What the code around and in a replacement of ours says: its imports, the dotted chains it reads, what it holds on
to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from layline.source.handlers import catches
from layline.source.walking import find_children, remember, walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
_CHOOSING = (ast.IfExp, ast.BoolOp, ast.comprehension)
"""What may leave out a part of its expression."""
_Block: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
"""So many files and replacements are remembered: rows of one patch stand side by side."""
_CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"})
_ASKING = {"hasattr", "getattr"}
_ORIGINAL = ("orig", "old_", "prev", "upstream", "wrapped_func")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """`a.b.c` as it is read somewhere."""

    words: tuple[str, ...]
    line: int
    guarded: bool
    """Inside a `try` that catches its failure, or in a function that asks with `hasattr` first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What a name of ours stands for."""

    name: str
    guarded: bool
    own_lines: frozenset[int] = field(default_factory=frozenset)
    """Lines of the import statement itself."""


def find_scopes(tree: ast.Module, node: ast.AST) -> list[ast.AST]:
    """The module, the functions around a node, and the node itself, outermost first."""
    line = getattr(node, "lineno", 0)
    around = [item for item in _find_blocks(tree) if item.lineno <= line <= (item.end_lineno or 0)]
    return [tree, *sorted(around, key=lambda item: item.lineno)]


@remember
def _find_blocks(tree: ast.Module) -> tuple[_Block, ...]:
    """Every function and class of a file: walked once, asked for by each replacement in it."""
    return tuple(item for item in walk(tree) if isinstance(item, (*_FUNCTIONS, ast.ClassDef)))


@remember
def find_imports(tree: ast.Module, node: ast.AST) -> dict[str, Imported]:
    """Names that imports bind where a node stands, inner scopes last; what it takes or assigns itself is none."""
    found: dict[str, Imported] = {}
    scopes = find_scopes(tree, node)
    for scope in scopes:
        for item, guarded in _walk_scope(scope, deep=scope is scopes[-1]):
            found.update(_read_import(item, guarded=guarded))
    bound = set(_find_bound(node))
    return {name: item for name, item in found.items() if name not in bound}


def find_steps(tree: ast.Module, line: int) -> Iterator[Imported]:
    """What the functions around a line import before it, come what may: statements of the blocks around it, in no
    branch and no `try` that does not hold the line, too.
    """
    for function in _find_blocks(tree):
        if isinstance(function, _FUNCTIONS) and function.lineno <= line <= (function.end_lineno or 0):
            for item in _find_before(function.body, line):
                yield from (imported for _, imported in _read_import(item, guarded=False))


def _find_before(body: list[ast.stmt], line: int) -> Iterator[ast.stmt]:
    """The statements that have run when a line is reached: those before it in each block that holds it."""
    for item in body:
        if (item.end_lineno or item.lineno) < line:
            yield item
        elif item.lineno <= line and not isinstance(item, (*_FUNCTIONS, ast.ClassDef)):
            holders = [item, *getattr(item, "handlers", ()), *getattr(item, "cases", ())]
            blocks = [getattr(one, name, None) for one in holders for name in ("body", "orelse", "finalbody")]
            for block in blocks:
                if block and block[0].lineno <= line <= (block[-1].end_lineno or 0):
                    yield from _find_before(block, line)


def find_own_steps(node: ast.AST) -> Iterator[Imported]:
    """What a function imports whenever it runs: statements of its own, in no branch and no `try`."""
    for item in node.body if isinstance(node, _FUNCTIONS) else ():
        yield from (imported for _, imported in _read_import(item, guarded=False))


def find_needed(tree: ast.Module, line: int) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """The dotted chains that statements before a line read, come what may: of its functions and of the file itself, in
    no branch and no `try` that does not hold the line, too.
    """
    around = (item for item in _find_blocks(tree) if item.lineno <= line <= (item.end_lineno or 0))
    bodies = [tree.body, *(item.body for item in around if isinstance(item, _FUNCTIONS))]
    for item in (item for body in bodies for item in _find_before(body, line)):
        if isinstance(item, _PLAIN):
            yield from ((item, words) for words in _find_read(item))


@remember
def _find_read(statement: ast.stmt) -> tuple[tuple[str, ...], ...]:
    """Chains that a statement reads whichever way it goes; of one that it sets, what stands before the last dot."""
    found: list[tuple[str, ...]] = []
    for item, _ in _walk_scope(statement, deep=False):
        if isinstance(item, _CHOOSING):
            return ()
        words = _read_chain(item)
        if words is not None:
            found.append(words[:-1] if isinstance(getattr(item, "ctx", None), ast.Store) else words)
    return tuple(words for words in found if len(words) > 1)


def find_originals(tree: ast.Module, node: ast.AST, target: str) -> frozenset[str]:
    """Names around a replacement that hold what it replaces: `original = module.name`, `getattr(module, "name")`."""
    last, found = target.rpartition(".")[2], set()
    for scope in find_scopes(tree, node):
        for item, _ in _walk_scope(scope, deep=False):
            match item:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute(attr=attr)) if attr == last:
                    found.add(name)
                case ast.Assign(
                    targets=[ast.Name(id=name)],
                    value=ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=attr), *_]),
                ) if attr == last:
                    found.add(name)
    return frozenset(found)


def find_held(tree: ast.Module | None, node: ast.AST, target: str) -> frozenset[str]:
    """What a replacement may call as the original: names that hold it, and names of the functions around that sound
    like it.
    """
    if tree is None:
        return frozenset()
    scopes = find_scopes(tree, node)
    around = {name for scope in scopes[1:-1] for name in _find_bound(scope)}
    heard = {name for name in around if any(word in name.lower() for word in _ORIGINAL)}
    return find_originals(tree, node, target) | heard


@remember
def find_chains(node: ast.AST) -> tuple[Chain, ...]:
    """Every dotted chain that a function or class reads, the longest spelling of each; decorators and bases
    included.
    """
    return tuple(_find_chains(node))


def _find_chains(node: ast.AST) -> Iterator[Chain]:
    asked = set(_find_asked(node))
    for item, guarded in _walk_scope(node, deep=True):
        words = _read_chain(item)
        if words is not None and len(words) > 1:
            yield Chain(words=words, line=getattr(item, "lineno", 0), guarded=guarded or not asked.isdisjoint(words))
        elif isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            yield Chain(words=(item.id,), line=item.lineno, guarded=guarded)


def find_set(node: ast.AST) -> frozenset[str]:
    """`name.attribute` that a function sets itself."""
    return frozenset(
        f"{item.value.id}.{item.attr}"
        for item in walk(node)
        if isinstance(item, ast.Attribute) and not isinstance(item.ctx, ast.Load) and isinstance(item.value, ast.Name)
    )


def _find_asked(node: ast.AST) -> Iterator[str]:
    """Attribute names that the code asks for before it reads them."""
    for item in walk(node):
        match item:
            case ast.Call(func=ast.Name(id=name), args=[_, ast.Constant(value=str(word)), *_]) if name in _ASKING:
                yield word


def _read_chain(node: ast.AST) -> tuple[str, ...] | None:
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return (node.id, *reversed(words)) if isinstance(node, ast.Name) and words else None


def _walk_scope(scope: ast.AST, *, deep: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Nodes with whether a `try` around them catches their failure; inner functions only where `deep`; of a chain its
    whole.
    """
    todo: list[tuple[ast.AST, bool]] = [(item, False) for item in find_children(scope)]
    while todo:
        node, guarded = todo.pop()
        yield node, guarded
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.Lambda)) and not deep:
            continue
        if isinstance(node, ast.Attribute) and _read_chain(node) is not None:
            continue
        if isinstance(node, ast.Try) and any(catches(handler, _CATCHING) for handler in node.handlers):
            todo += [(item, True) for item in node.body]
            todo += [(item, guarded) for item in (*node.handlers, *node.orelse, *node.finalbody)]
            continue
        todo += [(item, guarded) for item in find_children(node)]


def _read_import(node: ast.AST, *, guarded: bool) -> Iterator[tuple[str, Imported]]:
    lines = frozenset(range(getattr(node, "lineno", 0), (getattr(node, "end_lineno", 0) or 0) + 1))
    match node:
        case ast.Import(names=names):
            for item in names:
                name = item.name if item.asname else item.name.partition(".")[0]
                yield item.asname or name, Imported(name=name, guarded=guarded, own_lines=lines)
        case ast.ImportFrom(module=str(module), level=0, names=names):
            for item in names:
                yield item.asname or item.name, Imported(name=f"{module}.{item.name}", guarded=guarded, own_lines=lines)


def _find_bound(node: ast.AST) -> Iterator[str]:
    """Names that a function takes or assigns: they hide imports of the same name."""
    for item in walk(node):
        match item:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
