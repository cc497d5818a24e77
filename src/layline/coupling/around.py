"""Writes of ours that are never reached, today already: in a method that fails whenever upstream calls it, or that nobody
hands over, in a class of which no object can be made; or, at the tip, behind a test that raises.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.forwards import UNBOUND
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.raising import find_raising_test
from layline.interpreter.line_tests import find_chain
from layline.source.names import absolute_name
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from layline.coupling.drift_model import Drift
    from layline.interpreter.modules import Module, Modules

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_BASES = 12
_UNHANDED = frozenset({Reason.NOT_HANDED, Reason.NOT_NAMED})


def mark_unreached(rows: Iterable[Drift], couplings: Iterable[Coupling], modules: Modules) -> Iterator[Drift]:
    """The same rows; one whose line is never reached says so."""
    listed = list(couplings)
    around = _Around(
        modules=modules,
        failing=_find_lines(one for one in listed if one.touch is Touch.OVERRIDE and one.state is State.NEVER_FITTED),
        unhanded=_find_lines(one for one in listed if any(why.reason in _UNHANDED for why in one.why)),
        missing=_find_lines(one for one in listed if one.touch is Touch.IMPORT and one.state is State.MISSING),
        raising={line: one.target for one in listed if _is_no_class(one) for line in _find_lines([one])},
    )
    for row in rows:
        found = around.judge(row)
        yield row if found is None else replace(row, findings=(*row.findings, found))


def _find_lines(couplings: Iterable[Coupling]) -> frozenset[Location]:
    return frozenset(Location(one.location.path, line) for one in couplings for line in (one.location.line, *one.lines))


def _is_no_class(coupling: Coupling) -> bool:
    return coupling.consequence is Consequence.WILL_BREAK and any(
        why.reason is Reason.CLASS_NO_MORE for why in coupling.why
    )


@dataclass(frozen=True, eq=False)
class _Around:
    modules: Modules
    failing: frozenset[Location]
    """Methods that fit neither ref."""
    unhanded: frozenset[Location]
    """Methods of classes that nobody hands over."""
    missing: frozenset[Location]
    """Imports of what neither ref has."""
    raising: Mapping[Location, str]
    """Lines that ask of what is no class at the tip, by its name."""

    def judge(self, row: Drift) -> Finding | None:
        module = self._find_module(row.location.path)
        chain = find_chain(module.body, row.location.line) if module is not None else []
        places = [Location(row.location.path, node.lineno) for node in chain]
        for place in places:
            if place in self.failing:
                return Finding(severity=Severity.BREAKS, why=Why(Reason.AROUND_FAILS, places=(place,)))
            if place in self.unhanded:
                return Finding(severity=Severity.OK, why=Why(Reason.AROUND_UNHANDED, places=(place,)))
        failed = self._find_unmade(module, chain) if module is not None and self._makers else None
        if failed is not None:
            # a row that fits is told so; one that breaks does not break by the upgrade
            return Finding(severity=row.severity, why=Why(Reason.NEVER_MADE, places=(failed,)))
        return self._find_raising(row, module) if module is not None and not row.dead_today else None

    def _find_raising(self, row: Drift, module: Module) -> Finding | None:
        test = find_raising_test(row.location, self.raising, module)
        if test is None:
            return None
        return Finding(severity=Severity.BREAKS, why=Why(Reason.TEST_FAILS, self.raising[test], places=(test,)))

    def _find_unmade(self, module: Module, chain: Sequence[ast.AST]) -> Location | None:
        """The import that fails whenever an object of the class around a method is made."""
        match chain:
            case [ast.ClassDef() as owner, ast.FunctionDef() | ast.AsyncFunctionDef() as method, *_]:
                given = {one.id for one in method.decorator_list if isinstance(one, ast.Name)}
                if not given & UNBOUND:
                    return self._find_failing_init(module, owner, _MOST_BASES)
        return None

    def _find_failing_init(self, module: Module, owner: ast.ClassDef, left: int) -> Location | None:
        """The import that fails in the `__init__` of a class, or in the one it inherits or calls in any case."""
        own = next((one for one in owner.body if isinstance(one, _FUNCTIONS) and one.name == "__init__"), None)
        for statement in own.body if own is not None else ():
            at = Location(module.path or "", statement.lineno)
            if isinstance(statement, ast.Import | ast.ImportFrom) and at in self._makers:
                return at
            if _calls_init_above(statement):
                break
            if any(isinstance(node, ast.Return | ast.Raise) for node in walk(statement)):
                return None  # it may have left before
        else:
            if own is not None:
                return None
        base = self._find_class(module, owner.bases[0]) if owner.bases and left else None
        return self._find_failing_init(*base, left - 1) if base is not None else None

    def _find_class(self, module: Module, base: ast.expr) -> tuple[Module, ast.ClassDef] | None:
        """A class of ours by its name in a module."""
        if not isinstance(base, ast.Name):
            return None
        for statement in module.body:
            match statement:
                case ast.ClassDef(name=name) if name == base.id:
                    return module, statement
                case ast.ImportFrom(names=names):
                    taken = next((one.name for one in names if (one.asname or one.name) == base.id), None)
                    source = absolute_name(
                        module.name, package=module.is_package, level=statement.level, name=statement.module or ""
                    )
                    there = self.modules.find(source) if taken is not None and source else None
                    if there is not None and there is not module and taken is not None:
                        return self._find_class(there, ast.Name(taken))
        return None

    def _find_module(self, path: str) -> Module | None:
        return self.modules.find(self.modules.names_by_path.get(path, "")) if path in self._paths else None

    @cached_property
    def _makers(self) -> frozenset[Location]:
        """Failing imports that stand in an `__init__`."""
        return frozenset(one for one in self.missing if self._is_in_init(one))

    def _is_in_init(self, at: Location) -> bool:
        module = self.modules.find(self.modules.names_by_path.get(at.path, ""))
        chain = find_chain(module.body, at.line) if module is not None else []
        return [getattr(one, "name", "") for one in chain[1:]] == ["__init__"]

    @cached_property
    def _paths(self) -> frozenset[str]:
        """The files in which a line may be told: a class that fails may be inherited anywhere."""
        told = {one.path for one in (*self.failing, *self.unhanded, *self.raising)}
        return frozenset(self.modules.names_by_path) if self._makers else frozenset(told)


def _calls_init_above(statement: ast.stmt) -> bool:
    """`super().__init__(…)` as a statement of its own."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"))):
            return True
    return False
