"""What is read of an index while one thing is judged: another commit that says the same to all of it needs no new
judgement.

A read is a kind and what was asked. Answers that several judgements share (`remember`) hand their reads on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import TypeAlias, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Read: TypeAlias = tuple["Asked", str]


def say_name(module: str, qualname: str) -> str:
    """How a read of one name of a module is noted."""
    return f"{module} {qualname}"


def say_history(path: str, qualname: str = "") -> str:
    """How a read of a file's history is noted; with a name, of that definition's alone."""
    return f"{path} {qualname}"


class Asked(StrEnum):
    """What can be asked of an index, or of the history up to its commit."""

    MODULE = "m"
    """All that a module says; also of one that is not there."""
    ENTRY = "e"
    """Whether there is such a module, and where."""
    BELOW = "n"
    """Whether something stands below a dotted name."""
    READABLE = "r"
    """Whether there is such a module that can be read, and where."""
    NAME = "d"
    """What binds a name of a module, lines and bodies apart: `module name`."""
    MEMBERS = "c"
    """The names that a class of a module defines: `module class`."""
    EXPORTS = "x"
    """What a module lists in `__all__`."""
    BOUND = "a"
    """Imports of a module, in any scope, that bind a name: `module name`."""
    IMPORTS = "f"
    """All that a module imports, in any scope."""
    BODY = "b"
    """Whether what a name of a module is defined as has another body: `module name fingerprint=answer`."""
    TEXT = "t"
    """The lines of a definition, wherever in its module they stand: `module name`."""
    REPLACED = "z"
    """Whether a module may put another object in its own place."""
    WORD = "w"
    """What the modules say in the definitions in whose text the word stands; in whose name it does, altogether."""
    MENTION = "v"
    """What one module says in the definitions in whose text a word stands: `module word`."""
    SPELLED = "y"
    """That a module has one of several words in its text: `module word word`."""
    UNSPELLED = "u"
    """That no file of upstream's own has a word in its text."""
    USED = "g"
    """Whether code of a module, its imports apart, names something: `module name=answer`."""
    STARS = "s"
    """What a module takes from others with a star."""
    IMPORTERS = "i"
    """Which modules import a name."""
    OWNERS = "o"
    """How many classes have a method of that name: `name=count`."""
    FATE = "h"
    """How a name that stays has changed, if it plainly stays: `name=kind`."""
    HISTORY = "p"
    """What commits did to a path, or to one definition there: `path name`."""
    LOST = "l"
    """What became of a name that is not there: `name=digest`."""
    THERE = "q"
    """Whether a dotted text leads a module to something: `module text=answer`."""
    PASSED = "+"
    """Which calls name an argument: `argument=digest`."""
    CALLS = "("
    """Upstream's own calls of a name, places apart: `name=digest`."""
    HELD = "="
    """What methods of a class give its objects under a name: `class name=answer`."""
    PASSING = ">"
    """Since when calls in a file name arguments: its last version, and what they name, as JSON."""
    STARTS = "j"
    """Which modules somebody outside has to ask for so that one is loaded: `module=answer`."""
    KEY = "k"
    """Whether the text mentions a config key: `key=answer`."""
    ALL = "*"
    """Everything."""


class Seen:
    """Notes reads; here, none: most indexes are read once."""

    def add(self, asked: Asked, what: str) -> None:
        """Note one read."""

    def extend(self, reads: Iterable[Read]) -> None:
        """Note what an answer was made of that is remembered."""

    def within(self, reads: set[Read]) -> AbstractContextManager[None]:  # noqa: ARG002  for those that note
        """What is read meanwhile goes into `reads`, and nowhere else."""
        return nullcontext()

    def remember(self, known: dict[K, tuple[V, Collection[Read]]], key: K, make: Callable[[], V]) -> V:
        """An answer that is found once, with what it was made of."""
        held = known.get(key)
        if held is None:
            held = known[key] = make(), ()
        return held[0]


class Noting(Seen):
    """Notes every read, in the judgement under way."""

    def __init__(self) -> None:
        self._under_way: list[set[Read]] = []
        self._reads: dict[Read, Read] = {}

    def add(self, asked: Asked, what: str) -> None:
        if self._under_way:
            read = asked, what
            self._under_way[-1].add(self._reads.setdefault(read, read))  # many answers hold it: one object

    def extend(self, reads: Iterable[Read]) -> None:
        if self._under_way:
            self._under_way[-1].update(reads)

    @contextmanager
    def within(self, reads: set[Read]) -> Iterator[None]:
        self._under_way.append(reads)
        try:
            yield
        finally:
            self._under_way.pop()

    def remember(self, known: dict[K, tuple[V, Collection[Read]]], key: K, make: Callable[[], V]) -> V:
        held = known.get(key)
        if held is None:
            reads: set[Read] = set()
            with self.within(reads):
                value = make()
            held = known[key] = value, tuple(reads)
        self.extend(held[1])
        return held[0]


class SeenEntries(dict[str, V]):
    """Modules by name; who looks for one notes it, who goes through them notes all."""

    def __init__(self, entries: dict[str, V], seen: Seen) -> None:
        super().__init__(entries)
        self._seen = seen

    def __contains__(self, name: object) -> bool:
        self._seen.add(Asked.ENTRY, str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> V:
        self._seen.add(Asked.ENTRY, name)
        return super().__getitem__(name)

    def get(self, name: str, default: V | None = None) -> V | None:  # type: ignore[override]
        self._seen.add(Asked.ENTRY, name)
        return super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        self._seen.add(Asked.ALL, "")
        return super().__iter__()

    def keys(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.ALL, "")
        return super().keys()

    def values(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.ALL, "")
        return super().values()

    def items(self):  # type: ignore[no-untyped-def]
        self._seen.add(Asked.ALL, "")
        return super().items()


class SeenNames(frozenset[str]):
    """Dotted names that something stands below."""

    seen: Seen

    def __contains__(self, name: object) -> bool:
        self.seen.add(Asked.BELOW, str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.seen.add(Asked.ALL, "")
        return super().__iter__()
