"""The parts of a file that others read by name: its functions, classes and plain assignments, each with the names it
mentions; and the rest of its top level, which runs for everyone who loads the file.

Made once per blob, from the syntax tree. Positions are no part of it: text that only moves is the same part.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from layline.source.walking import walk

EVERYTHING = "*"
"""Mentioned by what may read any name of its own file."""
_DYNAMIC = frozenset({"globals", "locals", "vars", "dir", "exec", "eval"})
"""Python's own ways to names that are not written out."""
_IMPORTS = frozenset({ast.Import, ast.ImportFrom})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINES = (*_FUNCTIONS, ast.ClassDef)
_PLAIN = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Tuple,
    ast.List,
    ast.Set,
    ast.Dict,
    ast.UnaryOp,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Starred,
    ast.keyword,
)
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_LONGEST = 200
"""A text this long is a sentence, not an annotation."""


def encode_parts(tree: ast.Module, data: bytes, walked: list[list[ast.AST]]) -> dict[str, Any]:
    """`m`: imports of the top level by the name they bind; `p`: parts by name, each with its digest, the dotted names it
    mentions and what it imports itself; `h`: what runs where a part is defined; `g`: what is handed the part there; `s`:
    the rest. `walked`: the nodes of each statement of the top level.
    """
    return _Cutter(tree, data, walked).cut()


class _Cutter:
    def __init__(self, tree: ast.Module, data: bytes, walked: list[list[ast.AST]]) -> None:
        self._body = tree.body
        self._nodes = {id(one): nodes for one, nodes in zip(tree.body, walked, strict=True)}
        self._lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._imports: dict[str, list[list[Any]]] = {}
        self._parts: dict[str, list[ast.stmt]] = {}
        self._rest: list[ast.stmt] = []
        self._before: dict[int, int] = {}
        """Statement → how many of the rest run before it."""

    def cut(self) -> dict[str, Any]:
        for statement in self._body:
            self._sort(statement)
        bound = {*self._imports, *self._parts}
        return {
            "m": self._imports,
            "p": {name: self._encode(listed, bound) for name, listed in self._parts.items()},
            "h": {name: found for name, listed in self._parts.items() if (found := _find_run(listed, bound))},
            "g": {name: found for name, listed in self._parts.items() if (found := _find_given(listed, bound))},
            "s": self._encode(self._rest, bound),
        }

    def _sort(self, statement: ast.stmt) -> None:
        self._before[id(statement)] = len(self._rest)
        match statement:
            case ast.Import() | ast.ImportFrom():
                self._bind([statement])
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=[]) if all(map(_is_import, body)):
                self._bind(body)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._parts.setdefault(name, []).append(statement)
            case ast.Expr(value=ast.Constant()):
                self._parts.setdefault("__doc__", []).append(statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_plain(value):
                self._parts.setdefault(name, []).append(statement)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is None or _is_plain(value):
                self._parts.setdefault(name, []).append(statement)
            case _:
                self._rest.append(statement)
                self._bind(self._nodes[id(statement)])

    def _bind(self, nodes: Iterable[ast.AST]) -> None:
        for alias, *target in _find_imports(nodes):
            self._imports.setdefault(alias, []).append(target)

    def _encode(self, listed: list[ast.stmt], bound: set[str]) -> list[Any]:
        found = hashlib.sha256()
        for one in listed:
            first = min((node.lineno for node in getattr(one, "decorator_list", ())), default=one.lineno)
            text = b"\n".join(self._lines[first - 1 : one.end_lineno])
            found.update(b"%d\0%b\0" % (self._before[id(one)], text))
        nodes = [node for one in listed for node in self._nodes[id(one)]]
        taken = list(_find_imports(nodes))
        return [found.hexdigest()[:24], sorted(_find_chains(nodes, bound | {row[0] for row in taken})), taken]


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _is_plain(value: ast.expr) -> bool:
    """Whether nothing runs where it is read."""
    return all(isinstance(node, _PLAIN) for node in walk(value))


def _find_run(listed: list[ast.stmt], bound: set[str]) -> list[str]:
    """What is called where a function or class is defined: in defaults, bases, and the statements of a class outside its
    methods. What is only named there is read where the function or class is.
    """
    nodes: list[ast.AST] = []
    for one in listed:
        if isinstance(one, ast.ClassDef):
            nodes += [*one.bases, *one.keywords, *(item for item in one.body if not isinstance(item, _DEFINES))]
            nodes += [node for item in one.body if isinstance(item, _FUNCTIONS) for node in _find_defaults(item)]
        elif isinstance(one, _FUNCTIONS):
            nodes += _find_defaults(one)
    walked = [list(walk(node)) for node in nodes]
    run = [node for found in walked if any(isinstance(item, ast.Call) for item in found) for node in found]
    return sorted(_find_chains(run, bound))


def _find_given(listed: list[ast.stmt], bound: set[str]) -> list[str]:
    """Decorators of a function, of a class and of its methods: they are handed it where it is defined."""
    inner = (item for one in listed if isinstance(one, ast.ClassDef) for item in one.body)
    decorated = (node for one in (*listed, *inner) for node in getattr(one, "decorator_list", ()))
    return sorted(_find_chains((node for item in decorated for node in walk(item)), bound))


def _find_defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    yield from function.args.defaults
    yield from (item for item in function.args.kw_defaults if item is not None)


def _find_chains(nodes: Iterable[ast.AST], bound: set[str]) -> set[str]:
    """Dotted names, as far as they are written out, that begin with one of these; also in texts, which may be
    annotations.
    """
    found: set[str] = set()
    inner: set[int] = set()
    for node in nodes:  # outer ones come first
        kind = node.__class__
        if kind is ast.Attribute:
            if id(node) not in inner:
                chain = _read_chain(node, inner)
                if chain is not None and chain[0] in bound:
                    found.add(".".join(chain))
        elif kind is ast.Name:
            name = node.id  # type: ignore[attr-defined]
            if id(node) not in inner and name in bound and node.ctx.__class__ is ast.Load:  # type: ignore[attr-defined]
                found.add(name)
            if name in _DYNAMIC:
                found.add(EVERYTHING)
        elif kind is ast.AugAssign:
            name = getattr(node.target, "id", "")  # type: ignore[attr-defined]
            found.update([name] if name in bound else ())
        elif kind is ast.Constant:
            text = node.value  # type: ignore[attr-defined]
            if text.__class__ is str and len(text) <= _LONGEST:
                found.update(word for word in _WORD.findall(text) if word.partition(".")[0] in bound)
    return found


def _read_chain(node: ast.AST, inner: set[int]) -> list[str] | None:
    parts: list[str] = []
    while node.__class__ is ast.Attribute:
        parts.append(node.attr)
        node = node.value
        inner.add(id(node))
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def _find_imports(nodes: Iterable[ast.AST]) -> Iterator[list[Any]]:
    """Name that is bound, module, level, and what is taken of it; nothing for `import a.b`, `*` for all."""
    for node in nodes:
        if node.__class__ not in _IMPORTS:
            continue
        match node:
            case ast.Import(names=names):
                for item in names:
                    yield [item.asname or item.name.partition(".")[0], item.name, 0, "" if item.asname else None]
            case ast.ImportFrom(module=module, level=level, names=names):
                yield from ([item.asname or item.name, module or "", level, item.name] for item in names)
