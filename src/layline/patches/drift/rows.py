"""Rows of a drift answer, each kept by what it depends on: a commit that changes one file judges the rows of that file.

The key of a row holds its effect and patch, everything that its files can see (`source.sight`), and what upstream and
our config files say of the keys it asks for. Names that are looked for among the targets of other patches are noted and
looked up again; so is what it reads of the tip (`source.at_tips`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.condition import find_keys
from layline.coupling.subjects import Judged, Subject
from layline.source.at_tips import AT_ONCE

if TYPE_CHECKING:
    from layline.coupling.reads import Reader
    from layline.source.at_tips import AtTips, Stamp
    from layline.source.memos import Memos
    from layline.source.seen import Read
    from layline.source.sight import Sight


class NotedNames(frozenset[str]):
    """A set of names that notes what is looked for in it."""

    asked: set[str]

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def take_asked(self) -> dict[str, bool]:
        """What was looked for, and whether it was there; the next judgement begins with nothing."""
        names, self.asked = self.asked, set()
        return {name: frozenset.__contains__(self, name) for name in sorted(names)}

    def holds(self, told: dict[str, bool]) -> bool:
        """Whether all that was looked for is there, or not there, as before."""
        return all(frozenset.__contains__(self, name) == there for name, there in told.items())


def note_names(names: Iterable[str]) -> NotedNames:
    noted = NotedNames(names)
    noted.asked = set()
    return noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the judgement of one subject has learnt from elsewhere."""

    targets: dict[str, bool] = field(default_factory=dict)
    """Names that were looked for among all targets, and whether they were there."""
    named: dict[str, bool] = field(default_factory=dict)
    """Upstream's modules, and whether our code imports or names them."""
    loads: dict[str, str] = field(default_factory=dict)
    """Modules of ours → what becomes of loading them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRow:
    """What was said of one subject."""

    judged: Judged
    asked: Asked
    told: dict[str, str] = field(default_factory=dict)
    """Files of ours of which lines are told, and what stood for their text."""


@dataclass(slots=True, eq=False)
class RowKeeper:
    """Recalls what was said of subjects, and keeps what is said now."""

    tips: AtTips
    sight: Sight
    targets: NotedNames
    named: NotedNames
    describe_key: Callable[[str], object]
    """What upstream and our config files say of a config key."""
    find_reader: Callable[[], Reader]
    """Reads our imports, once upstream is open."""
    _loads: dict[str, str] = field(default_factory=dict)
    _patches: dict[int, object] = field(default_factory=dict)
    _keys: dict[int, str] = field(default_factory=dict)

    @property
    def memos(self) -> Memos:
        return self.tips.memos

    def recall(self, subjects: Sequence[Subject]) -> list[Judged | None]:
        """What is kept of each; None where it has to be judged."""
        keys = [self._key(one) for one in subjects]
        checking = self.memos.compare is not None
        found: list[Judged | None] = []
        for start in range(0, len(keys), AT_ONCE):
            some = keys[start : start + AT_ONCE]
            self.tips.load(some)
            found += [None if checking else self.tips.find(key, self._decode) for key in some]
        self.memos.recalled += sum(one is not None for one in found)
        self.memos.made += sum(one is None for one in found)
        return found

    def note(self) -> Asked:
        """What the judgement in progress has looked for; the next one begins with nothing."""
        told = [one.take_asked() for one in (self.targets, self.named)]
        loaded: set[str] = set()
        for side in self.find_reader().imports:
            loaded |= side.asked
            side.asked = set()
        return Asked(
            targets=told[0], named=told[1], loads={module: self._describe_load(module) for module in sorted(loaded)}
        )

    def keep(self, subject: Subject, judged: Judged, asked: Asked, reads: Iterable[Read]) -> Judged:
        """The same without comparisons, which nobody reads afterwards; with `compare`, held against what was kept."""
        plain = replace(judged, rows=tuple(replace(row, comparison=None) for row in judged.rows))
        key = self._key(subject)
        kept = self.tips.find(key, self._decode) if self.memos.compare is not None else None
        if kept is not None and self.memos.compare is not None:
            self.memos.compare(f"row {subject.patch.id}", codec.encode(kept), codec.encode(plain))
        told = self.sight.find_told(codec.encode(plain))
        self.tips.keep(key, codec.encode(KeptRow(judged=plain, asked=asked, told=told)), reads)
        return plain

    def _decode(self, row: dict[str, Any], stamp: Stamp) -> Judged | None:
        kept = codec.decode_kept(KeptRow, row)
        if kept is None:
            return None
        stays = self.targets.holds(kept.asked.targets) and self.named.holds(kept.asked.named)
        stays = stays and self.sight.stays(kept.told)
        loads = kept.asked.loads.items()
        if not stays or any(self._describe_load(module) != told for module, told in loads):
            return None
        rows = (replace(one, tip_evidence=stamp(one.tip_evidence)) for one in kept.judged.rows)
        return replace(kept.judged, rows=tuple(rows))

    def _describe_load(self, module: str) -> str:
        """Which imports fail when a module of ours is loaded beside pin and tip: told anew where something that is
        loaded with it changed, and mostly the same.
        """
        if module not in self._loads:
            paths = self.sight.names.get(module, [])
            key = self.memos.key("load", self.tips.tip, module, paths, self.sight.digest_loading(paths))
            kept = self.memos.recall([key]).get(key) if self.memos.compare is None else None
            if kept is None:
                sides = self.find_reader().imports
                asked = [set(side.asked) for side in sides]
                kept = {"told": repr([side.find_failing(module) for side in sides])}
                for side, names in zip(sides, asked, strict=True):
                    side.asked = names
                self.memos.keep(key, kept)
            self._loads[module] = str(kept["told"])
        return self._loads[module]

    def _key(self, subject: Subject) -> str:
        if id(subject) not in self._keys:
            effect = subject.effect
            places = (subject.patch.location, effect and effect.location, effect and effect.replacement_at)
            asked = sorted(find_asked_keys(subject))
            self._keys[id(subject)] = self.memos.key(
                "row",
                self._describe(subject),
                codec.encode(effect) if effect is not None else None,
                subject.registered,
                [[key, self.describe_key(key)] for key in asked],
                self.sight.digest({place.path for place in places if place}),
            )
        return self._keys[id(subject)]

    def _describe(self, subject: Subject) -> object:
        patch = subject.patch
        if id(patch) not in self._patches:
            written = sorted({key for effect in patch.effects for key in effect.mutates})
            targets = sorted({effect.target for effect in patch.effects if effect.target})
            self._patches[id(patch)] = [codec.encode(replace(patch, effects=())), targets, written]
        return self._patches[id(patch)]


def find_asked_keys(subject: Subject) -> set[str]:
    """Config keys that a judge may ask about."""
    patch, effect = subject.patch, subject.effect
    found = {*patch.guard.keys, *patch.body_keys}
    if effect is not None:
        found |= {*effect.mutates, *find_keys(effect.when)}
    return found
