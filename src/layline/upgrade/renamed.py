"""Parameters that upstream gave another name: found between two commits, and followed in our calls and functions;
comments and layout stay.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from layline.source import Definition, Parameter

_ALIKE = 0.5
"""So much of what the old body does with the parameter, the new one does with the other."""
_MARK = "§"


@dataclass(frozen=True, slots=True)
class Renamed:
    """Parameters of upstream's under their new names, and the call or function of ours that uses the old ones."""

    line: int
    """Where the call begins, or of the `def`."""
    names: tuple[tuple[str, str], ...]
    in_call: bool


def find_renamed(before: Definition, after: Definition, bodies: tuple[ast.stmt, ast.stmt]) -> dict[str, str]:
    """Parameters that kept their place, kind and default, and with which the new body does what the old one did."""
    old, new = before.parameters or (), after.parameters or ()
    known = {one.name for one in old}, {one.name for one in new}
    found = {
        one.name: two.name
        for one, two in zip(old, new, strict=False)
        if one.name not in known[1] and two.name not in known[0] and _is_same(one, two)
    }
    return {one: two for one, two in found.items() if _is_used_alike(bodies, one, two)}


def _is_same(one: Parameter, two: Parameter) -> bool:
    return (one.kind, one.default) == (two.kind, two.default)


def _is_used_alike(bodies: tuple[ast.stmt, ast.stmt], old: str, new: str) -> bool:
    then, now = Counter(_find_uses(bodies[0], old)), Counter(_find_uses(bodies[1], new))
    return bool(then) and (then & now).total() >= _ALIKE * then.total()


def _find_uses(function: ast.stmt, name: str) -> Iterator[str]:
    """What is done with a name, the name itself masked: the node around each use."""
    for node in ast.walk(function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Name) and child.id == name:
                yield _spell(node, child, name)


def _spell(node: ast.AST, child: ast.Name, name: str) -> str:
    match node:
        case ast.Call(func=func, args=args):
            return f"{ast.unparse(func)} {args.index(child) if child in args else ''}"
        case ast.keyword(arg=arg):
            return f"{_MARK if arg == name else arg}={_MARK}"
        case ast.stmt() | ast.expr():
            words = (_MARK if word == name else word for word in _split(ast.unparse(node)))
            return "".join(words)
    return type(node).__name__


def _split(text: str) -> Iterator[str]:
    """Words and what stands between them."""
    word = ""
    for letter in text:
        if letter.isidentifier() or (word and letter.isdigit()):
            word += letter
            continue
        yield word
        yield letter
        word = ""
    yield word


def rename_parameters(text: str, renamed: Renamed) -> str | None:
    """The file with the new names in that call or function; None where it is unclear what is meant."""
    try:
        wrapper = MetadataWrapper(cst.parse_module(text))
    except cst.ParserSyntaxError:
        return None
    names = dict(renamed.names)
    wanted: Callable[[cst.CSTNode], bool] = (
        (lambda node: isinstance(node, cst.Call) and bool(_keywords(node) & names.keys()))
        if renamed.in_call
        else (lambda node: isinstance(node, cst.FunctionDef))
    )
    positions = wrapper.resolve(PositionProvider)
    found = [node for node, at in positions.items() if at.start.line == renamed.line and wanted(node)]
    if len(found) != 1:
        return None
    node = found[0]
    edited = _rename_keywords(node, names) if isinstance(node, cst.Call) else _rename_function(node, names)
    return cst.ensure_type(wrapper.module.deep_replace(node, edited), cst.Module).code if edited is not None else None


def _keywords(call: cst.CSTNode) -> set[str]:
    args = call.args if isinstance(call, cst.Call) else ()
    return {arg.keyword.value for arg in args if arg.keyword is not None}


def _rename_keywords(call: cst.Call, names: Mapping[str, str]) -> cst.Call | None:
    if _keywords(call) & set(names.values()):
        return None
    args = [
        arg.with_changes(keyword=cst.Name(names[arg.keyword.value]))
        if arg.keyword is not None and arg.keyword.value in names
        else arg
        for arg in call.args
    ]
    return call.with_changes(args=args)


def _rename_function(node: cst.CSTNode, names: Mapping[str, str]) -> cst.BaseStatement | None:
    """The function with its own parameters under the new names, and its body with them."""
    function = cst.ensure_type(node, cst.FunctionDef)
    mine = {old: new for old, new in names.items() if old in _find_taken(function.params)}
    words = _Words()
    function.visit(words)
    if not mine or words.found & set(mine.values()) or words.inner & (mine.keys() | set(mine.values())):
        return None
    editor = _Renamer(mine)
    params = cst.ensure_type(function.params.visit(editor), cst.Parameters)
    return function.with_changes(params=params, body=function.body.visit(editor))


def _find_taken(params: cst.Parameters) -> set[str]:
    return {one.name.value for one in (*params.params, *params.kwonly_params, *params.posonly_params)}


class _Words(cst.CSTVisitor):
    """Names that a function speaks of, and those that functions within it take."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.inner: set[str] = set()
        self._depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._depth += 1
        if self._depth > 1:
            self.inner |= _find_taken(node.params)

    def visit_Lambda(self, node: cst.Lambda) -> None:
        self.inner |= _find_taken(node.params)

    def visit_Attribute_attr(self, node: cst.Attribute) -> None:
        self._hidden = self.found.copy()

    def leave_Attribute_attr(self, node: cst.Attribute) -> None:
        self.found = self._hidden

    def visit_Arg_keyword(self, node: cst.Arg) -> None:
        self._hidden = self.found.copy()

    def leave_Arg_keyword(self, node: cst.Arg) -> None:
        self.found = self._hidden

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)


class _Renamer(cst.CSTTransformer):
    """Exchanges names; attributes and keywords are other people's."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        new = self._names.get(original_node.value)
        return updated_node.with_changes(value=new) if new is not None else updated_node
