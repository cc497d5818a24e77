"""One Python blob → the rows of a `Module`, as JSON text. Runs in workers: standard library alone, no state."""

from __future__ import annotations

import ast
import json
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from layline.core.evidence import Skipped
from layline.source.definitions import Module
from layline.source.fingerprint import digest, dotted_text, fingerprint, normalise, strip_docstring, text_of
from layline.source.handlers import raises_again

ANALYSER = f"2-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of every cache key: raise the first number whenever the rows change; the grammar is the interpreter's."""
PARSING = threading.RLock()
"""One parse at a time: Python 3.11 keeps its recursion depth in one place for all threads and fails when two meet
there."""
MAX_SOURCE_BYTES = 2 * 1024 * 1024
"""Larger Python files are generated data; parsing them would cost more than they tell."""
_MAX_VALUE = 200
_RECURSION = 3000
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Of the Python that Layline runs on: a newer one reads more."""
_FUNCTION, _CLASS, _FIELD, _ASSIGNMENT = range(4)
_PLAIN = frozenset({ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Pass})
"""Statements that bind nothing outside their function and hold no other statement: most of all."""


def parse_module(path: str, data: bytes) -> Module | Skipped:
    """What the blob binds, or why it cannot be read."""
    found = _read_known(data)
    return Skipped.at(path, None, found) if isinstance(found, str) else found


@lru_cache(maxsize=1024)
def _read_known(data: bytes) -> Module | str:
    """Our own files are read again for each upstream commit of a matrix, and say the same."""
    return decode_module(encode_module(data))


def decode_module(text: str) -> Module | str:
    """The inverse of `encode_module`: the module, or why there is none."""
    plain = json.loads(text)
    return plain if isinstance(plain, str) else Module(plain)


def encode_module(data: bytes) -> str:
    """The rows of one blob as JSON; a JSON string is the reason why there are none."""
    found = _parse(data)
    plain: Any = found if isinstance(found, str) else _Reader().read(found)
    try:
        return json.dumps(plain, ensure_ascii=True, separators=(",", ":"), check_circular=False)
    except RecursionError:
        return json.dumps("is nested too deeply")


def parse_tree(path: str, data: bytes) -> ast.Module | Skipped:
    """The syntax tree of a blob, warnings of the analysed code silenced."""
    found = _parse(data)
    return Skipped.at(path, None, found) if isinstance(found, str) else found


@lru_cache(maxsize=1024)
def find_bound_names(data: bytes) -> frozenset[str]:
    """The keys of `Module.bound_imports`, for who asks for nothing else: fingerprints cost three times as much."""
    tree = _parse(data)
    waiting = [] if isinstance(tree, str) else list(tree.body)
    found: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(row[3] or "*" for row in _import_rows(node, _Place()))
        waiting += (one for _, body, _ in _branches(node) for one in body)
    return frozenset(found)


def _parse(data: bytes) -> ast.Module | str:
    with PARSING:
        return _parse_alone(data)


def _parse_alone(data: bytes) -> ast.Module | str:
    if len(data) > MAX_SOURCE_BYTES:
        return f"{len(data)} bytes are more than the {MAX_SOURCE_BYTES} that Layline parses"
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        text = data.decode("utf-8-sig")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in analysed code are not our news
            return ast.parse(text)
    except UnicodeDecodeError as error:
        return f"byte {error.start} is not UTF-8"
    except SyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno else ""
        return f"Python {_VERSION} cannot parse it: {error.msg}{where}"
    except ValueError as error:
        return f"Python {_VERSION} cannot parse it: {error}"  # null bytes before 3.12
    except (RecursionError, MemoryError):
        return "is nested too deeply"
    finally:
        sys.setrecursionlimit(limit)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a statement stands."""

    owner: str = ""
    """Qualified name of the class around it."""
    function: str = ""
    """Qualified name of the function around it; names bound there are nobody else's."""
    group: int = 0
    branch: int = 0
    type_checking: bool = False


