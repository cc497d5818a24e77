"""Which calls of a function reach a line of it: not those that leave out, or deny, what the line is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from layline.core.condition import ALWAYS, Condition, ConditionKind
from layline.interpreter.line_tests import LineTest, find_before, find_body, find_line_tests
from layline.source.loads import called_name
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.callers.sites import Callers, Site

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"


@dataclass(frozen=True, slots=True)
class Line:
    """A line in a function, which may be a method."""

    number: int
    function: ast.AST | None = None
    owner: ast.AST | None = None


_LISTS = (ast.List, ast.Tuple, ast.Set)
_PLAIN = (ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, *_LISTS)
_OWN = "self."
_SETS = frozenset({"__init__", "__new__", "__post_init__"})
_BOUND = frozenset({"self", "cls"})
_TEXT = frozenset({"startswith", "endswith"})
"""Methods of a text that are answered here."""


def keep_reaching(callers: Callers, line: Line) -> Callers:
    """The callers without calls whose arguments, or the defaults they leave, lead past the line."""
    denied = _find_all_denied(callers, line)
    return callers.keep(tuple(site for site in callers.sites if not denied[site])) if any(denied.values()) else callers


def tell_denied(callers: Callers, line: Line) -> Condition:
    """That no known call asks for what the line needs; `ALWAYS` where one does, or there is none."""
    denied = _find_all_denied(callers, line)
    if callers.unknown or not denied or not all(denied.values()):
        return ALWAYS
    names = ", ".join(sorted({name for found in denied.values() for test in found for name in _find_names(test)}))
    return Condition(kind=ConditionKind.CALLERS, text="0", shown=f"no call here asks for {names}")


def _find_all_denied(callers: Callers, line: Line) -> dict[Site, list[LineTest]]:
    """The callers, each with the tests it surely fails on every way to the line; none where one way is open."""
    function = line.function
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or not callers.sites:
        return {}
    ways = list(_find_ways(function, line.number))
    found: dict[Site, list[LineTest]] = {}
    for site in callers.sites:
        failed = [_find_denied(site, asked, function, line.owner) for asked in ways]
        found[site] = [test for tests in failed for test in tests] if all(failed) else []
    return found


def _find_ways(function: Function, line: int) -> Iterator[list[LineTest]]:
    """The tests before a line, together with those before each line that gives what it writes, if not nothing."""
    asked = list(_find_asked(function, line))
    sources = list(_find_sources(function, line))
    yield from ([*asked, *_find_asked(function, source)] for source in sources)
    if not sources:
        yield asked


def _find_sources(function: Function, line: int) -> Iterator[int]:
    """`f = None; if fast: f = ours; m.f = f`: where the name that a line writes is set to something."""
    written = {
        node.value.id
        for node in walk(function)
        if isinstance(node, ast.Assign) and node.lineno == line and isinstance(node.value, ast.Name)
    }
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in written and node.lineno < line:
                if not isinstance(value, ast.Constant) or value.value is not None:
                    yield node.lineno


def is_denied(way: Condition) -> bool:
    return any(part.kind is ConditionKind.CALLERS and part.text == "0" for part in way.walk())


def _find_asked(function: Function, line: int) -> Iterator[LineTest]:
    """The tests before a line that ask for parameters which keep what they are given, and for nothing else."""
    parameters = {one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    before = [node for statement in find_before(find_body(function), line) for node in walk(statement)]
    bound = {name for node in before if isinstance(getattr(node, "ctx", None), ast.Store) for name in _name(node)}
    tests = find_line_tests(find_body(function), line)
    for test in (part for one in tests for part in (one.parts if one.operator == "and" else (one,))):
        nodes = [node for part in _find_parts(test) for node in (walk(part.node) if part.node is not None else [None])]
        names = _find_names(test)
        is_plain = all(
            isinstance(node, _PLAIN) or _is_about_text(node) or next(_name(node), None) in names for node in nodes
        )
        known = all(name in parameters or name.startswith(_OWN) for name in names - {"self"})
        if names and known and bound.isdisjoint(names) and is_plain:
            yield test


def _find_names(test: LineTest) -> set[str]:
    """The parameters, and attributes of its own object, that a test asks for."""
    nodes = (node for part in _find_parts(test) if part.node is not None for node in walk(part.node))
    names = {name for node in nodes for name in _name(node)}
    return names - {"self"} if any(name.startswith(_OWN) for name in names) else names


def _name(node: ast.AST | None) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield f"{_OWN}{name}"


def _is_about_text(node: ast.AST | None) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=how), args=[ast.Constant(value=str())], keywords=[]):
            return how in _TEXT
        case ast.Attribute(attr=how):
            return how in _TEXT
    return False


def _find_parts(test: LineTest) -> Iterator[LineTest]:
    if not test.operator:
        yield test
    for part in test.parts:
        yield from _find_parts(part)


def _find_denied(site: Site, asked: list[LineTest], function: Function, owner: ast.AST | None) -> list[LineTest]:
    """The tests that a call surely fails."""
    call = _find_call(site)
    if call is None:
        return []
    values = {**dict(_find_defaults(function)), **dict(_find_given(call, function)), **dict(_find_held(site, owner))}
    return [test for test in asked if _holds(test, values) is False]


def _find_call(site: Site) -> ast.Call | None:
    """The call whose callee a use is; None where there is none, or it hands on more than it shows."""
    use = site.use
    if use is None or not use.is_call or site.table or use.place.node is None:
        return None
    for node in walk(use.place.node):
        if isinstance(node, ast.Call) and node.func is use.node:
            is_open = any(isinstance(one, ast.Starred) for one in node.args) or any(
                not one.arg for one in node.keywords
            )
            return None if is_open else node
    return None


def _find_defaults(function: Function) -> Iterator[tuple[str, ast.expr | None]]:
    given = function.args
    listed = [*given.posonlyargs, *given.args]
    for parameter, value in zip(listed[::-1], given.defaults[::-1], strict=False):
        yield parameter.arg, value
    for parameter, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield parameter.arg, default


def _find_given(call: ast.Call, function: Function) -> Iterator[tuple[str, ast.expr]]:
    listed = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if listed and listed[0] in _BOUND and not _names_class(call.func):
        listed = listed[1:]
    yield from zip(listed, call.args, strict=False)
    yield from ((one.arg, one.value) for one in call.keywords if one.arg)


def _find_held(site: Site, owner: ast.AST | None) -> Iterator[tuple[str, ast.expr]]:
    """What the object whose method is called was made with: `Class(kind="a").go()`, where the class declares fields."""
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    if any(isinstance(item, ast.FunctionDef) and item.name in _SETS for item in body):
        return
    fields = {
        item.target.id: item.value
        for item in body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    receiver = site.use.node.value if site.use is not None and isinstance(site.use.node, ast.Attribute) else None
    made = list(_find_made(receiver, site))
    if len(made) == 1 and isinstance(made[0], ast.Call):
        yield from ((f"{_OWN}{name}", value) for name, value in _find_left(made[0], fields, owner, site))
        yield from ((f"{_OWN}{one.arg}", one.value) for one in made[0].keywords if one.arg in fields)


def _find_left(
    made: ast.Call, fields: Mapping[str, ast.expr | None], owner: ast.AST | None, site: Site
) -> Iterator[tuple[str, ast.expr]]:
    """The defaults of fields that an object of this very class is made without, and that its maker does not set."""
    is_whole = not made.args and all(one.arg for one in made.keywords)
    if not is_whole or called_name(made) != getattr(owner, "name", None) or site.use is None:
        return
    stored = {
        node.attr
        for node in (walk(site.use.place.node) if site.use.place.node is not None else ())
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    yield from ((name, value) for name, value in fields.items() if value is not None and name not in stored)


def _find_made(receiver: ast.expr | None, site: Site) -> Iterator[ast.expr]:
    """All that the object of a call comes from."""
    place = site.use.place if site.use is not None else None
    match receiver:
        case ast.Call():
            yield receiver
        case ast.Name(id=name) if place is not None:
            yield from place.binds.get(name, ())
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if place is not None and place.find_method():
            method = place.find_method()
            for node in walk(method[0].node) if method is not None and method[0].node is not None else ():
                match node:
                    case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=kept)], value=value):
                        yield from [value] if kept == name else ()


def _names_class(callee: ast.expr) -> bool:
    """`Class.method(it)`, where the object is handed over."""
    match callee:
        case ast.Attribute(value=ast.Name(id=name)):
            return name[:1].isupper()
    return False


def _holds(test: LineTest, values: Mapping[str, ast.expr | None]) -> bool | None:
    """None where the code decides."""
    if test.operator:
        parts = [_holds(part, values) for part in test.parts]
        decides = test.operator == "or"
        if decides in parts:
            return decides
        return None if None in parts else not decides
    found = _decide(test.node, values) if test.node is not None else None
    return found if found is None or test.holds else not found


def _decide(node: ast.expr, values: Mapping[str, ast.expr | None]) -> bool | None:
    match node:
        case ast.Name() | ast.Constant():
            found = _constant(node, values)
            return bool(found.value) if found is not None else None
        case ast.Call(func=ast.Attribute(value=text, attr=how), args=[ast.Constant(value=str(part))], keywords=[]):
            known = _constant(text, values)
            if known is None or not isinstance(known.value, str):
                return None
            return known.value.startswith(part) if how == "startswith" else known.value.endswith(part)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as operator], comparators=[right]):
            return _decide_member(left, right, values, is_in=isinstance(operator, ast.In))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            one, two = _constant(left, values), _constant(right, values)
            if one is None or two is None:
                return None
            match operator:
                case ast.Is() | ast.Eq():
                    return bool(one.value == two.value)
                case ast.IsNot() | ast.NotEq():
                    return bool(one.value != two.value)
    return None


def _decide_member(
    left: ast.expr, right: ast.expr, values: Mapping[str, ast.expr | None], *, is_in: bool
) -> bool | None:
    one = _constant(left, values)
    if one is None or not isinstance(right, _LISTS) or not all(isinstance(item, ast.Constant) for item in right.elts):
        return None
    return (one.value in [item.value for item in right.elts if isinstance(item, ast.Constant)]) is is_in


def _constant(node: ast.expr, values: Mapping[str, ast.expr | None]) -> ast.Constant | None:
    named = next(_name(node), None)
    known = values.get(named) if named is not None else node
    return known if isinstance(known, ast.Constant) else None
