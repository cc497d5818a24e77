"""Places of ours, kept file by file: what becomes of them between two upstream commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.core.evidence import Location, Skipped
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


@dataclass(eq=False)
class PlaceKeeper:
    """Recalls what was said of files, and keeps what is said now."""

    tips: AtTips
    sight: Sight
    owned: Collection[tuple[Location, str]] = ()
    """Line and target of what drift rows decide."""

    def find(
        self,
        paths: Collection[str],
        judge: Callable[[list[str]], tuple[KeptPlaces, Mapping[str, Collection[Read]]]],
    ) -> KeptPlaces:
        """The couplings of these files, what breaks first in front; `judge` is asked for files that are not kept, and
        says what it read of the tip for each.
        """
        memos = self.tips.memos
        keys = {path: self._key(path) for path in sorted(paths)}
        kept: dict[str, KeptPlaces | None] = {}
        for start in range(0, len(keys), AT_ONCE):
            some = [*keys][start : start + AT_ONCE]
            self.tips.load(keys[path] for path in some)
            kept.update({path: self.tips.find(keys[path], self._decode) for path in some})
        missing = [path for path, one in kept.items() if one is None or memos.compare is not None]
        judged, reads = judge(missing) if missing else (KeptPlaces(), {})
        fresh: dict[str, list[Coupling]] = {path: [] for path in missing}
        for one in judged.couplings:
            fresh[one.location.path].append(one)
        for path, listed in fresh.items():
            unread = tuple(one for one in judged.skipped if one.path == path)
            found, known = KeptPlaces(couplings=tuple(listed), skipped=unread), kept[path]
            found = replace(found, told=self.sight.find_told(codec.encode(found)))
            if known is not None and memos.compare is not None:
                memos.compare(f"places of {path}", codec.encode(known), codec.encode(found))
            kept[path] = found
            self.tips.keep(keys[path], codec.encode(found), reads.get(path, ()))
        memos.recalled += len(keys) - len(missing)
        memos.made += len(missing)
        read = [found for found in kept.values() if found is not None]
        return KeptPlaces(
            couplings=tuple(sorted((one for found in read for one in found.couplings), key=breaks_first)),
            skipped=tuple(one for found in read for one in found.skipped),
        )

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
