"""What a setup.py makes of its own literals: texts with their lines, lists, tables, and what is not known of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

MOST_ITEMS = 2_000
MOST_KEYS = 1_000
MOST_CHARACTERS = 10_000


class TooLong(Exception):
    """A file that would take a reader too long."""


@dataclass(frozen=True, slots=True)
class Text:
    value: str
    line: int
    """Where the literal stands that it was taken from."""


@dataclass(frozen=True, slots=True)
class Number:
    value: int


@dataclass(frozen=True, slots=True)
class Many:
    """A list, a tuple or a set."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Table:
    items: tuple[tuple[str, Value], ...]
    rest: Unknown | None = None
    """Keys that could not be read."""

    def get(self, key: str) -> Value | None:
        return next((value for name, value in self.items if name == key), self.rest)

    def put(self, key: str, value: Value) -> Table:
        return replace(self, items=tuple({**dict(self.items), key: value}.items()))


@dataclass(frozen=True, slots=True)
class Unknown:
    """What no literal of the file tells."""

    node: ast.AST

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", 1)

    def __str__(self) -> str:
        """The expression; of a statement, its head."""
        try:
            return ast.unparse(self.node).partition("\n")[0].rstrip(":")[:80]
        except RecursionError:
            return "…"


Value: TypeAlias = "Text | Number | Many | Table | Unknown"
Names: TypeAlias = "dict[str, Value]"


def join(left: Value, right: Value, node: ast.AST) -> Value:
    """What `+` makes of two values: what is known of a list stays known beside what is not."""
    match left, right:
        case Many(items=first), Many(items=second) if len(first) + len(second) <= MOST_ITEMS:
            return Many(first + second)
        case Many(items=first), Unknown() if len(first) < MOST_ITEMS:
            return Many((*first, right))
        case Unknown(), Many(items=second) if len(second) < MOST_ITEMS:
            return Many((left, *second))
        case Text(value=first, line=line), Text(value=second) if len(first) + len(second) <= MOST_CHARACTERS:
            return Text(first + second, line)
        case Number(value=first), Number(value=second) if max(abs(first), abs(second)) < MOST_CHARACTERS:
            return Number(first + second)
    return Unknown(node)


def merge(one: Value | None, other: Value | None, node: ast.AST) -> Value:
    """What holds whichever of two ways a run takes."""
    match one, other:
        case Unknown(), _:
            return one
        case _, Unknown():
            return other
        case Many(items=first), Many(items=second) if first != second:
            known = set(second)
            return Many((*(item for item in first if item in known), Unknown(node)))
        case Table(items=first, rest=rest), Table(rest=other_rest) as table:
            keys = dict.fromkeys(key for key, _ in (*first, *table.items))
            items = ((key, merge(one.get(key), table.get(key), node)) for key in keys)
            return Table(tuple(items), rest or other_rest)
    return one if one is not None and one == other else Unknown(node)


def merge_names(one: Names, other: Names, node: ast.AST) -> Names:
    names = dict.fromkeys((*one, *other))
    return {name: merge(one.get(name), other.get(name), node) for name in names}


def bind(target: ast.expr, value: Value) -> Names:
    """The names that a target gives to a value."""
    match target:
        case ast.Name(id=name):
            return {name: value}
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            known = isinstance(value, Many) and len(value.items) == len(parts) and not has_unknown(value)
            items = value.items if known and isinstance(value, Many) else [Unknown(target)] * len(parts)
            return dict(chain.from_iterable(bind(part, item).items() for part, item in zip(parts, items, strict=True)))
    return {}


def pick(owner: Value, key: Value, node: ast.AST) -> Value:
    match owner, key:
        case Table(), Text(value=text):
            return owner.get(text) or Unknown(node)
        case Many(items=items), Number(value=at) if not has_unknown(owner) and -len(items) <= at < len(items):
            return items[at]
    return Unknown(node)


