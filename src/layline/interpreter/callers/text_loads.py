"""Modules of ours that are loaded by a text: `import_module("own.a")`, or `import_module(TABLE[key])`."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from layline.interpreter.callers.files import Ask
from layline.interpreter.callers.sites import Site
from layline.interpreter.callers.uses import Body, File, read_file
from layline.interpreter.line_tests import find_body
from layline.source.loads import IMPORTS, called_name, loads_module
from layline.source.walking import find_children, walk

if TYPE_CHECKING:
    from layline.interpreter.callers.files import Files
    from layline.interpreter.callers.names import Names

_DEEPEST = 3
_BY_NAME = "import by name"
_BUILTINS = frozenset(dir(builtins))


class TextLoads:
    """Follows the names of modules from where they are written to where they are loaded."""

    def __init__(self, names: Names, files: Files) -> None:
        self._names = names
        self._files = files

    def find(self, module: str) -> tuple[list[Site], int]:
        """Where a module is loaded by its name, and how many texts name it that nobody is seen to load."""
        sites: list[Site] = []
        unknown = 0
        home = self._names.modules.path_of(module)
        for path in self._files.find_texts(Ask.SPELLS, module):
            file = self._names.read_path(path) if path != home else None
            for text, place in self._find_texts(module, file) if file is not None else ():
                found = list(self._follow(text, place, file, _BY_NAME, 0))  # type: ignore[arg-type]  # no file, no text
                sites += found
                unknown += not found and "." in module  # one word may mean anything
        return [*sites, *self._find_computed(module)], unknown

    def count_names(self, method: str) -> int:
        """How many texts name a method that somebody may look up: `run(method="set_up")`."""
        paths = self._files.find_texts(Ask.SPELLS, method)
        files = (file for file in map(self._names.read_path, paths) if file is not None)
        return sum(1 for file in files for _ in self._walk_texts(file, lambda text: text == method))

    def _find_texts(self, module: str, file: File) -> Iterator[tuple[ast.expr, Body]]:
        """Texts of a file that name the module, or what is defined in it and in no module below."""
        return self._walk_texts(file, lambda text: self._is_name_of(text, module))

    def _walk_texts(self, file: File, is_meant: Callable[[str], bool]) -> Iterator[tuple[ast.expr, Body]]:
        """Texts that are values: no docstrings, questions, keys or words to a library."""
        waiting: list[tuple[ast.AST, Body]] = [(node, Body(None, file.module.name)) for node in file.module.body]
        while waiting:
            node, place = waiting.pop()
            match node:
                case ast.Constant(value=str(text)) if is_meant(text):
                    yield node, place
                case ast.Expr(value=ast.Constant()) | ast.Compare() | ast.JoinedStr():
                    continue  # a docstring, a question, a sentence
                case ast.Call(func=callee) if self._is_library(callee, place, file):
                    continue
                case ast.Dict(values=values):
                    waiting += [(value, place) for value in values]
                case ast.Subscript(value=value):
                    waiting.append((value, place))  # `sys.modules["own.a"]` is there already
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    inner = Body(node, f"{place.name}.{node.name}", place)
                    waiting += [(below, inner) for below in find_children(node)]
                case _:
                    waiting += [(below, place) for below in find_children(node)]

    def _is_name_of(self, text: str, module: str) -> bool:
        if text == module:
            return True
        if not text.startswith((f"{module}.", f"{module}:")):
            return False
        first, home = text.removeprefix(module)[1:].partition(".")[0], self._names.read(module)
        known = f"{module}.{first}"
        return home is not None and (known in home.places or first in home.values or first in home.imports)

    def _is_library(self, callee: ast.expr, place: Body, file: File) -> bool:
        """A function of Python's own that loads nothing: `logging.getLogger("own.a")`, `hasattr(x, "name")`."""
        for found in self._names.resolve_expression(callee, place, file):
            top, _, rest = found.partition(".")
            if found.rpartition(".")[2] in IMPORTS | {"getattr"}:
                return False
            is_builtin = (
                found == f"{file.module.name}.{rest.rpartition('.')[2]}" and rest.rpartition(".")[2] in _BUILTINS
            )
            if top in sys.stdlib_module_names or (is_builtin and found not in file.places):
                return True
        return False

    def _follow(self, start: ast.expr, place: Body, file: File, how: str, depth: int) -> Iterator[Site]:
        """The calls that load what an expression names, also by names that it is given and functions it is handed to."""
        nodes = list(_walk_top(file.module.body) if place.node is None else _walk_all(find_body(place.node)))
        names = _find_names(start, nodes)
        for call in (node for node in nodes if isinstance(node, ast.Call)):
            given = [*call.args, *(word.value for word in call.keywords)]
            taken = [at for at, value in enumerate(given) if _holds(value, start, names)]
            if taken and loads_module(call):
                yield Site(self._path_of(file), call.lineno, how)
            elif taken and depth < _DEEPEST:
                yield from self._follow_handed(call, taken, place, file, how, depth)
        if place.node is None and depth < _DEEPEST:
            for name in sorted(names):
                yield from self._follow_table(f"{file.module.name}.{name}", f"{how}, through {name}", depth + 1)

    def _follow_handed(
        self, call: ast.Call, taken: list[int], place: Body, file: File, how: str, depth: int
    ) -> Iterator[Site]:
        """Into a function of ours that is handed the name: `load("own.a")`."""
        for found in self._names.resolve_expression(call.func, place, file):
            made = self._names.find_place(found)
            home = self._names.read(found.rpartition(".")[0]) if made is not None else None
            if made is None or home is None or not isinstance(made.node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            words = [None] * len(call.args) + [word.arg for word in call.keywords]
            listed = [arg.arg for arg in (*made.node.args.posonlyargs, *made.node.args.args)]
            for at in taken:
                name = words[at] or (listed[at] if at < len(listed) else None)
                if name is not None:
                    start = ast.Name(id=name, ctx=ast.Load())
                    yield from self._follow(start, made, home, how, depth + 1)

    def _follow_table(self, dotted: str, how: str, depth: int) -> Iterator[Site]:
        """What becomes of a name of the top level in the functions that use it."""
        name = dotted.rpartition(".")[2]
        for path in self._files.find(Ask.NAMES, name):
            module = self._names.find_module(path)
            file = read_file(module, {name}, in_parts=True) if module is not None else None
            for use in file.uses.get(name, ()) if file is not None else ():
                found = self._names.resolve_expression(use.node, use.place, file)  # type: ignore[arg-type]
                if use.place.node is not None and dotted in found:
                    yield from self._follow(use.node, use.place, file, how, depth)  # type: ignore[arg-type]

    def _find_computed(self, module: str) -> Iterator[Site]:
        """`import_module(f"own.{name}.patches")`, where the module may be the one."""
        for path in self._files.find(Ask.COMPUTES):
            home = self._names.find_module(path)
            if path not in self._files.computed:
                self._files.computed[path] = list(_find_patterns(home.body)) if home is not None else []
            for line, pattern in self._files.computed[path]:
                if pattern.fullmatch(module):
                    yield Site(path, line, f"{_BY_NAME}, worked out there")

    def _path_of(self, file: File) -> str:
        return file.module.path or file.module.name


def _find_patterns(body: list[ast.stmt]) -> Iterator[tuple[int, re.Pattern[str]]]:
    for node in _walk_all(body):
        match node:
            case ast.Call(args=[ast.JoinedStr(values=[ast.Constant(value=str(head)), *rest]), *_]):
                if called_name(node) in IMPORTS and "." in head[1:] and not head.startswith("."):
                    yield node.lineno, _read_pattern([head, *rest])


def _read_pattern(parts: list[ast.expr | str]) -> re.Pattern[str]:
    texts = (
        part if isinstance(part, str) else part.value if isinstance(part, ast.Constant) else None for part in parts
    )
    return re.compile("".join(r"\w+" if text is None else re.escape(str(text)) for text in texts))


def _walk_all(body: list[ast.stmt]) -> Iterator[ast.AST]:
    return (node for one in body for node in walk(one))


def _walk_top(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What runs when a module is loaded."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += find_children(node)


def _find_names(start: ast.expr, nodes: list[ast.AST]) -> set[str]:
    """The names that what an expression stands for is given to: `path = TABLE[key]; home, name = path.rsplit(".", 1)`."""
    names = {start.id} if isinstance(start, ast.Name) and not hasattr(start, "lineno") else set[str]()
    while True:
        fresh = {name for node in nodes for name in _find_given(node, start, names)} - names
        if not fresh:
            return names
        names |= fresh


def _find_given(node: ast.AST, start: ast.expr, names: set[str]) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets, value=value) if _holds(value, start, names):
            yield from (name for target in targets for name in _names_in(target))
        case ast.AnnAssign(target=target, value=ast.expr() as value) if _holds(value, start, names):
            yield from _names_in(target)
        case ast.NamedExpr(target=target, value=value) if _holds(value, start, names):
            yield from _names_in(target)
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield from _names_in(target) if _holds(value, start, names) else ()
        case ast.comprehension(target=target, iter=value) if _holds(value, start, names):
            yield from _names_in(target)


def _names_in(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _names_in(item)


def _holds(value: ast.expr, start: ast.expr, names: set[str]) -> bool:
    return any(node is start or (isinstance(node, ast.Name) and node.id in names) for node in walk(value))
