"""Upstream source taken as text, edited and executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.patch import Effect, Style, TargetKind
from layline.interpreter.events import Call, Event
from layline.interpreter.executed import find_sources
from layline.interpreter.values import Member, Outside, Value
from layline.patches.installer import Installer, Known, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_RUNS = {"builtins.exec", "builtins.eval"}


def find_source_rewrites(event: Event, installer: Installer) -> Iterator[Effect]:
    """`exec(source.replace(anchor, new), namespace)` over `inspect.getsource(target)`."""
    match event:
        case Call(callee=Outside(path=path), arguments=(given, *_)) if path in _RUNS:
            for source in find_sources(given):
                target = _name_of(source.of)
                known = installer.look_up(target) if target else Known(TargetKind.UNKNOWN)
                yield Effect(
                    style=Style.SOURCE_REWRITE,
                    target=target,
                    replacement="its own source, edited",
                    location=event.at,
                    certain=target is not None,
                    moment=moment_of(event),
                    anchors=source.anchors,
                    reason=None if target else "which object's source is edited is only known at run time",
                    target_kind=known.kind,
                    alias_of=known.alias_of,
                )


def _name_of(value: Value) -> str | None:
    match value:
        case Outside(path=path):
            return path
        case Member(owner=Outside(path=path), name=name):
            return f"{path}.{name}"
    return None
