"""Which functions may change upstream, by a look at their text: only those are worth reading."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.interpreter.calls import IMPORT_HOOKS
from layline.interpreter.text_targets import is_everywhere, speaks, speaks_of_path
from layline.interpreter.values import Function
from layline.source.sites import CHANGES, LOADERS, read_setattr
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.modules import Module
    from layline.source.facts import Facts, WriteLine

_BEHAVES = frozenset(["forward", "__call__", "__class__", "generate"])
"""Attributes of other objects that hold behaviour, whatever is put there."""
_SHORT = 14
"""A helper this short is read for what it returns."""
_WRITERS = frozenset({"exec", "patch", "apply_patch", "wrap_function_wrapper", "wrap_object", "_w", "_wrap", "wrap"})
_SPOKEN = frozenset(["meta_path", "when_imported", "mock", "getsource", "patch_to", "MethodType", "__subclasses__"])
"""Names that stand in code which may change something."""
_SPOKEN_FIRST = ("wrap_", "register_patch")
_CALLED = frozenset(["apply_patch", "wrap", "_wrap", "_w"])
_MAKES_CODE = re.compile(r"MethodType|__get__|partial|wrap|patch|make|create|build|compile|decorat|bind", re.IGNORECASE)
_CLASS_LIKE = ("cls", "class", "klass")
"""How parameters and variables are called that hold a class."""
TABLE_NAME = re.compile(r"_?[A-Z][A-Z0-9_]+\Z|_?\w*(?:registry|mapping|table|hooks|handlers)\w*\Z")
"""How tables and lists of a module are called: a constant, or a registry."""
_MAY_WRITE = frozenset({ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Call})


@dataclass(frozen=True, slots=True)
class Look:
    """What one walk over a function shows."""

    writes: bool
    """It, or a function it defines inside, sets an attribute or item of something other than itself."""
    is_short: bool
    calls: frozenset[str]
    """Last names of what it calls."""
    is_helper: bool
    """It writes a function it is given, or makes, onto one of its own parameters: its callers decide the target."""
    gives_patches: bool = False
    """It returns patches that its callers start."""
    passes: frozenset[str] = frozenset()
    """Plain functions that it hands one of its own parameters to: of a helper, it is one itself."""
    passes_own: frozenset[str] = frozenset()
    """Plain functions that it hands an attribute of its object to: who makes that object decides."""
    plain: frozenset[str] = frozenset()
    """What it calls by a bare name."""


@remember
def look_at(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Look:
    given = _find_parameters(node)
    parts = list(walk(node))
    parameters = given | _find_derived(parts, given)
    # in a loop over classes `cls` is each of them; only a parameter of this name is the class a method belongs to
    own = {"self", "cls"} & {"self", *(part.arg for part in parts if isinstance(part, ast.arg))}
    statements, calls, found, is_helper, inner = 0, set(), False, False, set(parameters)
    passes, passes_own, bare = set(), set(), set()
    local = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    inner |= {
        name for part in parts if (name := _find_put(part)) and not name.isupper()
    } - local  # a function of the file
    for part in parts:
        if isinstance(part, ast.stmt):
            statements += 1
            if isinstance(part, ast.FunctionDef):
                inner.add(part.name)
        elif isinstance(part, ast.Call):
            calls.add(_called(part))
            plain = part.func.id if isinstance(part.func, ast.Name) else ""
            bare.add(plain)
            values = (*part.args, *(word.value for word in part.keywords)) if plain else ()
            passes |= {plain for value in values if isinstance(value, ast.Name) and value.id in given}
            passes_own |= {plain for value in values if _is_own_attribute(value)}
        if part.__class__ in _MAY_WRITE:
            found = found or _is_write(part, own)
            is_helper = is_helper or _hands_over(part, parameters, inner)
    gives = "patch" in calls and any(isinstance(part, ast.Return) and _holds_patch(part) for part in parts)
    is_short = statements <= _SHORT or _makes_function(node)
    return Look(found, is_short, frozenset(calls), is_helper, gives, *map(frozenset, (passes, passes_own, bare)))


def _is_own_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _holds_patch(node: ast.Return) -> bool:
    return any(isinstance(part, ast.Call) and _called(part) == "patch" for part in walk(node))


def _find_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """What callers decide: `cls` too, unless it is the class that a method belongs to."""
    names = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
    is_method = getattr(node, "decorator_list", ()) or getattr(node, "name", "").startswith("__")
    return set(names) - ({"self", "cls"} if is_method else {"self"})


def _makes_function(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """A factory: short but for the function it defines and returns."""
    body = [] if isinstance(node, ast.Lambda) else node.body
    made = {statement.name for statement in body if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)}
    last = body[-1] if body else None
    returns = isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id in made
    return returns and len(body) <= _SHORT


def _find_derived(parts: list[ast.AST], parameters: set[str]) -> set[str]:
    """Locals that stand for something a parameter names: `owner = of`, `cls = getattr(module, name)`."""
    if not parameters:
        return set()
    found: set[str] = set(_find_listed(parts, parameters))
    for part in parts:
        if part.__class__ is not ast.Assign or not isinstance(part.targets[0], ast.Name | ast.Tuple):
            continue
        value = part.value
        roots = {_root(item) for item in (value, *(value.args if isinstance(value, ast.Call) else ()))}
        if roots & (parameters | found) and isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            found |= {item.id for item in walk(part.targets[0]) if isinstance(item, ast.Name)}
    return found - parameters


def _find_listed(parts: list[ast.AST], parameters: set[str]) -> Iterator[str]:
    """What a loop calls an item that is a parameter: `for cls in subclasses(base) | {base}`, there or under a name."""
    held = {
        part.targets[0].id
        for part in parts
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and _lists(part.value, parameters)
    }
    for part in parts:
        match part:
            case ast.For(target=ast.Name(id=name), iter=source):
                if _lists(source, parameters) or (isinstance(source, ast.Name) and source.id in held):
                    yield name


def _lists(node: ast.expr, names: set[str]) -> bool:
    match node:
        case ast.BinOp(left=left, right=right):
            return _lists(left, names) or _lists(right, names)
        case ast.Set(elts=items) | ast.List(elts=items) | ast.Tuple(elts=items):
            return any(isinstance(item, ast.Name) and item.id in names for item in items)
    return False


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_write(node: ast.AST, own: set[str]) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value):
            return any(_is_foreign(t, own) or (_is_held(t) and _may_be_code(value)) for t in targets)
        case ast.Delete(targets=targets):
            return any(_is_foreign(target, own) for target in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _is_foreign(target, own)
        case ast.Call() if put := read_setattr(node):
            return _root(put[0]) not in own or isinstance(put[0], ast.Attribute | ast.Subscript)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name) as owner, attr=method)) if (
            method in CHANGES and (TABLE_NAME.match(name) or name == "environ")
        ):
            return _root(owner) not in own
        case ast.Call(func=ast.Attribute(attr="register"), args=args, keywords=keywords):
            return len(args) + len(keywords) > 1
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name.startswith("register_"):
            return bool(node.args or node.keywords) and _root(owner) not in own
        case ast.Call():
            name = _called(node)
            return name in _WRITERS or name.startswith("register_patch") or speaks_of_path(node)
    return False


def _find_put(node: ast.AST) -> str:
    """The plain name that is put on an attribute: `owner.step = fast`."""
    match node:
        case ast.Assign(targets=[ast.Attribute(), *_], value=ast.Name(id=name)):
            return name
    return ""


def _hands_over(node: ast.AST, parameters: set[str], ours: set[str]) -> bool:
    match node:
        case ast.Assign(targets=targets, value=value):
            is_ours = isinstance(value, ast.Lambda | ast.Call) or (isinstance(value, ast.Name) and value.id in ours)
            roots = {_root(t.value) for t in targets if isinstance(t, ast.Attribute)} & parameters
            is_class = isinstance(value, ast.Name) and any(root.endswith(_CLASS_LIKE) for root in roots)
            return bool(roots) and (is_ours or is_class)
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Name(), ast.Name(id=given)]) if given in ours:
            return True  # owner and name are variables, what is put there was handed over: `setattr(module, name, new)`
        case ast.Call(args=[first, *_]) if _called(node) in {"setattr", *_WRITERS}:
            return _root(first) in parameters
        case ast.Call(args=args) if _called(node) in IMPORT_HOOKS:
            return any(_root(argument) in parameters for argument in args)
    return False


@dataclass(frozen=True, slots=True)
class Handed:
    """Lines of a helper and what its parameters decide there."""

    owner: frozenset[int]
    """Writes onto what a parameter names."""
    rest: frozenset[int]
    """Writes whose name or value a parameter gives."""
    passed: frozenset[int]
    """Calls that pass a parameter on."""


@remember
def find_handed(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Handed:
    """Where a helper's callers decide: only such writes are listed where the helper is called."""
    given = _find_parameters(node)
    parts = list(walk(node))
    given |= _find_derived(parts, given)
    owner: set[int] = set()
    rest: set[int] = set()
    passed: set[int] = set()
    for part in parts:
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute):
            line = part.targets[0].lineno
            owner |= {line} if _root(part.targets[0].value) in given else set()
            rest |= {line} if _is_given(part.value, given) else set()
        elif isinstance(part, ast.Call):
            arguments = [*part.args, *(word.value for word in part.keywords)]
            if _called(part) in {"setattr", *_WRITERS} and arguments:
                owner |= {part.lineno} if _root(arguments[0]) in given else set()
                rest |= {part.lineno} if any(_is_given(value, given) for value in arguments[1:]) else set()
            elif any(_is_given(value, given) for value in arguments):
                passed |= set(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return Handed(frozenset(owner), frozenset(rest), frozenset(passed))


def _is_given(value: ast.expr, given: set[str]) -> bool:
    """A parameter, or what one makes: `fn`, `fn(x)`, `MethodType(fn, x)`, `f"{name}_x"`."""
    match value:
        case ast.Call(args=[first, *_]) if _called(value) in {"MethodType", "partial", "partialmethod", "staticmethod"}:
            return _is_given(first, given)
        case ast.Call(func=ast.Name(id="type"), args=[_, ast.Tuple(elts=bases), _]):
            return any(_is_given(base, given) for base in bases)
        case ast.JoinedStr(values=values):
            return any(isinstance(part, ast.FormattedValue) and _root(part.value) in given for part in values)
    return _root(value) in given


def _is_foreign(target: ast.expr, own: set[str]) -> bool:
    """`x.y = …` or `X[...] = …` where x is neither `self` nor a lower-case local table."""
    match target:
        case ast.Attribute(value=ast.Attribute(), attr=name) if name in _BEHAVES:
            return True  # `self.model.forward = …` changes the model
        case ast.Attribute(value=owner) | ast.Subscript(value=ast.Attribute() as owner):
            return _root(owner) not in own
        case ast.Subscript(value=ast.Call(func=ast.Name(id="vars"), args=[owner])):
            return _root(owner) not in own
        case ast.Subscript(value=ast.Name(id=name)):
            return name.upper() == name or name[:1].isupper() or name == "environ"
        case ast.Tuple(elts=elts):
            return any(_is_foreign(item, own) for item in elts)
    return False


def _is_held(target: ast.expr) -> bool:
    """`self.model.forward = …`: an attribute of an object that `self` only holds."""
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute | ast.Subscript | ast.Call)


