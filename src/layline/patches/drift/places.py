"""Places of ours outside patches, kept file by file: what becomes of them between two upstream commits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline import codec
from layline.coupling.model import Coupling, breaks_first

if TYPE_CHECKING:
    from layline.source.memos import Memos
    from layline.source.sight import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlaces:
    """What becomes of the places of one file."""

    couplings: tuple[Coupling, ...] = ()


@dataclass(slots=True, eq=False)
class PlaceKeeper:
    """Recalls what was said of files, and keeps what is said now."""

    memos: Memos
    sight: Sight

    def find(self, paths: Collection[str], judge: Callable[[list[str]], Collection[Coupling]]) -> tuple[Coupling, ...]:
        """The couplings of these files, what breaks first in front; `judge` is asked for files that are not kept."""
        keys = {path: self._key(path) for path in sorted(paths)}
        rows = self.memos.recall(keys.values())
        kept = {path: codec.decode_kept(KeptPlaces, rows.get(key)) for path, key in keys.items()}
        missing = [path for path, one in kept.items() if one is None or self.memos.compare is not None]
        fresh: dict[str, list[Coupling]] = {path: [] for path in missing}
        for one in judge(missing) if missing else ():
            fresh[one.location.path].append(one)
        for path, listed in fresh.items():
            found, known = KeptPlaces(couplings=tuple(listed)), kept[path]
            if known is not None and self.memos.compare is not None:
                self.memos.compare(f"places of {path}", codec.encode(known), codec.encode(found))
            kept[path] = found
            self.memos.keep(keys[path], codec.encode(found))
        self.memos.recalled += len(keys) - len(missing)
        self.memos.made += len(missing)
        listed_all = [one for found in kept.values() if found is not None for one in found.couplings]
        return tuple(sorted(listed_all, key=breaks_first))

    def _key(self, path: str) -> str:
        return self.memos.key("places", path, self.sight.digest([path]), self.sight.find_handed(path))