class _Reader:
    """Collects the rows of one syntax tree."""

    def __init__(self) -> None:
        self.imports: list[list[Any]] = []
        self.definitions: list[list[Any]] = []
        self.exports: list[str] | None = None

    def read(self, tree: ast.Module) -> dict[str, Any] | str:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _RECURSION))
        try:
            self._statements(tree.body, _Place())
        except RecursionError:
            return "is nested too deeply"
        finally:
            sys.setrecursionlimit(limit)
        return {"i": self.imports, "d": self.definitions, "a": self.exports}

    def _statements(self, body: list[ast.stmt], place: _Place) -> None:
        for node in body:
            if not place.function or node.__class__ not in _PLAIN:
                self._statement(node, place)

    def _statement(self, node: ast.stmt, place: _Place) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self.imports.extend(_import_rows(node, place))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, place)
            case ast.ClassDef():
                self._class(node, place)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if not place.function:
                self._assignment(node, place)
            case ast.Expr() if not place.function:
                self._exports_call(node.value)
            case ast.For() | ast.AsyncFor() | ast.With() | ast.AsyncWith() if not place.function:
                self._loop_or_with(node, place)
            case _:
                for branch, body, checking in _branches(node):
                    self._statements(body, _branch_place(node, place, branch, checking))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, place: _Place) -> None:
        qualname = f"{place.owner}.{node.name}" if place.owner else node.name
        if not place.function:
            self._define(_function_row(node, qualname, place))
        scope = f"{place.function}.{node.name}" if place.function else qualname
        self._statements(node.body, _Place(owner=place.owner, function=scope))

    def _class(self, node: ast.ClassDef, place: _Place) -> None:
        if place.function:
            self._statements(node.body, place)
            return
        qualname = f"{place.owner}.{node.name}" if place.owner else node.name
        row = _row(qualname, _CLASS, node, place)
        self._define(row)
        start = len(self.definitions)
        self._statements(node.body, _Place(owner=qualname))
        members = self.definitions[start:]
        row[5] = _class_fingerprint(node, members)
        row[11] = [text_of(word) for word in node.decorator_list]
        row[12] = [text_of(base) for base in node.bases]

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, place: _Place) -> None:
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        for name, value in _assigned(targets, node.value):
            if name == "__all__" and not place.owner:
                self._exports(value, more=isinstance(node, ast.AugAssign))
            if isinstance(node, ast.AugAssign):
                continue
            qualname = f"{place.owner}.{name}" if place.owner else name
            row = _row(qualname, _FIELD if place.owner or "." in name else _ASSIGNMENT, node, place)
            if value is not None:
                alias = dotted_text(value)
                row[5] = fingerprint([value])
                row[8] = 2 if alias else 0
                row[13] = alias or _short_text(value)
            row[10] = text_of(node.annotation) if isinstance(node, ast.AnnAssign) else None
            self._define(row)

    def _loop_or_with(self, node: ast.For | ast.AsyncFor | ast.With | ast.AsyncWith, place: _Place) -> None:
        targets = (
            [node.target] if isinstance(node, ast.For | ast.AsyncFor) else [item.optional_vars for item in node.items]
        )
        for name, _ in _assigned([target for target in targets if target is not None], None):
            qualname = f"{place.owner}.{name}" if place.owner else name
            self._define(_row(qualname, _FIELD if place.owner else _ASSIGNMENT, node, place))
        for _, body, _ in _branches(node):
            self._statements(body, place)

    def _define(self, row: list[Any]) -> None:
        self.definitions.append(row)

    def _exports(self, value: ast.expr | None, *, more: bool) -> None:
        names = _literal_names(value)
        if names is not None:
            self.exports = [*(self.exports or []), *names] if more else names

    def _exports_call(self, node: ast.expr) -> None:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="__all__"), attr="extend"), args=[value]):
                self._exports(value, more=True)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="__all__"), attr="append"), args=[ast.Constant() as one]
            ):
                self._exports(ast.List(elts=[one], ctx=ast.Load()), more=True)


def _row(qualname: str, kind: int, node: ast.stmt, place: _Place) -> list[Any]:
    decorators = getattr(node, "decorator_list", ())
    first = min((word.lineno for word in decorators), default=node.lineno)
    last = node.end_lineno or node.lineno
    return [qualname, kind, first, node.lineno, last, "", place.group, place.branch, 0, None, None, [], [], None]


def _function_row(node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str, place: _Place) -> list[Any]:
    row = _row(qualname, _FUNCTION, node, place)
    row[5] = fingerprint(node.body)
    row[8] = 1 if isinstance(node, ast.AsyncFunctionDef) else 0
    row[9] = parameter_rows(node.args)
    row[10] = text_of(node.returns) if node.returns else None
    row[11] = [text_of(word) for word in node.decorator_list]
    return row


