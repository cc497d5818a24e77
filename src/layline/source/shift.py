"""What two commits of one upstream say differently, asked read by read (`source.seen`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property

from layline.git import Blob
from layline.source.definitions import Module
from layline.source.index import Index, ModuleEntry
from layline.source.resolve import is_taken
from layline.source.seen import Asked, Read
from layline.source.stars import is_starred, split_words
from layline.source.versions import Versions

SHARED = 4
"""A method name that more classes have says nothing about whose method is called."""


class Shift:
    """Answers about one pair of commits; only files that differ are read."""

    def __init__(self, before: Index, after: Index, touched: frozenset[str] | None, versions: Versions) -> None:
        """`touched`: paths that the commits between the two changed; None where neither follows the other."""
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
        self._answers: dict[Asked, Callable[[str], bool]] = {
            Asked.MODULE: lambda name: name not in self.changed,
            Asked.ENTRY: self._has_place,
            Asked.BELOW: lambda name: (name in self._packages[0]) is (name in self._packages[1]),
            Asked.WORD: self._is_unmentioned,
            Asked.STARS: lambda name: not any(map(is_starred, self._find_texts(name))),
            Asked.IMPORTERS: lambda name: name not in self._imported,
            Asked.OWNERS: self._has_owners,
            Asked.HISTORY: lambda path: self._touched is not None and path not in self._touched,
        }

    def keeps(self, read: Read) -> bool:
        """Whether both commits answer a question in the same way; where that cannot be told, no."""
        if read not in self._known:
            asked, what = read
            answer = self._answers.get(asked)
            self._known[read] = (
                answer(what) if answer is not None else not self.changed and self._touched == frozenset()
            )
        return self._known[read]

    def _has_place(self, name: str) -> bool:
        one, two = (_find_place(side.get(name)) for side in self._sides)
        return one == two

    def _is_unmentioned(self, word: str) -> bool:
        """Whether one of its names stands nowhere in what differs: whoever searches finds whole names."""
        return not all(name in self._words for name in split_words(word.encode("utf-8", "surrogatepass")))

    @cached_property
    def _words(self) -> frozenset[bytes]:
        names = " ".join(self.changed).encode("utf-8", "surrogatepass")
        return frozenset().union(split_words(names), *map(split_words, self._texts.values()))

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
        self._versions.read(entry.blob for entry in self._find_changed())
        then, now = (
            [found for name in self.changed if name in side and (found := self._versions.find(side[name].blob))]
            for side in self._sides
        )
        return then, now

    @cached_property
    def _imported(self) -> frozenset[str]:
        both = (module for side in self._modules for module in side)
        return frozenset(str(item.name) for module in both for item in module.imports if is_taken(item))

    @cached_property
    def _owners(self) -> Counter[str]:
        """Method name → how many more classes have it now."""
        found: Counter[str] = Counter()
        for side, weight in zip(self._modules, (-1, 1), strict=True):
            for module in side:
                for qualname in module.names():
                    found[qualname.rpartition(".")[2]] += weight * ("." in qualname)
        return found


def _find_place(entry: ModuleEntry | None) -> tuple[object, ...] | None:
    return (entry.path, entry.part, entry.is_package) if entry is not None else None


def _weigh(count: int) -> tuple[bool, bool]:
    """What a count decides: whether a name tells nothing, and whether it tells whose it is."""
    return count > SHARED, count == 1
