"""Places of ours, kept file by file: what becomes of them between two upstream commits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline import codec
from layline.core.evidence import Skipped
from layline.coupling.model import Coupling, breaks_first

if TYPE_CHECKING:
    from layline.source.memos import Memos
    from layline.source.sight import Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlaces:
    """What becomes of the places of one file, or of several; `skipped`: files that could not be read."""

    couplings: tuple[Coupling, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(slots=True, eq=False)
class PlaceKeeper:
    """Recalls what was said of files, and keeps what is said now."""

    memos: Memos
    sight: Sight

    def find(self, paths: Collection[str], judge: Callable[[list[str]], KeptPlaces]) -> KeptPlaces:
        """The couplings of these files, what breaks first in front; `judge` is asked for files that are not kept."""
        keys = {path: self._key(path) for path in sorted(paths)}
        rows = self.memos.recall(keys.values())
        kept = {path: codec.decode_kept(KeptPlaces, rows.get(key)) for path, key in keys.items()}
        missing = [path for path, one in kept.items() if one is None or self.memos.compare is not None]
        judged = judge(missing) if missing else KeptPlaces()
        fresh: dict[str, list[Coupling]] = {path: [] for path in missing}
        for one in judged.couplings:
            fresh[one.location.path].append(one)
        for path, listed in fresh.items():
            unread = tuple(one for one in judged.skipped if one.path == path)
            found, known = KeptPlaces(couplings=tuple(listed), skipped=unread), kept[path]
            if known is not None and self.memos.compare is not None:
                self.memos.compare(f"places of {path}", codec.encode(known), codec.encode(found))
            kept[path] = found
            self.memos.keep(keys[path], codec.encode(found))
        self.memos.recalled += len(keys) - len(missing)
        self.memos.made += len(missing)
        read = [found for found in kept.values() if found is not None]
        return KeptPlaces(
            couplings=tuple(sorted((one for found in read for one in found.couplings), key=breaks_first)),
            skipped=tuple(one for found in read for one in found.skipped),
        )

    def _key(self, path: str) -> str:
        return self.memos.key("places", path, self.sight.digest([path]), self.sight.find_handed(path))
