"""Places where a function is called or handed on, and what they say together."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from layline.core.ours import is_own

if TYPE_CHECKING:
    from layline.interpreter.callers.uses import Use

_MOST_SHOWN = 20
PASSED = "passed as a value"
"""The remark of a place that gives a function away and does not call it."""


@dataclass(frozen=True, slots=True)
class Site:
    """One place where a function is called, handed on, registered or imported."""

    path: str
    line: int
    remark: str = ""
    """What it is where it is no plain call."""
    use: Use | None = None
    """The call or reference; None for imports and decorators."""
    table: str = ""
    """The table that holds it, `TABLE = {"a": f}`: where it is put in, and where what is in it is called."""

    asked: str = ""
    """What the table is asked for here, as it is written: `key` in `TABLE[key]()`."""
    keys: tuple[str, ...] = ()
    """Where the table holds the function, as written; with `asked`, what must come out."""

    @property
    def is_passed(self) -> bool:
        """The function is given away here, and called elsewhere."""
        return self.remark == PASSED

    @property
    def is_own_call(self) -> bool:
        """A plain call in the project's own code, for whose sake a package may import it; examples call as users do."""
        return self.use is not None and self.use.is_call and not self.table and is_own(self.path)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" + (f" ({self.remark})" if self.remark else "")


@dataclass(frozen=True, slots=True)
class Callers:
    """What calls a function, and how many calls of its name cannot be told apart."""

    places: tuple[str, ...] = ()
    """`path:line`, with a word in brackets where it is no plain call."""
    unknown: int = 0
    """Calls of a method of this name on objects whose class is not known, or texts that name a module which nobody is
    seen to load; none of them is in `places`."""
    sites: tuple[Site, ...] = ()
    """The same as `places`, whole."""
    is_function: bool = False
    """It is a function or method, and not what runs on import."""
    is_method: bool = False
    is_offered: bool = False
    """Others may call it, too: a package offers it by its `__init__`, or a class of another package knows the method."""
    others: tuple[str, ...] = ()
    """How others come to it, in words; the last of `places`."""

    def add_others(self, words: str) -> Callers:
        return replace(self, places=(*self.places, words), others=(*self.others, words), is_offered=True)

    def keep(self, sites: tuple[Site, ...]) -> Callers:
        """The same with some of its sites."""
        shown = show_sites(sites, self.unknown, is_function=self.is_function)
        return replace(self, places=(*shown.places, *self.others), sites=shown.sites)


class KnownCallers(Protocol):
    """Functions and modules, each with its callers."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> Callers: ...


def say_site(path: str, use: Use, *remarks: str) -> Site:
    line = use.node.end_lineno if isinstance(use.node, ast.Attribute) else use.node.lineno
    words = [word for word in (*remarks, "" if use.is_call else PASSED) if word]
    return Site(path, line or use.node.lineno, "; ".join(words), use)


def show_sites(found: Iterable[Site], unknown: int = 0, *, is_function: bool = True) -> Callers:
    sites = sorted(found, key=lambda site: (site.path, site.line, site.remark))
    places = list(dict.fromkeys(str(site) for site in sites))
    if len(places) > _MOST_SHOWN:
        places = [*places[:_MOST_SHOWN], f"and {len(places) - _MOST_SHOWN} more"]
    return Callers(tuple(places), unknown, tuple(sites), is_function)
