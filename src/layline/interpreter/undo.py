"""What one run changes of the state that runs share: the next one must not take it for granted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.interpreter.values import Choice, Items, Literal, Table, Unknown

if TYPE_CHECKING:
    from layline.interpreter.values import Value

EARLIER = Unknown("whether another function ran before")


@dataclass(slots=True, eq=False)
class Journal:
    """Names of modules, classes and objects that a run has set, and lists it has added to, as they were before."""

    names: list[tuple[dict[str, Value], str, Value | None]] = field(default_factory=list)
    grown: list[tuple[Items | Table, int]] = field(default_factory=list)

    def note(self, names: dict[str, Value], name: str) -> None:
        self.names.append((names, name, names.get(name)))

    def note_growth(self, items: Items | Table) -> None:
        self.grown.append((items, len(items.values if isinstance(items, Items) else items.entries)))

    def undo(self) -> None:
        """As if the run had never been."""
        for names, name, before in reversed(self.names):
            _put(names, name, before)
        for items, length in reversed(self.grown):
            del (items.values if isinstance(items, Items) else items.entries)[length:]
        self.names, self.grown = [], []

    def settle(self) -> None:
        """The end of a run: its marks are taken back, whatever else it kept may be there or not."""
        for names, name, before in reversed(self.names):
            now = names.get(name)
            if isinstance(now, Literal) or (before is None and isinstance(now, Items | Table)):
                _put(names, name, before)
            elif now is not None and before is not None and now is not before and not _holds(now, before):
                names[name] = before if _holds(before, now) else Choice(EARLIER, now, before)
        for items, length in reversed(self.grown):
            if isinstance(items, Items):
                items.sure = length if items.sure is None else min(items.sure, length)
            else:
                added = items.entries[length:]
                items.entries[length:] = [entry for entry in added if not isinstance(entry[1], Literal)]
        self.names, self.grown = [], []


def _put(names: dict[str, Value], name: str, value: Value | None) -> None:
    if value is None:
        names.pop(name, None)
    else:
        names[name] = value


def _holds(value: Value, other: Value) -> bool:
    """Whether one is the other, or an earlier run of the same left it there."""
    return value == other or (isinstance(value, Choice) and value.test == EARLIER and other in (value.yes, value.no))
