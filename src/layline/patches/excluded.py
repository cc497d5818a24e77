"""Effects that a test of versions rules out at the pin: their condition says so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.change.compare import Comparer
from layline.core.condition import ALWAYS, Condition, ConditionKind, asks_about, find_told, tell
from layline.core.patch import Effect, Inventory
from layline.coupling.decide import RefKnowledge, decide
from layline.coupling.version_guards import Running, VersionGuards

if TYPE_CHECKING:
    from layline.interpreter.modules import Modules
    from layline.patches.upstreams import Upstreams


@dataclass(frozen=True, slots=True)
class Pinned:
    """The upstream that an inventory is over, as far as tests of versions ask for it."""

    label: str
    version: str
    packages: tuple[str, ...]


def tell_excluded(inventory: Inventory, pinned: Pinned, upstreams: Upstreams, modules: Modules) -> Inventory:
    """The same inventory; what its conditions ask of versions is held against the pin."""
    ground = RefKnowledge(
        comparer=Comparer(upstreams.resolver, upstreams.resolver),
        packages=pinned.packages,
        keys={},
        versions=(pinned.version, pinned.version),
    )
    running = Running(VersionGuards(modules), ground)

    def tell_one(effect: Effect) -> Effect:
        return _say(effect, pinned) if _is_excluded(effect, running) else effect

    patches = tuple(replace(patch, effects=tuple(map(tell_one, patch.effects))) for patch in inventory.patches)
    stray = tuple(replace(item, effect=tell_one(item.effect)) for item in inventory.unregistered)
    return replace(inventory, patches=patches, unregistered=stray)


def _is_excluded(effect: Effect, running: Running) -> bool:
    if effect.when is not None and find_told(effect.when) == ALWAYS:
        return False  # told once for several callers, of which one was read
    if effect.when is not None and asks_about(effect.when, ConditionKind.VERSION, ConditionKind.CLASS):
        return decide(effect.when, running.ground, 0).holds is False
    return running.decide(effect.location)[0].holds is False


def _say(effect: Effect, pinned: Pinned) -> Effect:
    told = find_told(effect.when)
    never = f"false at the pin, {pinned.label} {pinned.version}"
    words = Condition(kind=ConditionKind.SITE, text=never, parts=() if effect.when is None else (told,))
    return replace(effect, when=tell(effect.when, words))
