"""Expressions of a setup.py, worked out from the syntax tree and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from layline.gap.dependencies.setup_values import (
    MOST_CHARACTERS,
    MOST_ITEMS,
    Many,
    Names,
    Number,
    Table,
    Text,
    Unknown,
    Value,
    bind,
    bounded,
    chained,
    join,
    merge,
    pick,
    read_library,
    read_method,
    store,
    table_of,
    update,
)

MOST_STEPS = 50_000
"""Expressions that are worked out of one file: a file of calls may ask for any number."""
MOST_DEPTH = 60


class Expressions:
    """Works out expressions from what names stand for. `functions` are those of the file."""

    def __init__(self, functions: dict[str, ast.FunctionDef], modules: dict[str, str]) -> None:
        self.functions = functions
        self.modules = modules
        """Name → the dotted name it was imported as."""
        self.shared: Names = {}
        """What the names of the module stand for, which every function sees."""
        self.left = MOST_STEPS
        self.depth = 0

    def read(self, node: ast.expr, names: Names) -> Value:
        self.left -= 1
        if self.left < 0 or self.depth >= MOST_DEPTH:
            return Unknown(node)
        self.depth += 1
        try:
            return self._read(node, names)
        finally:
            self.depth -= 1

    def _read(self, node: ast.expr, names: Names) -> Value:  # noqa: C901, PLR0911  a table
        match node:
            case ast.Constant(value=str(text)):
                return Text(text, node.lineno)
            case ast.Constant(value=int(number)) if not isinstance(node.value, bool):
                return Number(number)
            case ast.Name(id=name):
                return names.get(name, Unknown(node))
            case ast.JoinedStr(values=parts):
                return self._read_format(node, parts, names)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return self._read_items(node, items, names)
            case ast.Dict():
                return self._read_dict(node, names)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return join(self.read(left, names), self.read(right, names), node)
            case ast.Subscript(value=owner, slice=key):
                return pick(self.read(owner, names), self.read(key, names), node)
            case ast.IfExp(body=body, orelse=other):
                return merge(self.read(body, names), self.read(other, names), node)
            case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
                found = (self.read(element, inner) for inner in self._find_rounds(node, names))
                return Many(tuple(bounded(found, node)))
            case ast.DictComp(key=key, value=value):
                rounds = self._find_rounds(node, names)
                return table_of(((self.read(key, one), self.read(value, one)) for one in rounds), node)
            case ast.Call():
                return self._read_call(node, names)
        return Unknown(node)

    def _read_format(self, node: ast.expr, parts: list[ast.expr], names: Names) -> Value:
        told: list[str] = []
        for part in parts:
            plain = isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1
            match self.read(part.value if isinstance(part, ast.FormattedValue) else part, names):
                case Text(value=text) if plain or isinstance(part, ast.Constant):
                    told.append(text)
                case Number(value=number) if plain:
                    told.append(str(number))
                case _:
                    return Unknown(node)
        text = "".join(told)
        return Text(text, node.lineno) if len(text) <= MOST_CHARACTERS else Unknown(node)

    def _read_items(self, node: ast.expr, items: list[ast.expr], names: Names) -> Value:
        found: Value = Many(())
        for item in items:
            one = self.read(item.value if isinstance(item, ast.Starred) else item, names)
            found = join(found, one if isinstance(item, ast.Starred) else Many((one,)), node)
        return found

    def _read_dict(self, node: ast.Dict, names: Names) -> Value:
        found: Value = Table(())
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.read(item, names)
            found = update(found, value, item) if key is None else store(found, self.read(key, names), value, item)
        return found

    def _find_rounds(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, names: Names
    ) -> Iterator[Names]:
        """What the names stand for in each round of a comprehension."""
        rounds: list[Names] = [names]
        for part in node.generators:
            further: list[Names] = []
            for one in rounds:
                items = self.read(part.iter, one)
                for item in items.items if isinstance(items, Many) else (Unknown(part.iter),):
                    inner = {**one, **bind(part.target, item)}
                    chosen = [self._holds(test, inner) for test in part.ifs]
                    if False not in chosen:
                        hidden = {name: Unknown(node) for name in bind(part.target, item)} if None in chosen else {}
                        further.append({**inner, **hidden})
                if len(further) > MOST_ITEMS:
                    break
            rounds = further
        yield from rounds

    def _holds(self, test: ast.expr, names: Names) -> bool | None:
        match test:
            case ast.Compare(
                left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() as op], comparators=[right]
            ):
                one, other = self.read(left, names), self.read(right, names)
                among = isinstance(op, ast.In | ast.NotIn)
                values = other.items if among and isinstance(other, Many) else () if among else (other,)
                texts = {value.value for value in values if isinstance(value, Text)}
                if not isinstance(one, Text) or not values or len(texts) < len(values):
                    return None
                return (one.value in texts) == isinstance(op, ast.Eq | ast.In)
        return None

    def _read_call(self, node: ast.Call, names: Names) -> Value:  # noqa: PLR0911  a table
        spread = any(isinstance(one, ast.Starred) for one in node.args)
        given = self._read_items(node, node.args, names)
        args = list(given.items) if isinstance(given, Many) else []
        match node.func:
            case ast.Name(id="dict") if not node.args:
                values = ((one.arg, self.read(one.value, names)) for one in node.keywords)
                return table_of(((Text(key or "", 1) if key else Unknown(node), value) for key, value in values), node)
            case ast.Name(id=name) if name in self.functions and not node.keywords:
                return self._run(self.functions[name], args, node)
            case ast.Name(id="list" | "tuple" | "set" | "sorted") if len(args) == 1 and not spread:
                return replace(args[0]) if isinstance(args[0], Many) else Unknown(node)  # another list
            case ast.Name(id="sum") if len(args) == 2 and isinstance(args[0], Many):
                return chained((args[1], *args[0].items), node)
            case ast.Attribute(value=owner, attr=method):
                called = self._name(node.func)
                if called is not None:
                    return read_library(called, args, node)
                return read_method(self.read(owner, names), method, args, node)
            case ast.Name(id=name) if name in self.modules:
                return read_library(self.modules[name], args, node)
        return Unknown(node)

    def _name(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return self.modules.get(name)
            case ast.Attribute(value=owner, attr=attr):
                root = self._name(owner)
                return f"{root}.{attr}" if root else None
        return None

    def _run(self, function: ast.FunctionDef, args: list[Value], node: ast.Call) -> Value:
        """A function of one `return`, as a table's look-up mostly is."""
        body = [one for one in function.body if not is_text(one)]
        taken = function.args
        if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
            return Unknown(node)
        if taken.kwonlyargs or taken.kwarg or taken.defaults or function.decorator_list:
            return Unknown(node)
        plain = [one.arg for one in (*taken.posonlyargs, *taken.args)]
        if len(args) < len(plain) or (len(args) > len(plain) and taken.vararg is None):
            return Unknown(node)
        given: Names = dict(zip(plain, args, strict=False))
        if taken.vararg is not None:
            given[taken.vararg.arg] = Many(tuple(args[len(plain) :]))
        return self.read(body[0].value, {**self.shared, **given})


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
