"""A new optional parameter of upstream's that a wrapper or override of ours takes and hands on; comments and layout
stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

import libcst as cst
from libcst import helpers
from libcst.metadata import MetadataWrapper, PositionProvider

from layline.upgrade.paths import is_handed_everywhere


def pass_parameter(text: str, line: int, name: str, default: str, originals: Iterable[str] = ()) -> str | None:
    """The file with the parameter taken and handed on by the function that begins at `line`; None where that is
    unclear.

    `originals`: what the function calls upstream's by, beside `super()`. It must call it in plain words on every path
    that does something; a function that does not is a copy, and what the parameter means there is for a person to say.
    """
    if not _is_literal(default):
        return None
    try:
        wrapper = MetadataWrapper(cst.parse_module(text))
    except cst.ParserSyntaxError:
        return None
    positions = wrapper.resolve(PositionProvider)
    found = [node for node, at in positions.items() if isinstance(node, cst.FunctionDef) and at.start.line == line]
    if len(found) != 1:
        return None
    function = found[0]
    calls = _find_calls(function, frozenset(originals))
    if not calls or not _can_take(function, name) or not all(map(_is_plain, calls)):
        return None
    if not is_handed_everywhere(function, calls):
        return None
    return wrapper.module.visit(_Editor(function, calls, (name, default))).code


class _Editor(cst.CSTTransformer):
    def __init__(self, function: cst.FunctionDef, calls: list[cst.Call], parameter: tuple[str, str]) -> None:
        super().__init__()
        self._function = function
        self._calls = frozenset(map(id, calls))
        self._parameter = parameter

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        return _hand_on(updated_node, self._parameter[0]) if id(original_node) in self._calls else updated_node

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.BaseStatement:
        return _take(updated_node, *self._parameter) if original_node is self._function else updated_node


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


class _Calls(cst.CSTVisitor):
    def __init__(self, name: str, originals: frozenset[str]) -> None:
        super().__init__()
        self._name = name
        self._originals = originals
        self.found: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        if self._is_original(node.func):
            self.found.append(node)

    def _is_original(self, func: cst.BaseExpression) -> bool:
        match func:
            case cst.Attribute(value=cst.Call(func=cst.Name(value="super"))):
                return func.attr.value == self._name
        return (helpers.get_full_name_for_node(func) or "") in self._originals


def _find_calls(function: cst.FunctionDef, originals: frozenset[str]) -> list[cst.Call]:
    reader = _Calls(function.name.value, originals)
    function.body.visit(reader)
    return reader.found


def _can_take(function: cst.FunctionDef, name: str) -> bool:
    params = function.params
    taken = {one.name.value for one in (*params.params, *params.kwonly_params, *params.posonly_params)}
    return name not in taken and params.star_kwarg is None and not isinstance(params.star_arg, cst.Param)


def _is_plain(call: cst.Call) -> bool:
    return not any(arg.star for arg in call.args)


def _hand_on(call: cst.Call, name: str) -> cst.Call:
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    args = list(call.args)
    last_comma: cst.Comma | cst.MaybeSentinel = cst.MaybeSentinel.DEFAULT
    if args:
        last_comma = args[-1].comma
        inner = args[-2].comma if len(args) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        args[-1] = args[-1].with_changes(comma=inner)
    return call.with_changes(
        args=[*args, cst.Arg(cst.Name(name), keyword=cst.Name(name), equal=equal, comma=last_comma)]
    )


def _take(function: cst.FunctionDef, name: str, default: str) -> cst.FunctionDef:
    params = function.params
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    new = cst.Param(cst.Name(name), default=cst.parse_expression(default), equal=equal, star="")
    field = "kwonly_params" if params.kwonly_params or isinstance(params.star_arg, cst.ParamStar) else "params"
    held = list(getattr(params, field))
    if held:
        inner = held[-2].comma if len(held) > 1 else cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        new = new.with_changes(comma=held[-1].comma)
        held[-1] = held[-1].with_changes(comma=inner)
    return function.with_changes(params=params.with_changes(**{field: [*held, new]}))
