"""How one Python file uses what it imports: calls and attribute chains, as rows that depend on the content alone."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from layline.change.binding import CallShape, read_call
from layline.core.evidence import Skipped
from layline.source import parse_tree

ANALYSER = f"uses-7-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of the cache key: raise the number whenever the rows change."""
_LAUNCH = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "warmup", "grid", "stream"})
"""What a kernel's launcher takes itself: `kernel[grid](x, num_warps=4)`."""
_CATCHES = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "TypeError"}
)
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of an imported name: `chain` is as written, its first word an alias of the file."""

    line: int
    scope: str
    chain: str
    call: CallShape | None
    guarded: bool
    assigned: bool = False
    """Something is put in its place: `module.name = ours`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRead:
    """An attribute of a variable whose type the file tells, or whose name gives it away."""

    line: int
    scope: str
    origin: str
    """`type:T` (annotated or constructed), `call:f` (returned by f), `name:args`, or `self:config` (an attribute)."""
    attributes: str
    guarded: bool


@dataclass(slots=True)
class Uses:
    uses: list[Use] = field(default_factory=list)
    reads: list[FieldRead] = field(default_factory=list)
    guarded_imports: list[int] = field(default_factory=list)
    """Lines of import statements whose failure is caught."""


def encode_uses(data: bytes) -> str:
    """The rows of one blob as JSON; a JSON string says why there are none."""
    tree = parse_tree("", data)
    if isinstance(tree, Skipped):
        return json.dumps(tree.why)
    walker = _Walker(tree)
    rows = [
        [use.line, use.scope, use.chain, _encode_call(use.call), int(use.guarded), int(use.assigned)]
        for use in walker.found.uses
    ]
    reads = [[read.line, read.scope, read.origin, read.attributes, int(read.guarded)] for read in walker.found.reads]
    return json.dumps({"u": rows, "r": reads, "g": walker.found.guarded_imports}, separators=(",", ":"))


def decode_uses(text: str) -> Uses | str:
    plain: Any = json.loads(text)
    if isinstance(plain, str):
        return plain
    uses = [
        Use(
            line=line, scope=scope, chain=chain, call=_decode_call(call), guarded=bool(guarded), assigned=bool(assigned)
        )
        for line, scope, chain, call, guarded, assigned in plain["u"]
    ]
    reads = [
        FieldRead(line=line, scope=scope, origin=origin, attributes=attributes, guarded=bool(guarded))
        for line, scope, origin, attributes, guarded in plain["r"]
    ]
    return Uses(uses, reads, plain["g"])


