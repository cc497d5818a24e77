"""Places of ours, kept file by file: what becomes of them between two upstream commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.evidence import Location, Skipped
from layline.coupling.heirs import Below, join_below, says_same
from layline.coupling.model import Coupling, breaks_first
from layline.source.at_tips import AT_ONCE

if TYPE_CHECKING:
    from layline.source.at_tips import AtTips, Stamp
    from layline.source.seen import Read
    from layline.source.sight import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlaces:
    """What becomes of the places of one file, or of several; `skipped`: files that could not be read."""

    couplings: tuple[Coupling, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    told: dict[str, str] = field(default_factory=dict)
    """Files of ours of which lines are told, and what stood for their text."""
    below: Below = field(default_factory=dict)
    """What classes of the file below upstream's define or set."""
    asked: dict[str, bool] = field(default_factory=dict)
    """What was asked of such classes, whatever file they stand in (`class attribute`), and what they said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFiles:
    """What is said of files that were not kept; for each of them what it read of the tip, and of our own classes."""

    couplings: tuple[Coupling, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    reads: Mapping[str, Collection[Read]] = field(default_factory=dict)
    below: Mapping[str, Below] = field(default_factory=dict)
    asked: Mapping[str, dict[str, bool]] = field(default_factory=dict)


@dataclass(eq=False)
class PlaceKeeper:
    """Recalls what was said of files, and keeps what is said now."""

    tips: AtTips
    sight: Sight
    owned: Collection[tuple[Location, str]] = ()
    """Line and target of what drift rows decide."""

    def find(
        self, paths: Collection[str], judge: Callable[[list[str], Mapping[str, Below]], JudgedFiles]
    ) -> KeptPlaces:
        """The couplings of these files, what breaks first in front; `judge` is asked for files that are not kept, given
        what classes of the others define.
        """
        memos = self.tips.memos
        keys = {path: self._key(path) for path in sorted(paths)}
        kept: dict[str, KeptPlaces] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = [*keys][start : start + AT_ONCE]
            self.tips.load(keys[path] for path in some)
            found = ((path, self.tips.find(keys[path], self._decode)) for path in some)
            kept.update({path: one for path, one in found if one is not None})
        missing = [path for path in keys if path not in kept or memos.compare is not None]
        fresh = self._judge(missing, {path: one for path, one in kept.items() if path not in missing}, judge)
        # a class of ours elsewhere may be another one than it was
        below = join_below(one.below for one in {**kept, **fresh}.values())
        stale = [path for path, one in kept.items() if not says_same(one.asked, below)]
        fresh |= self._judge([path for path in stale if path not in fresh], {**kept, **fresh}, judge)
        for path, one in fresh.items():
            if memos.compare is not None and path in kept and path not in stale:
                memos.compare(f"places of {path}", codec.encode(kept[path]), codec.encode(one))
        memos.recalled += len(keys) - len(fresh)
        memos.made += len(fresh)
        read = [fresh.get(path) or kept[path] for path in keys]
        return KeptPlaces(
            couplings=tuple(sorted((one for found in read for one in found.couplings), key=breaks_first)),
            skipped=tuple(one for found in read for one in found.skipped),
        )

    def _judge(
        self,
        paths: list[str],
        known: Mapping[str, KeptPlaces],
        judge: Callable[[list[str], Mapping[str, Below]], JudgedFiles],
    ) -> dict[str, KeptPlaces]:
        """What is said of these files now, kept for the next commit."""
        if not paths:
            return {}
        judged = judge(paths, {path: one.below for path, one in known.items()})
        listed: dict[str, list[Coupling]] = {path: [] for path in paths}
        for one in judged.couplings:
            listed[one.location.path].append(one)
        fresh: dict[str, KeptPlaces] = {}
        for path, couplings in listed.items():
            found = KeptPlaces(
                couplings=tuple(couplings),
                skipped=tuple(one for one in judged.skipped if one.path == path),
                below=judged.below.get(path, {}),
                asked=judged.asked.get(path, {}),
            )
            fresh[path] = replace(found, told=self.sight.find_told(codec.encode(found)))
            self.tips.keep(self._key(path), codec.encode(fresh[path]), judged.reads.get(path, ()))
        return fresh

    def _decode(self, plain: dict[str, Any], stamp: Stamp) -> KeptPlaces | None:
        found = codec.decode_kept(KeptPlaces, plain)
        if found is None or not self.sight.stays(found.told):
            return None
        couplings = (replace(one, tip_evidence=stamp(one.tip_evidence)) for one in found.couplings)
        return replace(found, couplings=tuple(couplings))

    def _key(self, path: str) -> str:
        owned, builders = self._owned_lines.get(path, []), self.sight.find_builders(path)
        seen = self.sight.digest([path]), self.sight.digest(builders) if builders else ""
        return self.tips.memos.key("places", path, seen, self.sight.find_handed(path), owned)

    @cached_property
    def _owned_lines(self) -> dict[str, list[tuple[int, str]]]:
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for location, target in sorted(self.owned, key=lambda one: (one[0].path, one[0].line, one[1])):
            found[location.path].append((location.line, target))
        return found
