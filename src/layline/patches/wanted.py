"""Which effects a reader wants to see: by severity, path, target, kind and certainty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from layline.core.condition import NEVER, VALUED, Condition, ConditionKind, asks_about, find_told, lacks
from layline.core.evidence import Severity, Skipped, SkippedKind
from layline.core.patch import Holder, Style, TargetKind
from layline.core.prose import count

if TYPE_CHECKING:
    from layline.core.patch import Effect, Inventory, Patch
    from layline.coupling.drift_model import Drift
    from layline.patches.drift.elsewhere import Elsewhere

DEAD, NEVER_ACTIVE, STATE = "dead-at-pin", "never-active", "state"
"""Kinds of a list beside the styles; what is dead has the word that drift has for it (`DriftKind`, which a kept list need not load)."""
RULED_OUT = "conditions above this line make it unreachable"
"""Why an effect outside any registration is never active."""
_UNREAD = frozenset({TargetKind.EXTERNAL, TargetKind.UNKNOWN})
"""Of what these are nothing is known that could be replaced."""
DELETED = "deleted"
"""What an effect that takes a name away says of its replacement."""
MAY_NOT_APPLY = "may-not-apply"
"""What drift says of an effect that some of upstream's code may not see."""
ELSEWHERE = ("imports", "reads", "subclasses", "overrides", "calls")
"""What our code does with upstream's names outside patches, as `--kind` takes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """None or empty keeps all."""

    severities: tuple[Severity, ...] = ()
    path: str | None = None
    """A part of the path, or a pattern with `*`."""
    target: str | None = None
    kinds: tuple[str, ...] = ()
    certain: bool | None = None

    @property
    def is_open(self) -> bool:
        return self == ALL

    def keeps(self, effect: Effect, patch: Patch | None = None) -> bool:
        """An effect of an inventory."""
        kinds = {effect.style.value, *find_warnings(effect, patch), *([STATE] if is_state(effect) else ())}
        severity = Severity.LOOK if set(find_warnings(effect, patch)) else Severity.OK
        return (
            self._keeps(str(effect.location.path), effect.target, severity)
            and (not self.kinds or bool(kinds & set(self.kinds)))
            and self.certain in (None, effect.certain)
        )

    def keeps_row(self, row: Drift, kinds: Iterable[str]) -> bool:
        """A row of drift, of these kinds."""
        certain = row.effect is None or row.effect.certain
        return (
            self._keeps(row.location.path, row.target, row.severity)
            and (not self.kinds or not set(self.kinds).isdisjoint(kinds))
            and self.certain in (None, certain)
        )

    def keeps_elsewhere(self, item: Elsewhere) -> bool:
        return (
            self._keeps(item.location.path, item.target, item.severity)
            and (not self.kinds or item.touch in self.kinds)
            and self.certain is not False
        )

    def _keeps(self, path: str, target: str | None, severity: Severity) -> bool:
        return (
            (not self.severities or severity in self.severities)
            and (self.path is None or _fits(path, self.path.removeprefix("./")))
            and (self.target is None or _fits(target or "", self.target))
        )


ALL = Wanted()


def find_warnings(effect: Effect, patch: Patch | None) -> Iterator[str]:
    """Why an effect of a list asks for a look."""
    if (patch is not None and not patch.active) or is_ruled_out(effect):
        yield NEVER_ACTIVE
    if is_dead(effect):
        yield DEAD


def is_ruled_out(effect: Effect) -> bool:
    """Tests before its line say the contrary of those around it."""
    return find_told(effect.when) == NEVER


def is_dead(effect: Effect) -> bool:
    """Upstream does not have the target, and its history or a name close by says that it was once meant to."""
    known = bool(effect.suggestion) or (effect.removal is not None and effect.removal.commit is not None)
    return effect.target_kind is TargetKind.ABSENT and known and not effect.gives_back and not asks_first(effect)


def is_absent(effect: Effect) -> bool:
    """On a name of upstream that the pin does not have; what is put on a module of our own is not on upstream's."""
    return effect.target_kind is TargetKind.ABSENT and effect.holder is not Holder.STAND_IN


def asks_first(effect: Effect) -> bool:
    """Its condition asks for a version, or for what upstream has: code for other versions may be meant."""
    return asks_about(effect.when, ConditionKind.VERSION, ConditionKind.NAME, ConditionKind.CLASS)


def is_addition(effect: Effect) -> bool | None:
    """A name that upstream does not have, and was not meant to: nothing is replaced; None where that is not known.

    One that is written only where it is missing is added, whoever has it; one that is None is there.
    """
    if effect.target is not None and lacks(effect.when, effect.target) and not _may_be_none(effect.when, effect.target):
        return True
    if effect.gives_back and effect.target_kind is TargetKind.ABSENT:
        return True
    if not effect.adds and (effect.target is None or effect.target_kind in _UNREAD):
        return None
    return effect.adds and not is_dead(effect)


def _may_be_none(condition: Condition | None, name: str) -> bool:
    parts = condition.walk() if condition is not None else ()
    return any(part.operator == VALUED and part.text == name for part in parts)


def is_state(effect: Effect) -> bool:
    """A plain value put on a name of upstream: state that is set, not code that is replaced."""
    if effect.target is None or effect.style is not Style.BINDING_REPLACEMENT or effect.replacement_at is not None:
        return False
    given = effect.replacement or DELETED
    is_name = "." in given and all(map(str.isidentifier, given.split(".")))
    is_code = is_name or given == DELETED or given.startswith("module ") or _is_class_name(effect.target)
    return not (is_code or _is_entry(effect))


def _is_class_name(target: str) -> bool:
    """`torch.nn.Linear`: what is put there is a class, whichever; `m.SIZE` is a value."""
    name = target.rpartition(".")[2]
    return name[:1].isupper() and not name.isupper()


def _is_entry(effect: Effect) -> bool:
    return bool(effect.mutates) and "[" in effect.mutates[0]


def narrow(inventory: Inventory, wanted: Wanted) -> Inventory:
    """The inventory with the wanted effects; a patch of which none is left goes."""
    if wanted.is_open:
        return inventory
    return replace(
        inventory,
        patches=tuple(_narrow_patches(inventory.patches, wanted)),
        unregistered=tuple(item for item in inventory.unregistered if wanted.keeps(item.effect)),
    )


def _narrow_patches(patches: Iterable[Patch], wanted: Wanted) -> Iterator[Patch]:
    for patch in patches:
        effects = tuple(effect for effect in patch.effects if wanted.keeps(effect, patch))
        if effects:
            yield replace(patch, effects=effects)


def _fits(text: str, pattern: str) -> bool:
    """Case is ignored, as `patches find` does: who asks for `router` means `TopKRouter`, too."""
    lowered, wanted = text.lower(), pattern.lower()
    return fnmatchcase(lowered, wanted) if any(sign in wanted for sign in "*?[") else wanted in lowered


def say_rewriters(skipped: Iterable[Skipped]) -> Iterator[str]:
    """That more is changed than rows tell."""
    number = sum(one.kind is SkippedKind.SOURCE_EDIT for one in skipped)
    if number:
        edit = f"{count(number, 'function')} of our code {'edits' if number == 1 else 'edit'} upstream's source as text"
        yield f"In addition, {edit} at run time; such edits are not judged (see Skipped)."
