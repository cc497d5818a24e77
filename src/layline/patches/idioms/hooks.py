"""Import hooks that no module names: finders put on `sys.meta_path`, hooks put on `sys.path_hooks`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Holder, Style
from layline.interpreter.events import Call, Event, Write
from layline.interpreter.values import Class, Function, Instance, Items, Outside, Value, find_alternatives
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = ("sys.meta_path", "sys.path_hooks")
_ADDS = {f"{place}.{how}": place for place in _PLACES for how in ("insert", "append", "extend", "__setitem__")}
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")


def find_import_hooks(event: Event, installer: Installer) -> Iterator[Effect]:
    """`sys.meta_path.insert(0, Finder())`: what it changes is decided when something is imported."""
    match event:
        case Call(callee=Outside(path=path), arguments=arguments) if path in _ADDS and arguments:
            yield _build(event, _ADDS[path], arguments[-1], installer)
        case Write(owner=Outside(path=path), is_item=True, value=value) if path in _PLACES and value is not None:
            yield _build(event, path, value, installer)
        case Write(owner=Outside(path="sys"), value=value) if value is not None:
            name = getattr(event.name, "value", None)
            if f"sys.{name}" in _PLACES:
                yield _build(event, f"sys.{name}", value, installer)


def _build(event: Call | Write, place: str, value: Value, installer: Installer) -> Effect:
    finder = value.values[0] if isinstance(value, Items) and value.values else value
    replacement, at = installer.describe(finder)
    names = list(dict.fromkeys(_find_names(finder, installer)))
    about = f"; it names {', '.join(names[:6])}" if names else ""
    return Effect(
        style=Style.ENV_LIFECYCLE,
        target=None,
        replacement=replacement,
        replacement_at=at,
        location=event.at,
        mutates=(place,),
        certain=False,
        moment=moment_of(event),
        holder=Holder.IMPORTS,
        told=True,
        reason=f"an import hook: what it changes is decided when a module is imported{about}",
    )


def _find_names(finder: Value, installer: Installer) -> Iterator[str]:
    """Upstream modules that the code of the hook names."""
    tops = {package.split(".")[0] for package in installer.packages}
    for found in find_alternatives(finder):
        owner = found.of if isinstance(found, Instance) else found
        if not isinstance(owner, Class | Function):
            continue
        for node in ast.walk(owner.node):
            text = node.value if isinstance(node, ast.Constant) else None
            if not isinstance(text, str) or not _MODULE.match(text):
                continue
            if text.split(".")[0] in tops or (not tops and "." in text):
                yield text
