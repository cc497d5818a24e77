"""How one Python file uses what it imports: calls and attribute chains, as rows that depend on the content alone."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layline.change.binding import CallShape, count_taken, find_tested, read_call
from layline.core.evidence import Skipped
from layline.coupling.looked_at import asks_first, find_asked, find_looked_at
from layline.source import parse_tree
from layline.source.fingerprint import text_of
from layline.source.handlers import catches
from layline.source.walking import find_children, walk

ANALYSER = f"uses-15-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of the cache key: raise the number whenever the rows change."""
_LAUNCH = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "warmup", "grid", "stream"})
"""What a kernel's launcher takes itself: `kernel[grid](x, num_warps=4)`."""
_CATCHES = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "TypeError"}
)
_NOTHING: frozenset[str] = frozenset()
_READ, _ASSIGNED, _TESTED = range(3)
"""How a name is used, as rows have it."""
_ARGS = "name:args"
"""What holds the arguments of a command line, by its name."""
_IMPORTS = frozenset({ast.Import, ast.ImportFrom})
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Call: TypeAlias = tuple[ast.Call, int | None, frozenset[str]]
"""A call, into how many names its result is taken, and the keywords that are not for what is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of an imported name: `chain` is as written, its first word an alias of the file."""

    line: int
    scope: str
    chain: str
    call: CallShape | None
    guarded: bool
    assigned: bool = False
    """Something is put in its place: `module.name = ours`."""
    tested: bool = False
    """It must be a class: `isinstance(x, name)`."""
    asked: tuple[str, ...] = ()
    """Words that our code looks for in its signature or source: `"word" in inspect.signature(name).parameters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRead:
    """An attribute of a variable whose type the file tells, or whose name gives it away."""

    line: int
    scope: str
    origin: str
    """`type:T` (annotated or constructed), `claim:T` (annotated, but what it is put onto decides), `call:f` (returned
    by f), `name:args`, or `self:config` (an attribute)."""
    attributes: str
    guarded: bool


@dataclass(slots=True)
class Uses:
    uses: list[Use] = field(default_factory=list)
    reads: list[FieldRead] = field(default_factory=list)
    guarded_imports: list[int] = field(default_factory=list)
    """Lines of import statements whose failure is caught."""


def encode_uses(data: bytes) -> str:
    """The rows of one blob as JSON; a JSON string says why there are none."""
    return encode_tree(parse_tree("", data))


def encode_tree(tree: ast.Module | Skipped) -> str:
    """The same of a blob that was parsed already."""
    if isinstance(tree, Skipped):
        return json.dumps(tree.why)
    walker = _Walker(tree)
    found = {"u": walker.uses, "r": walker.reads, "g": walker.guarded_imports}
    return json.dumps(found, separators=(",", ":"), check_circular=False)


def decode_uses(text: str) -> Uses | str:
    plain: Any = json.loads(text)
    if isinstance(plain, str):
        return plain
    uses = [
        Use(
            line=line,
            scope=scope,
            chain=chain,
            call=_decode_call(call),
            guarded=bool(guarded),
            assigned=way == _ASSIGNED,
            tested=way == _TESTED,
            asked=tuple(asked),
        )
        for line, scope, chain, call, guarded, way, asked in plain["u"]
    ]
    reads = [
        FieldRead(line=line, scope=scope, origin=origin, attributes=attributes, guarded=bool(guarded))
        for line, scope, origin, attributes, guarded in plain["r"]
    ]
    return Uses(uses, reads, plain["g"])


class _Walker:
    """One pass over a module; knows which names are imports and what the variables of each function are.

    It makes the rows of `Use` and `FieldRead` as they are kept: our whole project goes through here.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.uses: list[list[Any]] = []
        self.reads: list[list[Any]] = []
        self.guarded_imports: list[int] = []
        self._aliases = frozenset(_find_aliases(tree))
        self._claims = frozenset(_find_claims(tree))
        self._scope: list[str] = []
        self._guards = 0
        self._asked: frozenset[str] = frozenset()
        """Attributes that the function at hand asks for, somewhere, before it reads them."""
        self._tested: frozenset[str] = frozenset()
        """Names of which the function at hand asks what they hold."""
        self._looked_at = find_looked_at(tree.body, deep=False)
        """What the function at hand, or the file itself, looks at with `inspect`."""
        self._variables: list[dict[str, str]] = [{}]
        self._fields: list[dict[str, str]] = [{}]
        self._visits: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.FunctionDef: self._visit_function,
            ast.AsyncFunctionDef: self._visit_function,
            ast.ClassDef: self._visit_class,
            ast.Try: self._visit_try,
            ast.If: self._visit_if,
            ast.Call: self._visit_call,
            ast.Assign: self._visit_assignment,
            ast.AnnAssign: self._visit_annotated,
            ast.Import: self._visit_import,
            ast.ImportFrom: self._visit_import,
            ast.Attribute: self._visit_chain,
            ast.Name: self._visit_chain,
        }
        self._declared: set[str] = set()
        """What flags of a parser of the file's own set."""
        self._visit_all(tree.body)
        self.reads = [row for row in self.reads if row[2] != _ARGS or row[3].partition(".")[0] not in self._declared]

    def _visit(self, node: ast.AST) -> None:
        visit = self._visits.get(node.__class__)
        if visit is not None:
            visit(node)
        elif node.__class__ is not ast.Constant:
            self._visit_all(find_children(node))

    def _visit_all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self._visit(node)

    def _visit_if(self, node: ast.If) -> None:
        asks = asks_first(node.test)
        self._visit(node.test)
        self._guards += asks
        self._visit_all((*node.body, *node.orelse))
        self._guards -= asks

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if self._guards:
            self.guarded_imports.append(node.lineno)

    def _visit_assignment(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.Attribute() as target], value=ast.Call() as call):
                self._visit_call(call, count_taken(node))
                self._visit(target)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._visit_taken(node, value)
                self._remember(name, value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=source)):
                self._fields[-1][name] = self._variables[-1].get(source, "")
                self._add(node.lineno, f"self.{name}", None, _ASSIGNED)
            case _:
                self._visit_all(find_children(node))

    def _visit_annotated(self, node: ast.AnnAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._variables[-1][node.target.id] = f"type:{_type_text(node.annotation)}"
        self._visit_all(find_children(node))

    def _visit_function(self, node: _Function) -> None:
        self._visit_all((*node.decorator_list, *node.args.defaults, *(item for item in node.args.kw_defaults if item)))
        inside = dict(self._variables[-1])  # a nested function sees the variables around it
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.annotation is not None:
                claimed = not self._scope and (node.name, argument.arg) in self._claims
                inside[argument.arg] = f"{'claim' if claimed else 'type'}:{_type_text(argument.annotation)}"
            else:
                inside[argument.arg] = f"name:{argument.arg}"
        around, self._asked = self._asked, self._asked | frozenset(find_asked(node))
        outside, self._tested = self._tested, self._tested | find_tested(node)
        seen, self._looked_at = self._looked_at, self._looked_at | find_looked_at(node.body, deep=True)
        self._variables.append(inside)
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()
        self._variables.pop()
        self._asked = around
        self._tested = outside
        self._looked_at = seen

    def _visit_class(self, node: ast.ClassDef) -> None:
        self._visit_all((*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)))
        self._scope.append(node.name)
        self._fields.append({})
        # __init__ first: it tells what `self.config` is in the other methods
        for item in sorted(node.body, key=lambda item: getattr(item, "name", "") != "__init__"):
            self._visit(item)
        self._fields.pop()
        self._scope.pop()

    def _visit_try(self, node: ast.Try) -> None:
        guarded = any(catches(handler, _CATCHES) for handler in node.handlers)
        self._guards += guarded
        self._visit_all((*node.body, *node.handlers))  # a fallback runs only where the first choice failed
        self._guards -= guarded
        self._visit_all((*node.orelse, *node.finalbody))

    def _visit_call(self, node: ast.Call, taken: int | None = None) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            self._declared.update(_find_set(node))
        match node.func:
            case ast.Subscript(value=ast.Attribute() | ast.Name() as kernel, slice=grid):
                self._visit_chain(kernel, (node, taken, _LAUNCH))
                self._visit(grid)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=name):
                self._add(node.lineno, f"super().{name}", (node, taken, _NOTHING))
            case ast.Name(id="isinstance" | "issubclass") if len(node.args) == 2:
                self._visit_tested(node.args[1])
            case ast.Attribute() | ast.Name() as called:
                self._visit_chain(called, (node, taken, _NOTHING))
            case called:
                self._visit(called)
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._visit_taken(node, given)

    def _visit_taken(self, user: ast.AST, value: ast.expr) -> None:
        """A value that something is done with: of a call, what becomes of its result."""
        if isinstance(value, ast.Call):
            self._visit_call(value, count_taken(user, self._tested))
        else:
            self._visit(value)

    def _visit_tested(self, classes: ast.expr) -> None:
        """What `isinstance` asks for has to be a class, or a tuple of classes."""
        for one in classes.elts if isinstance(classes, ast.Tuple) else (classes,):
            name = text_of(one) if isinstance(one, ast.Attribute | ast.Name) else ""
            root = name.partition(".")[0]
            if root in self._aliases and root not in self._variables[-1]:
                self._add(one.lineno, name, None, _TESTED)

    def _visit_chain(self, node: ast.Attribute | ast.Name, call: _Call | None = None) -> None:
        words: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self._visit_taken(node, inner)
            return
        name, words = inner.id, words[::-1]
        if name in self._aliases and name not in self._variables[-1]:
            if words or call is not None:
                self._add(node.lineno, ".".join((name, *words)), call, int(isinstance(node.ctx, ast.Store)))
            return
        if not words:
            return
        stored = isinstance(node.ctx, ast.Store)
        if name == "self" and len(self._scope) > 1:
            alone = len(words) == 1
            self._add(node.lineno, f"self.{words[0]}", call if alone else None, int(stored and alone))
        if stored:
            return  # setting a field that is gone raises nothing
        if name == "self" and len(words) > 1:
            self._read(node.lineno, self._fields[-1].get(words[0]) or f"self:{words[0]}", words[1:])
        elif self._variables[-1].get(name):
            self._read(node.lineno, self._variables[-1][name], words)

    def _add(self, line: int, chain: str, call: _Call | None, way: int = _READ) -> None:
        scope = ".".join(self._scope)
        guarded = self._is_guarded(chain.split("."))
        asked = sorted(self._looked_at.words) if call is not None and chain in self._looked_at.names else []
        self.uses.append([line, scope, chain, _encode_call(call), guarded, way, asked])

    def _read(self, line: int, origin: str, attributes: list[str]) -> None:
        guarded = self._is_guarded(attributes)
        self.reads.append([line, ".".join(self._scope), origin, ".".join(attributes), guarded])

    def _is_guarded(self, words: list[str]) -> int:
        return int(self._guards > 0 or not self._asked.isdisjoint(words))

    def _remember(self, name: str, value: ast.expr) -> None:
        match value:
            case ast.Call(func=ast.Name() | ast.Attribute() as func):
                self._variables[-1][name] = f"call:{text_of(func)}"
            case ast.Name(id=other) if other in self._variables[-1]:
                self._variables[-1][name] = self._variables[-1][other]
            case _:
                self._variables[-1][name] = ""


