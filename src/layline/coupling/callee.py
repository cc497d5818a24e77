"""What a call of ours runs, what an override of ours refuses, and since when."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from layline.change.binding import CallShape, CallSite, Problem, check_call, check_replacement, find_shifted, pair_given
from layline.change.compare import Comparer, Comparison
from layline.core.drift import DriftKind
from layline.core.evidence import Skipped
from layline.core.why import Reason, Why
from layline.coupling.model import Touch
from layline.coupling.place import Place
from layline.coupling.stars import hands_all_on
from layline.source import Definition, DefinitionKind, Symbol
from layline.source.definitions import ROW_FIRST, ROW_KIND, ROW_LAST, ROW_QUALNAME
from layline.source.instances import bare_annotation
from layline.source.lineage import find_above
from layline.source.names import is_within
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.walking import walk

_HARMLESS = frozenset(
    [
        "staticmethod",
        "classmethod",
        "abstractmethod",
        "no_grad",
        "override",
        "lru_cache",
        "cache",
        "contextmanager",
        "deprecated",
        "jit",
        "script",
        "compile",
    ]
)
"""Decorators of Python and of well-known libraries that leave the signature as it is written."""
_KEEPS_CLASS = _HARMLESS | {
    "dataclass",
    "dataclass_transform",
    "final",
    "runtime_checkable",
    "total_ordering",
    "unique",
}
"""Decorators that leave the constructor of a class as it is written, or as the fields say."""
_FUNCTION = list(DefinitionKind).index(DefinitionKind.FUNCTION)


def follow_apply(place: Place, pin: Resolver) -> Place:
    """A call of `apply` that a class inherits from outside runs its `forward`, with the context in front."""
    owner, _, name = place.target.rpartition(".")
    if place.call is None or name != "apply" or pin.resolve(place.target).definition is not None:
        return place
    forward = pin.resolve(f"{owner}.forward").definition
    if forward is None or not forward.parameters or forward.parameters[0].name != "ctx":
        return place
    call = replace(place.call, positional=place.call.positional + 1, names=("", *place.call.names))
    return replace(place, target=f"{owner}.forward", call=call)


def follow_class(place: Place, comparer: Comparer) -> Place:
    """A member that our code has through a class, by its name there where the base that gave it at the pin is gone and
    the class has it all the same.
    """
    through = place.imported if place.touch is Touch.FIELD else place.base
    name = f"{through}.{place.target.rpartition('.')[2]}"
    if not through or name == place.target or comparer.tip.resolve(place.target).exists:
        return place
    is_so = comparer.pin.resolve(name).home == place.target and comparer.tip.resolve(name).exists
    return replace(place, target=name) if is_so else place


def find_callee(resolver: Resolver, symbol: Symbol) -> tuple[Definition, bool] | None:
    """What a call of the symbol runs, and whether `self` is supplied."""
    definition = symbol.definition
    if definition is None or symbol.home is None:
        return None
    if definition.kind is DefinitionKind.CLASS:
        constructor = resolver.resolve(f"{symbol.home}.__init__")
        made = constructor.definition
        if made is None or made.parameters is None or _is_remade(resolver, constructor):
            return None
        return made, True
    if definition.name == "__init__" and _is_remade(resolver, symbol):
        return None
    if definition.kind is not DefinitionKind.FUNCTION or definition.parameters is None:
        return None
    return find_written(symbol) if _keeps_signature(resolver, symbol, definition) else None


def is_reshaped(definition: Definition) -> bool:
    """Whether a decorator that is not known by its name may change the signature."""
    return not _HARMLESS.issuperset(word.partition("(")[0].rpartition(".")[2] for word in definition.decorators)


def _keeps_signature(resolver: Resolver, symbol: Symbol, definition: Definition) -> bool:
    """Whether its decorators leave the signature as it is written, as far as they are known or can be read."""
    words = [word.partition("(")[0] for word in definition.decorators]
    return all(_hands_all_on(resolver, symbol.module or "", word) for word in words)


def _hands_all_on(resolver: Resolver, module: str, word: str) -> bool:
    """Of one that upstream writes, as it is read; of one that it takes from elsewhere, by its name there."""
    found = resolver.resolve_in(module, word)
    node = resolver.index.read_node(found.module, found.definition) if found.module and found.definition else None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return hands_all_on(node)
    home = found.alias_of or found.home or word
    return home.rpartition(".")[2] in _HARMLESS


def find_written(symbol: Symbol) -> tuple[Definition, bool] | None:
    """A function as it is written, whatever its decorators make of it, and whether `self` is supplied."""
    definition = symbol.definition
    if definition is None or definition.kind is not DefinitionKind.FUNCTION or definition.parameters is None:
        return None
    return definition, bool(definition.owner) and "classmethod" in definition.decorators


def is_taken(callee: Symbol, call: CallShape, *, bound: bool) -> bool:
    """Whether a function with decorators that we do not know surely takes our call: as it is written, but for arguments
    that a decorator names (`@deprecate_kwarg("old", new_name="new")`).
    """
    written = find_written(callee)
    if written is None:
        return False
    problems = check_call(call, written[0].parameters or (), bound=bound or written[1])
    return not problems or is_named_by_decorator(written[0], call, problems)


def is_named_by_decorator(definition: Definition, call: CallShape, problems: Iterable[Problem]) -> bool:
    """Whether what a call passes beyond the written parameters is what a decorator names."""
    words = find_named(definition)
    passes = words.intersection(call.keywords).difference(one.name for one in definition.parameters or ())
    return bool(passes) and words.issuperset(one.argument for one in problems)


def find_named(definition: Definition) -> frozenset[str]:
    """The texts that its decorators are given."""
    return frozenset(word for text in definition.decorators for word in find_texts(text))


@lru_cache(maxsize=1024)
def find_texts(decorator: str) -> frozenset[str]:
    """The texts that a decorator is given."""
    tree = parse_tree("", decorator.encode("utf-8", "surrogatepass"))
    nodes = () if isinstance(tree, Skipped) else walk(tree)
    return frozenset(one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str))


def is_told_by_name(symbol: Symbol) -> bool:
    """Whether a dotted name says what a call of it runs: a function of a module, or a class. A method may be reached
    through an object that a module keeps, or be another one in a class below.
    """
    definition = symbol.definition
    return definition is not None and (definition.kind is DefinitionKind.CLASS or not definition.owner)


def is_rebound(name: str, patched: Iterable[str]) -> bool:
    """Whether code of ours replaces it, or a part of it: then upstream's signature says nothing."""
    return any(is_within(target, name) for target in patched)


