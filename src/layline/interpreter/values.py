"""What an expression of the downstream may stand for, as far as reading can tell."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

from layline.interpreter.modules import Module, Scope
from layline.interpreter.modules import Value as Value  # noqa: PLC0414  whoever handles kinds asks here

MOST_PARTS = 400
"""Values grow with the code that makes them; a larger one is Unknown, so that comparing two stays cheap."""


_Made = TypeVar("_Made")


@dataclass_transform(frozen_default=True)
def _value(*, eq: bool = True) -> Callable[[type[_Made]], type[_Made]]:
    """Frozen for the type checker: a run makes millions of values, and freezing is half the cost of making one."""
    return dataclass(slots=True, eq=eq, unsafe_hash=eq)


class _Bounded(type):
    """Composite values know their size; one that grows too large becomes Unknown."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        made = super().__call__(*arguments, **keywords)
        return made if made.parts <= MOST_PARTS else Unknown("a value too large to follow")


class _Composite(Value, metaclass=_Bounded):
    """A value made of others; its hash and size are computed once."""

    __slots__ = ("digest", "grows", "parts")
    parts: int
    digest: int
    grows: bool
    """Whether a list or table is in it, which may have more items later."""

    def _seal(self, *inner: Any) -> None:
        parts, growing = 1, False
        for item in inner:
            if isinstance(item, _Composite):
                parts += item.parts
                growing = growing or item.grows
            else:
                parts += 1
                growing = growing or isinstance(item, Items | Table)
        self.parts, self.grows = parts, growing
        self.digest = hash((type(self).__name__, *inner))

    def _hold(self) -> tuple[Any, ...]:
        """What makes it equal to another."""
        raise NotImplementedError

    def __hash__(self) -> int:
        return self.digest

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__ or not isinstance(other, _Composite):
            return NotImplemented
        return self.digest == other.digest and self._hold() == other._hold()


def grows(value: Any) -> bool:
    """Whether what a value is made of may have more items later."""
    return isinstance(value, _Composite) and value.grows


@_value()
class Outside(Value):
    """A name outside the downstream: a module, class, function or attribute of upstream or any other package."""

    path: str


@_value()
class Literal(Value):
    """A constant."""

    value: object


@_value()
class Annotation:
    """What is written behind a parameter, and the names it is written in."""

    node: ast.expr
    scope: Scope


@_value()
class Argument(Value):
    """A parameter nobody told us; `context` marks the one that a patch engine hands to handlers and conditions."""

    name: str
    context: bool = False
    says: Annotation | None = field(default=None, compare=False, repr=False)
    """What its annotation says, read when somebody asks for its class (see `interpreter.annotated`)."""


@_value(eq=False)
class Member(_Composite):
    """An attribute of something opaque."""

    owner: Value
    name: str
    default: Value | None = None

    def __post_init__(self) -> None:
        self._seal(self.owner, self.name, self.default)

    def _hold(self) -> tuple[Any, ...]:
        return self.owner, self.name, self.default


@_value(eq=False)
class Element(_Composite):
    """An item of something opaque."""

    owner: Value
    key: Value
    default: Value | None = None

    def __post_init__(self) -> None:
        self._seal(self.owner, self.key, self.default)

    def _hold(self) -> tuple[Any, ...]:
        return self.owner, self.key, self.default


@_value(eq=False)
class Called(_Composite):
    """What an opaque call returns."""

    callee: Value
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        self._seal(self.callee, *self.arguments, *(item for pair in self.keywords for item in pair))

    def _hold(self) -> tuple[Any, ...]:
        return self.callee, self.arguments, self.keywords


@_value(eq=False)
class Test(_Composite):
    """A boolean or comparison: `and or not == != < > <= >= is in importable`."""

    operator: str
    operands: tuple[Value, ...]

    def __post_init__(self) -> None:
        self._seal(self.operator, *self.operands)

    def _hold(self) -> tuple[Any, ...]:
        return self.operator, self.operands


@_value(eq=False)
class Choice(_Composite):
    """One value or another, by a test."""

    test: Value
    yes: Value
    no: Value

    def __post_init__(self) -> None:
        self._seal(self.test, self.yes, self.no)

    def _hold(self) -> tuple[Any, ...]:
        return self.test, self.yes, self.no


@_value()
class Unknown(Value):
    """Something reading cannot tell, and why."""

    why: str


@_value(eq=False)
class Partial(_Composite):
    """A callable with some arguments already given."""

    function: Value
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        self._seal(self.function, *self.arguments, *(item for pair in self.keywords for item in pair))

    def _hold(self) -> tuple[Any, ...]:
        return self.function, self.arguments, self.keywords


