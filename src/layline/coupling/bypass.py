"""Names that a module still binds and its code no longer uses: what we rebind there is bound, and nobody looks.

A module that became a shim (`from new.place import *`) keeps every name; the code that used them runs in the new place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layline.core.drift import DriftKind, Fate
from layline.core.evidence import Severity
from layline.core.finding import Finding, Suggestion
from layline.core.ours import is_test_module
from layline.core.patch import Style
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Sides
from layline.coupling.question import Question
from layline.source import Symbol, absolute_name
from layline.source.resolve import Resolver
from layline.source.seen import Asked, say_name
from layline.source.usage import find_calls, reads_attribute

_REBINDS = frozenset({Style.BINDING_REPLACEMENT, Style.FUNCTION_WRAPPING})


def judge_bypass(question: Question) -> Iterator[Finding]:
    """A rebinding in a module whose own code used the name at the pin, and neither it nor an importer of it does at the
    tip.
    """
    comparison, sides = question.comparison, question.sides
    if question.effect.style not in _REBINDS or question.kind.facts.fate is Fate.OPEN or not comparison.after.exists:
        return
    holder, _, name = comparison.name.rpartition(".")
    if question.dead is not None or any(question.lost_texts):
        return
    if comparison.before.bound_in != holder or comparison.after.bound_in != holder:
        return  # a member of a class, or a name that another module binds
    if not _is_used(sides.pin, holder, name) or _is_used(sides.tip, holder, name):
        return
    if comparison.before.home == comparison.name and any(_find_takers(sides.tip, holder, name)):
        return
    users = tuple(_find_stars(sides.tip, holder, name)) or comparison.suggestions
    if users:
        why = Why(Reason.BYPASSED, holder, users[0].target)
        yield Finding(severity=Severity.BREAKS, why=why, suggestion=users[0])


def judge_uncalled(question: Question) -> Iterator[Finding]:
    """A method that upstream's own code called at the pin and nowhere at the tip: what we put there is not run."""
    comparison, sides = question.comparison, question.sides
    before, after = comparison.before.definition, comparison.after.definition
    if question.effect.style not in _REBINDS or question.kind.facts.fate is not Fate.STAYS or not question.is_decided:
        return
    if before is None or after is None or not (before.owner and after.owner) or before.name.startswith("__"):
        return
    then, now = comparison.before, comparison.after
    if comparison.body_changed and _is_read(sides.pin, then) and not _is_read(sides.tip, now):
        yield Finding(severity=Severity.LOOK, why=Why(Reason.NO_LONGER_CALLED))


def _is_read(side: Resolver, method: Symbol) -> bool:
    """Whether code outside tests reads an attribute of that name, or asks for it by text; `self` is an object of the
    class in its own module and in those that import the class.
    """
    owner, _, name = (method.home or "").rpartition(".")
    near = {method.module, *(module for module, _ in side.find_importers(owner))}
    word, seen = name.encode(), side.index.seen
    for module, data in side.index.read_all([name]):
        if not is_test_module(module) and word in data and _reads(side, module, data, name, of_self=module in near):
            seen.add(Asked.MENTION, say_name(module, name))
            return True
    seen.add(Asked.WORD, name)
    return False


def _reads(side: Resolver, module: str, data: bytes, name: str, *, of_self: bool) -> bool:
    question = f"reads {name} {of_self}"
    return side.index.ask(module, question, lambda: reads_attribute(data, name, of_self=of_self))


def judge_source(question: Question, severity: Severity) -> Iterator[Finding]:
    """A lost binding of a name whose source the same patch rebinds, and which the tip takes from there."""
    before = question.comparison.before
    known = {other.target for other in question.patch.effects if other.target is not None}
    if question.kind is not DriftKind.BINDING_LOST or severity is not Severity.BREAKS or before.home is None:
        return
    if before.home not in known:
        return
    inside, sides = before.module is not None, question.sides
    places = _find_inside(before.home, sides, frozenset(known)) if inside else _find_outside(before.home, sides)
    if places:
        why = Why(Reason.STILL_REACHES, before.home, names=tuple(places))
        yield Finding(severity=Severity.LOOK, why=why, is_limit=True)


def _find_outside(home: str, sides: Sides) -> list[str]:
    """Where the tip calls an outside name as an attribute of its module."""
    package, _, name = home.rpartition(".")
    return _search(f"{package.rpartition('.')[2]}.{name}", sides)


def _find_inside(home: str, sides: Sides, targets: frozenset[str]) -> list[str]:
    """Where the tip calls a function in the module that defines it, as an attribute of that module, or under a name we
    rebind.
    """
    symbol = sides.tip.resolve(home)
    if symbol.module is None or symbol.definition is None or symbol.home != home:
        return []
    package, _, name = home.rpartition(".")
    own = _find_calling(name, sides, [(symbol.module, sides.tip.index.look(symbol.module, name))])
    takers = [
        (module, item) for module, item in sides.tip.find_importers(home) if _is_used(sides.tip, module, item.alias)
    ]
    takers = [(module, item) for module, item in takers if not module.startswith("tests.")]
    if takers and all(f"{module}.{item.alias}" in targets for module, item in takers):
        own += [str(sides.tip.index.location(module, item.line)) for module, item in takers]
    return own or _search(f"{package.rpartition('.')[2]}.{name}", sides)


def _search(spelled: str, sides: Sides) -> list[str]:
    index = sides.tip.index
    index.seen.add(Asked.WORD, spelled)
    return _find_calling(spelled, sides, index.read_all([spelled.rpartition(".")[2]]))


def _find_calling(spelled: str, sides: Sides, files: Iterable[tuple[str, bytes]]) -> list[str]:
    index, word = sides.tip.index, spelled.encode()
    return sorted(
        str(index.location(module, line))
        for module, data in files
        if index.every[module].part == sides.part
        and word in data
        and not module.startswith("tests.")
        and (line := next(find_calls(data, spelled), None)) is not None
    )


def _is_used(side: Resolver, module: str, name: str) -> bool:
    """True if code of a module, other than its imports, names it."""
    return module in side.index.entries and side.index.uses(module, name)


def _find_stars(tip: Resolver, module: str, name: str) -> Iterator[Suggestion]:
    """Modules from which it takes everything, and with it the name."""
    holder, entry = tip.index.module(module), tip.index.entries[module]
    for item in holder.bound_imports.get("*", ()) if holder is not None else ():
        source = absolute_name(module, package=entry.is_package, level=item.level, name=item.module)
        if source is not None and tip.resolve(f"{source}.{name}").exists and _is_used(tip, source, name):
            yield Suggestion(f"{source}.{name}", 0.9, f"{module} only re-exports what {source} holds")


def _find_takers(tip: Resolver, module: str, name: str) -> Iterator[str]:
    """Upstream modules, tests aside, that import the name from this one."""
    for other, item in tip.find_importers(f"{module}.{name}"):
        entry = tip.index.entries[other]
        source = absolute_name(other, package=entry.is_package, level=item.level, name=item.module)
        if source == module and not other.startswith("tests."):
            yield other