def _is_remade(resolver: Resolver, constructor: Symbol) -> bool:
    """Whether a decorator of the class may put another constructor in the place of the one that is written."""
    owner = constructor.definition.owner if constructor.definition is not None else ""
    if constructor.module is None or not owner:
        return False
    made = resolver.resolve(f"{constructor.module}.{owner}").definition
    words = made.decorators if made is not None else ()
    return any(_remakes(resolver, constructor.module, word.partition("(")[0]) for word in words)


def _remakes(resolver: Resolver, module: str, decorator: str) -> bool:
    """True of a decorator that sets the constructor or makes another class, and of one that cannot be read."""
    if decorator.rpartition(".")[2] in _KEEPS_CLASS:
        return False
    found = resolver.resolve_in(module, decorator)
    node = resolver.index.read_node(found.module, found.definition) if found.module and found.definition else None
    if not isinstance(node, ast.FunctionDef):
        return True
    return any(
        isinstance(item, ast.ClassDef) or (isinstance(item, ast.Attribute) and item.attr in {"__init__", "__new__"})
        for item in walk(node)
    )


def find_refused(ours: Definition, found: Comparison) -> list[Problem]:
    """What an override of ours refuses of the tip's signature and did not refuse of the pin's."""
    before, after = found.before.definition, found.after.definition
    if before is None or after is None or after.kind is not DefinitionKind.FUNCTION:
        return []
    known = {problem.argument for problem in check_replacement(ours.parameters or (), before.parameters or ())}
    return [
        one for one in check_replacement(ours.parameters or (), after.parameters or ()) if one.argument not in known
    ]


