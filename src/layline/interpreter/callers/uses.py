"""One file: what its names stand for, and where the names asked for are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from layline.interpreter.modules import Module, resolve_relative
from layline.source.walking import find_children

if TYPE_CHECKING:
    from collections.abc import Iterable

Maker: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"
_READ = frozenset({"property", "cached_property", "setter", "getter", "deleter"})
"""Decorators of a method that runs where its name is read; of several of one name any may be met first."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True, eq=False)
class Body:
    """A module, class or function body, and what is around it."""

    node: ast.AST | None
    """None: the module."""
    name: str
    """Dotted, the module's name included."""
    outer: Body | None = None
    kept: list[tuple[str, ast.expr]] = field(default_factory=list)
    """What a method puts on its object: attribute and value or annotation."""
    _binds: dict[str, list[ast.expr]] | None = None
    _taken: dict[str, str] | None = None

    @property
    def binds(self) -> dict[str, list[ast.expr]]:
        """Names this function binds, with the expressions they are known to come from or be annotated with."""
        if self._binds is None:
            self._binds = dict(_find_bindings(self.node)) if isinstance(self.node, _FUNCTIONS) else {}
        return self._binds

    def find_taken(self, module: Module) -> dict[str, str]:
        """Names that this function imports itself, and nobody around it, with what they stand for."""
        if self._taken is None:
            imports = _find_imports(self.node.body) if isinstance(self.node, _NAMED) else ()
            self._taken = dict(pair for node in imports for pair in _find_imported(node, module))
        return self._taken

    def around(self) -> Iterator[Body]:
        place: Body | None = self
        while place is not None:
            yield place
            place = place.outer

    def find_method(self) -> tuple[Body, str] | None:
        """The class whose method this is in, and what the method calls its object; None outside methods."""
        for place in self.around():
            if place.outer is not None and isinstance(place.outer.node, ast.ClassDef):
                if not isinstance(place.node, _FUNCTIONS):
                    return None
                given = [arg.arg for arg in (*place.node.args.posonlyargs, *place.node.args.args)]
                return (place.outer, given[0]) if given and not _is_static(place.node) else None
        return None


@dataclass(frozen=True, slots=True)
class Use:
    """A name in a place where it is called, decorates something, or is handed on."""

    node: ast.Name | ast.Attribute
    is_call: bool
    place: Body
    is_entered: bool = False
    """What it returns is entered at once: `with Class():`."""


@dataclass(slots=True, eq=False)
class File:
    """What the names of one module stand for."""

    module: Module
    imports: dict[str, list[str]] = field(default_factory=dict)
    """Local name → dotted names; several where branches differ. Imports inside functions count too."""
    import_lines: list[tuple[int, str]] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)
    places: dict[str, Body] = field(default_factory=dict)
    """Classes and functions by dotted name."""
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    """What names of the top level are assigned from or annotated with."""
    uses: dict[str, list[Use]] = field(default_factory=dict)
    """By the last name; an imported name counts under both its names."""
    parts: dict[str, list[Use]] = field(default_factory=dict)
    """Where only an attribute of what the name stands for is read, or it is compared."""
    texts: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    """Calls whose arguments begin with texts, at least one of them dotted."""


def read_file(module: Module, wanted: Iterable[str], *, in_parts: bool = False) -> File:
    """One walk over a file: imports, definitions, and the uses of the names in `wanted`; if asked for, also those of
    which only an attribute is read.
    """
    found = File(module)
    names = set(wanted)
    _Walk(found, names, in_parts=in_parts).run()
    return found


