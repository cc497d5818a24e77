"""A new optional parameter of upstream's that a wrapper or override of ours takes and hands on; comments and layout
stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

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
            case cst.Attribute(value=cst.Call(func=cst.Name(value="super"), args=[])):
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
    new = cst.Arg(cst.Name(name), keyword=cst.Name(name), equal=_EQUAL)
    return call.with_changes(args=_append(call.args, new, "whitespace_after_arg"))


def _take(function: cst.FunctionDef, name: str, default: str) -> cst.FunctionDef:
    params = function.params
    new = cst.Param(cst.Name(name), default=cst.parse_expression(default), equal=_EQUAL, star="")
    field = "kwonly_params" if params.kwonly_params or isinstance(params.star_arg, cst.ParamStar) else "params"
    held = _append(getattr(params, field), new, "whitespace_after_param")
    return function.with_changes(params=params.with_changes(**{field: held}))


_Item = Any  # an argument or a parameter: libcst gives them no common kind


def _append(held: Sequence[_Item], new: _Item, space: str) -> list[_Item]:
    """One more, laid out as the others; each comment stays behind its own."""
    if not held:
        return [new]
    first: list[_Item] = list(held[:-1])
    last = held[-1]
    behind = getattr(last, space)
    if isinstance(last.comma, cst.MaybeSentinel) and isinstance(behind, cst.ParenthesizedWhitespace):
        last = last.with_changes(**{space: cst.SimpleWhitespace(""), "comma": cst.Comma(whitespace_after=behind)})
        between, _ = _split_comma([*(one.comma for one in first), last.comma])
        return [*first, last.with_changes(comma=between), new.with_changes(**{space: _without_comment(behind)})]
    between, end = _split_comma([one.comma for one in held])
    return [*first, last.with_changes(comma=between), new.with_changes(comma=end)]


_EQUAL = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
_Comma = cst.Comma | cst.MaybeSentinel


def _split_comma(commas: Sequence[_Comma]) -> tuple[cst.Comma, _Comma]:
    """What stands behind the one that was last, with its own comment, and behind the new one, without."""
    last = commas[-1]
    spaces = [one.whitespace_after for one in commas[:-1] if isinstance(one, cst.Comma)]
    inner = spaces[-1] if spaces else cst.SimpleWhitespace(" ")
    end = last.whitespace_after if isinstance(last, cst.Comma) else None
    if not isinstance(end, cst.ParenthesizedWhitespace):
        plain = _without_comment(inner)
        return cst.Comma(whitespace_after=plain), last
    if isinstance(inner, cst.ParenthesizedWhitespace):
        return cst.Comma(whitespace_after=inner.with_changes(first_line=end.first_line)), _close(last, end)
    return cst.Comma(whitespace_after=inner), last


def _close(last: _Comma, end: cst.ParenthesizedWhitespace) -> _Comma:
    return last.with_changes(whitespace_after=_without_comment(end)) if isinstance(last, cst.Comma) else last


def _without_comment(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(space, cst.ParenthesizedWhitespace):
        return space
    return space.with_changes(first_line=cst.TrailingWhitespace(newline=space.first_line.newline))
