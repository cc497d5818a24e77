"""How effects outside any registration are reached: what calls their function, on what condition, and when."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, Condition, ConditionKind, combine, find_told, keep_callers, tell
from layline.core.patch import Effect, Moment, Unregistered
from layline.interpreter.line_tests import find_body, find_chain
from layline.interpreter.line_words import read_caller_tests
from layline.patches.guards.caller_ways import CallerWays
from layline.patches.guards.reaching import Line, keep_reaching, tell_denied

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.interpreter.callers.sites import Callers, KnownCallers, Site
    from layline.interpreter.modules import Modules


def open_callers(known: KnownCallers, modules: Modules) -> Callable[[Unregistered], Unregistered]:
    """What adds to an effect the calls of the function around it, and what is asked along the calls that lead to it.

    `known` tells the callers of those functions, and of the functions around these calls. Of the effect itself only its
    place, its condition and its moment matter (`inventory.reached` keeps the rest).
    """
    ways = CallerWays(known, modules)
    return lambda item: _add_callers(item, known[item.within], ways)


def _find_line(item: Unregistered, modules: Modules) -> Line:
    """The line of an effect, and the function around it."""
    place = item.effect.location
    module = modules.find(modules.names_by_path.get(place.path, ""))
    chain = find_chain(module.body, place.line) if module is not None else []
    return Line(place.line, chain[-1] if chain else None, chain[-2] if len(chain) > 1 else None)


def _add_callers(item: Unregistered, known: Callers, ways: CallerWays) -> Unregistered:
    line = _find_line(item, ways.modules)
    callers, denied = keep_reaching(known, line), tell_denied(known, line)
    later = bool(callers.sites) and all(map(_runs_later, callers.sites))
    effect = _keep_shared(_put_off(item.effect, later=later), _find_shared(callers, ways.modules))
    return replace(
        item,
        effect=_add_condition(effect, denied if denied != ALWAYS else _find_asked(item.within, callers, ways)),
        called_from=callers.places,
        unknown_callers=callers.unknown,
    )


def _find_asked(within: str, callers: Callers, ways: CallerWays) -> Condition:
    """What must hold for a function to run, as far as its callers tell."""
    if callers.is_function:
        return ways.find(within, callers)
    if len(callers.sites) != 1 or callers.unknown or callers.is_offered:
        return ways.gates.find(within)
    return _find_import_gate(callers.sites[0], ways)


def _find_shared(callers: Callers, modules: Modules) -> frozenset[Condition] | None:
    """What all callers of a function ask, where there are several; None where one alone is known."""
    calls = [site for site in callers.sites if site.use is not None and site.use.is_call]
    asked = [frozenset(_find_asked_at(site, modules).parts) for site in calls]
    return frozenset.intersection(*asked) if len(asked) > 1 else None


def _keep_shared(effect: Effect, shared: frozenset[Condition] | None) -> Effect:
    """What one of several callers asks does not decide: the others lead to the line without it."""
    if shared is None:
        return effect
    return replace(effect, when=keep_callers(effect.when, lambda part: shared.issuperset(part.parts)))


def _find_asked_at(site: Site, modules: Modules) -> Condition:
    """What a call is asked before it happens."""
    if site.use is None or not site.use.is_call or isinstance(site.use.place.node, ast.ClassDef | ast.Lambda):
        return ALWAYS
    module = modules.find(modules.names_by_path.get(site.path, ""))
    place = site.use.place
    body = find_body(place.node) if place.node is not None else module.body if module is not None else []
    return _ask(place.name.rpartition(".")[2], body, site.line)


def _find_import_gate(site: Site, ways: CallerWays) -> Condition:
    """What must hold for the only import of a module to happen: `if x_available(): from . import patches`."""
    asked, name = ways.gates.read_site(site), ways.modules.names_by_path.get(site.path, "")
    return Condition(kind=ConditionKind.IMPORTER, text=name, parts=(asked,)) if asked != ALWAYS else ALWAYS


def _ask(who: str, body: list[ast.stmt], line: int) -> Condition:
    asked = read_caller_tests(body, line)
    return Condition(kind=ConditionKind.CALLER, text=who, parts=(asked,)) if asked != ALWAYS else ALWAYS


def _runs_later(site: Site) -> bool:
    """A call inside a function that another one makes and returns: it runs when that wrapper is called."""
    places = list(site.use.place.around()) if site.use is not None and site.use.is_call else []
    for inner, outer in pairwise(places):
        name = getattr(inner.node, "name", None)
        if name is not None and isinstance(outer.node, ast.FunctionDef | ast.AsyncFunctionDef):
            returned = [node.value for node in ast.walk(outer.node) if isinstance(node, ast.Return)]
            if any(isinstance(value, ast.Name) and value.id == name for value in returned):
                return True
    return False


def _put_off(effect: Effect, *, later: bool) -> Effect:
    return replace(effect, moment=Moment.DEFERRED) if later and effect.moment is Moment.INSTALL else effect


def _add_condition(effect: Effect, asked: Condition) -> Effect:
    """A caller whose tests the run has met is told once."""
    if asked == ALWAYS:
        return effect
    names = {part.text.rpartition(".")[2] for part in asked.walk() if part.kind is ConditionKind.CALLER}
    when = keep_callers(effect.when, lambda part: part.text not in names)
    return replace(effect, when=tell(when, combine(ConditionKind.ALL, (*_parts(find_told(when)), *_parts(asked)))))


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if condition.kind is ConditionKind.ALL else (condition,)
