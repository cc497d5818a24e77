"""What must hold for a line to be reached inside its function, in the words of the source."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from layline.interpreter.made_true import find_made_true, find_set
from layline.interpreter.matches import unfold
from layline.source.handlers import find_caught, raises_again
from layline.source.loads import IMPORTS, called_name
from layline.source.walking import walk

Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ALWAYS_THERE = sys.stdlib_module_names
_MISSING = {"ImportError", "ModuleNotFoundError"}
_BROAD = {"Exception", "BaseException"}
_LEAVES = {"sys.exit", "exit", "os._exit"}
LONGEST = 100
"""A test longer than this is shortened; a name is explained only within it."""


@dataclass(frozen=True, slots=True)
class LineTest:
    """A test that a line stands behind, as it is written; `parts` make it a compound one."""

    text: str = ""
    node: ast.expr | None = field(default=None, compare=False)
    opposite: str = ""
    """What to say of the contrary where there is no expression."""
    operator: str = ""
    """`and`, `or`, or nothing."""
    parts: tuple[LineTest, ...] = ()
    holds: bool = True
    is_check: bool = field(default=False, compare=False)
    """What fails it raises: it guards against mistakes, and decides nothing else."""
    is_sanity: bool = field(default=False, compare=False)
    """An assertion that values fit together: whoever wrote it holds it for true, and it chooses nothing."""


ALWAYS, NEVER = LineTest(operator="and"), LineTest(operator="or")


def find_line_tests(body: list[ast.stmt], line: int) -> Iterator[LineTest]:
    """Every condition between the start of a block and the statement at `line`: around it, and left behind before
    it.
    """
    true: frozenset[str] = frozenset()
    for statement in body:
        if _covers(statement, line):
            yield from _enter(statement, line)
            return
        if statement.lineno > line:
            return
        passed = _forget(invert(_find_leaving(statement)), true)
        if passed != ALWAYS:
            yield replace(passed, is_check=_raises(statement), is_sanity=_compares_values(statement))
        true = (true - find_set(statement)) | find_made_true(statement)


def _forget(test: LineTest, true: frozenset[str]) -> LineTest:
    """A test without what lines before it have made true."""
    if test.operator:
        return combine(test.operator, tuple(_forget(part, true) for part in test.parts))
    if test.text in true:
        return ALWAYS if test.holds else NEVER
    return test


def _raises(statement: ast.stmt) -> bool:
    """True where nothing in it but an exception leaves the block around it."""
    match statement:
        case ast.Return() | ast.Continue() | ast.Break():
            return False
        case ast.Expr(value=ast.Call(func=callee)):
            return ast.unparse(callee) not in _LEAVES
        case ast.If() | ast.With() | ast.AsyncWith() | ast.Try():
            return all(_raises(inner) for block in _blocks(statement) for inner in block)
    return True


def _compares_values(statement: ast.stmt) -> bool:
    """True of `assert heads % size == 0`, `assert isinstance(x, int)`: no text is asked for, and nothing but Python; also
    where a test stands before it; of any assertion that two tests stand before.
    """
    match statement:
        case ast.Assert(test=ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()])) if name[:1].isupper():
            return False  # a class or constant of the module: what could be imported
        case ast.Assert(test=test):
            parts = list(walk(test))
            return all(map(_is_plain, parts)) and any(isinstance(part, ast.Compare | ast.Call) for part in parts)
        case ast.If(body=body, orelse=orelse):
            leaving = [one for one in (*body, *orelse) if _find_leaving(one) != NEVER]
            return bool(leaving) and all(_compares_values(one) or _only_asserts(one) for one in leaving)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            leaving = [one for one in body if _find_leaving(one) != NEVER]
            return bool(leaving) and all(map(_compares_values, leaving))
    return False


def _only_asserts(statement: ast.stmt) -> bool:
    """True of an `if` that nothing but an assertion leaves."""
    blocks = (*statement.body, *statement.orelse) if isinstance(statement, ast.If) else ()
    leaving = [one for one in blocks if _find_leaving(one) != NEVER]
    return bool(leaving) and all(isinstance(one, ast.Assert) or _only_asserts(one) for one in leaving)


def _is_plain(part: ast.AST) -> bool:
    match part:
        case ast.Constant(value=str()):
            return False
        case ast.Call(func=callee):
            return isinstance(callee, ast.Name) and hasattr(builtins, callee.id)
    return True


def find_chain(body: list[ast.stmt], line: int) -> list[Definition]:
    """The classes and functions around a line, outermost first, wherever they are defined."""
    found: list[Definition] = []
    while True:
        around = next((statement for statement in body if _covers(statement, line)), None)
        if around is None:
            return found
        if isinstance(around, _DEFINITIONS):
            if line < around.lineno:
                return found  # a decorator runs where the definition stands
            found.append(around)
            body = around.body
            continue
        inner = [block for block in _blocks(around) if any(_covers(statement, line) for statement in block)]
        if not inner:
            return found
        body = inner[0]


def find_before(body: list[ast.stmt], line: int) -> Iterator[ast.AST]:
    """What may have run when a line is reached: not the other branches of what stands around it."""
    for statement in body:
        if statement.lineno > line:
            return
        if isinstance(statement, ast.If) and not _covers(statement, line):
            blocks = [block for block in (statement.body, statement.orelse) if _leaves(block) != ALWAYS]
            yield from (statement.test, *(inner for block in blocks for inner in block))
            continue
        if not _covers(statement, line) or isinstance(statement, ast.For | ast.AsyncFor | ast.While | ast.Try):
            yield statement  # a loop runs again; a `try` may have failed anywhere
            continue
        for block in _blocks(statement):
            if _holds(block, line):
                yield from find_before(block, line)


def find_body(function: ast.AST) -> list[ast.stmt]:
    body = getattr(function, "body", [])
    return body if isinstance(body, list) else []


def _covers(statement: ast.stmt, line: int) -> bool:
    first = min((item.lineno for item in getattr(statement, "decorator_list", ())), default=statement.lineno)
    return first <= line <= (statement.end_lineno or statement.lineno)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def _enter(statement: ast.stmt, line: int) -> Iterator[LineTest]:  # noqa: C901  one case per compound statement
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            if _holds(body, line):
                yield _tested(test)
                yield from find_line_tests(body, line)
            elif _holds(orelse, line):
                yield invert(_tested(test))
                yield from find_line_tests(orelse, line)
        case ast.While(test=test, body=body):
            yield _tested(test)
            yield from find_line_tests(body, line)
        case ast.Try() | ast.TryStar():
            yield from _enter_try(statement, line)
        case ast.Match(subject=subject, cases=cases):
            for number, case in enumerate(cases):
                if _holds(case.body, line):
                    if _takes_anything(case.pattern):
                        earlier = (tuple(_enter_case(subject, other)) for other in cases[:number])
                        yield from (invert(combine("and", tests)) for tests in earlier)
                    yield from _enter_case(subject, case)
                    yield from find_line_tests(case.body, line)
        case ast.For() | ast.AsyncFor() | ast.With() | ast.AsyncWith():
            for block in _blocks(statement):
                if _holds(block, line):
                    yield from find_line_tests(block, line)
        case ast.Expr(value=value):
            yield from _find_inside(value, line)


def _holds(block: list[ast.stmt], line: int) -> bool:
    return any(_covers(statement, line) for statement in block)


def _enter_case(subject: ast.expr, case: ast.match_case) -> Iterator[LineTest]:
    whole, pattern = ast.unparse(subject), ast.unparse(case.pattern)
    if not _takes_anything(case.pattern):
        yield LineTest(text=f"{whole} matches {pattern}", opposite=f"{whole} does not match {pattern}")
    if case.guard is not None:
        yield _tested(case.guard)


def _takes_anything(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _enter_try(statement: ast.Try | ast.TryStar, line: int) -> Iterator[LineTest]:
    whole = [*statement.body, *statement.orelse]
    if _holds(whole, line):
        before = [item for item in statement.body if (item.end_lineno or 0) < line]
        if statement.handlers:
            yield from _find_importable(before)
        yield from find_line_tests(whole, line)
        return
    for handler in statement.handlers:
        if _holds(handler.body, line):
            yield invert(_say_failure(statement, [handler]))
            yield from find_line_tests(handler.body, line)
            return
    yield from find_line_tests(statement.finalbody, line)


def _find_importable(body: list[ast.stmt]) -> Iterator[LineTest]:
    found = (name for item in body for name in (*find_imported(item), *_find_computed(item)))
    names = list(dict.fromkeys(name for name in found if name.partition(".")[0] not in _ALWAYS_THERE))
    if names:
        lacking = " or ".join(f"{name} is not importable" for name in names)
        yield LineTest(
            text=" and ".join(f"{name} is importable" for name in names),
            opposite=f"({lacking})" if len(names) > 1 else lacking,
        )


def find_imported(statement: ast.stmt) -> Iterator[str]:
    """Modules that a statement imports, by name or by text."""
    match statement:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            base = "." * level + (module or "")
            yield from (f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in names)
        case ast.Assign(value=value) | ast.Expr(value=value):
            for node in walk(value):
                match node:
                    case ast.Call(args=[ast.Constant(value=str(name)), *_]) if called_name(node) in IMPORTS:
                        yield name


def _find_computed(statement: ast.stmt) -> Iterator[str]:
    """`import_module(path)`: what names the module."""
    for node in walk(statement) if isinstance(statement, ast.Assign) else ():
        match node:
            case ast.Call(args=[ast.Name(id=path)]) if called_name(node) in IMPORTS:
                yield path


def _say_failure(statement: ast.Try | ast.TryStar, handlers: list[ast.ExceptHandler]) -> LineTest:
    """That a `try` block goes through, as far as some of its handlers are concerned."""
    named = [word for handler in handlers if handler.type is not None for word in find_caught(handler)]
    is_broad = any(handler.type is None for handler in handlers) or not _BROAD.isdisjoint(named)
    imported = next(_find_importable(statement.body), None)
    if imported is not None and (is_broad or not _MISSING.isdisjoint(named)):
        return imported
    kinds = "exception" if is_broad else " or ".join(dict.fromkeys(named))
    first = shorten(ast.unparse(statement.body[0]).partition("\n")[0])
    return LineTest(text=f"`{first}` raises no {kinds}", opposite=f"`{first}` raises {kinds}")


def _find_leaving(statement: ast.stmt) -> LineTest:
    """When a statement leaves the block it stands in: by `return`, `raise`, `continue`, `break` or the end of the
    program.
    """
    match statement:
        case ast.Return() | ast.Raise() | ast.Continue() | ast.Break():
            return ALWAYS
        case ast.Expr(value=ast.Call(func=callee)) if ast.unparse(callee) in _LEAVES:
            return ALWAYS
        case ast.Assert(test=test):
            return invert(_tested(test))
        case ast.If(test=test, body=body, orelse=orelse):
            tested = _tested(test)
            yes, no = combine("and", (tested, _leaves(body))), combine("and", (invert(tested), _leaves(orelse)))
            return combine("or", (yes, no))
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _leaves(body)
        case ast.Match():
            return _leaves(list(unfold(statement)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse):
            ends = [(handler, _leaves(handler.body)) for handler in handlers if not _only_raises(handler)]
            surely = [handler for handler, end in ends if end == ALWAYS]
            failed = [combine("and", (invert(_say_failure(statement, [h])), end)) for h, end in ends if end != ALWAYS]
            failed += [invert(_say_failure(statement, surely))] if surely else []
            through = _leaves([*body, *orelse])
            going_on = [handler for handler, end in ends if end != ALWAYS]
            if going_on and through != NEVER:  # `try: import x; continue` … `except ImportError: pass`
                through = combine("and", (_say_failure(statement, going_on), through))
            return combine("or", (through, *failed))
    return NEVER


def _only_raises(handler: ast.ExceptHandler) -> bool:
    """An exception that is only passed on was none of ours to expect."""
    return raises_again(handler) and _MISSING.isdisjoint(find_caught(handler))


def _leaves(body: list[ast.stmt]) -> LineTest:
    """When a block is left before its end: at its first statement, or at a later one."""
    return combine("or", tuple(_find_leaving(statement) for statement in body))


def _find_inside(node: ast.expr, line: int) -> Iterator[LineTest]:
    """Conditions inside an expression statement: `a and f()`, `f() if a else g()`, `[f(x) for x in y if a]`."""
    match node:
        case ast.BoolOp(op=operator, values=values):
            inner = [i for i, value in enumerate(values) if value.lineno <= line <= (value.end_lineno or 0)]
            for value in values[: inner[-1] if inner else 0]:
                yield _tested(value) if isinstance(operator, ast.And) else invert(_tested(value))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            is_call = isinstance(body, ast.Call)
            if is_call != isinstance(orelse, ast.Call):
                yield _tested(test) if is_call else invert(_tested(test))
        case ast.ListComp(generators=generators) | ast.SetComp(generators=generators):
            for generator in generators:
                yield from (_tested(test) for test in generator.ifs)


def _tested(test: ast.expr) -> LineTest:
    match test:
        case ast.Constant(value=value):
            return ALWAYS if value else NEVER
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return invert(_tested(operand))
        case ast.BoolOp(op=operator, values=values):
            return combine("and" if isinstance(operator, ast.And) else "or", tuple(_tested(value) for value in values))
    return LineTest(ast.unparse(test), test)


def invert(test: LineTest) -> LineTest:
    if test.operator:
        other = "or" if test.operator == "and" else "and"
        return combine(other, tuple(invert(part) for part in test.parts))
    return replace(test, holds=not test.holds)


def combine(operator: str, parts: tuple[LineTest, ...]) -> LineTest:
    nothing, decided = (ALWAYS, NEVER) if operator == "and" else (NEVER, ALWAYS)
    flat: list[LineTest] = []
    for part in parts:
        if part == decided:
            return decided
        for inner in part.parts if part.operator == operator else (part,):
            if inner != nothing and inner not in flat:
                flat.append(inner)
    flat = list(_absorb(flat))
    return flat[0] if len(flat) == 1 else LineTest(operator=operator, parts=tuple(flat))


def _absorb(items: list[LineTest]) -> Iterator[LineTest]:
    """`not a and (a or b)` is `not a and b`; `a and (a or b)` is `a`."""
    for item in items:
        if not any(part in items for part in item.parts):
            kept = tuple(part for part in item.parts if invert(part) not in items)
            yield item if kept == item.parts else combine(item.operator, kept)


def shorten(text: str) -> str:
    return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST]}…"
