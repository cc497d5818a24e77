"""Targets named by text in calls that speak of patching: `Patcher([("a.b.c", new)])`, `@rewriter("a.b.C.m")`."""

from __future__ import annotations

import ast
import re
from abc import abstractmethod
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.interpreter.events import Call, Event, Naming, Write
from layline.interpreter.state import text_of
from layline.interpreter.statements import Statements
from layline.interpreter.values import (
    Class,
    Function,
    Instance,
    Items,
    Member,
    Outside,
    Partial,
    Table,
    Value,
    find_alternatives,
)
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Scope

_SPEAKS = re.compile(r"patch|rewrit|replac|overrid|monkey|wrap|substitut|swap|hijack", re.IGNORECASE)
_SAYS_LITTLE = frozenset(["replace", "wraps", "wrap"])
"""Names that mostly work on text: only a function of ours called so is believed."""
_EVERYWHERE = re.compile(r"everywhere|all_modules", re.IGNORECASE)
_REGISTERS = re.compile(r"regist|rewriter", re.IGNORECASE)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_NEW = frozenset(
    ["wrapper", "factory", "new", "replacement", "patch", "patch_func", "new_func", "func", "fn", "obj", "value"]
)
"""Keywords that carry what takes the place; a function under another name may decide, and replace nothing."""
_LONGEST = 120

Pairs = list[tuple[str, Value]]


@lru_cache(maxsize=20_000)
def speaks(name: str) -> bool:
    return _SPEAKS.search(name) is not None


def is_everywhere(name: str) -> bool:
    return _EVERYWHERE.search(name) is not None


