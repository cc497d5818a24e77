"""Entries put into upstream tables and registries."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.patch import Effect, Holder, Style, TargetKind
from layline.interpreter.calls import IMPORT_HOOKS
from layline.interpreter.events import Call, Event, Write
from layline.interpreter.inner import open_held
from layline.interpreter.prefilter import TABLE_NAME
from layline.interpreter.references import find_captured
from layline.interpreter.state import text_of
from layline.interpreter.values import (
    Called,
    Class,
    Element,
    Function,
    Literal,
    Member,
    Outside,
    Partial,
    Table,
    Value,
    find_alternatives,
)
from layline.patches.installer import Installer, moment_of
from layline.source.sites import CHANGES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import UnionType

_NOT_TABLES = ("os.environ", "sys.modules", "builtins.", "sys.", "logging.")
_OPERATORS = ".".join(("torch", "library", "Library"))
_ENTRY_CHANGES = frozenset({"setdefault", "pop", "__setitem__"})
_REGISTERS = re.compile(r"(?:^|\.)_?(?:register\w*|add_(?!start_|end_|code_|model_|argument|doc)\w+)$")
_PER_REQUEST = re.compile(r"^(?:flask|quart|bottle|sanic)\.(?:request|session|g)(?:\.|$)")
"""Objects of the request at hand: what is put there is data, not a patch."""
_NOT_REGISTERS = ("atexit.", "signal.", "argparse.", "logging.", "builtins.", "os.", "sys.", "warnings.")


def find_mapping_writes(event: Event, installer: Installer) -> Iterator[Effect]:
    """`UPSTREAM["key"] = x`, `UPSTREAM.update({...})`, `upstream.register("key", x)`."""
    match event:
        case Write(is_item=True, owner=Outside(path=path)):
            if (
                not path.startswith(_NOT_TABLES)
                and not _PER_REQUEST.search(path)
                and not path.endswith(".__annotations__")
                and not _is_put_back(event)
            ):
                yield _entry(event, path, event.name, event.value, installer)
        case Call(callee=Outside(path=path), arguments=arguments):
            if path.endswith(".update") and (entries := _find_entries(event)):
                owner = path.removesuffix(".update")
                if not owner.startswith(_NOT_TABLES):
                    for key, value in entries:
                        yield _entry(event, owner, key, value, installer)
            elif _registers(path):
                yield from _find_register_call(event, path, installer)
            else:
                yield from _find_change(event, path, arguments, installer)
        case Call(callee=Called(callee=Outside(path=path), arguments=first, keywords=named), arguments=(made,)):
            if _registers(path) and "register" in path.rpartition(".")[2]:  # `@upstream.register("key")`
                whole = replace(event, callee=Outside(path), arguments=(*first, made), keywords=dict(named))
                yield from _find_register_call(whole, path, installer)
        case Call(callee=Member(owner=Called(callee=Outside(path=path) as made), name="impl" | "define")) if (
            path == _OPERATORS
        ):
            yield from _find_register_call(event, f"{made.path}.impl", installer)


def _find_entries(event: Call) -> list[tuple[Value, Value]]:
    """`update({"a": x})`, `update(a=x)`."""
    given = event.arguments[0] if len(event.arguments) == 1 else None
    entries = list(given.entries) if isinstance(given, Table) else []
    return entries + [(Literal(name), value) for name, value in event.keywords.items()]


def _registers(path: str) -> bool:
    if path.startswith(_NOT_REGISTERS) or path.rpartition(".")[2] in IMPORT_HOOKS:
        return False
    return _REGISTERS.search(path) is not None


def _find_change(event: Call, path: str, arguments: tuple[Value, ...], installer: Installer) -> Iterator[Effect]:
    """`UPSTREAM.append(x)`, `UPSTREAM.setdefault("key", x)`, `UPSTREAM.pop("key")`: a table or list of upstream by its
    name.
    """
    owner, _, method = path.rpartition(".")
    name = owner.rpartition(".")[2]
    if method not in CHANGES - {"update"} or owner.startswith(_NOT_TABLES) or not arguments:
        return
    if not TABLE_NAME.match(name) and installer.look_up(owner).kind not in {
        TargetKind.DEFINITION,
        TargetKind.MODULE_ASSIGNMENT,
    }:
        return
    if method in _ENTRY_CHANGES:
        put = arguments[1] if method != "pop" and len(arguments) > 1 else None
        yield _entry(event, owner, arguments[0], put, installer)
        return
    effect = _entry(event, owner, arguments[-1], None if method == "remove" else arguments[-1], installer)
    yield replace(effect, mutates=(f"{name}.{method}",))


def _is_put_back(event: Write) -> bool:
    """The entry that stood there, read before: the end of an effect, not one of its own."""
    path = event.owner.path if isinstance(event.owner, Outside) else ""
    for value in find_alternatives(event.value) if event.value is not None else ():
        match value:
            case Element(owner=owner, key=key) if owner == event.owner:
                if key == event.name or _is_stash(text_of(key), text_of(event.name)):
                    return True
            case Called(callee=Outside(path=callee), arguments=(key, *_)) if key == event.name:
                return callee in {f"{path}.get", f"{path}.pop"}
    return False


def _is_stash(key: str | None, name: str | None) -> bool:
    """`TABLE["f_origin"] = TABLE["f"]`: the original kept under a name that carries its own."""
    return key is not None and name is not None and key != name and key in name


def _entry(event: Write | Call, table: str, key: Value, value: Value | None, installer: Installer) -> Effect:
    replacement, place = installer.describe(value)
    shown, name = installer.describe(key)[0], text_of(key)
    is_namespace = name is not None and table.endswith(".__dict__")
    target = f"{table.removesuffix('.__dict__')}.{name}" if is_namespace else table
    known = installer.look_up(target)
    wraps = value is not None and _keeps_entry(table, key, value)
    return Effect(
        style=Style.FUNCTION_WRAPPING if wraps else Style.BINDING_REPLACEMENT,
        target=target,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        mutates=() if is_namespace else (f"{table.rpartition('.')[2]}[{shown}]",),
        moment=moment_of(event),
        target_kind=known.kind,
        alias_of=known.alias_of,
    )


def _keeps_entry(table: str, key: Value, value: Value) -> bool:
    """`TABLE[k] = wrap(TABLE[k])`: what is put there was handed the entry that stood there, or closes over it."""
    for found in find_alternatives(value):
        given = (*found.arguments, *(v for _, v in found.keywords)) if isinstance(found, Called | Partial) else ()
        function = found.function if isinstance(found, Partial) else found
        held = find_captured(function) if isinstance(function, Function) else ()
        inside = (*given, *(item for one in held for item in open_held(one)))
        if any(_is_entry(item, table, key) for one in inside for item in find_alternatives(one)):
            return True
    return False


def _is_entry(value: Value, table: str, key: Value) -> bool:
    match value:
        case Element(owner=Outside(path=path), key=known):
            return path == table and known == key
        case Called(callee=Outside(path=path), arguments=(known, *_)):
            return path == f"{table}.get" and known == key
    return False


def _find_register_call(event: Call, path: str, installer: Installer) -> Iterator[Effect]:
    """A call that hands something of ours to a registry of upstream."""
    given = (*event.arguments, *event.keywords.values())
    ours = [value for value in given if _is_any_of(value, Function | Class | Partial)]
    classes = [value for value in ours if _is_any_of(value, Class)]
    chosen = classes[-1] if len(classes) > 1 else next(iter(ours), None)  # `register(OurConfig, OurModel)`
    replacement, place = installer.describe(chosen) if chosen is not None else _find_named(given, installer)
    if replacement is None:
        return
    known = installer.look_up(path)
    texts = [str(value.value) for value in given if isinstance(value, Literal) and isinstance(value.value, str)]
    keys = [text for text in texts if text.replace(":", ".") != replacement]
    yield Effect(
        style=Style.CONFIG_REWRITE,
        target=None,
        replacement=replacement,
        replacement_at=place,
        replacements_at=installer.find_places(chosen),
        location=event.at,
        mutates=(f"{path}({', '.join(repr(key) for key in keys[:2])})",),
        moment=moment_of(event),
        target_kind=known.kind,
        reason="passed to a registry of upstream",
        holder=Holder.REGISTRY,
    )


def _is_any_of(value: Value, kinds: type | UnionType) -> bool:
    return any(isinstance(found, kinds) for found in find_alternatives(value))


def _find_named(given: tuple[Value, ...], installer: Installer) -> tuple[str | None, Location | None]:
    """`register_model("Arch", "own.models:Mine")`: a class or function of ours named by text."""
    for value in given:
        name = (text_of(value) or "").replace(":", ".")
        place = installer.find_definition(Outside(name)) if "." in name else None
        if place is not None:
            return name, place
    return None, None
