"""What is left of a file of ours when an import in a caught `try` fails: flags, stand-ins, names that nothing binds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from layline.coupling.tested_names import NameUse, find_bound, find_uses, leaves
from layline.source.handlers import catches

_CATCHES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Binding: TypeAlias = "ast.expr | ast.stmt"
"""The value that an assignment gives, or the statement that binds the name otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """What happens when one import fails; nothing where the file is written for that."""

    line: int
    """Of the `try`."""
    handler: int
    flags: tuple[str, ...] = ()
    """Set in the `try`, false without it."""
    nothing: tuple[str, ...] = ()
    """None without it."""
    others: tuple[tuple[str, str], ...] = ()
    """Names with what stands in for them."""
    unbound: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names that nothing binds, with the lines that use them without a test."""
    at_import: bool = False
    """One of these lines runs when the file is imported."""
    certain: bool = False
    """One of these lines runs whenever the function around it does, and nothing asks first."""
    skipped: tuple[int, int] | None = None
    """Lines of the `try` that do not run."""
    leaves: bool = False
    """The handler leaves the function."""

    @property
    def is_harmless(self) -> bool:
        found = (self.flags, self.nothing, self.others, self.unbound, self.skipped, self.leaves)
        return not any(found)


@dataclass(frozen=True, slots=True)
class _Way:
    """Where an import stands: the `try` around it, its statement there, and the code that sees the names it binds."""

    node: ast.Try
    statement: ast.stmt
    is_handler: bool
    beside: list[ast.stmt]
    """The block that holds the `try`."""
    scope: list[ast.stmt]
    function: bool


def find_fallback(body: list[ast.stmt], line: int, gone: Callable[[str], bool]) -> Fallback | None:
    """What follows where the import at a line fails; None where no `try` catches that. `gone`: whether a dotted name
    is one of upstream's that is missing.
    """
    way = _find_way(body, line)
    if way is None:
        return None
    handler = next((one for one in way.node.handlers if catches(one, _CATCHES)), way.node.handlers[0])
    if way.is_handler:  # it runs only where the first choice failed
        failing = any(gone(name) for name in _find_imported(way.node.body))
        return None if failing else Fallback(line=way.node.lineno, handler=handler.lineno)
    lost = dict(_find_lost(way))
    names = {name: value for name, value in lost.items() if not _is_restored(way, name)}
    instead = {name: found for name in names if (found := _find_instead(way, handler, name)) is not None}
    flags = tuple(name for name, value in names.items() if _is_flag(value, instead.get(name)))
    taken = {name for name, found in instead.items() if _is_choice(found, gone)}
    # a name that nothing binds cannot be asked for: `if name is not None` fails itself
    telling = {*flags, *instead}
    uses = list(find_uses(way.scope, names.keys() - taken, telling, (way.node.lineno, way.node.end_lineno or 0)))
    left = _sum_up(way, handler, {name: instead.get(name) for name in names if name not in taken}, flags, uses)
    return replace(left, certain=_is_certain(way, left, uses, telling))


def _is_certain(way: _Way, found: Fallback, uses: list[NameUse], telling: set[str]) -> bool:
    """Whether a function or class of the file fails whenever it runs: no code asks before it is used. A flag that the
    file sets and never asks for is for other files.
    """
    aside = (way.node.lineno, way.node.end_lineno or 0)
    missing = {name for name, _ in found.unbound}
    failing = {use.within for use in uses if use.name in missing and use.sure and not use.tested and use.within}
    told = set(found.flags) - {use.name for use in find_uses(way.scope, found.flags, (), aside)}
    asked = {use.name for use in find_uses(way.scope, failing, telling, aside) if use.tested}
    return bool(failing - asked) and not told and not way.function


def _sum_up(
    way: _Way,
    handler: ast.ExceptHandler,
    names: dict[str, _Binding | None],
    flags: tuple[str, ...],
    uses: list[NameUse],
) -> Fallback:
    open_ = {use.name for use in uses if not use.handled}
    told = {name for name in names if name in open_ or not (way.function or any(use.name == name for use in uses))}
    left = way.function and leaves(handler.body)
    missing = {name for name, value in names.items() if value is None} if not left else set()
    bare = [use for use in uses if use.name in missing and not use.tested]
    nothing = tuple(name for name, value in names.items() if _is_none(value) and name in told)
    aside = {*flags, *nothing, *missing}
    others = ((name, _spell(value)) for name, value in names.items() if value is not None and name in told - aside)
    return Fallback(
        line=way.node.lineno,
        handler=handler.lineno,
        flags=flags,
        nothing=nothing,
        others=tuple(others),
        unbound=tuple(
            (name, tuple(dict.fromkeys(use.line for use in bare if use.name == name)))
            for name in names
            if name in missing & open_
        ),
        at_import=not way.function and any(use.at_import for use in bare),
        skipped=_find_skipped(way),
        leaves=left,
    )


def _find_way(body: list[ast.stmt], line: int) -> _Way | None:
    """The innermost `try` of the same function that catches what the import at a line raises."""
    found: _Way | None = None
    scope, function, block = body, False, body
    while (statement := next((one for one in block if _holds(one, line)), None)) is not None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope, function, found = statement.body, not isinstance(statement, ast.ClassDef), None
        part, is_handler = _find_part(statement, line)
        if isinstance(statement, ast.Try) and any(catches(one, _CATCHES) for one in statement.handlers):
            inner = next((one for one in part if _holds(one, line)), None)
            if inner is not None and (is_handler or part is statement.body):
                found = _Way(statement, inner, is_handler, block, scope, function)
        block = part
    return found


def _find_part(statement: ast.stmt, line: int) -> tuple[list[ast.stmt], bool]:
    """The block of a statement that holds a line, and whether it is a handler's."""
    for handler in getattr(statement, "handlers", ()):
        if any(_holds(one, line) for one in handler.body):
            return handler.body, True
    blocks = [getattr(statement, name, None) or [] for name in ("body", "orelse", "finalbody")]
    blocks += [case.body for case in getattr(statement, "cases", ())]
    return next((block for block in blocks if any(_holds(one, line) for one in block)), []), False


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _find_lost(way: _Way) -> Iterator[tuple[str, _Binding]]:
    """Names that the `try` does not bind when the import fails, with what it would give them."""
    after = way.node.body[way.node.body.index(way.statement) :] if way.statement in way.node.body else way.node.body
    yield from find_bound((*after, *way.node.orelse))


