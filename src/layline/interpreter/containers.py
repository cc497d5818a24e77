"""Lists and tables of the downstream: what their methods do, and on which test an item is there."""

from __future__ import annotations

import ast
from collections.abc import Callable

from layline.interpreter.inner import walk
from layline.interpreter.objects import asks_class
from layline.interpreter.state import Machine
from layline.interpreter.values import (
    EACH,
    LEFT_OUT,
    Choice,
    Items,
    Literal,
    Outside,
    Table,
    Test,
    Unknown,
    Value,
    conjoin,
    truth,
)

_SOME = Unknown("on some test")
"""An entry that may not be there, on a test that cannot be told."""


def put_under(machine: Machine, value: Value) -> Value:
    """An item that a list is given under a test is there where the test holds."""
    test = _find_test(machine)
    return value if test is None else Choice(test, value, LEFT_OUT)


def put_entries(machine: Machine, table: Table, entries: list[tuple[Value, Value]]) -> None:
    """Entries that a table is given, with the test they are there on."""
    machine.journal.note_growth(table)
    test = _find_test(machine, table.made)
    if test is None and any(truth(one) is None for one in machine.conditions() if one not in table.made):
        test = _SOME
    if test is not None:
        first = len(table.entries)
        table.under.update(dict.fromkeys(range(first, first + len(entries)), test))
    table.entries.extend(entries)


def _find_test(machine: Machine, known: tuple[Value, ...] = ()) -> Value | None:
    asked = (test for test in machine.conditions() if test not in known)
    tests = tuple(test for test in asked if truth(test) is None and is_closed(test))
    if not tests:
        return None
    test = conjoin(tests)
    machine.gathered[test] = True
    return test


def list_entries(table: Table, say: Callable[[Value, Value], Value]) -> Items:
    """What stands for each entry, where that entry is there; a key that is given anew is one entry."""
    found: dict[Value, tuple[Value, Value | None]] = {}
    for number, (key, value) in enumerate(table.entries):
        test, before = table.under.get(number), found.get(key)
        if before is None or test is None:
            found[key] = (value, test)
        else:
            known = [one for one in (before[1], test) if one not in (None, _SOME)]
            found[key] = (Choice(test, value, before[0]), Test("or", tuple(known)) if len(known) > 1 else before[1])
    told = ((say(key, value), test) for key, (value, test) in found.items())
    items = [item if test in (None, _SOME) else Choice(test, item, LEFT_OUT) for item, test in told]
    return Items(items, whole=table.whole)


def is_closed(test: Value) -> bool:
    """Whether a test is about no list: `if x not in seen: seen.append(x)` would put the list into itself; and, unless it
    asks for a class, about nothing unknown but which of many objects it is.
    """
    open_ = (Items, Table) if asks_class(test) else (Items, Table, Unknown)
    return not any(isinstance(inner, open_) and inner != EACH for inner in walk(test, lambda _: False))


def asks_each(test: Value) -> bool:
    """Whether a test is about one of many objects that only a run knows: it chooses among them."""
    return any(inner == EACH for inner in walk(test, lambda _: False))


def open_filters(machine: Machine, found: tuple[Value, ...]) -> list[Value]:
    """What an item says about when it is there, as far as it is not known where the loop stands."""
    known, kept = machine.conditions(), []
    for test in found:
        parts = test.operands if isinstance(test, Test) and test.operator == "and" else (test,)
        _note_parts(machine, test)
        fresh = [] if test in known else [part for part in parts if part not in known]
        machine.filters.update(dict.fromkeys(fresh, test not in machine.gathered))
        kept += fresh
    return kept


def _note_parts(machine: Machine, test: Value) -> None:
    """What is written of a filter is written of its parts."""
    match test, machine.tests.get(test):
        case Test(operator="and", operands=operands), ast.BoolOp(op=ast.And(), values=nodes):
            for part, node in zip(operands, nodes, strict=False) if len(operands) == len(nodes) else ():
                machine.note_test(part, node)


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


def grow(machine: Machine, node: ast.AugAssign, left: Value, right: Value) -> bool:
    """Whether `left += [x]`, `left |= {k: x}` changes what it names in place, and so for all who hold it."""
    match left, node.op, right:
        case Items(), ast.Add(), Items():
            call_list_method(machine, left, "extend", [right])
        case Table(), ast.BitOr(), Table():
            call_dict_method(machine, left, "update", [right])
        case Outside(path=path), ast.BitOr(), Table() if path != "os.environ":
            machine.call(Outside(f"{path}.update"), [right], {}, node)
        case Outside(path=path), ast.Add(), Items() if isinstance(node.value, ast.List | ast.ListComp):
            machine.call(Outside(f"{path}.extend"), [right], {}, node)
        case _:
            return False
    return True


def call_dict_method(machine: Machine, table: Table, name: str, arguments: list[Value]) -> Value | None:
    match name, arguments:
        case "items", []:
            return list_entries(table, lambda key, value: Items([key, value]))
        case "keys", []:
            return list_entries(table, lambda key, _: key)
        case "values", []:
            return list_entries(table, lambda _, value: value)
        case (("get" | "pop"), [key, *default]):
            return machine.read_item(table, key, default[0] if default else Literal(None))
        case "setdefault", [key, value]:
            found = machine.read_item(table, key, value)
            if found is value:
                put_entries(machine, table, [(key, value)])
            return found
        case "update", [Table(entries=entries, whole=whole)]:
            put_entries(machine, table, entries)
            table.whole = table.whole and whole
            return Literal(None)
        case "copy", []:
            return Table(list(table.entries), table.whole, dict(table.under), table.made)
    return None
