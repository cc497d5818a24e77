"""Constructors that nobody wrote: of dataclasses, and of classes whose base hands every subclass on when it is defined.

`__init_subclass__` may hand the new class to `dataclass`, which makes an `__init__` of its fields, or to anything else
that may write to it: what such a constructor takes only a run knows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from layline.source.definitions import Definition, DefinitionKind, Parameter, ParameterKind
from layline.source.index import Index
from layline.source.seen import Read

MEMBERS = frozenset({"__init__", "__repr__", "__eq__", "__dataclass_fields__", "__match_args__"})
"""What a class may have without anybody writing it."""
HOOK = "__init_subclass__"
_MAKER = "dataclasses.dataclass"
_KEEP = frozenset({"append", "add", "insert", "setdefault", "extend", "update", HOOK})
"""Methods that take a class and leave it as it is: those of containers, and the next hook in line."""
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Making:
    """How subclasses get an `__init__`: from their fields, or (`is_known` False) in a way that only a run knows."""

    is_known: bool
    keyword_only: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """What a dotted name in a module leads to: its full name, and the function where it can be read."""

    full: str
    module: str = ""
    node: ast.FunctionDef | ast.AsyncFunctionDef | None = None


Find: TypeAlias = Callable[[str, str], Named]
"""Module and dotted name as it is written there."""
_UNKNOWN = Making(is_known=False)


@dataclass(frozen=True, slots=True)
class Owned:
    """A definition, and the module it stands in."""

    module: str
    definition: Definition


class Makers:
    """Says how the classes of one index get their constructors."""

    def __init__(
        self, index: Index, find_bases: Callable[[Owned], Iterator[Owned]], find: Callable[[str, str], Named]
    ) -> None:
        self._index = index
        self._find_bases = find_bases
        """The classes that a class names as its bases, as far as they can be read."""
        self._name = find
        self._known: dict[tuple[str, str], tuple[Making | None, Collection[Read]]] = {}
        self._under_way: set[tuple[str, str]] = set()

    def find(self, owner: Owned) -> Making | None:
        """Who makes the constructor of a class that writes none: its decorator, or the hook of a base; None: nobody."""
        key = (owner.module, owner.definition.qualname)
        if key in self._under_way:
            return None  # a circle of bases makes nothing
        self._under_way.add(key)
        try:
            return self._index.seen.remember(self._known, key, lambda: self._find(owner))
        finally:
            self._under_way.discard(key)

    def _find(self, owner: Owned) -> Making | None:
        hooked = next(self._find_hooked(owner), None)
        return hooked if hooked is not None and not hooked.is_known else _decorated(owner) or hooked

    def find_fields(self, owner: Owned) -> Iterator[Parameter]:
        """The parameters that a class's fields make, those of its bases first."""
        found: dict[str, Parameter] = {}
        for base in self._find_bases(owner):
            if self.find(base) is not None:
                found.update({item.name: item for item in self.find_fields(base)})
        making, holder = self.find(owner), self._index.module(owner.module)
        kind = ParameterKind.KEYWORD_ONLY if making is not None and making.keyword_only else ParameterKind.POSITIONAL
        for name in holder.members(owner.definition.qualname) if holder is not None else ():
            item = holder.best(f"{owner.definition.qualname}.{name}") if holder is not None else None
            if item is not None and item.kind is DefinitionKind.FIELD and item.returns and not _is_class_variable(item):
                found[name] = Parameter(name, kind, _find_default(item.value), item.returns)
        yield from sorted(found.values(), key=lambda item: item.kind is ParameterKind.KEYWORD_ONLY)

    def _find_hooked(self, owner: Owned) -> Iterator[Making]:
        """What the hooks of its bases, nearest first, make of a class."""
        for base in self._find_bases(owner):
            holder = self._index.module(base.module)
            hook = holder.best(f"{base.definition.qualname}.{HOOK}") if holder is not None else None
            if hook is None:
                yield from self._find_hooked(base)
                continue
            node = self._index.read_node(base.module, hook)
            named = Named(hook.qualname, base.module, node if isinstance(node, ast.FunctionDef) else None)
            made = read_making(named, self._name)
            if made is not None:
                yield made