def _is_restored(way: _Way, name: str) -> bool:
    """Whether the block binds it again after the `try`, whatever happened there."""
    later = (one for one in way.beside if one.lineno > (way.node.end_lineno or 0))
    plain = (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    return any(name == bound for one in later if isinstance(one, plain) for bound, _ in find_bound([one]))


def _find_instead(way: _Way, handler: ast.ExceptHandler, name: str) -> _Binding | None:
    """What the name is without the import: what the handler binds, else what was there before."""
    before = (one for one in way.scope if (one.end_lineno or one.lineno) < way.node.lineno)
    found = {**dict(find_bound(before)), **dict(find_bound(handler.body))}
    return found.get(name)


def _is_choice(found: _Binding, gone: Callable[[str], bool]) -> bool:
    """Whether it is imported from elsewhere instead: another version's place of the same thing."""
    if not isinstance(found, ast.Import | ast.ImportFrom):
        return False
    return not any(gone(name) for name in _find_imported([found]))


def _find_imported(body: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _find_skipped(way: _Way) -> tuple[int, int] | None:
    """Lines after the import that do something other than importing and naming."""
    at = way.node.body.index(way.statement) + 1 if way.statement in way.node.body else len(way.node.body)
    quiet = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass, ast.FunctionDef, ast.ClassDef)
    found = [one for one in way.node.body[at:] if not isinstance(one, quiet)]
    return (found[0].lineno, found[-1].end_lineno or found[-1].lineno) if found else None


def _is_flag(value: _Binding, instead: _Binding | None) -> bool:
    values = [one.value if isinstance(one, ast.Constant) else None for one in (value, instead)]
    return values == [True, False]


def _is_none(value: _Binding | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _spell(value: _Binding) -> str:
    if isinstance(value, ast.expr):
        text = ast.unparse(value)
        return text if len(text) <= 60 else f"{text[:57]}…"
    return "a stand-in of ours"
