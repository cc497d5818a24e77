"""One touch of an upstream name by our code, as it is read."""

from __future__ import annotations

from dataclasses import dataclass

from layline.change.binding import CallShape
from layline.core.evidence import Location
from layline.coupling.model import Touch
from layline.source import Definition


@dataclass(frozen=True, slots=True)
class Road:
    """How a value of ours leads to a member: from an object of a class, over attributes and items."""

    start: str
    names: tuple[str, ...]
    members: tuple[str, ...]
    """What each name is at the pin; nothing for items, and for what only methods set."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A class of ours whose objects upstream's constructor never sees."""

    sets: frozenset[str]
    """What the class, and those of ours above it, define or set."""
    calls: frozenset[str]
    """Methods that it calls on its own objects."""
    first: frozenset[str]
    """Those that its constructor calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One touch, before anything is known about pin or tip."""

    touch: Touch
    target: str
    """Dotted upstream name; of a chain the whole chain, which the judge shortens to what exists."""
    location: Location
    call: CallShape | None = None
    bound: bool = False
    """`self` is supplied: a call through super()."""
    unshared: bool = False
    """Of a call through `self`: no class of ours has such a method, so that upstream's is what runs."""
    of_value: bool = False
    """Of a call: by another name, or of a method of a value whose class is known; whether it is still there the read of
    it says."""
    override: Definition | None = None
    guarded: bool = False
    type_checking: bool = False
    imported: str = ""
    """The imported name that a use goes through."""
    tested: bool = False
    """Our code needs a class there: `isinstance(x, name)`."""
    asked: tuple[str, ...] = ()
    """Of a call: words that our code looks for in the signature or the source of what it calls."""
    certain: bool = True
    """False where the type of the variable is only guessed from its name."""
    may_be_below: bool = False
    """Of what is read of a value: it may be of a class below the one that it is said to be of."""
    road: Road | None = None
    """Of a member that a value of ours leads to over others."""
    instance: bool = False
    """An attribute that methods of the class `imported` set on `self`."""
    base: str = ""
    """Of an override, and of what our class inherits: upstream's class, the nearest above ours; of what is read of a
    value the class that it is said to be of."""
    closed: frozenset[str] = frozenset()
    """Of an override: methods that our class has and that never call upstream's."""
    handed: bool = False
    """Of an override: our code hands the class on as a value, so that upstream may be who builds it."""
    slots: frozenset[str] = frozenset()
    """Of an override: the keywords by which our code passes the class on."""
    called: bool = False
    """Of an override: our own class calls it."""
    alone: Alone | None = None
    """Of a constructor behind which upstream's never runs."""
    built: bool = False
    """Of an override: our own code builds the class by its name, and hands it on nowhere."""
    fields: frozenset[str] = frozenset()
    """Of an override: the fields in which our code keeps objects of the class."""
    keepers: frozenset[str] | None = None
    """Of an override: upstream's classes above those of ours that keep these objects; None where others may."""
