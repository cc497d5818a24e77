"""Config objects rewritten: the one the engine hands over, and upstream's own arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.patch import Effect, Style
from layline.interpreter.config_paths import GIVES_CONFIG, loosen
from layline.interpreter.events import Event, Write
from layline.interpreter.state import text_of
from layline.interpreter.values import Argument, Called, Element, Literal, Member, Outside, Value, find_alternatives
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def find_config_writes(event: Event, installer: Installer) -> Iterator[Effect]:
    """`args.key = value` and `setattr(args, "key", value)` on a config object."""
    if not isinstance(event, Write) or event.restores:
        return
    if isinstance(event.owner, Called) and isinstance(event.owner.callee, Outside):
        if not GIVES_CONFIG.search(event.owner.callee.path):
            return
        for alternative in find_alternatives(event.name):
            name = text_of(alternative)
            if name is not None and not name.startswith("_"):
                yield _effect(event, name, installer)
        return
    if not _begins_at_context(event.owner):
        return
    for alternative in find_alternatives(event.name):
        name = text_of(alternative)
        if name is None:
            yield Effect(
                style=Style.CONFIG_REWRITE,
                target=None,
                location=event.at,
                certain=False,
                moment=moment_of(event),
                reason="the config key is only known at run time",
            )
            continue
        key = loosen(installer.roots).key_of(Member(event.owner, name))
        if key is not None:
            yield _effect(event, key, installer)


def _begins_at_context(value: Value) -> bool:
    while isinstance(value, Member | Element):
        value = value.owner
    return isinstance(value, Argument) and value.context


def _effect(event: Write, key: str, installer: Installer) -> Effect:
    shown = installer.describe(event.value)[0] if isinstance(event.value, Literal) else None
    return Effect(
        style=Style.CONFIG_REWRITE,
        target=None,
        replacement=shown,
        location=event.at,
        mutates=(key,),
        moment=moment_of(event),
    )
