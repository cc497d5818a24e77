"""How effects outside any registration are reached: what calls their function, on what condition, and when."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, Condition, ConditionKind, asks_about, combine, find_told, keep_callers, tell
from layline.core.patch import Effect, Moment, Unregistered
from layline.interpreter.line_tests import find_body, find_chain, read_caller_tests

if TYPE_CHECKING:
    from layline.interpreter.callers.find import Callers, Site
    from layline.interpreter.modules import Modules


def find_callers(items: list[Unregistered], known: dict[str, Callers], modules: Modules) -> list[Unregistered]:
    """Add what calls the function around each effect; of a single caller, also what it asks before it calls."""
    asked = {within: _find_only_condition(callers, modules) for within, callers in known.items()}
    shared = {within: _find_shared(callers, modules) for within, callers in known.items()}
    later = {within for within, callers in known.items() if callers.sites and all(map(_runs_later, callers.sites))}
    return [
        replace(
            item,
            effect=_add_condition(
                _keep_shared(_put_off(item.effect, later=item.within in later), shared[item.within]), asked[item.within]
            ),
            called_from=known[item.within].places,
            unknown_callers=known[item.within].unknown,
        )
        for item in items
    ]


def _find_only_condition(callers: Callers, modules: Modules) -> Condition | None:
    """What the only caller of a function asks before it calls; None where there are several, or it asks nothing."""
    if len(callers.sites) != 1 or callers.unknown:
        return None
    site = callers.sites[0]
    if site.use is None and not callers.is_function:
        return _find_import_gate(site, modules)
    return _find_asked(site, modules)


def _find_shared(callers: Callers, modules: Modules) -> frozenset[Condition] | None:
    """What all callers of a function ask, where there are several; None where one alone is known."""
    calls = [site for site in callers.sites if site.use is not None and site.use.is_call]
    asked = [frozenset(found.parts) if (found := _find_asked(site, modules)) else frozenset() for site in calls]
    return frozenset.intersection(*asked) if len(asked) > 1 else None


def _keep_shared(effect: Effect, shared: frozenset[Condition] | None) -> Effect:
    """What one of several callers asks does not decide: the others lead to the line without it."""
    if shared is None:
        return effect
    return replace(effect, when=keep_callers(effect.when, lambda part: shared.issuperset(part.parts)))


def _find_asked(site: Site, modules: Modules) -> Condition | None:
    """What a call is asked before it happens; None where nothing is."""
    if site.use is None or not site.use.is_call or isinstance(site.use.place.node, ast.ClassDef | ast.Lambda):
        return None
    module = modules.find(modules.names_by_path.get(site.path, ""))
    place = site.use.place
    body = find_body(place.node) if place.node is not None else module.body if module is not None else []
    return _ask(ConditionKind.CALLER, place.name.rpartition(".")[2], body, site.line)


def _find_import_gate(site: Site, modules: Modules) -> Condition | None:
    """What must hold for the only import of a module to happen: `if x_available(): from . import patches`."""
    module = modules.find(modules.names_by_path.get(site.path, ""))
    if module is None:
        return None
    chain = find_chain(module.body, site.line)
    body = find_body(chain[-1]) if chain else module.body
    return _ask(ConditionKind.IMPORTER, module.name, body, site.line)


def _ask(kind: ConditionKind, who: str, body: list[ast.stmt], line: int) -> Condition | None:
    asked = read_caller_tests(body, line)
    return Condition(kind=kind, text=who, parts=(asked,)) if asked != ALWAYS else None


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


def _add_condition(effect: Effect, asked: Condition | None) -> Effect:
    told = find_told(effect.when)
    if asked is None or asks_about(told, ConditionKind.CALLER, ConditionKind.IMPORTER):
        return effect
    return replace(effect, when=tell(effect.when, combine(ConditionKind.ALL, (told, asked))))