def parameter_rows(arguments: ast.arguments) -> list[list[Any]]:
    """Name, kind index, default text, annotation text of every parameter, in order."""
    positional = [*((item, 0) for item in arguments.posonlyargs), *((item, 1) for item in arguments.args)]
    missing = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*([None] * missing), *arguments.defaults]
    rows = [_parameter_row(item, kind, default) for (item, kind), default in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        rows.append(_parameter_row(arguments.vararg, 2, None))
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        rows.append(_parameter_row(item, 3, default))
    if arguments.kwarg:
        rows.append(_parameter_row(arguments.kwarg, 4, None))
    return rows


def _parameter_row(item: ast.arg, kind: int, default: ast.expr | None) -> list[Any]:
    return [
        item.arg,
        kind,
        None if default is None else text_of(default),
        text_of(item.annotation) if item.annotation else None,
    ]


def _class_fingerprint(node: ast.ClassDef, members: list[list[Any]]) -> str:
    """Of the class body; methods count by name, signature, decorators and their own fingerprint, read already."""
    by_line = {row[3]: row for row in members if row[1] in {_FUNCTION, _CLASS}}
    words: list[str] = []
    for item in strip_docstring(node.body):
        row = by_line.get(item.lineno)
        if row is not None and isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            words += [repr(row[0].rpartition(".")[2]), row[5], repr(row[9]), repr(row[11]), repr(row[12])]
        else:
            normalise(item, words)
    return digest(words)


def _import_rows(node: ast.Import | ast.ImportFrom, place: _Place) -> Iterator[list[Any]]:
    scope = place.function or place.owner
    tail = [node.lineno, place.group, place.branch, int(place.type_checking), scope]
    for item in node.names:
        match node:
            case ast.Import():
                yield [item.name, 0, None, item.asname or item.name.partition(".")[0], *tail]
            case ast.ImportFrom(module=module, level=level):
                alias = "" if item.name == "*" else item.asname or item.name
                yield [module or "", level, item.name, alias, *tail]


def _branches(node: ast.stmt) -> Iterator[tuple[int, list[ast.stmt], bool]]:
    """The statement lists inside a compound statement: branch number, body, whether only type checkers enter it."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield 0, body, _is_type_checking(test)
            yield 1, orelse, False
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            yield 0, body, False
            for index, handler in enumerate(handlers, 1):
                yield index, handler.body, False
            yield 0, orelse, False
            yield 0, finalbody, False
        case ast.Match(cases=cases):
            for index, case in enumerate(cases):
                yield index, case.body, False
        case ast.For() | ast.AsyncFor() | ast.While():
            yield 0, node.body, False
            yield 0, node.orelse, False
        case ast.With() | ast.AsyncWith():
            yield 0, node.body, False


def _branch_place(node: ast.stmt, place: _Place, branch: int, checking: bool) -> _Place:
    if checking:
        return replace(place, type_checking=True)
    if place.group:  # the outermost condition names the group; a deeper fallback is a fallback still
        return replace(place, branch=branch) if branch > place.branch else place
    if isinstance(node, ast.Try) and branch == 0 and _has_one_way(node):
        return place
    if isinstance(node, ast.If | ast.Try | ast.Match):
        return replace(place, group=node.lineno, branch=branch)
    return place


def _has_one_way(node: ast.Try) -> bool:
    """Whether every handler raises again: that says only in other words what failed."""
    return bool(node.handlers) and all(map(raises_again, node.handlers))


def _is_type_checking(test: ast.expr) -> bool:
    return (dotted_text(test) or "").rpartition(".")[2] == "TYPE_CHECKING"


def _assigned(targets: list[ast.expr], value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    """Names bound by an assignment, each with its own value where the shape shows it; `C.m = f` binds `C.m`."""
    for target in targets:
        match target:
            case ast.Name(id=name):
                yield name, value
            case ast.Attribute(value=ast.Name(id=owner), attr=attr):
                yield f"{owner}.{attr}", value
            case ast.Starred(value=inner):
                yield from _assigned([inner], None)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                values: list[ast.expr | None] = [None] * len(elements)
                if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(elements):
                    values = [*value.elts]
                for element, item in zip(elements, values, strict=True):
                    yield from _assigned([element], item)


def _literal_names(value: ast.expr | None) -> list[str] | None:
    """The strings of a literal list or tuple, sums included; None where it is computed."""
    match value:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return [item.value for item in elements if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _literal_names(left), _literal_names(right)
            return None if first is None or second is None else [*first, *second]
    return None


def _short_text(value: ast.expr) -> str:
    """The beginning of the text; large literals are not spelled out, only what they are."""
    if isinstance(value, ast.Dict | ast.List | ast.Set | ast.Tuple) and (value.end_lineno or 0) - value.lineno > 8:
        return type(value).__name__.lower() + " of " + str(len(getattr(value, "elts", getattr(value, "keys", ()))))
    text = text_of(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"
