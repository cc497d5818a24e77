"""Which config keys upstream's text mentions at pin and tip, each kept with a module that does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from layline.coupling.upstream_keys import find_spellings, read_mentions
from layline.source.seen import Asked, Read, Seen

if TYPE_CHECKING:
    from layline.source import Index
    from layline.source.at_tips import AtTips, Stamp

Pair: TypeAlias = tuple[bool, bool]


class Mentions(dict[str, Pair]):
    """Key → whether it is mentioned at pin and tip; who looks for one notes it."""

    seen = Seen()

    def get(self, key: str, default: Pair | None = None) -> Pair | None:  # type: ignore[override]
        found = super().get(key)
        self.seen.add(Asked.KEY, f"{key}={found}")
        return found if found is not None else default


def find_mentions(keys: Iterable[str], tips: AtTips, read_index: Callable[[], Index]) -> dict[str, bool]:
    """Key → whether the first part of the index mentions it; what is kept is believed as long as the module that
    mentions it stays, or no other begins to.
    """
    names = {key: tips.memos.key("mention", key) for key in sorted(set(keys))}
    tips.load(names.values())
    known = {key: tips.find(name, _decode) for key, name in names.items()}
    missing = [key for key, one in known.items() if one is None or tips.memos.compare is not None]
    fresh = read_mentions(read_index(), 0, missing) if missing else {}
    for key, module in fresh.items():
        held, found = known[key], {"there": module is not None}
        if held is not None and tips.memos.compare is not None:
            tips.memos.compare(f"mention of {key}", held, found)
        tips.keep(names[key], found, _find_reads(key, module))
        known[key] = found
    return {key: bool(one["there"]) for key, one in known.items() if one is not None}


def _find_reads(key: str, module: str | None) -> list[Read]:
    if module is not None:
        return [(Asked.SPELLED, " ".join((module, *find_spellings(key))))]
    return [(Asked.UNSPELLED, word) for word in find_spellings(key)]


def _decode(plain: dict[str, Any], _stamp: Stamp) -> dict[str, Any] | None:
    return plain if isinstance(plain.get("there"), bool) else None
