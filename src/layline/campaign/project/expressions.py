"""Expressions of a program that is read and not run: what follows from known values is known, all else is not."""

from __future__ import annotations

import ast
import json
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from layline.campaign.project.operations import MOST, Refused, call_builtin, call_method, combine, compare, is_builtin
from layline.campaign.project.values import UNKNOWN, Function, Library, Module, Options, Text, Unknown, has_unknown

STEPS = 400_000
Names = ChainMap[str, Any]
Read = Callable[[str], str | None]


class Raised(Exception):
    """An exception on its way to a handler."""


class Exhausted(Exception):
    """More steps than a table needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A test that only a run decides."""

    path: str
    line: int
    text: str


class Expressions(ABC):
    """Values of expressions; what a function of the project does is for its reader."""

    def __init__(
        self, read: Read, options: dict[str, Any], supposed: Undecided | None = None, device: str | None = None
    ) -> None:
        self._read = read
        self.device = device
        self._options = options
        self._supposed = supposed
        self._steps = 0
        self.undecided: list[Undecided] = []
        """Tests that only a run decides; each but the supposed one is taken as not so."""

    @abstractmethod
    def _enter(self, function: Function, node: ast.Call, given: list[Any], named: dict[str, Any]) -> Any:
        """What a call of a function of the project gives."""

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS:
            raise Exhausted

    def _bind(self, target: ast.expr, value: object, names: Names, module: Module) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = [UNKNOWN] * len(parts) if isinstance(value, Unknown) else list(self._items(value))
                if len(items) != len(parts) or any(isinstance(one, ast.Starred) for one in parts):
                    items = [UNKNOWN] * len(parts)
                for part, item in zip(parts, items, strict=True):
                    self._bind(part, item, names, module)
            case ast.Subscript(value=owner, slice=key):
                held, at = self._value(owner, names, module), self._value(key, names, module)
                if isinstance(held, dict | list) and not has_unknown(at):
                    try:
                        held[at] = value
                    except (TypeError, IndexError):
                        raise Raised from None

    def _items(self, value: object) -> Iterator[Any]:
        if isinstance(value, Unknown | Library | Function | Options | Text):
            yield UNKNOWN
            return
        try:
            items = list(value)  # type: ignore[call-overload]
        except TypeError:
            raise Raised from None
        for item in items:
            self._step()
            yield item

    def _holds(self, node: ast.expr, names: Names, module: Module) -> bool:
        """What only a run decides is taken as not so."""
        found = self._value(node, names, module)
        if not isinstance(found, Unknown | Library):
            return bool(found)
        test = Undecided(path=module.path, line=node.lineno, text=ast.unparse(node))
        self.undecided.append(test)
        return test == self._supposed

    def _value(self, node: ast.expr, names: Names, module: Module) -> Any:  # noqa: C901, PLR0911, PLR0912  a table
        self._step()
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return names[name] if name in names else Library(name) if is_builtin(name) else UNKNOWN
            case ast.Tuple(elts=parts):
                return tuple(self._parts(parts, names, module))
            case ast.List(elts=parts):
                return list(self._parts(parts, names, module))
            case ast.Set(elts=parts):
                return _plain_set(self._parts(parts, names, module))
            case ast.Dict():
                return self._dict(node, names, module)
            case ast.BinOp(left=left, op=op, right=right):
                return self._combine(op, self._value(left, names, module), self._value(right, names, module))
            case ast.BoolOp(op=op, values=parts):
                return self._either(op, parts, names, module)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                found = self._value(operand, names, module)
                return UNKNOWN if isinstance(found, Unknown | Library) else not found
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._combine(ast.Sub(), 0, self._value(operand, names, module))
            case ast.Compare():
                return self._compare(node, names, module)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._value(body if self._holds(test, names, module) else other, names, module)
            case ast.JoinedStr(values=parts):
                return self._join(parts, names, module)
            case ast.Subscript(value=owner, slice=key):
                return self._pick(self._value(owner, names, module), self._value(key, names, module))
            case ast.Attribute(value=owner, attr=attr):
                return _member(self._value(owner, names, module), attr)
            case ast.Call():
                return self._call(node, names, module)
            case ast.ListComp(elt=part, generators=loops) | ast.GeneratorExp(elt=part, generators=loops):
                return [self._value(part, inner, module) for inner in self._nest(loops, names, module)]
            case ast.SetComp(elt=part, generators=loops):
                return _plain_set(self._value(part, inner, module) for inner in self._nest(loops, names, module))
            case ast.DictComp(key=key, value=value, generators=loops):
                pairs = (
                    (self._value(key, inner, module), self._value(value, inner, module))
                    for inner in self._nest(loops, names, module)
                )
                return {at: one for at, one in pairs if not has_unknown(at)}
        return UNKNOWN

    def _parts(self, parts: list[ast.expr], names: Names, module: Module) -> Iterator[Any]:
        for part in parts:
            if isinstance(part, ast.Starred):
                yield from self._items(self._value(part.value, names, module))
            else:
                yield self._value(part, names, module)

    def _dict(self, node: ast.Dict, names: Names, module: Module) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self._value(value, names, module)
            if key is None:
                found |= held if isinstance(held, dict) else {}
                continue
            at = self._value(key, names, module)
            if not has_unknown(at):
                found[at] = held
        return found

    def _nest(self, loops: list[ast.comprehension], names: Names, module: Module) -> Iterator[Names]:
        if not loops:
            yield names
            return
        first, *rest = loops
        for item in self._items(self._value(first.iter, names, module)):
            inner = names.new_child()
            self._bind(first.target, item, inner, module)
            if all(self._holds(test, inner, module) for test in first.ifs):
                yield from self._nest(rest, inner, module)

    def _either(self, op: ast.boolop, parts: list[ast.expr], names: Names, module: Module) -> Any:
        found: Any = UNKNOWN
        for part in parts:
            found = self._value(part, names, module)
            if isinstance(found, Unknown | Library):
                return UNKNOWN
            if bool(found) is isinstance(op, ast.Or):
                return found
        return found

    def _compare(self, node: ast.Compare, names: Names, module: Module) -> Any:
        left = self._value(node.left, names, module)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, names, module)
            found = compare(op, left, right)
            if isinstance(found, Unknown) or not found:
                return found
            left = right
        return True

    def _join(self, parts: list[ast.expr], names: Names, module: Module) -> Any:
        texts = []
        for part in parts:
            value = self._value(part.value if isinstance(part, ast.FormattedValue) else part, names, module)
            if has_unknown(value):
                return UNKNOWN
            texts.append(str(value))
        return "".join(texts)[:MOST]

    def _combine(self, op: ast.operator, left: object, right: object) -> Any:
        try:
            return combine(op, left, right)
        except Refused:
            raise Raised from None

    def _pick(self, held: object, at: object) -> Any:
        if has_unknown(at) or isinstance(held, Unknown | Library | Function | Options | Text):
            return UNKNOWN
        try:
            return held[at]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            raise Raised from None

    def _call(self, node: ast.Call, names: Names, module: Module) -> Any:  # noqa: PLR0911  a table
        given = list(self._parts(node.args, names, module))
        named = {word.arg: self._value(word.value, names, module) for word in node.keywords if word.arg}
        if isinstance(node.func, ast.Attribute):
            owner = self._value(node.func.value, names, module)
            if node.func.attr == "parse_args":
                return Options(self._options)
            if not isinstance(owner, Unknown | Library | Function | Options | Text):
                return self._answer(lambda: call_method(owner, node.func.attr, given, named))  # type: ignore[attr-defined]
        function = self._value(node.func, names, module)
        match function:
            case Function():
                return self._enter(function, node, given, named)
            case Library(name="torch.cuda.get_device_name") if self.device is not None:
                return self.device
            case Library(name="open"):
                text = self._read(str(given[0])) if given and isinstance(given[0], str) else None
                if text is None:
                    raise Raised
                return Text(text)
            case Library(name="json.load") if given and isinstance(given[0], Text):
                return self._answer(lambda: json.loads(given[0].text))
            case Library(name=name):
                return self._answer(lambda: call_builtin(name, given, named))
        return UNKNOWN

    def _answer(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except (Refused, ValueError):
            raise Raised from None


def _member(owner: object, attr: str) -> Any:
    match owner:
        case Options(values=values):
            return values.get(attr, UNKNOWN)
        case Library(name=name):
            return Library(f"{name}.{attr}")
    return UNKNOWN


def _plain_set(items: Iterator[Any]) -> set[Any]:
    """Known members that can be members."""
    return {one for one in items if isinstance(one, str | int | float | bool | tuple) and not has_unknown(one)}
