"""Lists and tables of the downstream: what their methods do, and on which test an item is there."""

from __future__ import annotations

from layline.interpreter.inner import walk
from layline.interpreter.objects import asks_class
from layline.interpreter.state import Machine
from layline.interpreter.values import LEFT_OUT, Choice, Items, Literal, Table, Test, Unknown, Value, conjoin, truth


def put_under(machine: Machine, value: Value) -> Value:
    """An item that a list is given under a test is there where the test holds."""
    tests = tuple(test for test in machine.conditions() if truth(test) is None and _is_closed(test))
    if not tests:
        return value
    test = conjoin(tests)
    machine.gathered[test] = True
    return Choice(test, value, LEFT_OUT)


def _is_closed(test: Value) -> bool:
    """Whether a test is about no list: `if x not in seen: seen.append(x)` would put the list into itself; and, unless it
    asks for a class, about nothing unknown.
    """
    open_ = (Items, Table) if asks_class(test) else (Items, Table, Unknown)
    return not any(isinstance(inner, open_) for inner in walk(test, lambda _: False))


def open_filters(machine: Machine, found: tuple[Value, ...]) -> list[Value]:
    """What an item says about when it is there, as far as it is not known where the loop stands."""
    known, kept = machine.conditions(), []
    for test in found:
        parts = test.operands if isinstance(test, Test) and test.operator == "and" else (test,)
        fresh = [] if test in known else [part for part in parts if part not in known]
        machine.filters.update(dict.fromkeys(fresh, test not in machine.gathered))
        kept += fresh
    return kept


def call_list_method(machine: Machine, items: Items, name: str, arguments: list[Value]) -> Value | None:
    match name, arguments:
        case (("append" | "add"), [value]):
            machine.journal.note_growth(items)
            items.values.append(put_under(machine, value))
            return Literal(None)
        case (("extend" | "update"), [more]):
            known = machine.iterate(more)
            machine.journal.note_growth(items)
            added = more.values if isinstance(more, Items) else known or []
            items.values.extend(put_under(machine, value) for value in added)
            items.whole = items.whole and known is not None
            return Literal(None)
        case "pop", _:
            return items.values[-1] if items.values else Unknown("an item")
        case "copy", []:
            return Items(list(items.values), whole=items.whole)
    return None


def call_dict_method(machine: Machine, table: Table, name: str, arguments: list[Value]) -> Value | None:
    match name, arguments:
        case "items", []:
            return Items([Items([key, value]) for key, value in table.entries], whole=table.whole)
        case "keys", []:
            return Items([key for key, _ in table.entries], whole=table.whole)
        case "values", []:
            return Items([value for _, value in table.entries], whole=table.whole)
        case (("get" | "pop"), [key, *default]):
            return machine.read_item(table, key, default[0] if default else Literal(None))
        case "setdefault", [key, value]:
            found = machine.read_item(table, key, value)
            if found is value:
                machine.journal.note_growth(table)
                table.entries.append((key, value))
            return found
        case "update", [Table(entries=entries, whole=whole)]:
            machine.journal.note_growth(table)
            table.entries.extend(entries)
            table.whole = table.whole and whole
            return Literal(None)
        case "copy", []:
            return Table(list(table.entries), whole=table.whole)
    return None