def _find_aliases(tree: ast.Module) -> Iterator[str]:
    """Names that imports bind, and classes of the file that stand below another: theirs may be upstream's."""
    yield from (node.name for node in tree.body if isinstance(node, ast.ClassDef) and node.bases)
    for node in walk(tree):
        if node.__class__ in _IMPORTS:
            for item in node.names:  # type: ignore[attr-defined]
                yield item.asname or item.name.partition(".")[0]


def _find_claims(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Parameters of the functions of a module that hold the object of a class which only the line that installs a
    function tells: `self` of a function outside classes, and what it is handed to.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for function in functions.values():
        if not function.args.args or function.args.args[0].arg != "self":
            continue
        yield function.name, "self"
        for node in walk(function):
            match node:
                case ast.Call(func=ast.Name(id=name), args=given) if name in functions:
                    for taken, value in zip(functions[name].args.args, given, strict=False):
                        if isinstance(value, ast.Name) and value.id == "self":
                            yield name, taken.arg


def _find_set(call: ast.Call) -> Iterator[str]:
    """What `add_argument("--steps", "-s", dest=…)` sets."""
    for item in (*call.args, *(word.value for word in call.keywords if word.arg == "dest")):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value.lstrip("-").replace("-", "_")


def _type_text(annotation: ast.expr) -> str:
    """The class an annotation names: quotes, Optional and `| None` taken off."""
    match annotation:
        case ast.Constant(value=str(text)):
            return text.strip("\"' ")
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _type_text(left)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _type_text(inner)
        case ast.Name() | ast.Attribute():
            return text_of(annotation)
    return ""


def _encode_call(call: _Call | None) -> list[Any] | None:
    if call is None:
        return None
    node, taken, aside = call
    shape = read_call(node)
    words = [word for word in shape.keywords if word not in aside]
    return [shape.positional, words, int(shape.has_star), int(shape.has_double_star), taken]


def _decode_call(row: list[Any] | None) -> CallShape | None:
    if row is None:
        return None
    positional, keywords, star, double, taken = row
    return CallShape(
        positional=positional,
        keywords=tuple(keywords),
        has_star=bool(star),
        has_double_star=bool(double),
        taken=taken,
    )
