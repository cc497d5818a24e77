"""Whether code uses a name: comments and texts do not count. A plain search comes first, the syntax tree decides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from layline.core.evidence import Skipped
from layline.source.definitions import Module
from layline.source.excerpts import find_around
from layline.source.fingerprint import dotted_text
from layline.source.parsing import parse_tree
from layline.source.walking import walk

_NAMING = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Call, ast.Subscript}
)
_ASKS = frozenset({"getattr", "hasattr", "setattr", "delattr"})


def mentions(data: bytes, name: str, module: Module | None = None) -> bool:
    """True if code outside imports names it: a name, an attribute, a definition, or the text that `getattr` asks
    for. Where it is known what the file defines, only definitions around the word are parsed.
    """
    if name.encode() not in data:
        return False
    if module is None:
        return name in _find_words(data)
    around = find_around(data, module, re.compile(rb"\b" + re.escape(name.encode()) + rb"\b"))
    return any(_names(node, name) for tree in around for node in walk(tree))


def find_words(data: bytes) -> list[str]:
    """All that code outside imports names, as `mentions` looks for one."""
    return sorted({word for node in _find_nodes(data) for word in _words_of(node)})


def _names(node: ast.AST, name: str) -> bool:
    """Whether a node names it; the two kinds that are most of every tree first."""
    kind = node.__class__
    if kind is ast.Name:
        return bool(node.id == name)  # type: ignore[attr-defined]
    if kind is ast.Attribute:
        return bool(node.attr == name)  # type: ignore[attr-defined]
    return kind in _NAMING and name in _words_of(node)


def binds(data: bytes, name: str) -> bool:
    """True if some statement defines, assigns or imports the name."""
    return name.encode() in data and any(_is_binding(node, name) for node in _find_nodes(data))


def sets_attribute(data: bytes, name: str) -> bool:
    """True if code sets the attribute on something other than `self`."""
    if f".{name}".encode() not in data:
        return False
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
        for node in _find_nodes(data)
    )


def reads_attribute(data: bytes, name: str, *, of_self: bool) -> bool:
    """True if code reads such an attribute of something, or has its name as a text; of `self` only where asked."""
    if name.encode() not in data:
        return False
    for node in _find_nodes(data):
        match node:
            case ast.Constant(value=text) if text == name:
                return True
            case ast.Attribute(value=owner, attr=word, ctx=ast.Load()) if word == name:
                if of_self or not (isinstance(owner, ast.Name) and owner.id == "self"):
                    return True
    return False


def reaches_attribute(data: bytes, name: str) -> bool:
    """True if code has such an attribute of anything but `super()`, or its name as a text: what a class of another
    gives under this name may be run by it.
    """
    if name.encode() not in data:
        return False
    for node in _find_nodes(data):
        match node:
            case ast.Constant(value=text) if text == name:
                return True
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=word) if word == name:
                continue
            case ast.Attribute(attr=word) if word == name:
                return True
    return False


def find_calls(data: bytes, spelled: str) -> Iterator[int]:
    """Lines that call `f` or `module.f`, spelled so."""
    if spelled.rpartition(".")[2].encode() in data:
        for node in _find_nodes(data):
            if isinstance(node, ast.Call) and dotted_text(node.func) == spelled:
                yield node.lineno


def find_reads(data: bytes, target: str) -> Iterator[int]:
    """Lines that read `holder.name`: of a class any value may be an instance, a module has to be named."""
    holder, _, name = target.rpartition(".")
    if name.encode() not in data:
        return
    last = holder.rpartition(".")[2]
    owners = None if last[:1].isupper() else {last, *_find_aliases(data, holder)}
    for node in _find_nodes(data):
        match node:
            case ast.Attribute(value=owner, attr=attr, ctx=ast.Load()) if attr == name:
                if owners is None or _last_word(owner) in owners:
                    yield node.end_lineno or node.lineno
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=text), *_]) if text == name:
                if owners is None or _last_word(owner) in owners:
                    yield node.lineno
            case ast.ImportFrom(module=module, level=0, names=names) if module == holder:
                if any(item.name == name for item in names):
                    yield node.lineno


def _find_aliases(data: bytes, holder: str) -> Iterator[str]:
    """What a file calls a module it imports."""
    package, _, last = holder.rpartition(".")
    for node in _find_nodes(data):
        match node:
            case ast.Import(names=names):
                yield from (item.asname for item in names if item.name == holder and item.asname)
            case ast.ImportFrom(module=module, names=names) if module == package:
                yield from (item.asname or item.name for item in names if item.name == last)


def _last_word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_binding(node: ast.AST, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Name(id=bound, ctx=ast.Store()) | ast.Attribute(attr=bound, ctx=ast.Store()):
            return bound == name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any((item.asname or item.name).partition(".")[0] == name for item in names)
        case ast.AnnAssign(target=ast.Name(id=bound)):
            return bound == name
    return False


@lru_cache(maxsize=512)
def _find_words(data: bytes) -> frozenset[str]:
    return frozenset(word for node in _find_nodes(data) for word in _words_of(node))


def _words_of(node: ast.AST) -> Sequence[str]:
    """What one node names."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.Call(func=ast.Name(id=asked), args=[_, ast.Constant(value=str(text)), *_]) if asked in _ASKS:
            return (text,)
        case ast.Subscript(value=ast.Call(func=ast.Name(id="globals" | "vars")), slice=ast.Constant(value=str(text))):
            return (text,)
    return ()


def _find_nodes(data: bytes) -> Iterator[ast.AST]:
    tree = _parse(data)
    return walk(tree) if tree is not None else iter(())


@lru_cache(maxsize=2)
def _parse(data: bytes) -> ast.Module | None:
    tree = parse_tree("", data)
    return None if isinstance(tree, Skipped) else tree
