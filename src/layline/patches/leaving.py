"""What a context manager of ours puts back: a swap made on entering and undone on leaving is transient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.patches.reading.events import Event, Write
from layline.patches.reading.journal import Journal
from layline.patches.reading.machine import text_of
from layline.patches.reading.values import (
    Class,
    Function,
    Instance,
    Outside,
    Partial,
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
"""An outside object and the attribute set on it; None where only a run tells which."""


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
            if isinstance(event, Write) and isinstance(event.owner, Outside) and not event.is_item:
                back = self._find_undone(owner)
                name = text_of(event.name)
                if not event.deferred and {(event.owner.path, name), (event.owner.path, None)} & back:
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
            if isinstance(event, Write) and isinstance(event.owner, Outside) and not event.is_item:
                values = find_alternatives(event.value) if event.value is not None else []
                if not any(isinstance(value, Function | Class | Partial) for value in values):
                    yield event.owner.path, text_of(event.name)
