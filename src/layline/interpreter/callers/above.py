"""The functions that lead to others, call by call, as far up as their callers are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.interpreter.callers.find import Search
    from layline.interpreter.callers.sites import Callers, Site
    from layline.interpreter.callers.uses import Body

MOST_LEVELS = 5
MOST_SITES = 12
"""Of a function that is called from more places nothing is told of them together."""


def find_callers_above(
    known: dict[str, Callers], open_search: Callable[[frozenset[str]], Search]
) -> dict[str, Callers]:
    """The callers of functions, of the functions around those calls, and so on."""
    found = dict(known)
    fresh = known
    for _ in range(MOST_LEVELS - 1):
        names = frozenset(name for callers in fresh.values() for name in _find_around(callers)) - found.keys()
        if not names:
            break
        search = open_search(names)
        fresh = {name: search.find(name) for name in sorted(names) if not search.is_offered_method(name)}
        found |= fresh
    return found


def find_function(place: Body | None) -> Body | None:
    """The function around a place; a lambda runs where it is handed to."""
    while place is not None and not isinstance(place.node, ast.FunctionDef | ast.AsyncFunctionDef):
        place = place.outer
    return place


def _find_around(callers: Callers) -> Iterator[str]:
    if callers.unknown or len(callers.sites) > MOST_SITES:
        return
    for site in find_leading(callers.sites):
        place = find_function(site.use.place if site.use is not None else None)
        if place is None and site.use is not None:
            yield list(site.use.place.around())[-1].name  # of a call in no function: who imports the file
        while place is not None:
            yield place.name
            place = find_function(place.outer)


def find_leading(sites: Iterable[Site]) -> list[Site]:
    """The places that lead to a function: of one in a table those that call what the table holds."""
    listed = list(sites)
    followed = {site.table for site in listed if site.remark and site.table and site.use and site.remark != "handed on"}
    return [site for site in listed if site.table not in followed or site.remark != "handed on"]
