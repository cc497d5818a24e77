"""What one run changes of the state that runs share: the next one must not take it for granted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.values import Choice, Class, Function, Instance, Items, Literal, Table, Unknown

if TYPE_CHECKING:
    from layline.interpreter.modules import Module
    from layline.interpreter.values import Value

EARLIER = Unknown("whether another function ran before")


@dataclass(slots=True, eq=False)
class Journal:
    """Names of modules, classes and objects that a run has set, and lists it has added to, as they were before."""

    names: list[tuple[dict[str, Value], str, Value | None]] = field(default_factory=list)
    fields: list[tuple[dict[str, Value], str, Value | None]] = field(default_factory=list)
    """Those of `names` that are fields of objects."""
    grown: list[tuple[Items | Table, int]] = field(default_factory=list)
    settled: list[tuple[Callable[..., None], tuple[object, ...]]] = field(default_factory=list)
    """How to take back what runs before this one have left, in order."""

    def note(self, names: dict[str, Value], name: str) -> None:
        self.names.append((names, name, names.get(name)))

    def note_field(self, names: dict[str, Value], name: str) -> None:
        """What is set on an object of ours: of two branches that set it, either may have."""
        self.note(names, name)
        self.fields.append(self.names[-1])

    def note_growth(self, items: Items | Table) -> None:
        self.grown.append((items, len(items.values if isinstance(items, Items) else items.entries)))

    def undo(self) -> None:
        """As if the run had never been."""
        for names, name, before in reversed(self.names):
            put_name(names, name, before)
        for items, length in reversed(self.grown):
            _cut(items, length)
        self.names, self.fields, self.grown = [], [], []

    def undo_all(self) -> None:
        """As if none of the runs since the journal was begun had ever been."""
        self.undo()
        for put, given in reversed(self.settled):
            put(*given)
        self.settled = []

    def settle(self) -> None:
        """The end of a run: its marks are taken back, whatever else it kept may be there or not."""
        self.settled += [(put_name, noted) for noted in self.names]
        self.settled += [(_shrink, (items, length, getattr(items, "sure", None))) for items, length in self.grown]
        for names, name, before in reversed(self.names):
            now = names.get(name)
            if isinstance(now, Literal) or (before is None and isinstance(now, Items | Table)):
                put_name(names, name, before)
            elif now is not None and before is not None and now is not before and not _holds(now, before):
                names[name] = before if _holds(before, now) else Choice(EARLIER, now, before)
        for items, length in reversed(self.grown):
            if isinstance(items, Items):
                items.sure = length if items.sure is None else min(items.sure, length)
            else:
                added = items.entries[length:]
                items.entries[length:] = [entry for entry in added if not isinstance(entry[1], Literal)]
        self.names, self.fields, self.grown = [], [], []


class BranchedFields:
    """The fields of objects of ours after an `if`: what either branch has set, a choice where both did."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._begin = self._middle = len(journal.fields)
        self._yes: dict[tuple[int, str], Value | None] = {}

    def turn(self) -> None:
        """The first branch has run: the other one begins with what there was before."""
        noted = self._journal.fields[self._begin :]
        self._middle = self._begin + len(noted)
        self._yes = {(id(names), name): names.get(name) for names, name, _ in noted}
        for names, name, before in reversed(noted):
            put_name(names, name, before)

    def join(self, test: Value, yes: bool, no: bool) -> None:
        """Both have run; `yes` and `no` say which of them goes on."""
        before: dict[tuple[int, str], tuple[dict[str, Value], Value | None]] = {}
        for names, name, value in self._journal.fields[self._begin :]:
            before.setdefault((id(names), name), (names, value))
        for (key, name), (names, value) in before.items():
            left, right = self._yes.get((key, name), value), names.get(name)
            if yes and not no:
                put_name(names, name, left)
            elif yes and left is not None:
                is_same = right is None or left is right or left == right
                names[name] = left if is_same or right is None else Choice(test, left, right)


def find_changed_others(journal: Journal, module: Module, others: Iterable[Module]) -> Iterator[str]:
    """The other modules that hold something which the import of this one has changed."""
    changed = [names for names, name, before in journal.names if names.get(name) is not before]
    touched = {id(item) for item in (*changed, *(items for items, _ in journal.grown))} - _find_held(module)
    for other in others if touched else ():
        if other is not module and touched & _find_held(other):
            yield other.name


def _find_held(module: Module) -> set[int]:
    """Identities of the lists, tables and name spaces that a module holds."""
    seen = {id(module.scope.names)}
    waiting = list(module.scope.names.values())
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        match value:
            case Items(values=values):
                waiting.extend(values)
            case Table(entries=entries):
                waiting.extend(item for entry in entries for item in entry)
            case Class(scope=scope) if value.module is module:
                seen.add(id(scope.names))
                waiting.extend(scope.names.values())
            case Instance(attributes=attributes) | Function(attributes=attributes):
                seen.add(id(attributes))
                waiting.extend(attributes.values())
    return seen


def _shrink(items: Items | Table, length: int, sure: int | None) -> None:
    if isinstance(items, Items):
        items.sure = sure
    _cut(items, length)


def _cut(items: Items | Table, length: int) -> None:
    if isinstance(items, Items):
        del items.values[length:]
        return
    del items.entries[length:]
    for number in [number for number in items.under if number >= length]:
        del items.under[number]


def put_name(names: dict[str, Value], name: str, value: Value | None) -> None:
    if value is None:
        names.pop(name, None)
    else:
        names[name] = value


def _holds(value: Value, other: Value) -> bool:
    """Whether one is the other, or an earlier run of the same left it there."""
    return value == other or (isinstance(value, Choice) and value.test == EARLIER and other in (value.yes, value.no))
