"""The state of the interpreter and the operations its parts call in one another."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections import ChainMap
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from layline.core.condition import Condition, ConditionKind, leave_out_contraries
from layline.core.evidence import Location
from layline.interpreter.events import Log
from layline.interpreter.events import Write as WriteEvent
from layline.interpreter.line_words import read_words
from layline.interpreter.stashed import UNWRAPPED
from layline.interpreter.undo import Journal
from layline.interpreter.values import UNREACHED, Function, Instance, Literal, Member, Outside, Test, Value, negate
from layline.source.fingerprint import text_of as text_of_node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.interpreter.events import Event, Write
    from layline.interpreter.modules import Module, Modules, Scope
    from layline.interpreter.registries import Registries

MOST_CALLS_DEEP = 9
MOST_CALLS_DEEP_DEFERRED = 4
MOST_STEPS = 12_000
MOST_STEPS_DEFERRED = 1_500
MOST_STEPS_IN_CALL = {False: 6_000, True: 400}
"""By whether a replacement is being read: one long helper must not use up what its caller needs."""


class Flow(IntEnum):
    """How a block ends; the smaller wins where two branches differ."""

    FALL = 0
    CONTINUE = 1
    BREAK = 2
    RETURN = 3
    RAISE = 4


@dataclass(slots=True, eq=False)
class Loop:
    """One loop that runs, and what stood at each place where it may stop early."""

    written: list[tuple[Instance, str]] = field(default_factory=list)
    """Attributes of our objects set in it."""
    stops: list[tuple[Value, dict[str, Value], list[Value]]] = field(default_factory=list)
    """The test that leads to a `break`, the names there, and the values of `written` there."""


@dataclass(slots=True, frozen=True, eq=False)
class Stored:
    """What was written onto an outside name, on which tests, and what was there before."""

    value: Value
    when: tuple[Value, ...]
    before: Stored | None


@dataclass(slots=True, eq=False)
class Frame:
    """One run of one function."""

    module: Module
    within: str
    number: int
    function: Function | None = None
    line: int = 1
    """Of the statement that runs."""
    conditions: list[tuple[Value, bool | Location]] = field(default_factory=list)
    """Tests on the way here; True marks one that an early return left behind, a place one that the `raise` there did."""
    raised: int = 0
    """Line of the last `raise` that was read."""
    catching: int = 0
    """How many `try` blocks around the statement swallow what is raised."""
    returns: list[tuple[tuple[Value, ...], Value]] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)


class Machine(ABC):
    """What the parts of the interpreter share."""

    def __init__(self, modules: Modules, registries: Registries) -> None:
        self.modules = modules
        self.registries = registries
        self.is_upstream: Callable[[str], bool] = lambda _: False
        """Whether a text is a path of a configured upstream."""
        self.is_package: Callable[[str], bool] = lambda _: False
        """Whether the downstream imports a package of this name, or a backend is called so."""
        self.naming = 0
        """How many calls in progress have named their targets by text."""
        self.frames: list[Frame] = []
        self.log = Log()
        self.deferred = False
        self.stored: dict[str, Stored] = {}
        """What was written onto outside names in this run, so that later reads see it."""
        self.stashes: dict[str, str] = {}
        """Where installers keep originals on upstream: `m._orig_f` → `m.f`."""
        self.aside: set[tuple[str, str]] = set()
        """Attributes under which originals are kept on objects: (`origin_forward`, `forward`)."""
        self.chosen: list[Value] = []
        """Tests that decide which of several objects a write in progress reaches."""
        self.tests: ChainMap[Value, ast.expr] = ChainMap()
        """Tests as they are written: those of the reading in progress, then those of imports."""
        self.journal = Journal()
        """What the run in progress changes of the state that all runs share."""
        self.filters: ChainMap[Value, bool] = ChainMap()
        """Filters of comprehensions that reading could not decide: of the reading in progress, then of imports; False
        for an `if` around what puts an item into a list.
        """
        self.gathered: ChainMap[Value, bool] = ChainMap()
        """Tests under which items were put into lists."""
        self.circles: dict[str, tuple[str, ...]] = {}
        """Module → the modules that import one another with it, in the order they are read."""
        self.leaks: list[tuple[str, str]] = []
        """Modules whose import changes what another module holds, and that other one."""
        self._circling: set[tuple[str, ...]] = set()
        self.follows: Callable[[Function], bool] = lambda _: True
        """Which functions of the downstream are read when they are called."""
        self.steps = 0
        self.limit = MOST_STEPS
        self._numbers = 0

    @abstractmethod
    def evaluate(self, node: ast.expr, scope: Scope) -> Value: ...

    @abstractmethod
    def run_block(self, body: list[ast.stmt], scope: Scope) -> Flow: ...

    @abstractmethod
    def call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value: ...

    @abstractmethod
    def call_function(
        self, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value: ...

    @abstractmethod
    def read_attribute(self, owner: Value, name: str, default: Value | None = None) -> Value: ...

    @abstractmethod
    def write(
        self, owner: Value, name: Value, value: Value | None, node: ast.AST, *, is_item: bool = False
    ) -> None: ...

    @abstractmethod
    def read_item(self, owner: Value, key: Value, default: Value | None = None) -> Value: ...

    @abstractmethod
    def iterate(self, value: Value) -> list[Value] | None: ...

    @abstractmethod
    def bind_target(self, target: ast.expr, value: Value, scope: Scope) -> None: ...

    @abstractmethod
    def find_module(self, name: str) -> Value: ...

    @abstractmethod
    def find_by_text(self, name: str) -> Value: ...

    @abstractmethod
    def read_module(self, module: Module) -> None: ...

    @abstractmethod
    def settle(self, value: Value) -> Value: ...

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def begin(self) -> None:
        """Before one function is read from the outside: nothing is written upstream, and no mark is set."""
        self.journal.settle()
        self.stored = {}

    @contextmanager
    def in_state(self, **state: object) -> Iterator[None]:
        """For a moment in another state; however that ends, the one before is put back."""
        saved = {name: getattr(self, name) for name in state}
        for name, value in state.items():
            setattr(self, name, value)
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    @contextmanager
    def from_outside(self, module: Module) -> Iterator[None]:
        """As if nothing had been called yet: what is done meanwhile is not recorded."""
        with self.in_state(log=Log(), frames=[], deferred=False, steps=0):
            self.push(module, "")
            yield

    @contextmanager
    def aside_from_others(self) -> Iterator[None]:
        """A reading that leaves no trace: the next one finds what imports made, whatever was read before it."""
        names = ("log", "frames", "deferred", "steps", "limit", "stored", "stashes", "aside", "chosen", "naming")
        saved = {name: getattr(self, name) for name in (*names, "journal", "tests", "filters", "gathered", "follows")}
        self.journal, self.log, self.frames, self.stored, self.chosen = Journal(), Log(), [], {}, []
        self.deferred, self.steps, self.limit, self.naming = False, 0, MOST_STEPS, 0
        self.stashes, self.aside = dict(self.stashes), set()
        self.tests, self.filters = self.tests.new_child(), self.filters.new_child()
        self.gathered = self.gathered.new_child()
        try:
            yield
        finally:
            self.journal.undo_all()
            for name, value in saved.items():
                setattr(self, name, value)

    def push(self, module: Module, within: str, function: Function | None = None) -> Frame:
        self._numbers += 1
        frame = Frame(module, within, self._numbers, function)
        self.frames.append(frame)
        return frame

    def place(self, node: ast.AST) -> Location:
        return Location(self.frame.module.path or self.frame.module.name, getattr(node, "lineno", 1))

    def conditions(self) -> tuple[Value, ...]:
        """Every test on the way here, callers included."""
        return tuple(test for frame in self.frames for test, _ in frame.conditions)

    def checks(self) -> tuple[tuple[int, Location], ...]:
        """Which of these tests raise where they do not hold, and where; not what a `try` around swallows."""
        left = [behind for frame in self.frames for _, behind in frame.conditions]
        return tuple((i, behind) for i, behind in enumerate(left) if isinstance(behind, Location))

    def trail(self) -> tuple[tuple[Location, ast.AST], ...]:
        """Callers of the running function, outermost first."""
        return tuple(
            (Location(frame.module.path or frame.module.name, frame.line), frame.function.node)
            for frame in self.frames
            if frame.function is not None
        )

    def read_written(self, test: Value) -> Condition | None:
        """A test in the words of the source; None where it was never written."""
        match test:
            case Test(operator="not", operands=(inner,)):
                node = self.tests.get(inner)
                if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                    return read_words(ast.UnaryOp(op=ast.Not(), operand=node))
                found = self.read_written(inner)
                return None if found is None else Condition(kind=ConditionKind.NOT, parts=(found,))
            case Test(operator="and" | "or" as operator, operands=operands) if test not in self.tests:
                kind = ConditionKind.ALL if operator == "and" else ConditionKind.ANY
                parts = tuple(part for one in operands if (part := self.read_written(one)) is not None)
                if len(parts) < len(operands):
                    return None
                return Condition(kind=kind, parts=parts if operator == "and" else (*leave_out_contraries(parts),))
        node = self.tests.get(test)
        return None if node is None else read_words(node)

    def note_test(self, test: Value, node: ast.expr) -> None:
        """Of two spellings that imports know of one test the smaller counts, whichever module was read first."""
        known = None if len(self.tests.maps) > 1 else self.tests.get(test)
        if known is None or known is node or text_of_node(node) < text_of_node(known):
            self.tests[test] = node

    def record(self, event: Event) -> None:
        self.log.events.append(event)

    def mark_used(self, value: Value) -> None:
        match value:
            case Outside(path=path):
                self.log.used.add(path.removesuffix(UNWRAPPED))
            case Member(owner=Member() as inner, name="__func__" | "__wrapped__"):
                self.mark_used(inner)
            case Member(owner=owner, name=name):
                self.log.members.add((owner, name))

    def spend(self) -> bool:
        """Count one statement; False when the budget is gone."""
        self.steps += 1
        if self.steps > self.limit:
            self.log.exhausted = True
            return False
        return True


def text_of(value: Value) -> str | None:
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def find_restores(events: list[Event], restored: Write) -> None:
    """Mark what one run wrote and puts back as transient, unless it does either the one or the other; what stood there
    when the original was kept is put back with it.
    """
    original = Member(restored.owner, text_of(restored.name) or "")
    for event in reversed(events):
        if not isinstance(event, WriteEvent):
            continue
        if event.value == original:
            return
        if same_place(event, restored) and event.deferred == restored.deferred:
            event.transient = not is_either(event, restored) or UNREACHED in event.when


def is_either(left: Write, right: Write) -> bool:
    """One run makes the one or the other."""
    return any(negate(test) in right.when for test in left.when)


def same_place(left: Write, right: Write) -> bool:
    return left.is_item == right.is_item and left.owner == right.owner and left.name == right.name


def module_around(path: str) -> str:
    """The module a function or class is defined in: its path without its own name and the classes around it."""
    owner = path.rpartition(".")[0]
    while owner.rpartition(".")[2][:1].isupper():
        owner = owner.rpartition(".")[0]
    return owner


def name_module(value: Value) -> str | None:
    """A module given by name: a text, or `x.__module__` of something outside."""
    match value:
        case Member(owner=Outside(path=path), name="__module__") if not path.rpartition(".")[2].startswith("__"):
            return module_around(path)
    return text_of(value)
