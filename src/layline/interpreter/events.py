"""What reading an installer yields: writes, calls, registrations, imports; the detectors turn them into effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.modules import Event as Event  # noqa: PLC0414  whoever handles kinds asks here

if TYPE_CHECKING:
    import ast

    from layline.core.evidence import Location
    from layline.interpreter.modules import Module
    from layline.interpreter.values import Function, Value


@dataclass(slots=True, eq=False, kw_only=True)
class Write(Event):
    """An attribute or item set or deleted."""

    owner: Value
    name: Value
    """The attribute's name or the item's key."""
    value: Value | None
    """None: it is deleted."""
    at: Location
    is_item: bool = False
    deferred: bool = False
    transient: bool = False
    restores: bool = False
    """It puts back what was read from the same place: the end of an effect, not one of its own."""
    activation: int = 0
    """Which run of which function made it; a later write of the original in the same run puts it back."""
    within: str = ""
    when: tuple[Value, ...] = ()
    trail: tuple[tuple[Location, ast.AST], ...] = ()
    """Where each caller stood, and the function it was in, outermost first."""
    chosen: tuple[Value, ...] = ()
    """Those of `when` that only decide which object is written to; the write itself happens either way."""
    checks: tuple[tuple[int, Location], ...] = ()
    """Which of `when` raise where they do not hold, and where."""
    own: tuple[Value, ...] = ()
    """Those of `when` that the writing function asks itself."""
    node: ast.AST | None = None
    """What is written: the attribute, the item, or the call of `setattr`."""
    given: tuple[Value, ...] = ()
    """Tests that decide that it is this value; without them `otherwise` is written."""
    otherwise: tuple[Value, ...] = ()
    """Nothing, or what stood there: the other values of the same line."""


@dataclass(slots=True, eq=False, kw_only=True)
class Call(Event):
    """A call of something outside the downstream."""

    callee: Value
    arguments: tuple[Value, ...]
    keywords: dict[str, Value]
    at: Location
    deferred: bool = False
    transient: bool = False
    activation: int = 0
    within: str = ""
    when: tuple[Value, ...] = ()
    trail: tuple[tuple[Location, ast.AST], ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class Registration(Event):
    """A handler given to a registry of the downstream."""

    registry: str
    arguments: dict[str, Value]
    """By the parameter names of the registering function, its defaults filled in."""
    handler: Function
    at: Location
    module: Module
    within: str | None = None
    """The function that must be called for it to happen; None: it happens on import."""


@dataclass(slots=True, eq=False, kw_only=True)
class Imported(Event):
    """A module of the downstream imported while an installer runs."""

    module: Module
    at: Location
    deferred: bool = False
    when: tuple[Value, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class Naming(Event):
    """Targets named by text, with what takes their place, in a call whose name speaks of patching."""

    registry: str
    """Last name of what is called."""
    pairs: tuple[tuple[str, Value], ...]
    """`package.*.name` stands for the name in every loaded module of the package."""
    at: Location
    node: ast.AST
    registers: bool = False
    """It is only noted, and put in place by somebody else."""
    seen: bool = False
    """What is called is code of ours, so that it shows whether it writes."""
    writes: bool = False
    """It sets an attribute whose name it is given or computes."""
    options: str = ""
    """What else a registration was given."""
    deferred: bool = False
    transient: bool = False
    activation: int = 0
    within: str = ""
    when: tuple[Value, ...] = ()
    trail: tuple[tuple[Location, ast.AST], ...] = ()


@dataclass(slots=True, eq=False)
class Log:
    """Where events of the run in progress go."""

    events: list[Event] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Outside names that were called, passed on or returned."""
    members: set[tuple[Value, str]] = field(default_factory=set)
    """Attributes of objects known only at run time that were called, passed on or returned: object and name."""
    tests: list[Value] = field(default_factory=list)
    """Tests that led to an early return."""
    visited: set[str] = field(default_factory=set)
    """Files of the downstream whose functions ran."""
    exhausted: bool = False
    """The budget ended before the code did."""
