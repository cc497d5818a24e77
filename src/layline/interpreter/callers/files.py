"""What our files say to a search for callers, asked question by question: whoever keeps what a search found keeps its
questions, too, and asks them of files that have changed since.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeAlias

from layline.source.loads import IMPORTS

if TYPE_CHECKING:
    from layline.source.facts import Facts

Question: TypeAlias = "tuple[str, ...]"
"""A kind (`Ask`) and the words it is about."""


class Ask(StrEnum):
    """What can be asked of one file; to all that answer yes the search goes on."""

    NAMES = "names"
    """Whether its code has one of several words."""
    HOLDS = "holds"
    """The same; an attribute that is given as text counts."""
    IMPORTS = "imports"
    """Whether it may import a module."""
    GIVES = "gives"
    """Whether a call of it may be given a module and a function of that as text."""
    OFFERS = "offers"
    """Whether it is a package that takes a name from somewhere."""
    BASES = "bases"
    """Whether one of its classes has a word among its bases."""
    COMPUTES = "computes"
    """Whether it imports modules by text."""
    DEFINES = "defines"
    """Whether its text defines a function of that name."""
    SPELLS = "spells"
    """Whether a text of it may be a name, or begin with it."""
    BELOW = "below"
    """Whether it stands in a package."""


class Files:
    """The facts and the texts of our own files and of examples; questions are noted."""

    def __init__(self, facts: dict[str, Facts], read_texts: Callable[[Iterable[str] | None], dict[str, bytes]]) -> None:
        """`read_texts`: of some files, or of all."""
        self.facts = facts
        self.asked: set[Question] = set()
        """What the search in progress has asked."""
        self.read_texts = read_texts
        self.computed: dict[str, list[tuple[int, re.Pattern[str]]]] = {}
        """File → the lines that put together the name of a module to import, and what may come out."""

    def find(self, ask: Ask, *words: str) -> Iterator[str]:
        """The files that answer yes, in order."""
        self.asked.add((ask, *words))
        test = _open_test(ask, words)
        return (path for path, one in self.facts.items() if test(path, one))

    def find_texts(self, ask: Ask, word: str) -> Iterator[str]:
        """The files whose text answers yes."""
        self.asked.add((ask, word))
        test = _TEXT_TESTS[ask]
        return (path for path, text in self._texts.items() if test(text, word))

    def answers(self, question: Question, paths: Iterable[str]) -> bool:
        """Whether one of some files answers yes; it is not noted."""
        ask, words = Ask(question[0]), question[1:]
        if ask in _TEXT_TESTS:
            return any(_TEXT_TESTS[ask](text, *words) for text in self.read_texts(paths).values())
        test = _open_test(ask, words)
        return any(path in self.facts and test(path, self.facts[path]) for path in paths)

    def find_classes(self, base: str) -> list[tuple[str, str]]:
        """(path, class) of classes whose bases hold a word."""
        self.asked.add((Ask.BASES, base))
        return self._bases.get(base, [])

    def find_words_below(self, word: str) -> set[str]:
        """The name of a class and the names of all that may inherit from it."""
        found, waiting = {word}, [word]
        while waiting:
            fresh = {name for _, name in self.find_classes(waiting.pop())} - found
            found |= fresh
            waiting.extend(fresh)
        return found

    @cached_property
    def _bases(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for path, one in self.facts.items():
            for name, bases in one.classes:
                for word in bases:
                    found.setdefault(word, []).append((path, name))
        return found

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        """Few questions need the files themselves."""
        return self.read_texts(None)


Test: TypeAlias = "Callable[[str, Facts], bool]"


def _open_test(ask: Ask, words: tuple[str, ...]) -> Test:
    match ask:
        case Ask.NAMES:
            return lambda _, one: not one.words.isdisjoint(words)
        case Ask.HOLDS:
            return lambda _, one: not (one.words.isdisjoint(words) and one.attributes.isdisjoint(words))
        case Ask.IMPORTS:
            return lambda _, one: _may_import(one, words[0])
        case Ask.GIVES:
            return lambda _, one: _may_give(one, words[0], words[1])
        case Ask.OFFERS:
            return lambda path, one: path.endswith("__init__.py") and _takes(one, words[0])
        case Ask.BASES:
            return lambda _, one: any(words[0] in bases for _, bases in one.classes)
        case Ask.COMPUTES:
            return lambda _, one: not IMPORTS.isdisjoint(one.called)
    raise ValueError(ask)


def _may_give(facts: Facts, module: str, name: str) -> bool:
    if "." not in module and any(module in row for row in facts.rows):
        return True
    return any(text in {module, f"{module}.{name}", f"{module}:{name}"} for _, text in facts.texts)


def _may_import(facts: Facts, module: str) -> bool:
    last = module.rpartition(".")[2]
    if last in facts.words or any(item.module.rpartition(".")[2] == last for item in facts.imports):
        return True
    return any(text == module for _, text in facts.texts)


def _takes(facts: Facts, name: str) -> bool:
    # a package that loads its modules when they are asked for imports them for type checkers alone
    return any(name in (known, alias) for item in (*facts.imports, *facts.typed) for known, alias in item.names)


def _may_define(data: bytes, method: str) -> bool:
    return b"def " + method.encode() + b"(" in data


def may_spell(data: bytes, name: str) -> bool:
    """Most files of a project have the name of its package in an import; few have a text that begins with it."""
    return name.encode() in data and _spelled(name).search(data) is not None


@cache
def _spelled(name: str) -> re.Pattern[bytes]:
    # a text begins after a quote, or after a line that a backslash goes on from
    return re.compile(rb"(?:[\"']|\\\r?\n)" + re.escape(name.encode()) + rb"(?=[\"'.:\\])")


_TEXT_TESTS: dict[Ask, Callable[[bytes, str], bool]] = {Ask.DEFINES: _may_define, Ask.SPELLS: may_spell}
