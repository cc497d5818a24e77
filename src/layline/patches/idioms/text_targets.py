"""Targets named by text in calls that speak of patching: `Patcher([("a.b.c", new)])`, `@rewriter("a.b.C.m")`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Holder, Moment, Style, TargetKind
from layline.interpreter.events import Event, Naming
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.interpreter.values import Value

_ORIGINAL = re.compile(r"_*orig(?:in|inal)?(?:_|$)")
"""How a registry hands the original to what takes its place: `context.origin_func`."""


NAMED = "named by text in "
_UNKNOWN = "upstream has no such name, and the call cannot be followed"


def find_namings(event: Event, installer: Installer) -> Iterator[Effect]:
    """One effect for each path; what a registry keeps for later is deferred.

    A text that upstream does not know is a key of our own book-keeping, unless what is called is seen to write.
    """
    if not isinstance(event, Naming):
        return
    for target, value in event.pairs:
        package, everywhere, name = target.partition(".*.")
        if everywhere:
            yield _sweep(event, package, name, installer.describe(value))
            continue
        effect = replace(installer.build_effect(event, target, value), reason=f"{NAMED}{event.registry}", by_text=True)
        is_unknown = _is_unknown(effect, installer) and not event.writes
        if is_unknown and event.seen:
            continue
        if event.registers:
            style = Style.FUNCTION_WRAPPING if _is_handed_original(value, installer) else effect.style
            why = f"{NAMED}{event.registry}, put in place when its registry is applied"
            effect = replace(effect, style=style, moment=Moment.DEFERRED, reason=why)
        yield replace(effect, certain=False, reason=f"{effect.reason}; {_UNKNOWN}") if is_unknown else effect


def _is_unknown(effect: Effect, installer: Installer) -> bool:
    """Upstream was asked and does not have the name; of packages that are no backend nobody can be asked."""
    tops = {package.partition(".")[0] for package in installer.packages}
    is_ours_to_know = (effect.target or "").partition(".")[0] in tops
    return effect.target_kind is TargetKind.ABSENT or (is_ours_to_know and effect.target_kind is TargetKind.EXTERNAL)


def _sweep(event: Naming, package: str, name: str, put: tuple[str | None, object]) -> Effect:
    whose = f" whose name begins with {package}" if package else ""
    return Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        replacement=put[0],
        location=event.at,
        certain=False,
        moment=moment_of(event),
        reason=f"`{name}` in every loaded module{whose}, where it is there",
        holder=Holder.MODULES,
        told=True,
    )


def _is_handed_original(value: Value, installer: Installer) -> bool:
    return any(_ORIGINAL.match(name) for log in installer.read_replacement(value) for _, name in log.members)