@dataclass(slots=True, eq=False)
class Function(Value):
    """A function, method or lambda of the downstream with the scope it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    scope: Scope
    name: str
    """Dotted inside its module, `<locals>` left out."""
    bound: Value | None = None
    """What `self` or `cls` is, for a bound method."""
    kind: str = "function"
    """function, staticmethod, classmethod or property."""
    defaults: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
    captured: dict[str, Value] | None = None
    """The names around it when it was defined; a branch that returned leaves them nowhere else."""
    decorates: Function | None = None
    """The function that a decorator of ours put this one around."""

    @property
    def dotted(self) -> str:
        return f"{self.module.name}.{self.name}"


@dataclass(slots=True, eq=False)
class Class(Value):
    """A class of the downstream."""

    node: ast.ClassDef
    module: Module
    scope: Scope
    """Its own names."""
    name: str
    bases: tuple[Value, ...] = ()

    @property
    def dotted(self) -> str:
        return f"{self.module.name}.{self.name}"


@dataclass(slots=True, eq=False)
class Instance(Value):
    """An object of a downstream class."""

    of: Class
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Items(Value):
    """A list, tuple or set whose items we know; `whole` is False when there may be more."""

    values: list[Value]
    whole: bool = True
    sure: int | None = None
    """How many of them are there whichever function ran before; None: all."""


@dataclass(slots=True, eq=False)
class Table(Value):
    """A dict whose entries we know."""

    entries: list[tuple[Value, Value]]
    whole: bool = True
    under: dict[int, Value] = field(default_factory=dict)
    made: tuple[Value, ...] = ()
    """`under`: number of an entry → the test it was put there on, beyond those it was `made` on."""


@dataclass(slots=True, eq=False)
class Made(Value):
    """A module or namespace object the downstream makes itself: `types.ModuleType("a.b")`."""

    name: str
    attributes: dict[str, Value] = field(default_factory=dict)
    place: str | None = None
    """Which attribute of another package it was put into."""

    @property
    def dotted(self) -> str:
        """The name it is made with, where that is a full one; else its place says what it is."""
        return self.name if "." in self.name or self.place is None else self.place


@dataclass(slots=True, eq=False)
class Copied(Value):
    """What `copy` or `deepcopy` made of an object: another one, with what was set on it since."""

    of: Value
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Source(Value):
    """Text that began as the source of an upstream object, with the anchors looked for in it."""

    of: Value
    anchors: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Texts put in their place."""


@dataclass(slots=True, eq=False)
class Later(Value):
    """A name imported from one of our modules, looked up when it is used: most imports never are."""

    base: str
    name: str
    value: Value | None = None


@_value()
class Inside(Value):
    """A module of the downstream."""

    module: Module


NONE, TRUE, FALSE = Literal(None), Literal(True), Literal(False)
EACH = Unknown("each")
"""The key of an item that stands for every one of something opaque."""
LEFT_OUT = Unknown("left out by a filter")
"""What stands in for an item where the filter of its comprehension does not hold: nothing."""
RAISES = Unknown("an exception")
"""The test that leads into an `except`."""
GOES_WELL = Unknown("no exception")
"""Its contrary, as small: values that a `try` decides are held in large numbers."""
UNREACHED = Unknown("what earlier tests rule out")
"""A test that does not hold, beside one that says the contrary of what is known."""
_MOST_ALTERNATIVES = 24
_MOST_BASES = 12


def find_alternatives(value: Value) -> list[Value]:
    """Every value it may be, choices opened, each once."""
    found: list[Value] = []
    waiting = [value]
    while waiting and len(found) < _MOST_ALTERNATIVES:
        match waiting.pop(0):
            case Choice(yes=yes, no=no):
                waiting[:0] = [yes, no]
            case Test(operator="or", operands=operands):
                waiting[:0] = operands
            case Test(operator="and", operands=operands):
                waiting.insert(0, operands[-1])
            case Member(default=default) | Element(default=default) as opaque if default is not None:
                found.append(opaque)
                waiting.append(default)
            case other if other not in found and other != LEFT_OUT:
                found.append(other)
    return found


def truth(value: Value) -> bool | None:
    """Whether it is surely true or surely false."""
    match value:
        case Literal(value=constant):
            return bool(constant)
        case Function() | Class() | Instance() | Inside() | Made() | Partial():
            return True
        case Items(values=values, whole=True) if values:
            return True
        case Test(operator="not", operands=(inner,)):
            known = truth(inner)
            return None if known is None else not known
    return None


def negate(value: Value) -> Value:
    match value:
        case Test(operator="not", operands=(inner,)):
            return inner
        case Literal(value=constant):
            return Literal(not constant)
    return Test("not", (value,))


def conjoin(values: tuple[Value, ...]) -> Value:
    kept = tuple(dict.fromkeys(value for value in values if truth(value) is not True))
    return kept[0] if len(kept) == 1 else Test("and", kept) if kept else TRUE


def find_order(owner: Class, depth: int = 0) -> list[Value]:
    """The class and all it inherits from, as Python looks: a shared base comes after those that share it."""
    found: list[Value] = [owner]
    for base in owner.bases if depth < _MOST_BASES else ():
        inner: list[Value] = find_order(base, depth + 1) if isinstance(base, Class) else [base]
        found = [*(item for item in found if item is owner or item not in inner), *inner]
    return found


def bind(function: Function, owner: Value) -> Function:
    """The function as a bound method."""
    return Function(
        function.node,
        function.module,
        function.scope,
        function.name,
        owner,
        function.kind,
        function.defaults,
        captured=function.captured,
    )
