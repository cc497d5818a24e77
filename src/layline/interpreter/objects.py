"""Objects that only exist at run time: how they are reached, and what their class is where the code tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.interpreter.branches import restrict
from layline.interpreter.modules import Scope
from layline.interpreter.values import (
    Argument,
    Called,
    Choice,
    Class,
    Copied,
    Element,
    Function,
    Instance,
    Items,
    Literal,
    Member,
    Outside,
    Table,
    Test,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_ASKS = frozenset({"builtins.isinstance", "builtins.issubclass"})
_SWEEP = re.compile(r"\.?(?:named_modules|modules|children|named_children)\(\)\[…\](?:\[1\])?$")
_PART_NAME = re.compile(r"(?:named_modules\(\)|named_children\(\)|_modules\.items\(\))\[…\]\[0\]$")
_SPLITS = frozenset({"split", "rsplit", "partition", "rpartition"})
_LONGEST = 90
_BRANCH = Unknown("which branch was taken")


def spell_object(value: Value) -> str | None:
    """`self._model.layers[…].attn`: how an object is reached; None where that cannot be said."""
    match value:
        case Argument(name=name):
            return name
        case Instance():
            return "self"
        case Outside(path=path):
            return path.removeprefix("builtins.")
        case Copied(of=original):
            return _join(spell_object(original), ")", "copy(")
        case Member(owner=owner, name=name):
            return _join(spell_object(owner), f".{name}")
        case Element(owner=owner, key=Literal(value=key)):
            return _join(spell_object(owner), f"[{key!r}]")
        case Element(owner=owner):
            return _join(spell_object(owner), "[…]")
        case Called(callee=callee, arguments=arguments, keywords=keywords):
            return _join(spell_object(callee), "(…)" if arguments or keywords else "()")
        case Choice(yes=yes, no=no):
            ways = {one for one in (spell_object(yes), spell_object(no)) if one is not None}
            return ways.pop() if len(ways) == 1 else None  # how one of two is reached would leave out the other
    return None


def is_part_name(value: Element) -> bool:
    """The name of a part as a sweep over the parts of an object gives it: `for name, part in model.named_children()`."""
    match value:
        case Element(owner=Called(callee=Member(owner=Element() as whole, name=name))) if name in _SPLITS:
            return is_part_name(whole)  # the last of its words
    return _PART_NAME.search(spell_object(value) or "") is not None


def is_child(value: Value) -> bool:
    """A part as such a sweep gives it."""
    return _SWEEP.search(spell_object(value) or "") is not None


def _join(owner: str | None, rest: str, before: str = "") -> str | None:
    text = None if owner is None else before + owner + rest
    return text if text is None or len(text) <= _LONGEST else None


def find_classes(owner: Value, tests: Iterable[Value], chosen: tuple[Value, ...] = ()) -> list[Value]:
    """The classes an object is one of, by its making or by a test on the way: Outside or Class values."""
    made = class_of(owner)
    return [made] if made is not None else find_tested(owner, tests, chosen)


def find_tested(owner: Value, tests: Iterable[Value], chosen: tuple[Value, ...] = ()) -> list[Value]:
    """The classes that a test on the way tells, the one asked last; of those that choose the object (`chosen`, the last
    of `tests`) the inner came first.
    """
    known = tuple(tests)
    asked = [*reversed(chosen), *known[: len(known) - len(chosen)]]
    for find in (_find_equal, _find_asked):  # the very class tells more than one above it
        for test in reversed(asked):
            found = list(find(owner, _restrict(test, known)))
            if found:
                return [kind for kind in found if isinstance(kind, Outside | Class)]
    return find_tested(owner.of, known, chosen) if isinstance(owner, Copied) else []  # of the same class


def _restrict(test: Value, known: tuple[Value, ...]) -> Value:
    """A test of one of several objects, as a test of the one that is meant here."""
    match test:
        case Called(callee=callee, arguments=(Choice() as asked, kinds)):
            return Called(callee, (restrict(asked, known), kinds))
        case Test(operator="and" | "or" as operator, operands=operands):
            return Test(operator, tuple(_restrict(operand, known) for operand in operands))
    return test


def find_class_name(owner: Value, tests: Iterable[Value]) -> str | None:
    """How the class of an object is called, where a test asks for that alone."""
    for test in tests:
        match test:
            case Test(operator="==", operands=(Member(owner=kind, name="__name__"), Literal(value=str(name)))):
                if is_class_of(kind, owner):
                    return name
        for kind in _find_equal(owner, test):
            if isinstance(kind, Member):
                return kind.name  # a class out of a module that only a run knows
    return None


def is_class_of(kind: Value, owner: Value) -> bool:
    return kind in (Member(owner, "__class__"), Called(Outside("builtins.type"), (owner,)))


def _find_equal(owner: Value, test: Value) -> Iterator[Value]:
    """`type(x) is C`, `x.__class__ == C`."""
    match test:
        case Test(operator="==" | "is", operands=(kind, known)) if is_class_of(kind, owner):
            yield known
        case Test(operator="and", operands=operands):
            for operand in operands:
                yield from _find_equal(owner, operand)


def class_of(value: Value) -> Value | None:
    """The class of an object that was made here: `nn.ModuleDict()` is a `nn.ModuleDict`."""
    match value:
        case Called(callee=Outside(path=path)) if path.rpartition(".")[2][:1].isupper():
            return Outside(path)
        case Instance(of=of):
            return of
        case Copied(of=original):
            return class_of(original)
    return None


def copy_value(value: Value) -> Value:
    """A copy is another object: what is set on it changes nothing that it was made of."""
    match value:
        case Outside() | Member() | Element() | Argument() | Called() | Test():
            return Copied(value)
        case Choice(test=test, yes=yes, no=no):
            return Choice(test, copy_value(yes), copy_value(no))
        case Instance(of=kind, attributes=attributes):
            return Instance(kind, dict(attributes))
        case Copied(of=original, attributes=attributes):
            return Copied(original, dict(attributes))
        case Items(values=values, whole=whole):
            return Items(list(values), whole)
        case Table(entries=entries, whole=whole):
            return Table(list(entries), whole)
    return value


def asks_class(test: Value) -> bool:
    """Whether a test tells the class of an object."""
    match test:
        case Called(callee=Outside(path=path), arguments=(_, _)):
            return path in _ASKS
        case Test(operator="and" | "or", operands=operands):
            return any(map(asks_class, operands))
    return False


def _find_asked(owner: Value, test: Value) -> Iterator[Value]:
    match test:
        case Called(callee=Outside(path=path), arguments=(asked, kinds)) if path in _ASKS and asked == owner:
            for kind in kinds.values if isinstance(kinds, Items) else [kinds]:
                if isinstance(kind, Outside | Class):
                    yield kind
        case Test(operator="and", operands=operands):
            for operand in operands:
                yield from _find_asked(owner, operand)
        case Test(operator="or", operands=operands):
            ways = [list(_find_asked(owner, operand)) for operand in operands]
            if all(ways):
                yield from (kind for way in ways for kind in way)


def open_closure(function: Function) -> Scope:
    """The names a function sees: those around it now, and those of the branch it was defined in."""
    scope, captured = function.scope, function.captured
    if captured is None or captured is scope.names:
        return scope
    names = dict(scope.names)
    for name, value in captured.items():
        now = names.get(name)
        names[name] = value if now is None or now is value or now == value else Choice(_BRANCH, value, now)
    return Scope(scope.module, scope.parent, names, scope.outer, scope.is_class)
