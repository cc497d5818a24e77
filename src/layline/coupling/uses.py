"""How one Python file uses what it imports: calls and attribute chains, as rows that depend on the content alone."""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layline.change.binding import CallShape, count_taken, find_tested_by
from layline.core.evidence import Skipped
from layline.coupling import origins, variables
from layline.coupling.call_rows import Call, decode_call, encode_call
from layline.coupling.looked_at import LookedAt, asks_first, find_asked_by, find_looked_at
from layline.source import parse_tree
from layline.source.fingerprint import dotted_text, text_of
from layline.source.handlers import catches
from layline.source.walking import find_children, walk

ANALYSER = f"uses-30-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of the cache key: raise the number whenever the rows change."""
_LAUNCH = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg", "warmup", "grid", "stream"})
"""What a kernel's launcher takes itself: `kernel[grid](x, num_warps=4)`."""
_CATCHES = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "TypeError"}
)
_NOTHING: frozenset[str] = frozenset()
_READ, _ASSIGNED, _TESTED, _ALIASED = range(4)
"""How a name is used, as rows have it."""
_ALIAS = "alias"
LOADS = "import_module "
"""Before the name of a module that is loaded by it, in the place of a chain."""
_OTHER = "()"
"""Something that is not imported."""
_ARGS = "name:args"
"""What holds the arguments of a command line, by its name."""
_TYPING = "TYPE_CHECKING"
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


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
    aliased: bool = False
    """It is called by another name: what stands for that name the line says that gives it."""
    asked: tuple[str, ...] = ()
    """Words that our code looks for in its signature or source: `"word" in inspect.signature(name).parameters`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRead:
    """An attribute of a variable whose type the file tells, or whose name gives it away."""

    line: int
    scope: str
    origin: str
    """`type:T` (annotated or constructed), `through:f:0:T` (of T before, and what f made of it, given it first),
    `claim:T` (annotated, but what it is put onto decides), `call:f` (returned by f), `name:args`, or `self:config` (an
    attribute)."""
    attributes: str
    guarded: bool
    call: CallShape | None = None
    """Of a method that is called."""


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
            call=decode_call(call),
            guarded=bool(guarded),
            assigned=way == _ASSIGNED,
            tested=way == _TESTED,
            aliased=way == _ALIASED,
            asked=tuple(asked),
        )
        for line, scope, chain, call, guarded, way, asked in plain["u"]
    ]
    reads = [
        FieldRead(
            line=line,
            scope=scope,
            origin=origin,
            attributes=attributes,
            guarded=bool(guarded),
            call=decode_call(call),
        )
        for line, scope, origin, attributes, guarded, call in plain["r"]
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
        nodes = list(walk(tree))
        self._inspects = any(isinstance(node, ast.Name) and node.id == "inspect" for node in nodes)
        self._aliases = frozenset(variables.find_aliases(tree, nodes))
        self._claims = frozenset(variables.find_claims(tree))
        self._handed = variables.find_handed_in(tree, nodes)
        self._scope: list[str] = []
        self._guards = 0
        self._asked: frozenset[str] = frozenset()
        """Attributes that the function at hand asks for, somewhere, before it reads them."""
        self._tested: frozenset[str] = frozenset()
        """Names of which the function at hand asks what they hold."""
        self._looked_at = find_looked_at(tree.body, deep=False) if self._inspects else LookedAt()
        """What the function at hand, or the file itself, looks at with `inspect`."""
        self._variables: list[dict[str, str]] = [{}]
        self._fields: list[dict[str, str]] = [{}]
        self._set: Counter[str] = Counter()
        """How often the class at hand sets an attribute of its objects."""
        self._given = variables.count_given(tree.body)
        """How often the function at hand, or the file itself, gives a variable a value."""
        self._visits: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.FunctionDef: self._visit_function,
            ast.AsyncFunctionDef: self._visit_function,
            ast.ClassDef: self._visit_class,
            ast.Try: self._visit_try,
            ast.If: self._visit_if,
            ast.Assert: self._visit_assert,
            ast.IfExp: self._visit_choice,
            ast.BoolOp: self._visit_both,
            ast.For: self._visit_loop,
            ast.ListComp: self._visit_comprehension,
            ast.SetComp: self._visit_comprehension,
            ast.GeneratorExp: self._visit_comprehension,
            ast.DictComp: self._visit_comprehension,
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
        if (dotted_text(node.test) or "").rpartition(".")[2] == _TYPING:  # no run gets there
            self._visit_all(one for one in node.body if isinstance(one, ast.Import | ast.ImportFrom))
            self._visit_all(node.orelse)
            return
        asks, before = asks_first(node.test), dict(self._variables[-1])
        self._visit(node.test)
        self._guards += asks
        self._narrow(variables.find_narrowed(node.test))
        self._visit_all(node.body)
        self._forget_narrowed(before)
        self._visit_all(node.orelse)
        self._forget_narrowed(before)
        self._guards -= asks
        self._narrow(variables.find_left(node))

    def _visit_assert(self, node: ast.Assert) -> None:
        self._visit_all(find_children(node))
        self._narrow(variables.find_narrowed(node.test))

    def _visit_choice(self, node: ast.IfExp) -> None:
        before = dict(self._variables[-1])
        self._visit(node.test)
        self._narrow(variables.find_narrowed(node.test))
        self._visit(node.body)
        self._variables[-1] = before
        self._visit(node.orelse)

    def _visit_both(self, node: ast.BoolOp) -> None:
        """What one operand shows of a variable holds in those after it."""
        before, is_and = dict(self._variables[-1]), isinstance(node.op, ast.And)
        for one in node.values:
            self._visit(one)
            shown = one if is_and else one.operand if isinstance(one, ast.UnaryOp) else None
            if shown is not None and isinstance(getattr(one, "op", None), ast.Not) is not is_and:
                self._narrow(variables.find_narrowed(shown))
        self._variables[-1] = before

    def _visit_loop(self, node: ast.For) -> None:
        self._visit(node.iter)
        self._bind(node.target, node.iter)
        self._visit_all((*node.body, *node.orelse))

    def _visit_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        before = dict(self._variables[-1])
        for each in node.generators:
            self._visit(each.iter)
            for one in walk(each.target):
                if isinstance(one, ast.Name):
                    self._variables[-1].setdefault(one.id, "")
            self._bind(each.target, each.iter)
            for test in each.ifs:
                self._visit(test)
                self._narrow(variables.find_narrowed(test))
        self._visit_all((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,))
        self._variables[-1] = before

    def _bind(self, target: ast.expr, source: ast.expr) -> None:
        """What the names of a loop stand for from here on."""
        found = dict(origins.find_looped(target, source, self._variables[-1], self._fields[-1]))
        self._visit(target)
        self._variables[-1].update({name: origin for name, origin in found.items() if name not in self._aliases})

    def _narrow(self, known: Iterable[tuple[str, str]]) -> None:
        """Variables that are of a class from here on."""
        self._variables[-1].update({name: f"type:{kind}" for name, kind in known if name not in self._aliases})

    def _forget_narrowed(self, before: dict[str, str]) -> None:
        """After a branch: what it shows of a variable holds in it alone."""
        now = self._variables[-1]
        for name in [name for name, origin in now.items() if origin.startswith("type:")]:
            now[name] = before.get(name, "")

    def _visit_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if self._guards:
            self.guarded_imports.append(node.lineno)

    def _visit_assignment(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Tuple() | ast.Attribute() as target], value=ast.Call() as call):
                self._visit_call(call, count_taken(node))
                self._visit(target)
                self._remember_field(target, call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._visit_taken(node, value)
                self._remember(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                self._visit_all(find_children(node))
                for one, value in zip(names, values, strict=True):
                    if isinstance(one, ast.Name):
                        self._remember(one.id, value)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=source)):
                self._fields[-1][name] = self._variables[-1].get(source, "")
                self._add(node.lineno, f"self.{name}", None, _ASSIGNED)
            case _:
                self._visit_all(find_children(node))

    def _remember_field(self, target: ast.expr, made: ast.Call) -> None:
        """An attribute of ours that one line alone sets holds what is made there."""
        match target, made.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name), ast.Name() | ast.Attribute() as func:
                if self._set.get(name) == 1:
                    self._fields[-1][name] = f"call:{text_of(func)}"

    def _visit_annotated(self, node: ast.AnnAssign) -> None:
        self._visit_all(find_children(node))
        if isinstance(node.target, ast.Name):
            self._variables[-1][node.target.id] = variables.read_origin(node.annotation)

    def _visit_function(self, node: _Function) -> None:
        self._visit_all((*node.decorator_list, *node.args.defaults, *(item for item in node.args.kw_defaults if item)))
        inside = dict(self._variables[-1])  # a nested function sees the variables around it
        own = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.annotation is not None:
                claimed = not self._scope and (node.name, argument.arg) in self._claims
                origin = variables.read_origin(argument.annotation)
                inside[argument.arg] = origin.replace("type:", "claim:", 1) if claimed else origin
            else:
                told = self._handed.get((node.name, argument.arg)) if not self._scope else None
                inside[argument.arg] = f"claim:{told}" if told else f"name:{argument.arg}"
        calls = [one for one in walk(node) if isinstance(one, ast.Call)]
        around, self._asked = self._asked, self._asked | frozenset(find_asked_by(calls))
        outside, self._tested = self._tested, self._tested | find_tested_by(calls)
        seen = self._looked_at
        if self._inspects:
            self._looked_at |= find_looked_at(node.body, deep=True)
        given, self._given = self._given, variables.count_given(node.body)
        inside = {name: origin for name, origin in inside.items() if name not in self._given or name in own}
        self._variables.append(inside)
        self._scope.append(node.name)
        self._visit_all(node.body)
        self._scope.pop()
        self._variables.pop()
        self._given = given
        self._asked = around
        self._tested = outside
        self._looked_at = seen

    def _visit_class(self, node: ast.ClassDef) -> None:
        self._visit_all((*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)))
        self._scope.append(node.name)
        self._fields.append({})
        around, self._set = self._set, variables.count_set(node)
        # __init__ first: it tells what `self.config` is in the other methods
        for item in sorted(node.body, key=lambda item: getattr(item, "name", "") != "__init__"):
            self._visit(item)
        self._set = around
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
            self._declared.update(variables.find_set(node))
        if (name := variables.read_loaded(node)) is not None:
            self._add(node.lineno, f"{LOADS}{name}", None)
        match node.func:
            case ast.Subscript(value=ast.Attribute() | ast.Name() as kernel, slice=grid):
                self._visit_chain(kernel, (node, taken, _LAUNCH))
                self._visit(grid)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")) as above, attr=name) if variables.begins_above(
                above, self._scope
            ):
                self._add(node.lineno, f"super().{name}", (node, taken, _NOTHING))
            case ast.Name(id="isinstance" | "issubclass") if len(node.args) == 2:
                self._visit_tested(node.args[1])
            case ast.Name(id="partial") | ast.Attribute(attr="partial") if node.args:
                self._visit_bound(node)
                return
            case ast.Attribute() | ast.Name() as called:
                self._visit_chain(called, (node, taken, _NOTHING))
            case called:
                self._visit(called)
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            self._visit_taken(node, given)

    def _visit_bound(self, node: ast.Call) -> None:
        """`partial(f, x, y=1)` passes these to `f`, and the caller of what it gives anything else."""
        rest = [ast.Starred(ast.Name("_")), *node.args[1:]]
        words = [*node.keywords, ast.keyword(None, ast.Constant(None))]
        match node.args[0]:
            case ast.Attribute() | ast.Name() as called:
                bound = ast.copy_location(ast.Call(called, rest, words), node)
                self._visit_chain(called, (bound, None, _NOTHING))
            case called:
                self._visit(called)
        for given in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
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

    def _visit_chain(self, node: ast.Attribute | ast.Name, call: Call | None = None) -> None:
        words: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            words.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self._visit_item(node, inner, words[::-1], call)
            return
        name, words = inner.id, words[::-1]
        if name in self._aliases and name not in self._variables[-1]:
            if words or call is not None:
                self._add(node.lineno, ".".join((name, *words)), call, int(isinstance(node.ctx, ast.Store)))
            return
        for other, sure in self._find_named(name) if call is not None else ():
            self._guards += not sure
            self._add(node.lineno, ".".join((other, *words)), call, _ALIASED)
            self._guards -= not sure
        stored = isinstance(node.ctx, ast.Store)
        if not words:
            if stored and name in self._variables[-1]:
                self._variables[-1][name] = ""
            return
        if name == "self" and len(self._scope) > 1:
            alone = len(words) == 1
            self._add(node.lineno, f"self.{words[0]}", call if alone else None, int(stored and alone))
        if stored:
            return  # setting a field that is gone raises nothing
        if name == "self" and len(words) > 1:
            self._read(node.lineno, self._fields[-1].get(words[0]) or f"self:{words[0]}", words[1:], call)
        elif self._variables[-1].get(name):
            self._read(node.lineno, self._variables[-1][name], words, call)

    def _visit_item(self, node: ast.Attribute | ast.Name, inner: ast.expr, words: list[str], call: Call | None) -> None:
        """Attributes of what is no name: `jobs[0].steps`."""
        self._visit_taken(node, inner)
        origin = origins.trace(inner, self._variables[-1], self._fields[-1])
        if origin and words and not isinstance(node.ctx, ast.Store):
            self._read(node.lineno, origin, words, call)

    def _add(self, line: int, chain: str, call: Call | None, way: int = _READ) -> None:
        scope = ".".join(self._scope)
        guarded = self._is_guarded(chain.split("."))
        asked = sorted(self._looked_at.words) if call is not None and chain in self._looked_at.names else []
        self.uses.append([line, scope, chain, encode_call(call), guarded, way, asked])

    def _read(self, line: int, origin: str, attributes: list[str], call: Call | None) -> None:
        guarded = self._is_guarded(attributes)
        start, _, road = origin.partition(" ")
        names = ".".join((road, *attributes) if road else attributes)
        told = [line, ".".join(self._scope), start, names, guarded, encode_call(call)]
        self.reads.append(told)

    def _is_guarded(self, words: list[str]) -> int:
        return int(self._guards > 0 or not self._asked.isdisjoint(words))

    def _find_named(self, name: str) -> Iterator[tuple[str, bool]]:
        """What of the imports a variable stands for, and whether for that alone."""
        kind, _, text = self._variables[-1].get(name, "").partition(":")
        listed = text.split(" ") if kind == _ALIAS else []
        yield from ((one, len(listed) == 1) for one in listed)

    def _remember_alias(self, name: str, value: ast.expr) -> bool:
        """Whether a variable that is given once stands for something that is imported, or for one of several."""
        chosen = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
        texts = [text_of(one) if isinstance(one, ast.Name | ast.Attribute) else "" for one in chosen]
        roots = [text.partition(".")[0] for text in texts]
        known = self._variables[-1]
        named = [text for text, root in zip(texts, roots, strict=True) if root in self._aliases and root not in known]
        if not named or name in self._aliases or self._given.get(name) != 1:
            return False
        self._variables[-1][name] = (
            f"{_ALIAS}:{' '.join(dict.fromkeys([*named, *([_OTHER] * (len(named) < len(texts)))]))}"
        )
        return True

    def _remember(self, name: str, value: ast.expr) -> None:
        if self._remember_alias(name, value):
            return
        match value:
            case ast.Call(func=ast.Name() | ast.Attribute() as func, args=given):
                copied = origins.trace(value, self._variables[-1], self._fields[-1]) or f"call:{text_of(func)}"
                way, _, kept = self._variables[-1].get(name, "").partition(":")
                at = [place for place, one in enumerate(given) if isinstance(one, ast.Name) and one.id == name]
                maker = dotted_text(func)
                if maker and copied.startswith("call:") and way == "type" and " " not in kept and at:
                    copied = f"through:{maker}:{at[0]}:{kept}"
                self._variables[-1][name] = copied
            case ast.Name(id=other) if other in self._variables[-1]:
                self._variables[-1][name] = self._variables[-1][other]
            case ast.Attribute() | ast.Subscript() if self._given.get(name) == 1 and not self._guards:
                origin = origins.trace(value, self._variables[-1], self._fields[-1])
                self._variables[-1][name] = "" if origin.startswith("name:") else origin
            case _:
                self._variables[-1][name] = ""
