"""The functions that lead to others, call by call, as far up as their callers are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layline.interpreter.callers.sites import Callers, Site
    from layline.interpreter.callers.uses import Body

MOST_LEVELS = 5
MOST_SITES = 12
"""Of a function that is called from more places nothing is told of them together."""


def find_known(starts: Iterable[str], find_around: Callable[[str, bool], Iterable[str] | None]) -> frozenset[str]:
    """These functions, those around their calls, those around the calls of these, and so on.

    `find_around` tells the functions around the calls of one, given whether it is one of `starts`; None of another
    whose calls do not count.
    """
    found, around = set[str](), set[str]()
    for start in starts:
        found.add(start)
        around.update(find_around(start, True) or ())
    for _ in range(MOST_LEVELS - 1):
        told = {name: find_around(name, False) for name in sorted(around - found)}
        found |= {name for name, above in told.items() if above is not None}
        around = {name for above in told.values() for name in above or ()}
    return frozenset(found)


def find_function(place: Body | None) -> Body | None:
    """The function around a place; a lambda runs where it is handed to."""
    while place is not None and not isinstance(place.node, ast.FunctionDef | ast.AsyncFunctionDef):
        place = place.outer
    return place


def find_around(callers: Callers) -> Iterator[str]:
    """The functions around the calls of one, where all of them are known."""
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
    followed = {site.table for site in listed if site.remark and site.table and site.use and not site.is_passed}
    return [site for site in listed if site.table not in followed or not site.is_passed]