def speaks_of_path(node: ast.Call) -> bool:
    """By its text alone: a call that speaks of patching and is given a dotted text, or a list of pairs with one."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if speaks(name):
            given = [*node.args, *(word.value for word in node.keywords)]
            texts = [part.value for item in given for part in _find_constants(item) if isinstance(part.value, str)]
            return bool(texts) and (_EVERYWHERE.search(name) is not None or any(map(_DOTTED.match, texts)))
    return False


def _find_constants(node: ast.expr) -> Iterator[ast.Constant]:
    match node:
        case ast.Constant():
            yield node
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _find_constants(part)
        case ast.Dict(keys=keys):
            yield from (key for key in keys if isinstance(key, ast.Constant))


class Namings(Statements):
    """Notes what such calls name; whether they are followed or not."""

    @abstractmethod
    def follow_call(
        self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value: ...

    def call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        named = [] if self.naming else self.find_named(callee, arguments, keywords)
        if not named:
            return self.follow_call(callee, arguments, keywords, node)
        start = len(self.log.events)
        self.naming += 1
        result = self.follow_call(callee, arguments, keywords, node)
        self.naming -= 1
        self.note_named(named, callee, node, start)
        return result

    def _enter(self, item: ast.withitem, scope: Scope) -> None:
        start = len(self.log.events)
        super()._enter(item, scope)
        for event in self.log.events[start:]:
            if isinstance(event, Naming) and event.node is item.context_expr:
                event.transient = True

    def _decorate(self, decorator: Value, value: Value, node: ast.expr) -> Value:
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if speaks(name):
                self.note_decorated(name, value, node)
        return super()._decorate(decorator, value, node)

    def find_named(self, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Pairs:
        """Each target and what takes its place, by what the arguments are."""
        if not any(isinstance(value, Items | Table) or text_of(value) for value in (*arguments, *keywords.values())):
            return []
        name = last_name(callee)
        if name is None or not speaks(name):
            return []
        every = [*arguments, *keywords.values()]
        listed = [pair for value in every for pair in self._open_pairs(value)]
        known = self.registries.paths | self.registries.wrappers | self.registries.handlers
        is_ours = isinstance(callee, Function | Class)
        if listed or name in known or (name in _SAYS_LITTLE and not is_ours):
            return listed
        replacing = [*arguments, *(item for word, item in keywords.items() if word in _NEW)]
        value = next((item for item in replacing if _is_code(item)), None)
        texts = [text for item in every if (text := text_of(item))]
        if value is None or not texts:
            return []
        if _EVERYWHERE.search(name):
            package = next((text for text in texts[1:] if self.is_package(text.partition(".")[0])), "")
            return [(f"{package}.*.{texts[0]}", value)] if texts[0].isidentifier() else []
        return [(target, value) for target in self._read_texts(texts)]

    def _read_texts(self, texts: list[str]) -> Iterator[str]:
        """`("a.b.C.m", new)`, or `("a.b", "C.m", new)`."""
        first = texts[0].replace(":", ".")
        if len(texts) > 1 and _NAME.match(texts[1]) and not self.is_target(texts[1]):
            if _NAME.match(first) and self.is_target(f"{first}.{texts[1]}"):
                yield f"{first}.{texts[1]}"
            return
        if self.is_target(first):
            yield first

    def _open_pairs(self, value: Value) -> Iterator[tuple[str, Value]]:
        match value:
            case Items(values=[first, second]) if (text := text_of(first)) and text_of(second) is None:
                if self.is_target(text):
                    yield text, second
            case Items(values=values):
                for item in values:
                    if isinstance(item, Items) and len(item.values) == 2:
                        yield from self._open_pairs(item)
            case Table(entries=entries):
                for key, item in entries:
                    text = text_of(key)
                    if text and text_of(item) is None and self.is_target(text):
                        yield text, item

    def is_target(self, text: str) -> bool:
        """A dotted path into a package that the project imports and does not define."""
        return (
            _DOTTED.match(text) is not None and self.is_package(text.partition(".")[0]) and not self.modules.owns(text)
        )

    def note_named(self, pairs: Pairs, callee: Value, node: ast.AST, start: int) -> None:
        """Record what a call names, unless following it has shown the writes themselves."""
        shown = {target for event in self.log.events[start:] for target in self._find_shown(event)}
        kept = tuple(pair for pair in pairs if pair[0] not in shown)
        if kept:
            undoes = isinstance(callee, Class) and isinstance(self.read_attribute(callee, "__exit__"), Function)
            event = self._build_naming(last_name(callee) or "", kept, node)
            event.transient = undoes
            event.seen = isinstance(callee, Function | Class)
            event.writes = _writes_named(callee) or any(
                isinstance(found, Write) and text_of(found.name) is None for found in self.log.events[start:]
            )
            self.log.events.insert(start, event)

    def note_decorated(self, name: str, value: Value, node: ast.Call) -> None:
        """`@register_rewriter("a.b.C.m", backend="x") def f`: f is for the path; else what was named holds while f
        runs.
        """
        for event in reversed(self.log.events):
            if isinstance(event, Naming) and event.node is node:
                event.transient = True
                return
        known = self.registries.paths | self.registries.wrappers | self.registries.handlers
        if name in known | _SAYS_LITTLE or not _is_code(value):
            return
        given = [*node.args, *(word.value for word in node.keywords)]
        paths = [
            (part, part.value.replace(":", "."))
            for part in given
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        named = next((pair for pair in paths if self.is_target(pair[1])), None)
        if named is None:
            return
        event = self._build_naming(name, ((named[1], value),), node)
        event.registers = _REGISTERS.search(name) is not None
        event.options = _show_options(node, named[0])
        self.record(event)

    def _build_naming(self, name: str, pairs: tuple[tuple[str, Value], ...], node: ast.AST) -> Naming:
        return Naming(
            registry=name,
            pairs=pairs,
            node=node,
            at=self.place(node),
            deferred=self.deferred,
            activation=self.frame.number,
            within=self.frame.within,
            when=self.conditions(),
            trail=self.trail(),
        )

    def _find_shown(self, event: Event) -> Iterator[str]:
        """Targets that an event already stands for: a write, or a known call that names the path itself."""
        match event:
            case Write(owner=Outside(path=path), name=name):
                yield f"{path}.{text_of(name)}"
            case Call(callee=callee, arguments=arguments, keywords=keywords):
                if last_name(callee) in self.registries.paths | self.registries.wrappers:
                    texts = [text_of(value) or "" for value in (*arguments, *keywords.values())]
                    yield from texts
                    yield from (f"{first}.{second}" for first, second in pairwise(texts))


def _show_options(node: ast.Call, path: ast.expr) -> str:
    """The other arguments of a registration, in the words of the source: they say when it applies."""
    words = [ast.unparse(item) for item in node.args if item is not path]
    words += [f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords if word.value is not path and word.arg]
    text = ", ".join(words)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def last_name(callee: Value) -> str | None:
    match callee:
        case Function(name=name) | Class(name=name) | Member(name=name):
            return name.rpartition(".")[2]
        case Outside(path=path):
            return path.rpartition(".")[2]
    return None


def _writes_named(callee: Value) -> bool:
    """Whether a function of ours, or a method of a class of ours, sets an attribute whose name is not fixed."""
    return isinstance(callee, Function | Class) and any(
        _is_named_write(part, callee.node) for part in walk(callee.node)
    )


def _is_named_write(part: ast.AST, around: ast.AST) -> bool:
    match part:
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[_, ast.Name(id=name), *_]):
            return name in _find_locals(around)  # a global is a fixed name: a mark that something was done
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[_, name, *_]):
            return not isinstance(name, ast.Constant)
    return False


@remember
def _find_locals(around: ast.AST) -> frozenset[str]:
    """Parameters and assigned names of a function, or of the methods of a class."""
    parts = list(walk(around))
    names = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return frozenset(names | {part.arg for part in parts if isinstance(part, ast.arg)})


def _is_code(value: Value) -> bool:
    return any(isinstance(found, Function | Class | Partial | Instance | Outside) for found in find_alternatives(value))