def find_misfits(ours: Definition, theirs: Symbol) -> list[Problem]:
    """What an override of ours refuses of upstream's signature, whatever it refused before."""
    if theirs.definition is None or theirs.definition.kind is not DefinitionKind.FUNCTION:
        return []
    return list(check_replacement(ours.parameters or (), theirs.definition.parameters or ()))


def find_doubtful(compare: Callable[[Place], Comparison], places: Iterable[Place], side: int) -> Iterator[str]:
    """Methods of the pin or the tip with parameters that an override of ours does not take: upstream's calls decide."""
    for place in places:
        if place.override is None or place.override.name == "__init__":
            continue
        found = compare(place)
        theirs = (found.before, found.after)[side]
        if find_misfits(place.override, theirs):
            yield theirs.home or place.target


def find_misplaced(
    comparer: Comparer, found: Comparison, call: CallShape, *, bound: tuple[bool, bool]
) -> tuple[Problem, ...]:
    """Arguments of a call that binds which land in another parameter (but for those that upstream's body had put there
    all along), or are of a class that is gone.
    """
    callees = [find_callee(comparer.pin, found.before), find_callee(comparer.tip, found.after)]
    old, new = (one[0].parameters or () if one is not None else () for one in callees)
    shifted = find_shifted(call, old, new, bound=bound)
    landed = tuple(one for one in shifted if not _hands_on(comparer.pin, found.before, one))
    return landed or _find_outgrown(comparer, found, call, bound=bound)


def _hands_on(pin: Resolver, callee: Symbol, problem: Problem) -> bool:
    if callee.module is None or callee.definition is None:
        return False
    node = pin.index.read_node(callee.module, callee.definition)
    for item in walk(node) if node is not None else ():
        match item:
            case ast.Assign(targets=[ast.Name(id=set_)], value=ast.Name(id=given)):
                if (given, set_) == (problem.why.name, problem.why.other):
                    return True
    return False


def _find_outgrown(
    comparer: Comparer, found: Comparison, call: CallShape, *, bound: tuple[bool, bool]
) -> tuple[Problem, ...]:
    """Arguments made for a class that the tip no longer has, where the parameter names another class now: who built
    what we pass is gone as well.
    """
    sides = (comparer.pin, found.before), (comparer.tip, found.after)
    callees = [find_callee(resolver, symbol) for resolver, symbol in sides]
    if callees[0] is None or callees[1] is None:
        return ()
    problems = []
    for was, now in pair_given(call, *(one[0].parameters or () for one in callees if one), bound=bound):
        word, other = bare_annotation(was.annotation), bare_annotation(now.annotation)
        if not word or not other or word.rpartition(".")[2] == other.rpartition(".")[2]:
            continue
        taken = comparer.pin.resolve_in(found.before.module or "", word)
        if taken.definition is None or taken.definition.kind is not DefinitionKind.CLASS or taken.home is None:
            continue
        fate = comparer.compare(taken.home)
        takes = comparer.tip.resolve_in(found.after.module or "", other)
        if takes.home is not None and taken.home in find_above(takes.home, comparer.pin):
            continue  # what is asked for now stood below the class that is gone: objects of it are still taken
        if fate.kind is DriftKind.REMOVED and fate.new_home is None:
            why = Why(Reason.OUTGROWN, word, other, text=now.name)
            problems.append(Problem(was.name, why, certain=word == (was.annotation or "").strip("\"' ")))
    return tuple(problems)


def is_anothers(site: CallSite, place: Place) -> bool:
    """True of a method of an object that upstream makes itself, unless we put ours where it keeps it."""
    return site.exact and site.slot not in place.fields


def reaches(site: CallSite, place: Place, tip: Resolver) -> bool:
    """Whether an upstream call may run our override: one on `self` stands in a method of a class above ours that our
    own class does not close off.
    """
    module = tip.index.module(site.module)
    if not site.on_self or not place.base or module is None:
        return True
    around = [
        row
        for row in module.rows
        if row[ROW_KIND] == _FUNCTION and row[ROW_FIRST] <= site.location.line <= row[ROW_LAST] and "." in row[0]
    ]
    if not around:
        return True
    owner, _, method = str(max(around, key=lambda row: row[ROW_FIRST])[ROW_QUALNAME]).rpartition(".")
    return method not in place.closed and f"{site.module}.{owner}" in set(find_above(place.base, tip))
