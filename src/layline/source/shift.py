"""What two commits of one upstream say differently, asked read by read (`source.seen`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from layline.core.ours import is_own
from layline.git import Blob
from layline.source.chunks import Chunk, cut_chunks
from layline.source.definitions import Module
from layline.source.index import USES, Index, ModuleEntry
from layline.source.named import (
    Lines,
    describe_bound,
    describe_exports,
    describe_imports,
    describe_members,
    describe_name,
    describe_taken,
    find_places,
    is_taken,
)
from layline.source.replaced import REPLACING
from layline.source.seen import Asked, Read, say_name
from layline.source.slices import parse_cut, slice_definition
from layline.source.stars import has_star, is_starred, split_words
from layline.source.usage import find_words
from layline.source.versions import Versions

Touched: TypeAlias = Mapping[str, frozenset[str | None]]
"""Path → the blobs of all its versions; None where it was not there."""
_FIRST_LINE = (1, 1)
"""Stands for a whole module."""
_REPLACING = REPLACING.encode()
SHARED = 4
"""A method name that more classes have says nothing about whose method is called."""


class Shift:
    """Answers about one pair of commits; only files that differ are read."""

    def __init__(self, before: Index, after: Index, touched: Touched | None, versions: Versions) -> None:
        """`touched`: files that the commits between the two changed; None where neither follows the other."""
        self._asked = after.answers
        self._sides = before.every, after.every
        self._packages = before.namespaces, after.namespaces
        self._parts = after.parts
        self._touched = touched
        self._versions = versions
        self.changed = frozenset(
            name for name in {*before.every, *after.every} if before.every.get(name) != after.every.get(name)
        )
        """Modules that came, went, moved or say something else."""
        self._known: dict[Read, bool] = {}
        self._lines: dict[str, list[str]] = {}
        self._past: dict[str, str] = {}
        self._pairs: dict[str, list[tuple[Lines, Lines]]] = {}
        self._chunks: dict[str, tuple[Chunk, ...]] = {}
        self._known_words: dict[bytes, bytes] = {}
        self._is_read = False
        self._answers: dict[Asked, Callable[[str], bool]] = {
            Asked.MODULE: lambda name: name not in self.changed,
            Asked.ENTRY: self._has_place,
            Asked.BELOW: lambda name: (name in self._packages[0]) is (name in self._packages[1]),
            Asked.READABLE: lambda name: self._says(name, lambda _module, _name: None),
            Asked.NAME: lambda what: self._says(what, describe_name),
            Asked.MEMBERS: lambda what: self._says(what, describe_members),
            Asked.EXPORTS: lambda name: self._says(name, describe_exports),
            Asked.IMPORTS: lambda name: self._says(name, describe_imports),
            Asked.BOUND: lambda what: self._says(what, describe_bound),
            Asked.BODY: self._has_body,
            Asked.MENTION: self._mentions_alike,
            Asked.SPELLED: self._spells,
            Asked.UNSPELLED: self._spells_nowhere,
            Asked.USED: self._uses,
            Asked.TEXT: self._has_text,
            Asked.REPLACED: lambda name: not any(_REPLACING in text for text in self._find_texts(name)),
            Asked.WORD: self._is_unmentioned,
            Asked.STARS: self._has_stars,
            Asked.IMPORTERS: self._is_taken_alike,
            Asked.OWNERS: self._has_owners,
            Asked.HISTORY: self._has_history,
        }

    def keeps(self, read: Read) -> bool:
        """Whether both commits answer a question in the same way; where that cannot be told, no."""
        if read not in self._known:
            asked, what = read
            answer = self._answers.get(asked)
            self._known[read] = answer(what) if answer is not None else not self.changed and self._touched == {}
        return self._known[read]

    def move(self, path: str, lines: Lines, reads: Iterable[Read]) -> Lines:
        """Where lines of a file stand after; `reads`: what their answer was made of, all of which says the same.

        LookupError where that cannot be told: names that stand on one line may part.
        """
        module = self._paths.get(path)
        if module is None:
            return lines
        then, now = (self._find_module(side, module) for side in self._sides)
        if then is None or now is None:
            raise LookupError(path)
        found: set[Lines | None] = {lines} if lines == _FIRST_LINE else set()
        for asked, what in reads:
            holder, _, name = what.partition(" ")
            if holder == module and asked in {Asked.NAME, Asked.TEXT}:
                pairs = zip(find_places(then, name), find_places(now, name), strict=True)
                found.update(_move(lines, *pair, inside=asked is Asked.TEXT) for pair in pairs)
        told = [one for one in found if one is not None]
        if len(told) != 1:
            raise LookupError(path)
        return told[0]

    @cached_property
    def _paths(self) -> dict[str, str]:
        """Path → module of what differs."""
        return {side[name].path: name for side in self._sides for name in self.changed if name in side}

    def _says(self, what: str, describe: Callable[[Module, str], object]) -> bool:
        """Whether a module that differs says the same of one name."""
        name, _, inner = what.partition(" ")
        if name not in self.changed:
            return True
        then, now = (self._find_module(side, name) for side in self._sides)
        if then is None or now is None or not self._has_place(name):
            return False
        return describe(then, inner) == describe(now, inner)

    def _find_module(self, side: Mapping[str, ModuleEntry], name: str) -> Module | None:
        if not self._is_read:
            self._versions.read(entry.blob for entry in self._find_changed())
            self._is_read = True
        return self._versions.find(side[name].blob) if name in side else None

    def _has_text(self, what: str) -> bool:
        name, _, inner = what.partition(" ")
        return self._says(what, describe_name) and (
            name not in self.changed or self._cut(0, name, inner) == self._cut(1, name, inner)
        )

    def _cut(self, number: int, name: str, inner: str) -> list[list[str]]:
        """The lines of every definition of a name."""
        entry = self._sides[number][name]
        module, lines = self._versions.find(entry.blob), self._split(entry.blob)
        found = module.find(inner) if module is not None else ()
        return [lines[first - 1 : last] for first, last in (one.lines for one in found)]

    def _split(self, blob: str) -> list[str]:
        if blob not in self._lines:
            self._lines[blob] = self._texts[blob].decode("utf-8-sig", "replace").split("\n")
        return self._lines[blob]

    def _has_stars(self, name: str) -> bool:
        """Whether what a module may bind without spelling it comes from the same places."""
        flags = {(has_star(text), is_starred(text)) for text in self._find_texts(name)}
        plain = flags <= {(False, False)}
        return plain or (len(flags) == 1 and self._says(say_name(name, "*"), describe_name))

    def _has_place(self, name: str) -> bool:
        one, two = (_find_place(side.get(name)) for side in self._sides)
        return one == two

    def _is_unmentioned(self, word: str) -> bool:
        """Whether what differs says the same where the names of a word stand: whoever searches finds whole names."""
        names = frozenset(split_words(word.encode("utf-8", "surrogatepass")))
        return not names <= self._words or all(self._tells_alike(name, names) for name in self.changed)

    def _mentions_alike(self, what: str) -> bool:
        module, _, word = what.partition(" ")
        names = frozenset(split_words(word.encode("utf-8", "surrogatepass")))
        return module not in self.changed or self._tells_alike(module, names)

    def _tells_alike(self, module: str, words: frozenset[bytes]) -> bool:
        """Whether a module that differs has the same definitions that name all the words."""
        then, now = (self._find_naming(side, module, words) for side in self._sides)
        if self._has_place(module):
            return then == now
        named = words <= frozenset(split_words(module.encode("utf-8", "surrogatepass")))
        return not (then or now or named)

    def _find_naming(
        self, side: Mapping[str, ModuleEntry], module: str, words: frozenset[bytes]
    ) -> list[tuple[str, str]]:
        return [(one.qualname, one.text) for one in self._find_chunks(side, module) if words <= one.words]

    def _find_chunks(self, side: Mapping[str, ModuleEntry], module: str) -> tuple[Chunk, ...]:
        if module not in side:
            return ()
        blob = side[module].blob
        if blob not in self._chunks:
            holder = self._find_module(side, module)
            self._chunks[blob] = cut_chunks(self._texts[blob], holder, self._known_words)
        return self._chunks[blob]

    def _is_taken_alike(self, name: str) -> bool:
        return all(
            self._says(say_name(module, name), describe_taken)
            for module, names in self._taking.items()
            if name in names
        )

    @cached_property
    def _taking(self) -> dict[str, frozenset[str]]:
        """What modules that differ import when they are loaded, at either commit."""
        found: dict[str, set[str]] = {}
        for name in self.changed:
            both = (self._find_module(side, name) for side in self._sides)
            taken = (str(item.name) for module in both if module for item in module.imports if is_taken(item))
            found.setdefault(name, set()).update(taken)
        return {name: frozenset(names) for name, names in found.items()}

    def _has_history(self, what: str) -> bool:
        """Whether no commit between the two changed a file, or one definition there: what was asked of it by its lines
        alone says the same in each version.
        """
        path, _, name = what.rpartition(" ")
        blobs = self._touched.get(path, frozenset()) if self._touched is not None else None
        if not blobs:
            return blobs is not None
        if not name or None in blobs:
            return False
        cuts = {slice_definition(self._read_version(str(blob)), name) for blob in blobs}
        return len(cuts) == 1 and (cut := cuts.pop()) is not None and parse_cut(cut) is not None

    def _read_version(self, blob: str) -> str:
        if blob not in self._past:
            self._past[blob] = self._parts[0].tree.repository.read_blob(blob).decode("utf-8-sig", "replace")
        return self._past[blob]

    def _has_body(self, what: str) -> bool:
        named, _, told = what.rpartition("=")
        place, _, fingerprint = named.rpartition(" ")
        module, _, qualname = place.partition(" ")
        if module not in self.changed:
            return True
        now = self._find_module(self._sides[1], module)
        best = now.best(qualname) if now is not None else None
        return best is not None and str(best.fingerprint != fingerprint) == told

    def _uses(self, what: str) -> bool:
        named, _, told = what.rpartition("=")
        module, _, name = named.partition(" ")
        if module not in self.changed:
            return True
        entry = self._sides[1].get(module)
        if entry is None:
            return False
        words = self._asked.find(entry.blob, USES, lambda: find_words(self._texts[entry.blob]))
        return str(name in words) == told

    def _spells(self, what: str) -> bool:
        module, *words = what.split(" ")
        if module not in self.changed or not self._has_place(module):
            return module not in self.changed
        text = self._texts[self._sides[1][module].blob]
        return any(_has_word(text, word) for word in words)

    def _spells_nowhere(self, word: str) -> bool:
        plain = word.encode()
        return not any(plain in text and _has_word(text, word) for text in self._own_texts)

    @cached_property
    def _own_texts(self) -> list[bytes]:
        """What upstream's own files say after, where they differ."""
        now = (entry for name, entry in self._sides[1].items() if name in self.changed)
        return [self._texts[one.blob] for one in now if is_own(one.path)]

    def find_line(self, path: str, line: int) -> int | None:
        """Where a line of a file stands after: where nothing above it differs, or with a definition around it that is as
        it was, among others in the same order. None where that cannot be told.
        """
        module = self._paths.get(path)
        if module is None:
            return line
        if not all(module in side for side in self._sides):
            return None
        then, now = (self._split(side[module].blob) for side in self._sides)
        if then[:line] == now[:line]:
            return line
        for (first, last), (start, end) in self._pair_definitions(module):
            if first <= line <= last and then[first - 1 : last] == now[start - 1 : end]:
                return line - first + start
        return None

    def _pair_definitions(self, module: str) -> list[tuple[Lines, Lines]]:
        """The lines of each definition of a module, then and now; nothing where one that both have once stands in another
        order.
        """
        if module not in self._pairs:
            then, now = (self._find_module(side, module) for side in self._sides)
            sides = [list(found.definitions) if found is not None else [] for found in (then, now)]
            once = [Counter(one.qualname for one in side) for side in sides]
            both = {name for name in once[0] if once[0][name] == once[1][name] == 1}
            kept = [[one for one in sorted(side, key=lambda one: one.lines) if one.qualname in both] for side in sides]
            is_alike = all(one.qualname == two.qualname for one, two in zip(*kept, strict=True))
            self._pairs[module] = [(one.lines, two.lines) for one, two in zip(*kept, strict=True)] if is_alike else []
        return self._pairs[module]

    @cached_property
    def _words(self) -> frozenset[bytes]:
        """Names in what differs."""
        names = split_words(" ".join(self.changed).encode("utf-8", "surrogatepass"))
        for side in self._sides:
            for name in self.changed:
                self._find_chunks(side, name)
        return frozenset(names).union(self._known_words)

    def _has_owners(self, told: str) -> bool:
        name, _, count = told.rpartition("=")
        return _weigh(int(count)) == _weigh(int(count) + self._owners[name])

    def _find_texts(self, module: str) -> Iterator[bytes]:
        """The texts of a module that differ."""
        sides = self._sides if module in self.changed else ()
        yield from (self._texts[side[module].blob] for side in sides if module in side)

    @cached_property
    def _texts(self) -> dict[str, bytes]:
        """Blob → text of what differs; a text that is not here may say anything."""
        blobs: dict[int, set[str]] = {}
        for entry in self._find_changed():
            blobs.setdefault(entry.part, set()).add(entry.blob)
        found: dict[str, bytes] = {}
        for part, wanted in blobs.items():
            for blob in self._parts[part].tree.repository.stream_blobs(sorted(wanted)):
                if not isinstance(blob, Blob):
                    raise LookupError(blob)
                found[blob.oid] = blob.data
        return found

    def _find_changed(self) -> Iterator[ModuleEntry]:
        yield from (side[name] for side in self._sides for name in sorted(self.changed) if name in side)

    @cached_property
    def _modules(self) -> tuple[list[Module], list[Module]]:
        """Of what differs, at both commits."""
        then, now = (
            [found for name in self.changed if (found := self._find_module(side, name))] for side in self._sides
        )
        return then, now

    @cached_property
    def _owners(self) -> Counter[str]:
        """Method name → how many more classes have it now."""
        found: Counter[str] = Counter()
        for side, weight in zip(self._modules, (-1, 1), strict=True):
            for module in side:
                for qualname in module.names():
                    found[qualname.rpartition(".")[2]] += weight * ("." in qualname)
        return found


def _move(lines: Lines, then: tuple[Lines, ...], now: tuple[Lines, ...], *, inside: bool) -> Lines | None:
    """Lines that name a definition, or stand in one whose text is the same."""
    for one, two in zip(then, now, strict=True):
        if one == lines:
            return two
    (first, last), (start, _) = then[0], now[0]
    if inside and first <= lines[0] <= lines[1] <= last:
        return lines[0] - first + start, lines[1] - first + start
    return None


def _has_word(data: bytes, word: str) -> bool:
    """Whether a text has a word of its own; dashes are part of words."""
    plain = word.encode()
    return plain in data and re.search(rb"(?<![\w-])" + re.escape(plain) + rb"(?![\w-])", data) is not None


def _find_place(entry: ModuleEntry | None) -> tuple[object, ...] | None:
    return (entry.path, entry.part, entry.is_package) if entry is not None else None


def _weigh(count: int) -> tuple[bool, bool]:
    """What a count decides: whether a name tells nothing, and whether it tells whose it is."""
    return count > SHARED, count == 1