class _Walker:
    """One pass over a module; knows which names are imports and what the variables of each function are."""

    def __init__(self, tree: ast.Module) -> None:
        self.found = Uses()
        self._aliases = frozenset(_find_aliases(tree))
        self._scope: list[str] = []
        self._guards = 0
        self._variables: list[dict[str, str]] = [{}]
        self._fields: list[dict[str, str]] = [{}]
        for node in tree.body:
            self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._visit_function(node)
            case ast.ClassDef():
                self._visit_class(node)
            case ast.Try():
                self._visit_try(node)
            case ast.If(test=test) if _asks_first(test):
                self._visit(test)
                self._guards += 1
                self._visit_all((*node.body, *node.orelse))
                self._guards -= 1
            case ast.Call():
                self._visit_call(node, None)
            case ast.Assign(targets=[ast.Tuple(elts=names) as target], value=ast.Call() as call):
                counted = not any(isinstance(item, ast.Starred) for item in names)
                self._visit_call(call, len(names) if counted else None)
                self._visit(target)
            case ast.Import() | ast.ImportFrom():
                self.found.guarded_imports += [node.lineno] if self._guards else []
            case ast.Attribute() | ast.Name():
                self._visit_chain(node, None)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._visit(value)
                self._remember(name, value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=source)):
                self._fields[-1][name] = self._variables[-1].get(source, "")
                self._add(node.lineno, f"self.{name}", None, assigned=True)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                self._variables[-1][name] = f"type:{_type_text(annotation)}"
                self._visit_all(ast.iter_child_nodes(node))
            case _:
                self._visit_all(ast.iter_child_nodes(node))

    def _visit_all(self, nodes: Any) -> None:
        for node in nodes:
            self._visit(node)

    def _visit_function(self, node: _Function) -> None:
        self._visit_all((*node.decorator_list, *node.args.defaults, *(item for item in node.args.kw_defaults if item)))
        inside = dict(self._variables[-1])  # a nested function sees the variables around it
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.annotation is not None:
                inside[argument.arg] = f"type:{_type_text(argument.annotation)}"
            else:
                inside[argument.arg] = f"name:{argument.arg}"
        self._variables.append(inside)
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()
        self._variables.pop()

    def _visit_class(self, node: ast.ClassDef) -> None:
        self._visit_all((*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)))
        self._scope.append(node.name)
        self._fields.append({})
        # __init__ first: it tells what `self.config` is in the other methods
        for item in sorted(node.body, key=lambda item: getattr(item, "name", "") != "__init__"):
            self._visit(item)
        self._fields.pop()
        self._scope.pop()

    def _visit_try(self, node: ast.Try) -> None:
        guarded = any(_catches(handler) for handler in node.handlers)
        self._guards += guarded
        self._visit_all((*node.body, *node.handlers))  # a fallback runs only where the first choice failed
        self._guards -= guarded
        self._visit_all((*node.orelse, *node.finalbody))

    def _visit_call(self, node: ast.Call, taken: int | None) -> None:
        shape = replace(read_call(node), taken=taken)
        match node.func:
            case ast.Subscript(value=ast.Attribute() | ast.Name() as kernel, slice=grid):
                launched = tuple(word for word in shape.keywords if word not in _LAUNCH)
                self._visit_chain(kernel, replace(shape, keywords=launched))
                self._visit_all((grid, *node.args, *(keyword.value for keyword in node.keywords)))
                return
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[])):
                self._add(node.lineno, f"super().{node.func.attr}", shape)
                self._visit_all((*node.args, *(keyword.value for keyword in node.keywords)))
                return
        if isinstance(node.func, ast.Attribute | ast.Name):
            self._visit_chain(node.func, shape)
        else:
            self._visit(node.func)
        self._visit_all((*node.args, *(keyword.value for keyword in node.keywords)))

    def _visit_chain(self, node: ast.Attribute | ast.Name, call: CallShape | None) -> None:
        words: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self._visit(inner)
            return
        chain = [inner.id, *reversed(words)]
        if inner.id in self._aliases and inner.id not in self._variables[-1]:
            if words or call is not None:
                self._add(node.lineno, ".".join(chain), call, assigned=isinstance(node.ctx, ast.Store))
            return
        if chain[0] == "self" and len(chain) > 1 and len(self._scope) > 1:
            is_set = isinstance(node.ctx, ast.Store) and len(chain) == 2
            self._add(node.lineno, f"self.{chain[1]}", call if len(chain) == 2 else None, assigned=is_set)
        if isinstance(node.ctx, ast.Store):
            return  # setting a field that is gone raises nothing
        if chain[0] == "self" and len(chain) > 2:
            self._read(node.lineno, self._fields[-1].get(chain[1]) or f"self:{chain[1]}", chain[2:])
        elif words and self._variables[-1].get(inner.id):
            self._read(node.lineno, self._variables[-1][inner.id], chain[1:])

    def _add(self, line: int, chain: str, call: CallShape | None, *, assigned: bool = False) -> None:
        use = Use(
            line=line, scope=".".join(self._scope), chain=chain, call=call, guarded=self._guards > 0, assigned=assigned
        )
        self.found.uses.append(use)

    def _read(self, line: int, origin: str, attributes: list[str]) -> None:
        read = FieldRead(
            line=line,
            scope=".".join(self._scope),
            origin=origin,
            attributes=".".join(attributes),
            guarded=self._guards > 0,
        )
        self.found.reads.append(read)

    def _remember(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Call(func=ast.Name() | ast.Attribute() as func):
                self._variables[-1][name] = f"call:{ast.unparse(func)}"
            case ast.Name(id=other) if other in self._variables[-1]:
                self._variables[-1][name] = self._variables[-1][other]
            case _:
                self._variables[-1][name] = ""


def _find_aliases(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for item in node.names:
                yield item.asname or item.name.partition(".")[0]


def _catches(handler: ast.ExceptHandler) -> bool:
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(name is None or ast.unparse(name).rpartition(".")[2] in _CATCHES for name in names)


def _asks_first(test: ast.expr) -> bool:
    """`if hasattr(x, "y")` and the like: what follows runs only where the name is there."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr"
        for node in ast.walk(test)
    )


def _type_text(annotation: ast.expr) -> str:
    """The class an annotation names: quotes, Optional and `| None` taken off."""
    match annotation:
        case ast.Constant(value=str(text)):
            return text.strip("\"' ")
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _type_text(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _type_text(inner)
        case ast.Name() | ast.Attribute():
            return ast.unparse(annotation)
    return ""


def _encode_call(call: CallShape | None) -> list[Any] | None:
    if call is None:
        return None
    return [call.positional, list(call.keywords), int(call.has_star), int(call.has_double_star), call.taken]


def _decode_call(row: list[Any] | None) -> CallShape | None:
    if row is None:
        return None
    positional, keywords, star, double, taken = row
    return CallShape(
        positional=positional,
        keywords=tuple(keywords),
        has_star=bool(star),
        has_double_star=bool(double),
        taken=taken,
    )
