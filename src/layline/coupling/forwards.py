"""What a function that hands its stars on takes: what the one takes that it hands them to.

`def f(self, *args, **kwargs): … super().f(*args, **kwargs)` refuses what the function above it refuses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from layline.change.binding import CallShape, read_call
from layline.coupling.callee import find_callee
from layline.coupling.stars import Forward, find_forward
from layline.source import Definition, DefinitionKind, Parameter, ParameterKind, Symbol
from layline.source.fingerprint import dotted_text
from layline.source.resolve import Resolver
from layline.source.walking import walk

_DEEPEST = 4
_BY_POSITION = frozenset({ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL})
_STARS = frozenset({ParameterKind.VARIADIC, ParameterKind.KEYWORDS})
UNBOUND = frozenset({"staticmethod", "classmethod"})
_SET = "..."
"""The default of a parameter that the function in between may fill."""


def find_accepting(resolver: Resolver, symbol: Symbol, depth: int = 0) -> tuple[Definition, bool] | None:
    """What a call of the symbol runs, and whether `self` is supplied; for stars that it hands on stand the parameters
    of the function that gets them.
    """
    found = find_callee(resolver, symbol)
    run = _find_run(resolver, symbol)
    if found is None or run is None or depth > _DEEPEST or not _is_alone(resolver, symbol, run, depth):
        return found
    ours = found[0].parameters or ()
    words = [one.name for one in ours if one.kind is ParameterKind.KEYWORDS]
    node = resolver.index.read_node(run.module or "", found[0]) if words and run.module else None
    forward = find_forward(node, words[0]) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    taken = _find_taken(resolver, run, forward, depth) if forward is not None else None
    if forward is None or taken is None or _hands_more(forward.call, ours):
        return found
    merged = tuple(_merge(ours, taken, forward))
    return replace(found[0], parameters=merged), found[1]


def widen(resolver: Resolver, method: Symbol, owner: str) -> Symbol:
    """A method that hands its stars on to another of the same object, with the parameters of that one as a class has
    it: who overrides it is passed these.
    """
    definition = method.definition
    ours = definition.parameters or () if definition is not None else ()
    words = [one.name for one in ours if one.kind is ParameterKind.KEYWORDS]
    if definition is None or method.module is None or not words or not definition.owner:
        return method
    node = resolver.index.read_node(method.module, definition)
    forward = find_forward(node, words[0]) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    if forward is None or _hands_more(forward.call, ours):
        return method
    match forward.call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name != definition.name:
            taken = resolver.resolve(f"{owner}.{name}").definition
            if taken is None or taken.parameters is None or UNBOUND.intersection(taken.decorators):
                return method
            merged = tuple(_merge(ours, taken.parameters[1:], forward))
            return replace(method, definition=replace(definition, parameters=merged))
    return method


def _find_run(resolver: Resolver, symbol: Symbol) -> Symbol | None:
    """The function that a call of the symbol runs: itself, or of a class its `__init__`."""
    definition = symbol.definition
    if definition is not None and definition.kind is DefinitionKind.CLASS:
        made = resolver.resolve(f"{symbol.home}.__init__")
        return None if made.is_implicit else made
    return symbol


def _is_alone(resolver: Resolver, symbol: Symbol, run: Symbol, depth: int) -> bool:
    """Whether `super()` in what runs means the class above it: of several bases another one may come between, and of a
    method nobody knows whose object it is called on.
    """
    if run.definition is None or not run.definition.owner:
        return True
    if symbol.definition is None or symbol.definition.kind is not DefinitionKind.CLASS:
        return depth > 0
    owner, below = f"{run.module}.{run.definition.owner}", symbol
    for _ in range(2 * _DEEPEST):
        bases = below.definition.bases if below.definition is not None else ()
        if below.home == owner or len(bases) != 1 or below.module is None:
            return below.home == owner
        below = resolver.resolve_in(below.module, bases[0].partition("[")[0])
    return False


def _hands_more(call: ast.Call, ours: tuple[Parameter, ...]) -> bool:
    """Whether stars of other names are handed on beside the function's own: nobody knows what they hold."""
    own = {one.name for one in ours if one.kind in _STARS}
    given = [one.value for one in call.args if isinstance(one, ast.Starred)]
    given += [one.value for one in call.keywords if one.arg is None]
    return any(not isinstance(one, ast.Name) or one.id not in own for one in given)