def _decorated(owner: Owned) -> Making | None:
    """What a `dataclass` above the class makes of it."""
    for word in owner.definition.decorators if owner.definition.is_dataclass else ():
        node = ast.parse(word, mode="eval").body
        called = node.func if isinstance(node, ast.Call) else node
        if ast.unparse(called).rpartition(".")[2] == "dataclass":
            return next(_made(node.keywords if isinstance(node, ast.Call) else ()), None)
    return None


def _find_default(value: str | None) -> str | None:
    """What a field that is left out gets: of `field(default=1, metadata=…)` the 1, of `field(metadata=…)` nothing."""
    if value is None or not value.endswith(")") or value.partition("(")[0].rpartition(".")[2] != "field":
        return value
    try:
        call = ast.parse(value, mode="eval").body
    except SyntaxError:  # cut where it is long
        return value
    given = {one.arg: one.value for one in call.keywords} if isinstance(call, ast.Call) else {}
    if "default" in given:
        return ast.unparse(given["default"])
    return value if not given or "default_factory" in given or None in given else None


def _is_class_variable(item: Definition) -> bool:
    head = (item.returns or "").partition("[")[0].rpartition(".")[2]
    return head == "ClassVar" or "init=False" in (item.value or "")


def read_making(hook: Named, find: Find) -> Making | None:
    """What a hook does to the class it is called for; None: nothing that changes how instances are made."""
    names = _parameters(hook)
    found = list(dict.fromkeys(_find_makings(hook, names[0], find, 0))) if names else []
    return found[0] if len(found) == 1 else _UNKNOWN if found else None


def _parameters(function: Named) -> list[str]:
    if function.node is None:
        return []
    return [item.arg for item in (*function.node.args.posonlyargs, *function.node.args.args)]


def _find_makings(function: Named, name: str, find: Find, depth: int) -> Iterator[Making]:
    for node in ast.walk(function.node) if function.node is not None else ():
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr="__init__", ctx=ast.Store()) if owner == name:
                yield _UNKNOWN
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), attribute, *_]) if owner == name:
                if not isinstance(attribute, ast.Constant) or attribute.value == "__init__":
                    yield _UNKNOWN
            case ast.Call() if (argument := _find_handed(node, name)) is not None:
                yield from _follow(node, argument, function.module, find, depth)


def _find_handed(call: ast.Call, name: str) -> int | str | None:
    """As which argument a call is handed the class."""
    for number, argument in enumerate(call.args):
        if isinstance(argument, ast.Name) and argument.id == name:
            return number
    named = (item for item in call.keywords if isinstance(item.value, ast.Name) and item.value.id == name)
    return next((item.arg for item in named if item.arg), None)


def _follow(call: ast.Call, argument: int | str, module: str, find: Find, depth: int) -> Iterator[Making]:
    match call.func:
        case ast.Attribute(attr=attr) if attr in _KEEP:
            return
        case ast.Call(func=ast.Name() | ast.Attribute() as maker, keywords=keywords):
            yield from _made(keywords) if find(module, ast.unparse(maker)).full == _MAKER else [_UNKNOWN]
            return
        case ast.Name() | ast.Attribute():
            called = find(module, ast.unparse(call.func))
        case _:
            called = Named("")
    if called.full == _MAKER:
        yield from _made(call.keywords)
    elif called.full.startswith("builtins."):
        return
    elif called.node is None or depth >= _DEEPEST:
        yield _UNKNOWN
    else:
        names = _parameters(called)
        inner = argument if isinstance(argument, str) else names[argument] if argument < len(names) else None
        yield from _find_makings(called, inner, find, depth + 1) if inner is not None else [_UNKNOWN]


def _made(keywords: Sequence[ast.keyword]) -> Iterator[Making]:
    given = {item.arg: item.value for item in keywords if isinstance(item.value, ast.Constant)}
    if not ("init" in given and given["init"].value is False):
        yield Making(is_known=True, keyword_only="kw_only" in given and given["kw_only"].value is True)
