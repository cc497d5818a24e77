"""What a context manager of ours puts back: a swap made on entering and undone on leaving is transient."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.events import Call, Event, Write
from layline.interpreter.state import text_of
from layline.interpreter.undo import Journal
from layline.interpreter.values import (
    Argument,
    Called,
    Choice,
    Class,
    Element,
    Function,
    Instance,
    Literal,
    Member,
    Outside,
    Partial,
    Value,
    bind,
    find_alternatives,
)
from layline.patches.inventory.registrations import run_function

if TYPE_CHECKING:
    import ast

    from layline.interpreter.calls import Interpreter

_ENDS = ("__exit__", "__aexit__")
_BEGINS = ("__enter__", "__aenter__")
_MAKER = "__init__"
_MOST_PATHS = 8
_REGISTERS = (".register", ".register_module")
_SWEEP = re.compile(r"(.+)\.(?:named_modules|modules|children|named_children)\(\)\[\](?:\[1\])?$")
Place = tuple[str, str | None]
"""An object as a path, and the attribute set on it; None where only a run tells which."""


@dataclass(slots=True, eq=False)
class Left:
    """One class of ours, entered and left on trial."""

    undone: set[Place] = field(default_factory=set)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    """What its constructor keeps of what it is given: attribute → paths, `_model` → `model`."""

    def undoes(self, place: Place) -> bool:
        """Leaving puts it back: this very one, or every module below one it is part of."""
        path, name = place
        if not self.undone.isdisjoint({place, (path, None)}):
            return True
        swept = (_SWEEP.match(other) for other, back in self.undone if back in {name, None})
        return any(found is not None and path.startswith(f"{found.group(1)}.") for found in swept)


class Leavings:
    """Marks what methods of context managers write and their `__exit__` undoes."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._known: dict[ast.AST, Left] = {}

    def mark(self, events: list[Event], function: Function) -> None:
        owner = function.bound.of if isinstance(function.bound, Instance) else None
        if owner is None or function.name.endswith(_ENDS):
            return
        made = function.name.endswith(f".{_MAKER}")
        for event in events:
            if isinstance(event, Write | Call) and not event.deferred and not event.transient:
                left = self._find_left(owner)
                event.transient = any(left.undoes(place) for place in find_places(event, left.aliases, made=made))

    def _find_left(self, owner: Class) -> Left:
        if owner.node not in self._known:
            self._known[owner.node] = Left()
            self._known[owner.node] = self._read(owner)
        return self._known[owner.node]

    def _read(self, owner: Class) -> Left:
        """Make, enter and leave an object, and see what the leaving writes."""
        machine, left = self._machine, Left()
        begin, end = self._find_method(owner, _BEGINS), self._find_method(owner, _ENDS)
        if begin is None or end is None:
            return left
        with machine.in_state(log=machine.log, stored={}, journal=Journal()):
            before = self._make(owner, left)
            made = Instance(owner)
            before += run_function(machine, bind(begin, made), [])
            after = run_function(machine, bind(end, made), [])
            machine.journal.undo()
        kept = {text_of(event.name) for event in before if isinstance(event, Write)}
        for event in after:
            if isinstance(event, Write | Call) and _gives_back(event) and not _asks_in_vain(event, kept):
                left.undone.update(find_places(event, left.aliases))
        return left

    def _find_method(self, owner: Class, names: tuple[str, ...]) -> Function | None:
        found = (self._machine.read_attribute(owner, name) for name in names)
        return next((method for method in found if isinstance(method, Function)), None)

    def _make(self, owner: Class, left: Left) -> list[Event]:
        """Run the constructor, for what it keeps and what it writes."""
        maker, made = self._find_method(owner, (_MAKER,)), Instance(owner)
        if maker is None:
            return []
        events = run_function(self._machine, bind(maker, made), [])
        known = ((name, _spell(value, {}, made=True)) for name, value in made.attributes.items())
        left.aliases = {name: paths for name, paths in known if paths}
        return list(events)


def find_places(event: Write | Call, aliases: dict[str, list[str]], *, made: bool = False) -> Iterator[Place]:
    """What an event sets: attribute, item or registry entry, of each object it may mean."""
    if isinstance(event, Call):
        entry = _find_entry(event)
        if entry is not None:
            yield entry[0], f"({entry[1]})"
        return
    name = text_of(event.name)
    if name is None and isinstance(event.name, Member):  # `setattr(obj, self._name, x)`: this one name, whatever it is
        name = next((f"<{path}>" for path in _spell(event.name, aliases, made=made)), None)
    if not (event.is_item and name is None):
        for path in _spell(event.owner, aliases, made=made):
            yield path, f"[{name}]" if event.is_item else name


def _find_entry(event: Call) -> tuple[str, str] | None:
    """`REGISTRY.register("key", value)`: the registry and the key."""
    match event:
        case Call(callee=Outside(path=path), arguments=(Literal(value=str(key)), _, *_)) if path.endswith(_REGISTERS):
            return path, key
    return None


def _spell(value: Value, aliases: dict[str, list[str]], *, made: bool = False) -> list[str]:
    """An object as paths that are the same on entering and on leaving; none for what no path leads to."""
    match value:
        case Outside(path=path):
            return [path]
        case Argument(name=name):
            return [name if made else f"{name}, a parameter"]
        case Instance():
            return ["self"]
        case Choice(yes=yes, no=no):
            return (_spell(yes, aliases, made=made) + _spell(no, aliases, made=made))[:_MOST_PATHS]
        case Member(owner=Instance(), name=name) if name in aliases:
            return aliases[name]
        case Member(owner=owner, name=name):
            return [f"{inner}.{name}" for inner in _spell(owner, aliases, made=made)]
        case Element(owner=owner, key=key):
            shown = key.value if isinstance(key, Literal) else ""
            return [f"{inner}[{shown}]" for inner in _spell(owner, aliases, made=made)]
        case Called(callee=callee, arguments=arguments):
            given = ", ".join((_spell(item, aliases, made=made) or [""])[0] for item in arguments)
            return [f"{inner}({given})" for inner in _spell(callee, aliases, made=made)]
    return []


def _gives_back(event: Write | Call) -> bool:
    """Nothing new of ours is put there: what stood there before comes back, or the attribute goes."""
    if isinstance(event, Call):
        return not any(_is_new(value) for value in event.arguments)
    return event.value is None or not _is_new(event.value)


def _is_new(value: Value) -> bool:
    """Something of ours; a bound method counts by what is bound."""
    for found in find_alternatives(value):
        match found:
            case Called(callee=Outside(path="types.MethodType"), arguments=(bound, *_)):
                if _is_new(bound):
                    return True
            case Function() | Class() | Partial():
                return True
    return False


def _asks_in_vain(event: Write | Call, kept: set[str | None]) -> bool:
    """It puts something back only if it finds a private name that entering never sets: a typo, so it never does."""
    for test in event.when:
        match test:
            case Called(
                callee=Outside(path="builtins.hasattr"),
                arguments=(Member() | Element() | Argument(), Literal(value=str(name))),
            ):
                if name.startswith("_") and not name.endswith("__") and name not in kept:
                    return True
    return False
