"""Environment variables set or removed for the whole process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.patch import Effect, Style
from layline.interpreter.events import Call, Event, Write
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Literal, Outside, Table, Value, find_alternatives
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALLS = {"os.environ.setdefault", "os.environ.pop", "os.putenv", "os.unsetenv", "os.environ.__setitem__"}


def find_environment_writes(event: Event, installer: Installer) -> Iterator[Effect]:
    """`os.environ["X"] = …`, `.setdefault`, `.update({...})`, `.pop`, `os.putenv`, `del os.environ["X"]`."""
    match event:
        case Write(is_item=True, owner=Outside(path="os.environ")):
            yield from _find_names(event, event.name, event.value, installer)
        case Call(callee=Outside(path=path), arguments=(name, *rest)) if path in _CALLS:
            yield from _find_names(event, name, rest[0] if rest else None, installer)
        case Write(
            is_item=False,
            owner=Outside(path="os"),
            name=Literal(value="environ"),
            value=Called(arguments=(_, Table(entries=entries))),
        ):
            for key, value in entries:  # `os.environ |= {…}`
                yield from _find_names(event, key, value, installer)
        case Call(callee=Outside(path="os.environ.update"), arguments=(Table(entries=entries), *_)):
            for key, value in entries:
                yield from _find_names(event, key, value, installer)
        case Call(callee=Outside(path="os.environ.update"), keywords=keywords):
            for variable, value in keywords.items():
                yield _effect(event, (f"env:{variable}",), installer.describe(value)[0])


def _find_names(event: Write | Call, name: Value, value: Value | None, installer: Installer) -> Iterator[Effect]:
    for alternative in find_alternatives(name):
        text = text_of(alternative)
        if text is None:
            yield _effect(event, (), installer.describe(value)[0], "the variable is only known at run time")
        else:
            yield _effect(event, (f"env:{text}",), installer.describe(value)[0])


def _effect(event: Write | Call, mutates: tuple[str, ...], value: str | None, reason: str | None = None) -> Effect:
    return Effect(
        style=Style.ENV_LIFECYCLE,
        target=None,
        replacement=value,
        location=event.at,
        mutates=mutates,
        certain=reason is None,
        reason=reason,
        moment=moment_of(event),
    )
