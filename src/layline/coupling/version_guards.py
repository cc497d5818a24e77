"""Whether a line of ours runs at all at pin and tip, as far as tests of versions around it decide."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.core.condition import OPAQUE, Condition, ConditionKind, asks_about, negate
from layline.core.evidence import Location
from layline.core.patch import Check
from layline.coupling.decide import Decision, RefKnowledge, decide
from layline.coupling.demands import find_demands, read_demand
from layline.coupling.fallbacks import Fallback, find_fallback
from layline.coupling.releases import ReleaseReader, Scope
from layline.coupling.script_needs import find_script_needs
from layline.interpreter.line_tests import LineTest, find_body, find_chain, find_line_tests
from layline.source.handlers import find_catching
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.interpreter.modules import Module, Modules


@dataclass(slots=True)
class VersionGuards:
    """Reads what stands around lines of one downstream; a file is parsed when the first of its lines is asked for."""

    modules: Modules
    _reader: ReleaseReader = field(init=False)
    _known: dict[tuple[str, int, str], Condition | None] = field(default_factory=dict)
    _checks: dict[Location, tuple[Check, ...]] = field(default_factory=dict)
    _needs: dict[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reader = ReleaseReader(self.modules)

    def find(self, location: Location, name: str = "") -> Condition | None:
        """What must be true of versions for the line to run; None: nothing. `name` tells the use meant on a line with
        several.
        """
        key = (location.path, location.line, name)
        if key not in self._known:
            module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
            found = self._read(module, location.line, name) if module is not None else OPAQUE
            self._known[key] = found if _asks_version(found) else None
        return self._known[key]

    def find_checks(self, location: Location) -> tuple[Check, ...]:
        """What is asked of versions before the line, and raises where it does not hold."""
        if location not in self._checks:
            module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
            self._checks[location] = tuple(self._find_checks(module, location)) if module is not None else ()
        return self._checks[location]

    def know(self, found: Mapping[Location, Condition | None]) -> None:
        """Take what was found of lines before."""
        self._known.update({(one.path, one.line, ""): condition for one, condition in found.items()})

    def brings_own(self, location: Location, name: str) -> bool:
        """Whether the file is a script that installs the package of a name for itself, whatever the pin is."""
        if location.path not in self._needs:
            text = self.modules.tree.read_text(location.path)
            self._needs[location.path] = find_script_needs(text) if isinstance(text, str) else frozenset()
        return name.partition(".")[0].lower() in self._needs[location.path]

    def is_chosen(self, location: Location, is_there: Callable[[str], bool]) -> bool:
        """Whether the import at a line is all that a branch is about: it stands in an `if` itself, not further inside,
        and not beside imports of what upstream has, all of which that one test lets run or not.
        """
        module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
        branches = (node for one in (module.body if module else ()) for node in walk(one) if isinstance(node, ast.If))
        for node in branches:
            for block in (node.body, node.orelse):
                imports = [one for one in block if isinstance(one, ast.Import | ast.ImportFrom)]
                others = [one for one in imports if not one.lineno <= location.line <= (one.end_lineno or 0)]
                if len(others) < len(imports):
                    return bool(node.orelse) or not any(is_there(name) for one in others for name in _name_taken(one))
        return False

    def find_fallback(self, location: Location, gone: Callable[[str], bool]) -> Fallback | None:
        """What is left where the import at a line fails and a `try` catches that; None where none does."""
        module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
        return find_fallback(module.body, location.line, gone) if module is not None else None

    def find_handler(self, location: Location, names: frozenset[str]) -> str | None:
        """The `except` clause that catches what a line raises, as it is written; None where none does."""
        module = self.modules.find(self.modules.names_by_path.get(location.path, ""))
        handler = find_catching(module.body, location.line, names) if module is not None else None
        if handler is None:
            return None
        return f"except {ast.unparse(handler.type)}" if handler.type is not None else "except"

    def _read(self, module: Module, line: int, name: str) -> Condition:
        chain = find_chain(module.body, line)
        parts: list[Condition] = []
        for depth, body in enumerate([module.body, *map(find_body, chain)]):
            tests, calls = list(find_line_tests(body, line)), list(find_demands(body, line))
            if tests or calls or depth == len(chain):
                scope = self._reader.open_scope(module, list(chain[:depth]), line)
                parts += [self._read_line_test(test, scope) for test in tests]
                parts += [read_demand(call, self._reader, scope) for call in calls]
                parts += self._find_chosen(body, line, name, scope) if depth == len(chain) else ()
        return Condition(kind=ConditionKind.ALL, parts=tuple(part for part in parts if _asks_version(part)))

    def _find_checks(self, module: Module, location: Location) -> Iterator[Check]:
        line = location.line
        chain = find_chain(module.body, line)
        for depth, body in enumerate([module.body, *map(find_body, chain)]):
            scope = self._reader.open_scope(module, list(chain[:depth]), line)
            tests = (one for one in find_line_tests(body, line) if one.is_check)
            found = [(_find_line(test), self._read_line_test(test, scope)) for test in tests]
            found += [(call.lineno, read_demand(call, self._reader, scope)) for call in find_demands(body, line)]
            for number, when in found:
                if _asks_version(when):
                    yield Check(when=when, before=None, raised_at=Location(location.path, number or line))

    def _read_line_test(self, test: LineTest, scope: Scope) -> Condition:
        if test.operator:
            kind = ConditionKind.ALL if test.operator == "and" else ConditionKind.ANY
            return Condition(kind=kind, parts=tuple(self._read_line_test(part, scope) for part in test.parts))
        if test.node is None:
            return OPAQUE
        found = self._reader.read_test(test.node, scope)
        return found if test.holds else negate(found)

    def _find_chosen(self, body: list[ast.stmt], line: int, name: str, scope: Scope) -> Iterator[Condition]:
        """`new() if VERSION else old()`: which side the use stands on, by its line or its name."""
        around = _find_statement(body, line)
        for node in ast.walk(around) if around is not None else ():
            if isinstance(node, ast.IfExp):
                sides = [_holds(side, line, name) for side in (node.body, node.orelse)]
                if sides[0] != sides[1]:
                    test = self._reader.read_test(node.test, scope)
                    yield test if sides[0] else negate(test)


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """Which lines of ours run at pin and tip."""

    guards: VersionGuards
    ground: RefKnowledge

    def decide(self, location: Location, name: str = "") -> tuple[Decision, Decision]:
        """Whether the line runs at the pin, and at the tip; `holds` is None where versions do not decide it."""
        condition = self.guards.find(location, name) if any(self.ground.versions) else None
        if condition is None:
            return Decision(None), Decision(None)
        return decide(condition, self.ground, 0), decide(condition, self.ground, 1)

    def is_chosen(self, location: Location, side: int) -> bool:
        """Whether the import at a line is one that a branch chooses (`VersionGuards.is_chosen`)."""
        resolver = self.ground.comparer.tip if side else self.ground.comparer.pin
        asked = self.guards.find(location)
        if asked is not None and not all(self._is_known(one, side) for one in asked.walk()):
            return True
        return self.guards.is_chosen(location, lambda name: resolver.resolve(name).exists)

    def _is_known(self, asked: Condition, side: int) -> bool:
        """Whether a test of a version, where it is one, is decided there."""
        return asked.kind is not ConditionKind.VERSION or decide(asked, self.ground, side).holds is not None

    def find_refusal(self, location: Location) -> Location | None:
        """Which check of ours raises at the tip's version, and lets the pin's pass."""
        for one in self.guards.find_checks(location):
            if decide(one.when, self.ground, 1).holds is False and decide(one.when, self.ground, 0).holds is not False:
                return one.raised_at
        return None


def _name_taken(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What an import names, where it is not relative: then it is none of upstream's."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
    elif node.level == 0:
        yield from (f"{node.module}.{one.name}" for one in node.names)


def _find_line(test: LineTest) -> int:
    """The first line on which a part of a test stands."""
    own = test.node.lineno if test.node is not None else 0
    return own or next((line for part in test.parts if (line := _find_line(part))), 0)


def _asks_version(condition: Condition) -> bool:
    return asks_about(condition, ConditionKind.VERSION)


def _find_statement(body: list[ast.stmt], line: int) -> ast.stmt | None:
    """The innermost statement at a line that has no block."""
    for statement in body:
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            inner = [item for item in ast.walk(statement) if isinstance(item, ast.stmt) and item is not statement]
            within = [item for item in inner if item.lineno <= line <= (item.end_lineno or item.lineno)]
            return within[-1] if within else statement
    return None


def _holds(side: ast.expr, line: int, name: str) -> bool:
    if not side.lineno <= line <= (side.end_lineno or side.lineno):
        return False
    return not name or any(name in {getattr(node, "attr", None), getattr(node, "id", None)} for node in ast.walk(side))
