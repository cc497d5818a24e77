"""Effects that a test of versions rules out at the pin: their condition says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from layline import codec
from layline.change.compare import Comparer
from layline.core.condition import ALWAYS, Condition, ConditionKind, asks_about, find_told, tell
from layline.core.evidence import Location
from layline.core.patch import Effect, Inventory
from layline.coupling.decide import RefKnowledge, decide
from layline.coupling.version_guards import Running, VersionGuards

if TYPE_CHECKING:
    from layline.patches.inventory.since import SearchMemos
    from layline.patches.upstreams import Upstreams


@dataclass(frozen=True, slots=True)
class Pinned:
    """The upstream that an inventory is over, as far as tests of versions ask for it."""

    label: str
    version: str
    packages: tuple[str, ...]


def tell_excluded(inventory: Inventory, pinned: Pinned, upstreams: Upstreams, searches: SearchMemos) -> Inventory:
    """The same inventory; what its conditions ask of versions is held against the pin."""
    ground = RefKnowledge(
        comparer=Comparer(upstreams.resolver, upstreams.resolver),
        packages=pinned.packages,
        keys={},
        versions=(pinned.version, pinned.version),
    )
    running = Running(VersionGuards(searches.modules), ground)
    strays = (item.effect for item in inventory.unregistered)
    effects = (*(effect for patch in inventory.patches for effect in patch.effects), *strays)
    running.guards.know(find_guards({one.location for one in effects if _is_read(one)}, searches))

    def tell_one(effect: Effect) -> Effect:
        return _say(effect, pinned) if _is_excluded(effect, running) else effect

    patches = tuple(replace(patch, effects=tuple(map(tell_one, patch.effects))) for patch in inventory.patches)
    stray = tuple(replace(item, effect=tell_one(item.effect)) for item in inventory.unregistered)
    return replace(inventory, patches=patches, unregistered=stray)


def find_guards(lines: set[Location], searches: SearchMemos) -> dict[Location, Condition | None]:
    """What versions each line needs, kept for each file with the files that say so."""
    paths: dict[str, list[Location]] = {}
    for line in sorted(lines, key=lambda one: (one.path, one.line)):
        paths.setdefault(line.path, []).append(line)
    memos = searches.memos
    keys = {path: memos.key("guards", path, [one.line for one in listed]) for path, listed in paths.items()}
    kept = searches.recall(keys.values())
    found: dict[Location, Condition | None] = {}
    for path, key in keys.items():
        plain = kept.get(key)
        known = _decode(plain)
        if known is None or memos.compare is not None:
            with searches.note() as noted:
                guards = VersionGuards(searches.modules)
                known = [guards.find(line) for line in paths[path]]
            fresh = {"found": [None if one is None else codec.encode(one) for one in known]}
            searches.keep(key, fresh, noted, plain, f"versions around lines of {path}")
        found |= zip(paths[path], known, strict=True)
    return found


def _decode(plain: dict[str, Any] | None) -> list[Condition | None] | None:
    """None where nothing is kept, or what is kept cannot be read."""
    listed = plain["found"] if plain is not None else ()
    found = [codec.decode_kept(Condition, one) for one in listed]
    lost = any(one is not None and read is None for one, read in zip(listed, found, strict=True))
    return None if plain is None or lost else found


def _is_told(effect: Effect) -> bool:
    """Told once for several callers, of which one was read."""
    return effect.when is not None and find_told(effect.when) == ALWAYS


def _asks_version(effect: Effect) -> bool:
    return effect.when is not None and asks_about(effect.when, ConditionKind.VERSION, ConditionKind.CLASS)


def _is_read(effect: Effect) -> bool:
    """Whether what stands around the line of an effect decides."""
    return not (_is_told(effect) or _asks_version(effect))


def _is_excluded(effect: Effect, running: Running) -> bool:
    if _is_told(effect):
        return False
    if effect.when is not None and _asks_version(effect):
        return decide(effect.when, running.ground, 0).holds is False
    return running.decide(effect.location)[0].holds is False


def _say(effect: Effect, pinned: Pinned) -> Effect:
    told = find_told(effect.when)
    never = f"false at the pin, {pinned.label} {pinned.version}"
    words = Condition(kind=ConditionKind.SITE, text=never, parts=() if effect.when is None else (told,))
    return replace(effect, when=tell(effect.when, words))
