"""What a context manager of ours puts back: a swap made on entering and undone on leaving is transient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from layline.patches.reading.events import Call, Event, Write
from layline.patches.reading.journal import Journal
from layline.patches.reading.machine import text_of
from layline.patches.reading.objects import is_undone, spell_object
from layline.patches.reading.values import (
    Class,
    Function,
    Instance,
    Outside,
    Partial,
    Value,
    bind,
    find_alternatives,
)
from layline.patches.registrations import run_function

if TYPE_CHECKING:
    import ast

    from layline.patches.reading.calls import Interpreter

_ENDS = ("__exit__", "__aexit__")
_BEGINS = ("__enter__", "__aenter__")
Place = tuple[str, str | None]
"""An object, by its path or by how it is reached, and the attribute set on it; None where only a run tells which."""
_REGISTERS = (".register", ".register_module")


class Leavings:
    """Marks what methods of context managers write and their `__exit__` undoes."""

    def __init__(self, machine: Interpreter) -> None:
        self._machine = machine
        self._known: dict[ast.AST, frozenset[Place]] = {}

    def mark(self, events: list[Event], function: Function) -> None:
        owner = function.bound.of if isinstance(function.bound, Instance) else None
        if owner is None or function.name.endswith(_ENDS):
            return
        for event in events:
            if isinstance(event, Write | Call) and not event.deferred and _is_undone(event, self._find_undone, owner):
                event.transient = True

    def _find_undone(self, owner: Class) -> frozenset[Place]:
        if owner.node not in self._known:
            self._known[owner.node] = frozenset()
            self._known[owner.node] = frozenset(self._read(owner))
        return self._known[owner.node]

    def _read(self, owner: Class) -> Iterator[Place]:
        """Enter and leave one object, and see what the leaving writes."""
        machine = self._machine
        made = Instance(owner)
        methods = [[machine.read_attribute(owner, name) for name in names] for names in (_BEGINS, _ENDS)]
        begin, end = (next((m for m in found if isinstance(m, Function)), None) for found in methods)
        if begin is None or end is None:
            return
        saved, machine.stored, machine.journal = (machine.log, machine.stored, machine.journal), {}, Journal()
        run_function(machine, bind(begin, made), [])
        events = run_function(machine, bind(end, made), [])
        machine.journal.undo()
        machine.log, machine.stored, machine.journal = saved
        for event in events:
            place = _find_place(event)
            values = _find_values(event)
            if place is not None and not any(isinstance(value, Function | Class | Partial) for value in values):
                yield place


def _is_undone(event: Write | Call, find_undone: Callable[[Class], frozenset[Place]], owner: Class) -> bool:
    place = _find_place(event)
    if place is None:
        return False
    undone = find_undone(owner)
    if isinstance(event, Write) and not isinstance(event.owner, Outside):
        return is_undone(place[0], (text for text, name in undone if name in {place[1], None}))
    return place in undone or (place[0], None) in undone


def _find_place(event: Event) -> Place | None:
    """What an event sets: an attribute of an object, or an entry of a registry."""
    match event:
        case Write(is_item=False, owner=owner, name=name):
            spelled = spell_object(owner)
            return (spelled, text_of(name)) if spelled is not None else None
        case Call(callee=Outside(path=path), arguments=(key, _, *_)) if path.endswith(_REGISTERS):
            return (path, text_of(key)) if text_of(key) is not None else None
    return None


def _find_values(event: Event) -> list[Value]:
    match event:
        case Write(value=value) if value is not None:
            return find_alternatives(value)
        case Call(arguments=arguments):
            return list(arguments)
    return []