class _Walk:
    """Visits every node once, knowing where it stands."""

    def __init__(self, found: File, wanted: set[str], *, in_parts: bool) -> None:
        self._found = found
        self._in_parts = in_parts
        self._wanted = wanted
        self._waiting: list[tuple[ast.AST, Body, str]] = []

    def run(self) -> None:
        top = Body(None, self._found.module.name)
        for statement in _find_imports(self._found.module.body):  # first: a use may stand above its import
            self._note_import(statement)
        self._add(self._found.module.body, top)
        while self._waiting:
            node, place, role = self._waiting.pop()
            self._visit(node, place, role)

    def _add(self, nodes: Iterable[ast.AST | None], place: Body, role: str = "value") -> None:
        self._waiting.extend((node, place, role) for node in nodes if node is not None)

    def _visit(self, node: ast.AST, place: Body, role: str) -> None:  # noqa: C901  one case per kind of node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._visit_definition(node, place)
            case ast.Lambda(args=arguments, body=body):
                self._add([*arguments.defaults, *arguments.kw_defaults], place)
                self._add([body], Body(node, f"{place.name}.<lambda>", place))
            case ast.Name(id=name, ctx=ast.Load()):
                self._note_use(node, name, place, role)
            case ast.Attribute(value=owner, attr=name):
                if isinstance(node.ctx, ast.Load):
                    self._note_use(node, name, place, role)
                self._add([owner], place, "part")
            case ast.withitem(context_expr=ast.Call() as entered, optional_vars=bound):
                self._add([entered], place, "enter")
                self._add([bound], place)
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "super"), args=arguments):
                self._add(arguments[:1], place)  # a class that is only asked for is not handed on
            case ast.Call(func=callee, args=arguments, keywords=keywords):
                self._note_text(node)
                self._note_item(node, place)
                if (distant := find_distant(callee)) is not None:
                    self._add([distant], place, "call")
                self._add([callee], place, "enter" if role == "enter" else "call")
                self._add([*arguments, *(keyword.value for keyword in keywords)], place)
            case ast.Compare(left=left, comparators=others):
                self._add(_find_compared([left, *others]), place, "part")  # `type(x) is Class` hands nothing on
            case ast.MatchClass(cls=asked, patterns=patterns, kwd_patterns=named):
                self._add([asked], place, "part")
                self._add([*patterns, *named], place)
            case ast.AnnAssign(target=target, value=value):
                self._note_value(target, [node.annotation, value], place)
                self._add([target, value], place)
            case ast.Assign(targets=targets, value=value):
                for assigned in targets:
                    self._note_value(assigned, [value], place)
                self._add([*targets, value], place)
            case ast.Import() | ast.ImportFrom() | ast.Constant():
                return
            case _:
                self._add(find_children(node), place)

    def _visit_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, place: Body) -> None:
        inner = Body(node, f"{place.name}.{node.name}", place)
        self._found.places.setdefault(inner.name, inner)
        self._add(node.decorator_list, place, "call")
        if not isinstance(node, ast.ClassDef):
            self._add([*node.args.defaults, *node.args.kw_defaults], place)
        self._add(node.body, inner)

    def _note_use(self, node: ast.Name | ast.Attribute, name: str, place: Body, role: str) -> None:
        if name in self._wanted:
            noted = self._found.parts if role == "part" and not self._in_parts else self._found.uses
            noted.setdefault(name, []).append(Use(node, role in {"call", "enter"}, place, role == "enter"))

    def _note_value(self, target: ast.expr, values: list[ast.expr | None], place: Body) -> None:
        known = [value for value in values if value is not None]
        match target:
            case ast.Name(id=name) if place.node is None:
                self._found.values.setdefault(name, []).extend(known)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                place.kept.extend((name, value) for value in known)

    def _note_item(self, node: ast.Call, place: Body) -> None:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr="append"),
                args=[value],
            ):
                place.kept.append((item_of(name), value))

    def _note_text(self, node: ast.Call) -> None:
        words = tuple(
            item.value for item in node.args[:4] if isinstance(item, ast.Constant) and isinstance(item.value, str)
        )
        if any("." in word and " " not in word for word in words):
            self._found.texts.append((node.lineno, words))

    def _note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.name if alias.asname else alias.name.partition(".")[0]
                self._bind(alias.asname or bound, bound)
                self._found.import_lines.append((node.lineno, alias.name))
            return
        base = resolve_relative(self._found.module, node.module, node.level)
        self._found.import_lines.append((node.lineno, base))
        for alias in node.names:
            if alias.name == "*":
                self._found.stars.append(base)
                continue
            self._bind(alias.asname or alias.name, f"{base}.{alias.name}")
            self._found.import_lines.append((node.lineno, f"{base}.{alias.name}"))
            if alias.asname and alias.name in self._wanted:
                self._wanted.add(alias.asname)

    def _bind(self, name: str, dotted: str) -> None:
        known = self._found.imports.setdefault(name, [])
        if dotted not in known:
            known.append(dotted)


