"""Attributes that our replacement sets on its object and upstream's code no longer reads: set, and nobody looks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layline.core.drift import Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.question import Question
from layline.coupling.surroundings import find_set
from layline.source import Symbol
from layline.source.lineage import find_below
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.usage import reads_attribute
from layline.source.walking import walk

_DEEPEST = 6


def judge_unread(question: Question) -> Iterator[Finding]:
    """What the code around the class read at the pin and does not read at the tip; what our own file reads has a use
    of its own.
    """
    ours, before, after = question.ours, question.comparison.before, question.comparison.after
    if ours is None or ours.tree is None or not question.is_decided or question.kind.facts.fate is not Fate.STAYS:
        return
    me = _find_own_name(ours.node)
    if me is None or not (before.definition and before.definition.owner and after.definition):
        return
    names = [name.partition(".")[2] for name in sorted(find_set(ours.node)) if name.startswith(f"{me}.")]
    names = [name for name in names if not _reads(ours.tree, name)]
    sides = (question.sides.pin, before), (question.sides.tip, after)
    then, now = (_find_around(side, symbol) if names else () for side, symbol in sides)
    lost = [
        f"{me}.{name}"
        for name in names
        if any(_loads(question.sides.pin, module, name) for module in then)
        and not any(_is_named(question.sides.tip, module, name) for module in now)
    ]
    if lost:
        yield Finding(severity=Severity.LOOK, why=Why(Reason.SETS_UNREAD, names=tuple(lost)))
    dropped = [f"{me}.{name}" for name in names if f"{me}.{name}" not in lost and _is_dropped(question, name)]
    if dropped:
        owner = (after.home or "").rpartition(".")[0]
        yield Finding(severity=Severity.LOOK, why=Why(Reason.SETS_DROPPED, owner, names=tuple(dropped)))


def _is_dropped(question: Question, name: str) -> bool:
    """Whether the class of a method, or one above it, set an attribute and read it at the pin, and no class of the
    tip's family names it: whoever else asks for such a word asks for what only our code sets.
    """
    homes = [
        (symbol.home or "").rpartition(".")[0] for symbol in (question.comparison.before, question.comparison.after)
    ]
    pin, tip = question.sides.pin, question.sides.tip
    then = [pin.resolve(home) for home in (homes[0], *_find_bases(pin, homes[0], 0))]
    used = {use for one in then for use in _find_uses(pin, one, name)}
    if not used >= {ast.Load, ast.Store}:
        return False
    family = {homes[1]: None, **dict.fromkeys((*_find_bases(tip, homes[1], 0), *find_below(homes[1], tip)))}
    return not any(use for home in family for use in _find_uses(tip, tip.resolve(home), name))


def _find_uses(side: Resolver, owner: Symbol, name: str) -> Iterator[type[ast.AST]]:
    """How the body of a class names an attribute: reads it, sets it, or has the word as a text."""
    node = side.index.read_node(owner.module, owner.definition) if owner.module and owner.definition else None
    for item in walk(node) if node is not None else ():
        match item:
            case ast.Attribute(attr=word, ctx=context) if word == name:
                yield type(context)
            case ast.Constant(value=text) if text == name:
                yield ast.Constant


def _find_own_name(node: ast.AST) -> str | None:
    """What a method calls its object."""
    match node:
        case ast.FunctionDef(args=ast.arguments(posonlyargs=first, args=rest)) if first or rest:
            return (*first, *rest)[0].arg
    return None


def _reads(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load) for node in walk(tree)
    )


def _find_around(side: Resolver, method: Symbol) -> tuple[str, ...]:
    """The modules of the class of a method and of those above it, and whoever imports one of these classes."""
    owner = (method.home or "").rpartition(".")[0]
    classes = {owner: None, **dict.fromkeys(_find_bases(side, owner, 0))}
    modules = {side.resolve(name).module: None for name in classes}
    takers = {module: None for name in classes for module, _ in side.find_importers(name)}
    return tuple(name for name in (*modules, *takers) if name is not None)


def _find_bases(side: Resolver, name: str, depth: int) -> Iterator[str]:
    symbol = side.resolve(name)
    if symbol.definition is None or symbol.module is None or depth > _DEEPEST:
        return
    for base in symbol.definition.bases:
        home = side.resolve_in(symbol.module, base.partition("[")[0]).home
        if home is not None and side.index.owns(home):
            yield home
            yield from _find_bases(side, home, depth + 1)


def _loads(side: Resolver, module: str, name: str) -> bool:
    """Whether code of a module reads an attribute of that name."""
    data = side.index.look(module, name)
    return name.encode() in data and side.index.ask(module, f"loads {name}", lambda: _reads_in(data, name))


def _reads_in(data: bytes, name: str) -> bool:
    tree = parse_tree("", data)
    return isinstance(tree, ast.Module) and _reads(tree, name)


def _is_named(side: Resolver, module: str, name: str) -> bool:
    """The same, or it has the word as a text: something may still read it."""
    data = side.index.look(module, name)
    return name.encode() in data and side.index.ask(
        module, f"reads {name} True", lambda: reads_attribute(data, name, of_self=True)
    )
