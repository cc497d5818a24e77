"""Functions of ours that are only handed on behind a test of versions: below another version their lines never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from layline.core.condition import Condition, ConditionKind, asks_about, combine, negate
from layline.coupling.forwards import UNBOUND
from layline.coupling.releases import ReleaseReader
from layline.interpreter.line_tests import LineTest, find_body, find_chain, find_line_tests
from layline.interpreter.modules import find_own_files, read_texts
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.core.evidence import Location
    from layline.coupling.releases import Scope, Value
    from layline.interpreter.modules import Module, Modules

Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(eq=False)
class InstalledFunctions:
    """Reads where functions of one downstream are handed on; other files are looked at when the own one leaves a choice."""

    modules: Modules
    find_naming: Callable[[str, Iterable[str]], Iterable[tuple[str, bool]]]
    """Those of some files whose code has a name, and whether they call something by it."""
    _reader: ReleaseReader = field(init=False)
    _known: dict[tuple[str, int], Condition | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reader = ReleaseReader(self.modules)

    def find(self, location: Location) -> Condition | None:
        """What must be true of versions for the function around a line to be put to use; None: nothing, or not known."""
        module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
        function = _find_function(module, location.line) if module is not None else None
        if module is None or function is None:
            return None
        key = (location.path, function.lineno)
        if key not in self._known:
            self._known[key] = self._find(module, function, location.path)
        return self._known[key]

    def _find(self, module: Module, function: Function, path: str) -> Condition | None:
        if function not in module.body:
            return self._read_uses(self._find_method_uses(function) or [])
        uses: list[tuple[Module, ast.expr]] = [(module, use) for use in _find_uses(module, function)]
        if uses and self._read_uses(uses) is None:
            return None  # whatever other files do
        naming = {other: calls for other, calls in self.find_naming(function.name, self._own) if other != path}
        if not all(naming.values()):
            return None  # one hands it on, or offers it to whoever imports that file
        others = self._find_uses_elsewhere(function, naming)
        found = self._read_uses([*uses, *others]) if others is not None else None
        # a text or a comment of another file may name it, too, and lead to it by that
        return found if found is not None and {path, *naming}.issuperset(self.find_files(function.name)) else None

    def _read_uses(self, uses: list[tuple[Module, ast.expr]]) -> Condition | None:
        """What all of them ask of versions; None where one asks nothing, or there is none."""
        guarded = [
            (home, use, around) for home, use in uses if (around := _find_function(home, use.lineno)) is not None
        ]
        if not uses or len(guarded) != len(uses):
            return None
        found = [self._read(home, around, use) for home, use, around in guarded]
        asks = all(asks_about(one, ConditionKind.VERSION) for one in found)
        return combine(ConditionKind.ANY, found) if asks else None

    def _find_uses_elsewhere(self, function: Function, others: Iterable[str]) -> list[tuple[Module, ast.expr]] | None:
        """Where other files use a function; None where it is handed on by another name, or to whoever imports a file."""
        uses: list[tuple[Module, ast.expr]] = []
        for other in others:
            home = self.modules.find(self.modules.names_by_path.get(other, ""))
            calls = list(_find_calls_of(home, function.name)) if home is not None else []
            if home is None or not calls:
                return None
            uses += [(home, use) for use in calls]
        return uses

    def _find_method_uses(self, function: Function) -> list[tuple[Module, ast.expr]] | None:
        """Where our files call a method that needs no object, so that it is nobody's hook; None where its name means
        anything else somewhere.
        """
        if not any(isinstance(one, ast.Name) and one.id in UNBOUND for one in function.decorator_list):
            return None
        uses: list[tuple[Module, ast.expr]] = []
        for path in self.find_files(function.name):
            home = self.modules.find(self.modules.names_by_path.get(path, ""))
            calls = _find_method_calls(home, function) if home is not None else None
            if home is None or calls is None:
                return None
            uses += [(home, use) for use in calls]
        return uses

    def _read(self, module: Module, function: Function, use: ast.expr) -> Condition:
        tests = [*find_line_tests(find_body(function), use.lineno), *_find_choices(function, use)]
        scope = self._reader.open_scope(module, [function], use.lineno)
        asked = {node.id for test in tests for node in _find_names(test)}
        for name in asked & {one.arg for one in function.args.args}:
            scope.names[name] = self._find_given(module, function, name)
        parts = [self._read_test(test, scope) for test in tests]
        return combine(ConditionKind.ALL, (one for one in parts if asks_about(one, ConditionKind.VERSION)))

    def _read_test(self, test: LineTest, scope: Scope) -> Condition:
        if test.operator:
            kind = ConditionKind.ALL if test.operator == "and" else ConditionKind.ANY
            return combine(kind, (self._read_test(part, scope) for part in test.parts))
        found = (
            self._reader.read_test(test.node, scope) if test.node is not None else Condition(kind=ConditionKind.OPAQUE)
        )
        return found if test.holds else negate(found)

    def _find_given(self, module: Module, function: Function, parameter: str) -> Value:
        """What every call of a function gives for a parameter, where all of them give the same."""
        found = [
            self._read_argument(home, call, function, parameter) for home, call in self._find_calls(module, function)
        ]
        return found[0] if found and all(one == found[0] for one in found) else None

    def _read_argument(self, home: Module, call: ast.Call, function: Function, parameter: str) -> Value:
        value = _find_argument(call, function, parameter)
        if value is None:
            return None
        return self._reader.read_value(
            value, self._reader.open_scope(home, list(find_chain(home.body, call.lineno)), call.lineno)
        )

    def _find_calls(self, module: Module, function: Function) -> Iterator[tuple[Module, ast.Call]]:
        for path in self.find_files(function.name):
            home = self.modules.find(self.modules.names_by_path.get(path, ""))
            for node in (node for one in (home.body if home is not None else ()) for node in walk(one)):
                match node:
                    case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name == function.name:
                        yield home or module, node

    def find_files(self, name: str) -> list[str]:
        """The files of ours that have a word."""
        word = name.encode()
        alone = re.compile(rb"\b%s\b" % re.escape(word))
        return [path for path, text in self._texts if word in text and alone.search(text)]

    @cached_property
    def _own(self) -> list[str]:
        return find_own_files(self.modules.tree)

    @cached_property
    def _texts(self) -> list[tuple[str, bytes]]:
        return list(read_texts(self.modules.tree))


def _find_function(module: Module, line: int) -> Function | None:
    """The outermost function around a line, which may be a method."""
    chain = find_chain(module.body, line)
    return next((one for one in chain if isinstance(one, _FUNCTIONS)), None)


def _find_uses(module: Module, function: Function) -> Iterator[ast.Name]:
    """Where a module names one of its functions."""
    for statement in module.body:
        if statement is not function:
            yield from (
                node
                for node in walk(statement)
                if isinstance(node, ast.Name) and node.id == function.name and isinstance(node.ctx, ast.Load)
            )


def _find_calls_of(module: Module, name: str) -> list[ast.expr]:
    """Where another module calls a function by its name; nothing where it does anything else with the name."""
    nodes = [node for statement in module.body for node in walk(statement)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    named = [one for one in calls if isinstance(one, ast.Name) and one.id == name]
    known = {id(one) for one in named}
    for node in nodes:
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.Constant(value=str(word)) if word == name:
                if id(node) not in known:
                    return []
            case ast.alias(name=word, asname=str()) if word == name:
                return []
    return list(named)


def _find_method_calls(module: Module, method: Function) -> list[ast.expr] | None:
    """Where a module calls a method by its name; None where the name stands for anything else there."""
    nodes = [node for statement in module.body for node in walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    found: list[ast.expr] = []
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) if name == method.name and id(node) in called:
                found.append(node)
            case (
                ast.Name(id=name)
                | ast.Attribute(attr=name)
                | ast.alias(name=name)
                | ast.alias(asname=name)
                | ast.Constant(value=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if name == method.name and node is not method:
                return None
    return found


def _find_choices(function: Function, use: ast.expr) -> Iterator[LineTest]:
    """The tests of `use if test else other` around a use."""
    for node in walk(function):
        if isinstance(node, ast.IfExp):
            for part, holds in ((node.body, True), (node.orelse, False)):
                if any(one is use for one in walk(part)):
                    yield LineTest(node=node.test, holds=holds)


def _find_names(test: LineTest) -> Iterator[ast.Name]:
    if test.node is not None:
        yield from (node for node in walk(test.node) if isinstance(node, ast.Name))
    for part in test.parts:
        yield from _find_names(part)


def _find_argument(call: ast.Call, function: Function, parameter: str) -> ast.expr | None:
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    given = dict(zip(names, call.args, strict=False)) | {one.arg: one.value for one in call.keywords if one.arg}
    return given.get(parameter)
