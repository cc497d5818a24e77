"""Functions of ours that edit upstream's source as text where only a run knows which: counted, so that they are told.

`inspect.getsource(x)` and a `replace` or `re.sub` in one function; or a function in a table of a file that such a one
imports, which edits the text it is handed and returns it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from layline.core.evidence import Skipped, SkippedKind
from layline.core.patch import Effect, Style
from layline.interpreter.modules import Modules
from layline.source.facts import Facts
from layline.source.names import absolute_name, is_package
from layline.source.walking import walk

_WHY = "edits upstream's source as text at run time; Layline judges neither what it edits nor the texts it searches for"
_TAKES = "getsource"
_EDITS = frozenset({"replace", "sub", "subn"})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def find_rewriters(
    facts: Mapping[str, Facts], modules: Modules, packages: tuple[str, ...], listed: Iterable[Effect]
) -> Iterator[Skipped]:
    """One entry for each such function in files that import one of the packages; those with a row are left out."""
    told = [one.location for one in listed if one.style is Style.SOURCE_REWRITE]
    handed: set[str] = set()
    for path in sorted(path for path, one in facts.items() if _TAKES in one.words and path in modules.names_by_path):
        module = modules.find(modules.names_by_path[path])
        imported = set(_find_imported(facts[path], modules.names_by_path[path], path))
        if module is None or not any(name.partition(".")[0] in packages for name in imported):
            continue
        found = [one for one in _find_functions(module.body) if _takes_source(one) and _find_edited(one)]
        handed |= {modules.path_of(name) or "" for name in imported} if found else set()
        yield from _tell(path, found, [place.line for place in told if place.path == path])
    for path in sorted(handed & facts.keys()):
        module = modules.find(modules.names_by_path.get(path, ""))
        if module is not None:
            kept = set(_find_kept(module.body))
            every = (one for one in _find_functions(module.body) if one.name in kept and _returns_edited(one))
            found = [one for one in every if not _takes_source(one)]  # which are told already
            yield from _tell(path, found, [place.line for place in told if place.path == path])


def _tell(path: str, functions: Iterable[_Function], told: list[int]) -> Iterator[Skipped]:
    for one in functions:
        if not any(one.lineno <= line <= (one.end_lineno or one.lineno) for line in told):
            yield Skipped(f"{one.name} ({path}:{one.lineno})", _WHY, path, one.lineno, kind=SkippedKind.SOURCE_EDIT)


def _find_imported(facts: Facts, module: str, path: str) -> Iterator[str]:
    for line in facts.imports:
        base = absolute_name(module, package=is_package(path), level=line.level, name=line.module)
        if base:
            yield base
            yield from (f"{base}.{name}" for name, _ in line.names)


def _find_functions(body: list[ast.stmt]) -> Iterator[_Function]:
    """The outermost ones, and methods."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield statement
            case ast.ClassDef() | ast.If() | ast.Try():
                yield from _find_functions(statement.body)


def _takes_source(function: _Function) -> bool:
    return any(isinstance(node, ast.Call) and _last(node.func) == _TAKES for node in walk(function))


def _find_edited(function: _Function) -> set[str]:
    """Names that a text method or a pattern gives another text: `s = s.replace(…)`, `s = re.sub(…, s)`."""
    found = set[str]()
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=method)) as call):
                if method in _EDITS and any(isinstance(one, ast.Name) and one.id == name for one in walk(call)):
                    found.add(name)
    return found


def _returns_edited(function: _Function) -> bool:
    arguments = function.args
    edited = _find_edited(function) & {one.arg for one in (*arguments.posonlyargs, *arguments.args)}
    returned = {
        one.id
        for node in walk(function)
        if isinstance(node, ast.Return) and node.value is not None
        for one in walk(node.value)
        if isinstance(one, ast.Name)
    }
    return bool(edited & returned)


def _find_kept(body: list[ast.stmt]) -> Iterator[str]:
    """Names that a module puts into a list or table at its top."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append" | "add" | "register"), args=args)):
                yield from (one.id for one in args if isinstance(one, ast.Name))
            case ast.Assign(value=ast.Dict(values=values)) | ast.Assign(value=ast.List(elts=values)):
                yield from (one.id for value in values for one in walk(value) if isinstance(one, ast.Name))
            case ast.Assign(targets=[ast.Subscript()], value=ast.Name(id=name)):
                yield name


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
