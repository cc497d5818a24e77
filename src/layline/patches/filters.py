"""Filters of the lists and tables that name targets: what they rule out is no effect, what they leave open is uncertain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.patches.chains import Roots
from layline.patches.conditions import Reader, simplify
from layline.patches.model import Effect, TargetKind
from layline.patches.reading.values import Called, Literal, Outside, Test, Value

if TYPE_CHECKING:
    from layline.patches.idioms.installer import Installer
    from layline.patches.reading.events import Event

_UNSEEN = frozenset({TargetKind.UNKNOWN, TargetKind.EXTERNAL})
_LONGEST = 160
_FILTERED = "only where the filter of its list lets it through"


def apply_filters(event: Event, effect: Effect, installer: Installer) -> Effect | None:
    """The effect as the filters of its list leave it; None if they keep it out."""
    tests = [test for test in getattr(event, "when", ()) if test in installer.machine.filters]
    if not tests or effect.target is None:
        return effect
    asked = [_asks_for(test, effect.target) for test in tests]
    if any(asked) and effect.target_kind is TargetKind.ABSENT:
        return None
    if all(asked) and effect.target_kind not in _UNSEEN:
        return effect
    reason = f"{_FILTERED}; {effect.reason}" if effect.reason else _FILTERED
    return replace(effect, certain=False, reason=reason)


def find_filters(event: Event, installer: Installer) -> Iterator[str]:
    """The filters an effect passed, in words."""
    reader = Reader(Roots())
    for test in getattr(event, "when", ()):
        if test in installer.machine.filters:
            text = reader.show(simplify(test))
            yield text if len(text) <= _LONGEST else "the filter of its list holds"


def _asks_for(test: Value, target: str) -> bool:
    """Whether a test only asks if the target is there."""
    match test:
        case Outside(path=path):
            return path == target
        case Called(callee=Outside(path="builtins.callable"), arguments=(Outside(path=path),)):
            return path == target
        case Called(callee=Outside(path="builtins.hasattr"), arguments=(Outside(path=path), Literal(value=str(name)))):
            return f"{path}.{name}" == target
        case Test(operator="is not", operands=(Outside(path=path), Literal(value=None))):
            return path == target
    return False
