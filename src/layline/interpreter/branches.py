"""Values chosen in one branch belong together: what a value is once some tests are taken to hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from layline.interpreter.values import (
    TRUE,
    Choice,
    Class,
    Function,
    Later,
    Literal,
    Outside,
    Test,
    Unknown,
    Value,
    conjoin,
    find_alternatives,
    negate,
    truth,
)

_MOST_WAYS = 48
_NAMED = (Outside, Function, Class, Later)

Known = tuple[Value, ...]
"""Tests taken to hold."""


def holds(test: Value, known: Known) -> bool | None:
    """Whether a test is decided by others that hold."""
    if truth(test) is not None:
        return truth(test)
    if test in known:
        return True
    if negate(test) in known:
        return False
    match test:
        case Test(operator="not", operands=(inner,)):
            found = holds(inner, known)
            return None if found is None else not found
        case Test(operator="and" | "or" as operator, operands=operands):
            decided = operator == "or"
            found_all = [holds(operand, known) for operand in operands]
            if decided in found_all:
                return decided
            return None if None in found_all else not decided
        case Test(operator="is" | "is not" | "==" | "!=" as operator, operands=(left, right)):
            one, other = restrict(left, known), restrict(right, known)
            if isinstance(one, Outside) and one == other:
                return operator in {"is", "=="}
    return None


def assume(test: Value, known: Known) -> Known:
    """The tests that hold once this one does as well."""
    match test:
        case Test(operator="and", operands=operands):
            return (*known, test, *operands)
        case Test(operator="not", operands=(Test(operator="or", operands=operands),)):
            return (*known, test, *(negate(operand) for operand in operands))
    return (*known, test)


def restrict(value: Value, known: Known) -> Value:
    """The value without the branches that these tests rule out."""
    if not isinstance(value, Choice) or not known:
        return value
    found = holds(value.test, known)
    if found is not None:
        return restrict(value.yes if found else value.no, known)
    yes = restrict(value.yes, assume(value.test, known))
    no = restrict(value.no, assume(negate(value.test), known))
    return yes if yes == no else Choice(value.test, yes, no)


def find_ways(value: Value, known: Known = ()) -> Iterator[tuple[Known, Value]]:
    """Every value it may be, with the tests that lead there."""
    if not isinstance(value, Choice):
        for found in find_alternatives(value):
            yield known, found
        return
    found_test = holds(value.test, known)
    if found_test is not False:
        yield from find_ways(value.yes, assume(value.test, known))
    if found_test is not True:
        yield from find_ways(value.no, assume(negate(value.test), known))


def find_there(test: ast.expr, names: dict[str, Value]) -> dict[str, Value]:
    """What a name is where `name is not None`: without the branches that leave it None, where the others give it
    something with a name of its own. Of any other value the tests that led to it tell what it is.
    """
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            value = names.get(name)
            found = _drop_none(value) if isinstance(value, Choice) else None
            named = found is not None and all(isinstance(one, _NAMED) for one in find_alternatives(found))
            return {name: found} if found is not None and found is not value and named else {}
    return {}


def _drop_none(value: Value) -> Value | None:
    if not isinstance(value, Choice):
        return None if value == Literal(None) else value
    yes, no = _drop_none(value.yes), _drop_none(value.no)
    if yes is None or no is None:
        return no if yes is None else yes
    return value if yes is value.yes and no is value.no else Choice(value.test, yes, no)


def split_value(value: Value, when: Known, is_nothing: Callable[[Value], bool]) -> tuple[Value, Value, list[Value]]:
    """Of a choice between something and nothing: the something, the test that leads there, and the nothings."""
    told, others = _sort(value, when, is_nothing)
    if not told or not others or len(told) > _MOST_WAYS or all(isinstance(found, Literal) for _, found in told):
        return value, TRUE, []
    tests = tuple(dict.fromkeys(conjoin(path) for path, _ in told))
    whole = join(tuple(dict.fromkeys(found for _, found in told)))
    return whole, tests[0] if len(tests) == 1 else Test("or", tests), list(dict.fromkeys(others))


Paths = list[tuple[Known, Value]]


def _sort(value: Value, known: Known, is_nothing: Callable[[Value], bool]) -> tuple[Paths, list[Value]]:
    """Every something with the tests that lead there, as they are written, and every nothing; a test that chooses among
    somethings alone is none that matters.
    """
    if not isinstance(value, Choice):
        found = find_alternatives(value)
        return [((), one) for one in found if not is_nothing(one)], [one for one in found if is_nothing(one)]
    decided = holds(value.test, known)
    if decided is not None:
        return _sort(value.yes if decided else value.no, assume(value.test, known) if decided else known, is_nothing)
    other = negate(value.test)
    yes, no_yes = _sort(value.yes, assume(value.test, known), is_nothing)
    no, no_no = _sort(value.no, assume(other, known), is_nothing)
    if not no_yes and not no_no:
        return [((), one) for _, one in (*yes, *no)], []
    told = [((value.test, *path), one) for path, one in yes] + [((other, *path), one) for path, one in no]
    return told, [*no_yes, *no_no]


def join(values: tuple[Value, ...]) -> Value:
    """One of several, it is not said which."""
    whole = values[-1]
    for value in reversed(values[:-1]):
        whole = Choice(_ANY, value, whole)
    return whole


_ANY = Unknown("which of several")


def find_pairs(left: Value, right: Value, when: Iterable[Value] = ()) -> Iterator[tuple[Value, Value]]:
    """What two values may be at once: not one from a branch and the other from its opposite, nor against `when`."""
    seen: set[tuple[Value, Value]] = set()
    tests = tuple(when)
    for known, one in find_ways(left):
        for both, other in find_ways(right, known):
            if (one, other) in seen or any(holds(test, both) is False for test in tests):
                continue
            seen.add((one, other))
            yield one, other
            if len(seen) >= _MOST_WAYS:
                return


def merge_names(test: Value, yes: dict[str, Value], no: dict[str, Value]) -> dict[str, Value]:
    """The names after an `if`: what both branches agree on, a choice where they differ."""
    merged: dict[str, Value] = {}
    for name in {**yes, **no}:
        left, right = yes.get(name), no.get(name)
        if left is None or right is None:
            merged[name] = right if left is None else left  # type: ignore[assignment]  # one of the two is there
        else:
            merged[name] = left if left is right or left == right else Choice(test, left, right)
    return merged
