"""What is read item by item: loops that stop at the first item that fits, and comprehensions with their filters.

After such a loop a name is what it was at any of the stops. A filter that can be decided is applied, another one stays
with what it lets through.
"""

from __future__ import annotations

import ast
from typing import TypeAlias

from layline.interpreter.branches import merge_names
from layline.interpreter.containers import asks_each, is_closed
from layline.interpreter.modules import Scope
from layline.interpreter.state import Loop, Machine
from layline.interpreter.values import (
    LEFT_OUT,
    Called,
    Choice,
    Class,
    Element,
    Function,
    Items,
    Literal,
    Outside,
    Table,
    Unknown,
    Value,
    conjoin,
    negate,
    truth,
)

MOST_ITEMS = 400
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_MOST_STOPS = 12
"""A loop over more items is read as if it went on to its end."""


def note_stop(loop: Loop, test: Value, names: dict[str, Value]) -> None:
    """A branch that ends in `break`."""
    loop.stops.append((test, names, [owner.attributes[name] for owner, name in loop.written]))


def settle_loop(loop: Loop, names: dict[str, Value]) -> dict[str, Value]:
    """The names after a loop; attributes of our objects are settled where they are."""
    if len(loop.stops) > _MOST_STOPS:
        return names
    for test, stopped, values in reversed(loop.stops):
        names = merge_names(test, stopped, names)
        for (owner, name), value in dict(zip(loop.written, values, strict=False)).items():
            now = owner.attributes.get(name, Unknown(name))
            if now != value:
                owner.attributes[name] = Choice(test, value, now)
    return names


def iterate_apart(machine: Machine, source: Value) -> list[Value] | None:
    """The items a loop sees; of one of two lists each with the test that chose its list."""
    values = machine.iterate(source)
    if values is None or not isinstance(source, Choice):
        return values
    yes, no = iterate_apart(machine, source.yes) or [], iterate_apart(machine, source.no) or []
    if not any(isinstance(item, Called) for item in (*yes, *no)) and not all(map(_is_known, (*yes, *no))):
        return values
    machine.gathered |= {source.test: True, negate(source.test): True}
    apart = [item if item in no else _filtered((source.test,), item) for item in yes]
    return [*apart, *(_filtered((negate(source.test),), item) for item in no if item not in yes)]


def _is_known(item: Value) -> bool:
    """Whether an item is surely none of the others: `[kind]` may hold what another list names."""
    plain = unfilter(item)[1]
    first = plain.values[0] if isinstance(plain, Items) and plain.values else plain  # the key of a pair
    return isinstance(first, Literal | Outside | Function | Class)


def evaluate_comprehension(machine: Machine, node: Comprehension, scope: Scope) -> Value:
    inner = Scope(scope.module, scope)
    items, table = Items([]), Table([])

    def produce(depth: int, tests: tuple[Value, ...]) -> None:
        if len(items.values) + len(table.entries) > MOST_ITEMS:
            return
        if depth == len(node.generators):
            if isinstance(node, ast.DictComp):
                key = machine.evaluate(node.key, inner)
                table.entries.append((key, _filtered(tests, machine.evaluate(node.value, inner))))
            else:
                items.values.append(_filtered(tests, machine.evaluate(node.elt, inner)))
            return
        generator = node.generators[depth]
        source = machine.evaluate(generator.iter, inner)
        values = machine.iterate(source)
        if values is None:
            items.whole = table.whole = False
        for value in [Element(source, Unknown("each"))] if values is None else values:
            before, plain = unfilter(value)
            machine.bind_target(generator.target, plain, inner)
            found = [_evaluate_filter(machine, test, inner) for test in generator.ifs]
            if not any(truth(test) is False for test in found):
                open_ = [test for test in found if truth(test) is None and (values is not None or is_closed(test))]
                if any(map(asks_each, open_)):
                    machine.gathered[conjoin((*tests, *before, *open_))] = True
                produce(depth + 1, (*tests, *before, *open_))

    produce(0, ())
    return table if isinstance(node, ast.DictComp) else items


def _evaluate_filter(machine: Machine, node: ast.expr, scope: Scope) -> Value:
    test = machine.evaluate(node, scope)
    if asks_each(test):
        machine.note_test(test, node)
    return test


def _filtered(tests: tuple[Value, ...], value: Value) -> Value:
    return Choice(conjoin(tests), value, LEFT_OUT) if tests else value


def unfilter(value: Value) -> tuple[tuple[Value, ...], Value]:
    """An item without the filter it passed, and that filter; also where only a part of the item carries it."""
    match value:
        case Choice(test=test, yes=yes, no=no) if no == LEFT_OUT:
            found, plain = unfilter(yes)
            return (test, *found), plain
        case Items(values=values, whole=whole) if any(isinstance(item, Choice) for item in values):
            parts = [unfilter(item) if isinstance(item, Choice) else ((), item) for item in values]
            tests = tuple(test for found, _ in parts for test in found)
            return (tests, Items([item for _, item in parts], whole)) if tests else ((), value)
    return (), value