def _find_compared(nodes: list[ast.expr]) -> Iterator[ast.expr]:
    for node in nodes:
        yield from node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def _find_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, ())
            if isinstance(inner, list):
                waiting.extend(inner)


def _find_imported(node: ast.Import | ast.ImportFrom, module: Module) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and what they stand for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            yield alias.asname or bound, bound
        return
    base = resolve_relative(module, node.module, node.level)
    yield from ((alias.asname or alias.name, f"{base}.{alias.name}") for alias in node.names if alias.name != "*")


def _find_bindings(function: Maker) -> Iterator[tuple[str, list[ast.expr]]]:
    """Parameters and names a function assigns, with where their values come from."""
    found: dict[str, list[ast.expr]] = {}
    arguments = function.args
    for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if arg is not None:
            found[arg.arg] = [arg.annotation] if arg.annotation is not None else []
    waiting: list[ast.AST] = [] if isinstance(function, ast.Lambda) else list(function.body)
    outer: set[str] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                outer.update(names)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                found.setdefault(name, []).extend(item for item in (annotation, value) if item is not None)
            case ast.For(target=ast.Name(id=name), iter=looped) | ast.AsyncFor(target=ast.Name(id=name), iter=looped):
                found.setdefault(name, []).append(_item(looped))
            case ast.comprehension(target=ast.Name(id=name), iter=looped):
                found.setdefault(name, []).append(_item(looped))
            case ast.Name(id=name, ctx=ast.Store()):
                found.setdefault(name, [])
        waiting.extend(find_children(node))
    yield from ((name, values) for name, values in found.items() if name not in outer)


def find_own_method(place: Body) -> str:
    """The name of the method around a place; empty outside methods."""
    for around in place.around():
        if around.outer is not None and isinstance(around.outer.node, ast.ClassDef):
            return around.name.rpartition(".")[2]
    return ""


def find_method_uses(file: File, place: Body) -> Iterator[Use]:
    """Where a method is called or handed on; reading a property calls it."""
    name = place.name.rpartition(".")[2]
    if not is_property(place):
        yield from file.uses.get(name, ())
        return
    for use in (*file.uses.get(name, ()), *file.parts.get(name, ())):
        yield replace(use, is_call=True)


def is_property(place: Body) -> bool:
    """True of a method that runs where its name is read."""
    decorators = getattr(place.node, "decorator_list", ())
    return any((dotted_of(item)[1] or (getattr(item, "id", ""),))[-1] in _READ for item in decorators)


def calls_overridden(owner: Body | None, method: str) -> bool:
    """Whether a class anywhere asks the class above, or another by name, for a method: `super().step()`."""
    for node in ast.walk(owner.node) if owner is not None and owner.node is not None else ():
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=asked) if asked == method:
                return True
            case ast.Attribute(value=ast.Name(id=name), attr=asked) if asked == method and name not in {"self", "cls"}:
                return True
    return False


def _item(looped: ast.expr) -> ast.Subscript:
    """One of what is looped over."""
    return ast.copy_location(ast.Subscript(value=looped, slice=ast.Constant(0), ctx=ast.Load()), looped)


def item_of(name: str) -> str:
    """What a list that an object keeps holds."""
    return f"{name}[]"


def find_distant(callee: ast.expr) -> ast.expr | None:
    """What `f.remote(…)` and `Class.options(…).remote(…)` call: an actor library runs it in another process."""
    match callee:
        case ast.Attribute(value=ast.Call(func=ast.Attribute(value=called, attr="options")), attr="remote"):
            return called
        case ast.Attribute(value=ast.Name() | ast.Attribute() as called, attr="remote"):
            return called
    return None


def _is_static(node: Maker) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in getattr(node, "decorator_list", ()))


def dotted_of(node: ast.expr) -> tuple[ast.expr, tuple[str, ...]]:
    """`a.b.c` → (a, (b, c))."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return node, tuple(reversed(parts))