def _may_be_code(value: ast.expr) -> bool:
    match value:
        case ast.Lambda() | ast.Name() | ast.Attribute() | ast.IfExp():
            return True
        case ast.Call():
            return _MAKES_CODE.search(_called(value)) is not None or _called(value)[:1].isupper()
        case ast.List(elts=[ast.Call() as first, *_]):
            return _may_be_code(first)
    return False


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_worth_following(function: Function) -> bool:
    """Read a called function if it may write, or is a short helper whose result may be a target."""
    seen = look_at(function.node)
    return seen.is_short or seen.writes


def find_passed(functions: list[Function]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of functions, and of what each hands one of its parameters to."""
    for function in functions:
        name, passes = function.name, look_at(function.node).passes
        if len(name) > 3 and passes and "." not in name:  # methods share their names with too many others
            yield name, tuple(sorted(passes))


def find_holders(functions: list[Function]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of classes, and of what their methods hand what an object holds to."""
    for function in functions:
        owner, passes = function.name.rpartition(".")[0], look_at(function.node).passes_own
        if owner and passes:
            yield owner.rpartition(".")[2], tuple(sorted(passes))


def find_helpers(functions: list[Function]) -> Iterator[str]:
    """Names of functions whose callers decide the target."""
    for function in functions:
        name = function.name.rpartition(".")[2]
        seen = look_at(function.node)
        if len(name) > 3 and (seen.is_helper or seen.gives_patches):
            yield name


def find_lambdas(module: Module) -> Iterator[str]:
    """The same of functions without a name of their own: `give = lambda owner: setattr(owner, "step", fast)`."""
    for name, value in module.scope.names.items():
        if isinstance(value, Function) and isinstance(value.node, ast.Lambda) and look_at(value.node).is_helper:
            yield name


def find_imported(facts: dict[str, Facts]) -> Iterator[str]:
    """The top names of everything that is imported anywhere."""
    for one in facts.values():
        yield from {item.module.partition(".")[0] for item in one.imports if not item.level}


def may_write(facts: Facts, packages: tuple[str, ...]) -> bool:
    """A look at the rows of a file: whether it may change something that it imports, is given or finds."""
    if _speaks(facts) or any(_is_telling(write, facts) for write in facts.writes):
        return True
    bound = find_bound(facts, packages)
    if any(write.root in bound for write in facts.writes):
        return True
    if bound and any(name == "exec" or name.startswith("register") for name in facts.called):
        return True
    if bound and any(_is_deep(write) for write in facts.writes):
        return True
    tops = {package.partition(".")[0] for package in packages}
    if any(site.root in LOADERS or (not site.plain and _may_be_theirs(site.root, tops)) for site in facts.sites):
        return True
    if any(not site.root and not site.plain for site in facts.sites):
        return True  # code put on an object that is reached somehow
    if bound and "environ" in facts.words and any(write.root in {"os", "environ"} for write in facts.writes):
        return True
    anything = find_bound(facts, ()) if packages else frozenset()
    return any(write.root in anything and write.last and not write.plain for write in facts.writes)


def _may_be_theirs(root: str, tops: set[str]) -> bool:
    """A name imported from one of these packages, or from any that is installed."""
    top = root.partition(".")[0]
    return top in tops if tops else bool(top) and top not in sys.stdlib_module_names


def _speaks(facts: Facts) -> bool:
    """Names, calls and bases that stand for a change."""
    words = facts.words
    if words & _SPOKEN or {"sys", "modules"} <= words or any(word.startswith(_SPOKEN_FIRST) for word in words):
        return True
    if any(item.module.rpartition(".")[2] == "mock" for item in facts.imports):
        return True
    if any(name in _CALLED or (name == "register" and count > 1) or is_everywhere(name) for name, count in facts.calls):
        return True
    if any(speaks(name) and "." in text for name, text in facts.texts):
        return True
    return any("atch" in word for _, bases in facts.classes for word in bases)


def _is_telling(write: WriteLine, facts: Facts) -> bool:
    """A write onto something that is no name of this file: a class, what a loop brings, what a call gives."""
    if write.by_call:
        return write.root != "self" or write.depth > 1
    if write.last in {"__class__", "forward"} or write.root == "call:type":
        return True
    is_class = write.root.endswith(_CLASS_LIKE) or write.root in facts.loops
    is_set = bool(write.last) and not write.plain
    is_inside = "__dict__" in facts.words and not write.last and not write.plain and write.depth > 1
    if is_inside and write.root not in {"self", "cls"}:
        return True
    return (is_class and is_set) or ("__class__" in facts.words and write.depth > 1)


def _is_deep(write: WriteLine) -> bool:
    """`spec.parts.attention = ours()`: a part of something that may be upstream's."""
    return write.depth > 1 and bool(write.last) and not write.plain and write.root not in {"self", "cls"}


def find_bound(facts: Facts, packages: tuple[str, ...]) -> frozenset[str]:
    """Names that a file binds by importing from these packages, or from any."""
    tops = {package.partition(".")[0] for package in packages}
    names: set[str] = set()
    for item in facts.imports:
        if not tops or (not item.level and item.module.partition(".")[0] in tops):
            names.update([item.alias] if item.alias else [bound for _, bound in item.names])
    return frozenset(names)
