"""Attributes that the methods of upstream classes give their objects (`self.config = config`), with what they hold.

A subclass of ours lives on them as on methods, yet no definition stands for them: they are read from the bodies.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from layline.core.evidence import Evidence
from layline.source.definitions import DefinitionKind
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read, Seen
from layline.source.symbols import Symbol
from layline.source.walking import walk

_DEEPEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute of the objects of a class."""

    owner: str
    """Dotted name of the class whose method sets it."""
    evidence: Evidence
    kind: str | None = None
    """Dotted name of the class it holds, where an annotation or a constructor tells; None where they disagree."""
    made: bool = False
    """Each line that sets it makes an object of that class: it is of none below."""


class Held(dict[str, Attribute]):
    """Attributes of a class by name; who looks for one notes what stands under it, who goes through them what they were
    read from.
    """

    def __init__(self, found: dict[str, Attribute], home: str, seen: Seen, reads: Collection[Read]) -> None:
        super().__init__(found)
        self._home, self._seen, self._reads = home, seen, reads

    def describe(self, name: str) -> str:
        """What stands under a name, apart from the line that puts it there."""
        found = super().get(name)
        return f"{found.owner} {found.kind} {found.made}" if found is not None else ""

    def __contains__(self, name: object) -> bool:
        self._note(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Attribute:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Attribute | None = None) -> Attribute | None:  # type: ignore[override]
        self._note(name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self.note_all()
        return super().__iter__()

    def keys(self):  # type: ignore[no-untyped-def]
        self.note_all()
        return super().keys()

    def values(self):  # type: ignore[no-untyped-def]
        self.note_all()
        return super().values()

    def items(self):  # type: ignore[no-untyped-def]
        self.note_all()
        return super().items()

    def note_all(self) -> None:
        """For who tells lines, too."""
        self._seen.extend(self._reads)

    def _note(self, name: str) -> None:
        self._seen.add(Asked.HELD, f"{self._home} {name}={self.describe(name)}")


class Instances:
    """Answers about the classes of one index; each class is read once, bases included."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._found: dict[str, Held] = {}
        self._own: dict[str, tuple[dict[str, Attribute], Collection[Read]]] = {}

    def find(self, home: str) -> Held:
        """Name → attribute, for a class and all its bases in the index; the class itself wins."""
        if home not in self._found:
            seen, reads = self._resolver.index.seen, set[Read]()
            with seen.within(reads):
                found = self._find(home)
            self._found[home] = Held(found, home, seen, tuple(reads))
        return self._found[home]

    def find_told(self, home: str) -> Held:
        """The same for who tells where they are set."""
        found = self.find(home)
        found.note_all()
        return found

    def holds(self, told: str) -> bool:
        """Whether methods of a class still give its objects what was noted: `class name=answer`."""
        named, _, answer = told.rpartition("=")
        home, _, name = named.partition(" ")
        with self._resolver.index.seen.within(set()):
            return self.find(home).describe(name) == answer

    def _read(self, home: str) -> dict[str, Attribute]:
        return self._resolver.index.seen.remember(self._own, home, lambda: self._read_class(home))

    def _find(self, home: str) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for symbol in self._lineage(self._resolver.resolve(home), 0):
            for name, attribute in self._read(str(symbol.home)).items():
                found.setdefault(name, attribute)
        return found

    def mentions(self, home: str, name: str) -> bool:
        """True if the class or one of its bases names such an attribute, or has the word as a text: something may still
        set it.
        """
        word = re.compile(rf"""\.\s*{re.escape(name)}\b|["']{re.escape(name)}["']""")
        for symbol in self._lineage(self._resolver.resolve(home), 0):
            if symbol.module is None or symbol.definition is None:
                continue
            first, last = symbol.definition.lines
            text = "\n".join(self._resolver.index.read_text(symbol.module).splitlines()[first - 1 : last])
            if word.search(text):
                return True
        return False

    def _lineage(self, symbol: Symbol, depth: int) -> Iterator[Symbol]:
        definition = symbol.definition
        if definition is None or definition.kind is not DefinitionKind.CLASS or symbol.module is None:
            return
        yield symbol
        for base in definition.bases if depth < _DEEPEST else ():
            yield from self._lineage(self._resolver.resolve_in(symbol.module, base.partition("[")[0]), depth + 1)

    def _read_class(self, home: str) -> dict[str, Attribute]:
        symbol = self._resolver.resolve(home)
        if symbol.module is None or symbol.definition is None:
            return {}
        found: dict[str, Attribute] = {}
        several: set[str] = set()
        given: set[str] = set()
        told = self._resolver.index.ask_node(symbol.module, symbol.definition, "sets and makes", _list_set)
        for name, line, held, made in told:
            kind = self._class_named(symbol.module, held)
            if not made:
                given.add(name)
            evidence = self._resolver.index.evidence(symbol.module, (line, line))
            known = found[name].kind if name in found else None
            if known is not None and kind is not None and known != kind:
                several.add(name)
            if name not in found or (known is None and kind is not None):
                found[name] = Attribute(owner=home, evidence=evidence, kind=kind)
        return {
            name: replace(one, kind=None if name in several else one.kind, made=name not in {*several, *given})
            for name, one in found.items()
        }

    def _class_named(self, module: str, text: str | None) -> str | None:
        if not text or not all(part.isidentifier() for part in text.split(".")):
            return None
        symbol = self._resolver.resolve_in(module, text)
        if self.is_maker(symbol):
            symbol = self._resolver.resolve_in(module, text.rpartition(".")[0])
        is_class = symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS
        return symbol.home if is_class else None

    def is_maker(self, symbol: Symbol) -> bool:
        """True of a method that makes objects of the class it is called on: `cls(…)`."""
        definition = symbol.definition
        if definition is None or symbol.module is None or "classmethod" not in definition.decorators:
            return False
        node = self._resolver.index.read_node(symbol.module, definition)
        return node is not None and any(
            isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "cls"
            for item in walk(node)
        )


def _list_set(node: ast.stmt | None) -> list[tuple[str, int, str | None, bool]]:
    """What the methods of a class set on its objects, and whether they make it there."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    methods = (one for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.args.args)
    return [found for method in methods for found in _find_set(method)]


def gives(node: ast.stmt | None, name: str) -> bool:
    """Whether a class, as it is written, gives its objects an attribute: methods set it, or its body binds it."""
    return any(word == name for word, *_ in _list_set(node)) or any(
        name in _bound_by(one) for one in (node.body if isinstance(node, ast.ClassDef) else ())
    )


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            yield from (one.id for target in targets for one in walk(target) if isinstance(one, ast.Name))
        case ast.If(body=body, orelse=orelse):
            yield from (name for one in (*body, *orelse) for name in _bound_by(one))


def _find_set(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int, str | None, bool]]:
    """Names set on `self`, with line, the text of the class they hold, and whether they are made there."""
    me = method.args.args[0].arg
    annotated = {item.arg: _bare(item.annotation) for item in (*method.args.args, *method.args.kwonlyargs)}
    for node in walk(method):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
                        if (name := _set_on(one, me)) is not None:
                            yield name, node.lineno, _held(value, annotated), isinstance(value, ast.Call)
            case ast.AnnAssign(target=target, annotation=annotation) if (name := _set_on(target, me)) is not None:
                yield name, node.lineno, _bare(annotation), False
            case ast.AugAssign(target=target) | ast.NamedExpr(target=target) if (
                name := _set_on(target, me)
            ) is not None:
                yield name, node.lineno, None, False
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr=call), args=[ast.Constant(value=str(name)), *_]
            ):
                if owner == me and call in {"register_buffer", "register_parameter", "add_module", "register_module"}:
                    yield name, node.lineno, None, False
            case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=owner), ast.Constant(value=str(name)), *_]):
                if owner == me:
                    yield name, node.lineno, None, False


def _set_on(target: ast.expr, me: str) -> str | None:
    match target:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == me:
            return name
    return None


def _held(value: ast.expr, annotated: dict[str, str | None]) -> str | None:
    match value:
        case ast.Name(id=name):
            return annotated.get(name)
        case ast.Call(func=ast.Name() | ast.Attribute() as function):
            return ast.unparse(function)
    return None


def _bare(annotation: ast.expr | None) -> str | None:
    """The class that an annotation names: quotes, Optional and `| None` taken off."""
    match annotation:
        case ast.Constant(value=str(text)):
            return text.removeprefix("Optional[").removesuffix("]").partition(" |")[0].strip()
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _bare(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _bare(inner)
        case ast.Name() | ast.Attribute():
            return ast.unparse(annotation)
    return None


def bare_annotation(text: str | None) -> str | None:
    """The same of an annotation as text; None where it names no plain class."""
    bare = (text or "").strip("\"' ").removeprefix("typing.")
    if bare.startswith("Optional["):
        bare = bare[len("Optional[") : -1]
    bare = bare.removesuffix("| None").strip("\"' ")
    return bare if bare and all(part.isidentifier() for part in bare.split(".")) else None