def store(owner: Value, key: Value, value: Value, node: ast.AST) -> Value:
    match owner, key:
        case Table(items=items), Text(value=text):
            if len(items) >= MOST_KEYS:
                raise TooLong("it has a table with more keys than Layline follows")
            return owner.put(text, value)
        case Table(), _:
            # any of its values may be another one now
            return Table(tuple((name, merge(one, value, node)) for name, one in owner.items), Unknown(node))
    return Unknown(node)


def update(owner: Value, more: Value, node: ast.AST) -> Value:
    match owner, more:
        case Table(), Table(items=items, rest=rest):
            found = owner
            for key, value in items:
                found = found.put(key, value)
            return replace(found, rest=rest or owner.rest)
        case Table(), _:
            return store(owner, Unknown(node), Unknown(node), node)
    return Unknown(node)


def table_of(pairs: Iterable[tuple[Value, Value]], node: ast.AST) -> Value:
    found: Value = Table(())
    for number, (key, value) in enumerate(pairs):
        found = store(found, key, value, node) if number < MOST_ITEMS else Unknown(node)
    return found


def read_method(owner: Value, method: str, args: list[Value], node: ast.AST) -> Value:
    match owner, method, args:
        case Table(items=items, rest=rest), "keys" | "values" | "items", []:
            line = getattr(node, "lineno", 1)
            rows: dict[str, list[Value]] = {
                "keys": [Text(key, line) for key, _ in items],
                "values": [value for _, value in items],
                "items": [Many((Text(key, line), value)) for key, value in items],
            }
            return Many((*rows[method], rest) if rest else tuple(rows[method]))
        case Table(), "get", [key, *_]:
            return pick(owner, key, node)
        case Text(value=text, line=line), "strip" | "lower", []:
            return Text(text.strip() if method == "strip" else text.lower(), line)
        case Text(value=text, line=line), "split", [Text(value=mark)] if mark:
            return Many(tuple(Text(part, line) for part in text.split(mark)))
        case Text(value=text, line=line), "split" | "splitlines", []:
            return Many(tuple(Text(part, line) for part in (text.split() if method == "split" else text.splitlines())))
    return Unknown(node)


def read_library(name: str, args: list[Value], node: ast.AST) -> Value:
    match name, args:
        case "itertools.chain", _:
            return chained(args, node)
        case "itertools.chain.from_iterable", [Many(items=items)]:
            return chained(items, node)
        case (("re.findall" | "re.split"), [Text(value=pattern), Text(value=text, line=line)]) if is_harmless(
            pattern, text
        ):
            found = re.findall(pattern, text) if name == "re.findall" else re.split(pattern, text)
            return Many(tuple(_as_value(one, line) for one in found))
    return Unknown(node)


_NESTED = re.compile(r"\)[*+{]|\(\?(?!:)|\\\d")
_REPEATS = re.compile(r"[*+{]|(?<!\()\?")
MOST_REPEATS, MOST_OF_TEXT = 3, 100
"""Of what is looked for, `?` included, and of the text: n characters with k repeats may take n to the power of k + 1 steps."""


def is_harmless(pattern: str, text: str) -> bool:
    """Whether a search ends soon whatever the pattern: no group repeats, and few characters do."""
    repeats = _REPEATS.findall(pattern)
    is_short = len(pattern) <= 2 * MOST_OF_TEXT and len(text) <= MOST_OF_TEXT
    if not is_short or _NESTED.search(pattern) or len(repeats) > MOST_REPEATS or len(repeats) - repeats.count("?") > 2:
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _as_value(found: str | tuple[str, ...] | None, line: int) -> Value:
    if isinstance(found, tuple):
        return Many(tuple(Text(part, line) for part in found))
    return Text(found or "", line)


def chained(lists: Iterable[Value], node: ast.AST) -> Value:
    found: Value = Many(())
    for one in lists:
        found = join(found, one if isinstance(one, Many | Unknown) else Unknown(node), node)
    return found


def bounded(items: Iterator[Value], node: ast.AST) -> Iterator[Value]:
    for number, item in enumerate(items):
        if number >= MOST_ITEMS:
            yield Unknown(node)
            return
        yield item


def has_unknown(value: Many) -> bool:
    return any(isinstance(item, Unknown) for item in value.items)