def _find_taken(resolver: Resolver, run: Symbol, forward: Forward, depth: int) -> tuple[Parameter, ...] | None:
    """The parameters of what the forward calls, without the object that Python gives it."""
    match forward.call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            above = _find_above(resolver, run, name)
            found = find_accepting(resolver, above, depth + 1) if above is not None else None
            bound = found is not None and "staticmethod" not in found[0].decorators
        case ast.Name() | ast.Attribute() as func:
            text = dotted_text(func)
            if text is None or text.partition(".")[0] in _find_bound(resolver, run):
                return None
            found = find_accepting(resolver, resolver.resolve_in(run.module or "", text), depth + 1)
            bound = found is not None and found[1]
        case _:
            return None
    if found is None:
        return None
    return (found[0].parameters or ())[1 if bound else 0 :]


def _find_bound(resolver: Resolver, run: Symbol) -> frozenset[str]:
    """Names that a function takes or binds itself: what they hold the module does not say."""
    node = resolver.index.read_node(run.module or "", run.definition) if run.definition else None
    words = (
        item.arg if isinstance(item, ast.arg) else item.id if isinstance(item, ast.Name) else item.asname or item.name
        for item in (walk(node) if node is not None else ())
        if isinstance(item, ast.arg | ast.alias) or (isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load))
    )
    return frozenset(words)


def _find_above(resolver: Resolver, run: Symbol, name: str) -> Symbol | None:
    """The method of the class above, where there is one such class."""
    if run.definition is None or run.module is None or not run.definition.owner:
        return None
    owner = resolver.resolve(f"{run.module}.{run.definition.owner}").definition
    bases = owner.bases if owner is not None else ()
    base = resolver.resolve_in(run.module, bases[0].partition("[")[0]) if len(bases) == 1 else None
    if base is None or base.definition is None or base.home is None:
        return None
    found = resolver.resolve(f"{base.home}.{name}")
    return found if found.exists and not found.is_implicit and _is_alone(resolver, base, found, 0) else None


def _merge(ours: tuple[Parameter, ...], taken: tuple[Parameter, ...], forward: Forward) -> Iterator[Parameter]:
    """What a call may pass to the one that hands on: its own parameters, and what the other has left."""
    shape = read_call(forward.call)
    named = {one.name for one in ours if one.kind not in _STARS}
    left = [one for one in _find_left(taken, shape, forward) if one.name not in named]
    places = [one for one in left if one.kind in _BY_POSITION or one.kind is ParameterKind.VARIADIC]
    yield from (one for one in ours if one.kind in _BY_POSITION)
    if shape.has_star:
        yield from places
    else:
        yield from (one for one in ours if one.kind is ParameterKind.VARIADIC)
        yield from (
            replace(one, kind=ParameterKind.KEYWORD_ONLY) for one in places if one.kind is ParameterKind.POSITIONAL
        )
    yield from (one for one in ours if one.kind is ParameterKind.KEYWORD_ONLY)
    yield from (one for one in left if one not in places)
    known = {*named, *(one.name for one in left)}
    for name in sorted(forward.popped - known):
        yield Parameter(name, ParameterKind.KEYWORD_ONLY, default=_SET)


def _find_left(taken: tuple[Parameter, ...], shape: CallShape, forward: Forward) -> Iterator[Parameter]:
    """What the forward does not fill itself."""
    places = [one for one in taken if one.kind in _BY_POSITION][: shape.positional]
    for one in taken:
        if one in places or one.name in shape.keywords:
            continue
        yield replace(one, default=_SET) if one.required and one.name in forward.filled else one
