"""Tests reduced to what they truly depend on, and read aloud."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from layline.interpreter.config_paths import Roots, read_chain
from layline.interpreter.inner import find_parts, walk
from layline.interpreter.needs import classify, say_need
from layline.interpreter.values import (
    EACH,
    FALSE,
    GOES_WELL,
    RAISES,
    TRUE,
    UNREACHED,
    Argument,
    Called,
    Choice,
    Class,
    Element,
    Function,
    Inside,
    Instance,
    Items,
    Literal,
    Made,
    Member,
    Outside,
    Partial,
    Source,
    Table,
    Test,
    Unknown,
    Value,
    grows,
    negate,
    truth,
)

_OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "is": "is not",
    "is not": "is",
    "in": "not in",
    "not in": "in",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_OPERATORS = {
    "operator.add": "+",
    "operator.sub": "-",
    "operator.mult": "*",
    "operator.floordiv": "//",
    "operator.div": "/",
    "operator.mod": "%",
}
_DESCRIBED = (Unknown, Partial, Table, Made, Source)
"""Values that nobody writes in a test."""


class _Known(threading.local):
    """What values became, by object: effects of one installer share most of their conditions, and a table of forty
    cases asks for the same opposites again and again.
    """

    def __init__(self) -> None:
        self.simple: dict[int, tuple[Value, Value]] = {}
        self.opposite: dict[int, tuple[Value, Value]] = {}


_KNOWN = _Known()
_MOST_KNOWN = 1 << 14


def forget() -> None:
    """Let go of what values became, and with them of the functions, modules and syntax trees that they stand for."""
    _KNOWN.simple.clear()
    _KNOWN.opposite.clear()


def _recall(known: dict[int, tuple[Value, Value]], value: Value, find: Callable[[Value], Value]) -> Value:
    """The value is held beside what it became, so that its id stays its own; one that may grow is looked at again."""
    if grows(value):
        return find(value)
    if id(value) not in known:
        became = find(value)
        if len(known) >= _MOST_KNOWN:
            known.clear()
        known[id(value)] = (value, became)
    return known[id(value)][1]


def simplify(value: Value) -> Value:
    """The same truth with nothing in it that cannot change it."""
    if not isinstance(value, Choice | Test):
        return TRUE if value == GOES_WELL else FALSE if value in (RAISES, UNREACHED) else value
    return _recall(_KNOWN.simple, value, _simplify)


def _simplify(value: Value) -> Value:
    match value:
        case Choice(test=test, yes=yes, no=no):
            return _simplify_choice(simplify(test), simplify(yes), simplify(no))
        case Test(operator="and" | "or" as operator, operands=operands):
            return _combine(operator, [simplify(operand) for operand in operands])
        case Test(operator="not", operands=(inner,)):
            return _invert(simplify(inner))
        case Test(operator=operator, operands=operands):
            return _simplify_test(operator, tuple(_as_value(operand) for operand in operands))
    return value


def _as_value(value: Value) -> Value:
    """An operand: defaults and fallbacks do not change what it depends on."""
    match value:
        case Choice(test=test, yes=yes, no=no):
            decided = truth(simplify(test))
            if decided is not None:
                return _as_value(yes if decided else no)
            left, right = _as_value(yes), _as_value(no)
            if left == right:
                return left
            if isinstance(left, Literal) and _is_presence(test):
                return right
            if isinstance(right, Literal) and _is_presence(test):
                return left
            return Choice(simplify(test), left, right)
        case Test(operator="or", operands=operands):
            kept = [_as_value(operand) for operand in operands if not isinstance(operand, Literal)]
            return kept[0] if len(kept) == 1 else Test("or", tuple(kept)) if kept else operands[-1]
        case Called(callee=callee, arguments=arguments, keywords=keywords):
            return Called(callee, tuple(_as_value(item) for item in arguments), keywords)
    return value


def _is_presence(test: Value) -> bool:
    """Whether something is there at all: `x is None`, `not x`, `isinstance(x, …)`, `hasattr(x, …)`."""
    match test:
        case Test(operator="is" | "is not", operands=(_, Literal(value=None))):
            return True
        case Test(operator="not", operands=(inner,)):
            return read_chain(inner) is not None or _is_presence(inner)
        case Called(callee=Outside(path="builtins.hasattr" | "builtins.isinstance")):
            return True
    return read_chain(test) is not None


def _simplify_test(operator: str, operands: tuple[Value, ...]) -> Value:
    match operator, operands:
        case (("is" | "is not"), (Test(operator="importable") as found, Literal(value=None))):
            return negate(found) if operator == "is" else found
        case (("is" | "is not"), (Outside() | Function() | Class() | Inside(), Literal(value=bool()))):
            return Literal(operator == "is not")
        case (("==" | "is"), (inner, Literal(value=True))) if not _is_environment(inner):
            return inner
        case (("==" | "is"), (inner, Literal(value=False))) if not _is_environment(inner):
            return _invert(inner)
        case (("!=" | "is not"), (inner, Literal(value=False))) if not _is_environment(inner):
            return inner
    return Test(operator, operands)


def _is_environment(value: Value) -> bool:
    return isinstance(value, Element) and value.owner == Outside("os.environ")


def _simplify_choice(test: Value, yes: Value, no: Value) -> Value:
    if truth(test) is not None:
        return yes if truth(test) else no
    if yes == no:
        return yes
    if _is_presence(test):
        chain = _tested_chain(test)
        for default, kept in ((yes, no), (no, yes)):
            if isinstance(default, Literal) and not default.value and chain and _extends(kept, chain):
                return kept  # `None if a is None else a.b`: depends on a.b alone
    return _combine("or", [_combine("and", [test, yes]), _combine("and", [_invert(test), no])])


def _tested_chain(test: Value) -> tuple[str, ...] | None:
    match test:
        case Test(operator="is" | "is not", operands=(inner, _)) | Test(operator="not", operands=(inner,)):
            return _tested_chain(inner) or read_chain(inner)
        case Called(arguments=(inner, Literal(value=str(name)), *_)):
            chain = read_chain(inner)
            return (*chain, name) if chain is not None else None
        case Called(arguments=(inner, *_)):
            return read_chain(inner)
    return read_chain(test)


def _extends(value: Value, chain: tuple[str, ...]) -> bool:
    return any(found[: len(chain)] == chain for found in find_chains(value))


def _combine(operator: str, operands: list[Value]) -> Value:
    decided = operator == "or"
    flat: list[Value] = []
    for operand in operands:
        inner = operand.operands if isinstance(operand, Test) and operand.operator == operator else (operand,)
        flat.extend(item for item in inner if item not in flat)
    if any(truth(item) is decided for item in flat):
        return TRUE if decided else FALSE
    if any(_invert(item) in flat for item in flat):
        return TRUE if decided else FALSE
    kept = [item for item in flat if truth(item) is None]
    kept = _absorb(operator, kept)
    if operator == "and":
        kept = [item for item in kept if not _is_implied(item, kept)]
    if not kept:
        return FALSE if decided else TRUE
    return kept[0] if len(kept) == 1 else Test(operator, tuple(kept))


def _absorb(operator: str, items: list[Value]) -> list[Value]:
    """`a or (not a and b)` is `a or b`; `a or (a and b)` is `a`."""
    other = "and" if operator == "or" else "or"
    found: list[Value] = []
    for item in items:
        if not (isinstance(item, Test) and item.operator == other):
            found.append(item)
            continue
        rest = [outer for outer in items if outer is not item]
        if any(inner in rest for inner in item.operands):
            continue
        kept = tuple(inner for inner in item.operands if _invert(inner) not in rest)
        found.append(
            item if kept == item.operands else Test(other, kept) if len(kept) > 1 else kept[0] if kept else TRUE
        )
    return found


def _is_implied(item: Value, others: list[Value]) -> bool:
    """`a is not None` beside a test of `a.b` or of `a` itself says nothing more."""
    if not _is_presence(item) or (isinstance(item, Test) and item.operator in {"not", "is"}):
        return False
    chain = _tested_chain(item)
    if chain is None:
        return False
    plain = read_chain(item) is not None
    for other in others:
        if other is item or (isinstance(other, Test) and other.operator in {"not", "is"} and _is_presence(other)):
            continue
        for found in find_chains(other):
            if found[: len(chain)] == chain and (len(found) > len(chain) or not plain):
                return True
    return False


def _invert(value: Value) -> Value:
    return _recall(_KNOWN.opposite, value, _find_opposite)


def _find_opposite(value: Value) -> Value:
    match value:
        case Test(operator="and", operands=operands):
            return _combine("or", [_invert(operand) for operand in operands])
        case Test(operator="or", operands=operands):
            return _combine("and", [_invert(operand) for operand in operands])
        case Test(operator=operator, operands=operands) if operator in _OPPOSITE:
            return Test(_OPPOSITE[operator], operands)
    return negate(value)


def find_chains(value: Value) -> Iterator[tuple[str, ...]]:
    """Every path from the context that a value depends on."""
    for inner in walk(value, lambda item: read_chain(item) is not None):
        chain = read_chain(inner)
        if chain is not None:
            yield chain


def is_vague(value: Value) -> bool:
    """Whether a part of a test can only be described: `<a value too large to follow>`."""
    return any(isinstance(part, _DESCRIBED) for part in walk(value, lambda _: False))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads tests aloud: keys, other requirements, a readable expression."""

    roots: Roots

    def find_keys(self, value: Value) -> Iterator[str]:
        for inner in walk(value, lambda item: self.roots.key_of(item) is not None):
            key = self.roots.key_of(inner)
            if key is not None:
                yield key

    def find_asked(self, value: Value) -> Iterator[str]:
        """The keys of a test, those included that it only asks for: `hasattr(args, "key")`."""
        yield from self.find_keys(value)
        for inner in walk(value, lambda item: self.roots.key_of(item) is not None):
            match inner:
                case Called(callee=Outside(path="builtins.hasattr"), arguments=(owner, Literal(value=str(name)))):
                    key = self.roots.key_of(Member(owner, name))
                    if key is not None:
                        yield key

    def find_others(self, value: Value) -> Iterator[str]:
        """Requirements that are not config keys, in a few words each."""
        match value:
            case Test(operator="and" | "or" | "not", operands=operands):
                for operand in operands:
                    yield from self.find_others(operand)
                return
            case Test(operator="importable", operands=operands):
                for operand in operands:
                    yield f"package:{self.show(operand).strip(chr(39))} importable"
                return
        yield from (say_need(value, name, self.show(value)) for name in [*self._find_names(value)][:1])

    def _find_names(self, value: Value) -> Iterator[str]:  # noqa: C901  one case per kind of value
        if self.roots.key_of(value) is not None:
            return
        match value:
            case Element(owner=Outside(path="os.environ"), key=Literal(value=str(name))):
                yield f"env:{name}"
            case Test(operator="in" | "not in", operands=(Literal(value=str(name)), Outside(path="os.environ"))):
                yield f"env:{name}"
            case Called(callee=Outside(path=path), arguments=arguments) if path.startswith("operator."):
                for inner in arguments:
                    yield from self._find_names(inner)
            case Test(operator=operator, operands=operands) if operator in _OPPOSITE and self._asks_key(operands):
                for inner in operands:  # what a key is compared with is a constant: `fp8_recipe == Recipe.delayed`
                    yield from self._find_names(inner) if not isinstance(inner, Outside) else ()
            case Called(callee=Outside(path="builtins.hasattr"), arguments=(owner, name, *_)) if not read_chain(owner):
                yield f"attr:{self.show(owner)}.{self.show(name).strip(chr(39))}"
            case Called(callee=Outside(path=path)) if not path.startswith("builtins."):
                yield f"{classify(path)}:{self.show(value)}"
            case Outside(path=path) if not path.startswith(("builtins.", "operator.")):
                yield f"{classify(path)}:{path}"
            case Member() | Element() if read_chain(value):
                yield f"context:{'.'.join(read_chain(value) or ())}"
            case Items() | Table():
                return
            case _:
                for inner in find_parts(value):
                    yield from self._find_names(inner)

    def _asks_key(self, operands: tuple[Value, ...]) -> bool:
        return any(self.roots.key_of(operand) is not None for operand in operands)

    def show(self, value: Value, *, within: str = "") -> str:  # noqa: C901  one case per kind of value
        """The value as a person would write it."""
        key = self.roots.key_of(value)
        if key is not None:
            return key
        match value:
            case Literal(value=constant):
                return repr(constant)
            case Test(operator="not", operands=(inner,)):
                return f"not {self.show(inner, within='not')}"
            case Test(operator="and" | "or" as operator, operands=operands):
                text = f" {operator} ".join(self.show(operand, within=operator) for operand in operands)
                return f"({text})" if within and within != operator else text
            case Test(operator="importable", operands=operands):
                text = " and ".join(f"{self.show(operand).strip(chr(39))} is importable" for operand in operands)
                return f"({text})" if within in {"not", "or"} and len(operands) > 1 else text
            case Test(
                operator="in" | "not in" as operator, operands=(Literal(value=str(name)), Outside(path="os.environ"))
            ):
                return f"env {name} is {'not ' if operator == 'not in' else ''}set"
            case Test(operator=operator, operands=(left, right)):
                text = f"{self.show(left)} {operator} {self.show(right)}"
                return f"({text})" if within == "not" else text
            case Choice(test=test, yes=yes, no=no):
                return f"({self.show(yes)} if {self.show(test)} else {self.show(no)})"
            case Element(owner=Outside(path="os.environ"), key=Literal(value=str(name)), default=default):
                shown = f" (default {self.show(default)})" if default is not None else ""
                return f"env {name}{shown}"
            case Element(owner=owner, key=item):
                return f"{self.show(owner)}[{self.show(item)}]"
            case Outside(path=path):
                return path.removeprefix("builtins.")
            case Called(callee=Outside(path=path), arguments=(left, right)) if path in _OPERATORS:
                return f"({self.show(left)} {_OPERATORS[path]} {self.show(right)})"
            case Member(owner=owner, name="-"):
                return f"-{self.show(owner)}"
            case Called(callee=callee, arguments=arguments, keywords=keywords):
                given = [self.show(item) for item in arguments] + [f"{n}={self.show(v)}" for n, v in keywords]
                return f"{self.show(callee)}({', '.join(given)})"
            case Member(owner=owner, name=name):
                return f"{self.show(owner)}.{name}"
            case Argument(name=name):
                return name
            case Instance():
                return "self"
            case Function() | Class():
                return value.name
            case Inside(module=module):
                return module.name
            case Items(values=values):
                words = [self.show(item) if not isinstance(item, Items | Table) else "…" for item in values[:12]]
                return f"({', '.join(words)}{', …' if len(values) > 12 else ''})"
            case Unknown(why=why):
                return "…" if value == EACH else f"<{why}>"
        return f"<{type(value).__name__.lower()}>"
