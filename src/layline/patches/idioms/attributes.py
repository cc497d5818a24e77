"""Attributes of upstream modules and classes set, replaced or deleted, however they are reached."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Holder, Style, TargetKind
from layline.interpreter.events import Event, Write
from layline.interpreter.inner import walk
from layline.interpreter.objects import spell_object
from layline.interpreter.slots import keeps
from layline.interpreter.stashed import UNWRAPPED
from layline.interpreter.state import text_of
from layline.interpreter.values import (
    EACH,
    Argument,
    Called,
    Class,
    Element,
    Function,
    Inside,
    Instance,
    Literal,
    Member,
    Outside,
    Partial,
    Source,
    Test,
    Value,
    find_alternatives,
)
from layline.patches.installer import Installer, moment_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_ORIGINAL = re.compile(
    r"(?:^|_)(?:orig|original|originals|saved|backup|old|previous|prev|unpatched|unwrapped)(?:_|$)", re.IGNORECASE
)
_HOLDS_SETTINGS = re.compile(r"(?:Config|Args|Arguments|Settings|Options)$|\.knobs(?:\.|$)")
"""Owners whose attributes are settings: what is set there is named in `mutates` too."""
_NOT_UPSTREAM = ("builtins.", "os.environ", "sys.argv", "sys.path", "sys.stdout", "sys.stderr", "warnings.", "logging.")


def find_attribute_writes(event: Event, installer: Installer) -> Iterator[Effect]:
    """`module.f = g`, `Class.m = g`, `setattr(module, name, g)`, `del Class.m`; also dataclass field defaults."""
    if not isinstance(event, Write) or event.is_item or event.restores or _is_restore(event):
        return
    match event.owner:
        case Outside(path=path) if not path.startswith(_NOT_UPSTREAM):
            yield from _find_outside(event, path, installer)
        case Inside(module=module) if _is_behaviour(event.value):
            for effect in _find_inside(event, module.name, installer):
                yield replace(
                    effect, target=None, mutates=(effect.target or "",), reason="a name of the downstream itself"
                )
        case Class() as owner if _is_behaviour(event.value) and "." not in owner.name:
            yield from _find_inside(event, owner.dotted, installer)
        case Element() as owner if is_loaded_module(owner):
            yield from _find_sweep(event, installer)


def _find_outside(event: Write, owner: str, installer: Installer) -> Iterator[Effect]:
    for alternative in find_alternatives(event.name):
        name = text_of(alternative)
        if name is None:
            yield _unresolved(event, owner)
        elif not name.isidentifier():
            yield _misnamed(event, owner, name)
        elif name in {"default", "default_factory"} and _is_field(owner, installer):
            if name == "default":
                yield installer.build_effect(event, owner, event.value)
        elif name == "__code__":
            yield installer.build_effect(event, owner, event.value)
        elif _is_mark(event, f"{owner}.{name}") or _keeps_original(event, owner, name, installer):
            continue
        elif f"{owner}.{name}" == "os.environ":
            continue  # an environment variable, not a binding
        elif f"{owner}.{name}" in installer.machine.stashes:
            original = installer.machine.stashes[f"{owner}.{name}"]
            behaves = _is_behaviour(event.value) or _is_rewritten(event.value)
            stored = installer.machine.stored.get(original)
            if not behaves or (stored is not None and stored.value is event.value):
                continue  # the stash itself: kept, thrown away, or filled again by a second run
            yield installer.build_effect(event, installer.machine.stashes[f"{owner}.{name}"], event.value)
        elif not installer.is_bookkeeping(owner, name, event.value):
            effect = installer.build_effect(event, f"{owner}.{name}", event.value)
            is_setting = _HOLDS_SETTINGS.search(owner) is not None and effect.replacement_at is None
            yield replace(effect, mutates=(name,)) if is_setting and not effect.mutates else effect


def _keeps_original(event: Write, owner: str, name: str, installer: Installer) -> bool:
    """An original kept beside its replacement, put back, or thrown away."""
    if isinstance(event.value, Outside) and _ORIGINAL.search(name):
        whose, _, original = event.value.path.rpartition(".")
        if whose == owner and original != name and original in name:  # `C.__old__setattr__ = C.__setattr__`
            installer.machine.stashes.setdefault(f"{owner}.{name}", event.value.path)
            return True
    if isinstance(event.value, Outside) and _is_kept_aside(f"{owner}.{name}", event.value.path, installer):
        installer.machine.stashes.setdefault(f"{owner}.{name}", event.value.path)
        return True
    return (event.value is None and "orig" in name) or installer.is_stash(owner, name, event.value)


def _is_kept_aside(place: str, original: str, installer: Installer) -> bool:
    """`up.b.plain_f = up.a.f`, a name that upstream lacks, where the same run puts something else in the place of
    `up.a.f`.
    """
    if original not in installer.written or place.rpartition(".")[2] == original.rpartition(".")[2]:
        return False
    return installer.look_up(place).kind is TargetKind.ABSENT


def _is_mark(event: Write, target: str) -> bool:
    """A private flag that the installer itself asks first: `if m._done: return` … `m._done = True`."""
    name = target.rpartition(".")[2]
    if not name.startswith("_") or name.endswith("__") or not isinstance(event.value, Literal):
        return False
    return isinstance(event.value.value, bool) and any(
        inner == Outside(target) for test in event.when for inner in walk(test, lambda _: False)
    )


def _is_field(owner: str, installer: Installer) -> bool:
    """True for `Class.field`, where a dataclass keeps the default."""
    return owner.rpartition(".")[0].rpartition(".")[2][:1].isupper()


def _find_inside(event: Write, owner: str, installer: Installer) -> Iterator[Effect]:
    """The downstream's own class or module changed by an installer: no upstream symbol, but behaviour."""
    name = text_of(event.name)
    if name is not None and not installer.is_bookkeeping(owner, name, event.value):
        yield installer.build_effect(event, f"{owner}.{name}", event.value)


def is_loaded_module(value: Value) -> bool:
    """Some module out of `sys.modules`, which one is not known."""
    while True:
        match value:
            case Element(owner=owner):
                value = owner
            case Called(callee=callee):
                value = callee
            case Outside(path=path):
                return path.startswith("sys.modules")
            case _:
                return False


def _find_sweep(event: Write, installer: Installer) -> Iterator[Effect]:
    """`for m in sys.modules.values(): if m.f is original: m.f = new`: every holder of one object."""
    for test in event.when:
        match test:
            case Test(operator="is", operands=operands):
                original = next((value.path for value in operands if isinstance(value, Outside)), None)
                if original is not None:
                    effect = installer.build_effect(event, original, event.value)
                    apart = any(_leaves_home_out(other, original) for other in event.when)
                    where = "every other loaded module" if apart else "every loaded module"
                    yield _replace_reason(effect, f"in {where} that holds the original")
                    return
    replacement, place = installer.describe(event.value)
    yield Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        reason=_name_loaded(event),
        holder=Holder.MODULES,
        told=_is_one_module(event),
        moment=moment_of(event),
    )


def _is_one_module(event: Write) -> bool:
    match event.owner:
        case Element(owner=Outside(path="sys.modules"), key=key):
            return key != EACH and text_of(event.name) is not None
    return False


def _name_loaded(event: Write) -> str:
    """`sys.modules[model.__module__].f = g`: one module, which is only known at run time."""
    match event.owner:
        case Element(owner=Outside(path="sys.modules"), key=key) if _is_one_module(event):
            where = f"the module sys.modules[{spell_object(key) or '…'}], which is only known at run time"
            return f"sets `{text_of(event.name)}` of {where}"
    return "rebinds a name in every loaded module; which modules these are is only known at run time"


def _leaves_home_out(test: Value, original: str) -> bool:
    """`if module is home: continue`: the module that defines the original is passed over."""
    match test:
        case Test(operator="not", operands=(Test(operator="is", operands=operands),)):
            return Outside(original.rpartition(".")[0]) in operands
        case Test(operator="is not", operands=operands):
            return Outside(original.rpartition(".")[0]) in operands
    return False


def _replace_reason(effect: Effect, reason: str) -> Effect:
    return replace(effect, reason=reason)


def _unresolved(event: Write, owner: str) -> Effect:
    return Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        told=_is_behaviour(event.value),
        reason=f"an attribute of {owner} whose name is only known at run time",
        target_kind=TargetKind.UNKNOWN,
    )


def _misnamed(event: Write, owner: str, name: str) -> Effect:
    """`setattr(m, "C.f", g)` makes an attribute called "C.f"; C.f stays as it was."""
    return Effect(
        style=Style.BINDING_REPLACEMENT,
        target=None,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        reason=f"sets an attribute of {owner} that is literally called {name!r}, which no code can read by name",
    )


def _is_behaviour(value: Value | None) -> bool:
    return value is not None and any(
        isinstance(found, Function | Class | Partial) for found in find_alternatives(value)
    )


def _is_rewritten(value: Value | None) -> bool:
    return value is not None and any(isinstance(found, Source) for found in find_alternatives(value))


def _is_restore(event: Write) -> bool:
    """The original put back where it was: the end of a transient effect, not one of its own."""
    name = text_of(event.name)
    if not isinstance(event.owner, Outside) or event.value is None:
        return False
    place = f"{event.owner.path}.{name}"
    values = find_alternatives(event.value)
    if any(isinstance(v, Function | Class | Partial) for v in values):
        return False
    kept = (v.path for v in values if isinstance(v, Outside) and v.path != place + UNWRAPPED)
    back = any(path == place or path.startswith(f"{place}._") for path in kept)
    return back or any(is_kept_original(v, name or "") for v in values)  # `m.f = m.f._original`


def is_kept_original(value: Value, name: str) -> bool:
    """`self._original_f`, `saved["f"]`, `self._f` for `f`: what a remover puts back, kept where reading cannot see
    it.
    """
    match value:
        case Member(owner=Inside(module=module), name=kept) if keeps(module, kept, name):
            return True
        case Member(owner=owner, name=kept):
            held = isinstance(owner, Instance | Class) or (
                isinstance(owner, Argument) and owner.name in {"self", "cls"}
            )
            return _ORIGINAL.search(kept) is not None or (held and kept.strip("_") == name.strip("_"))
        case (
            Element(owner=Member(name=kept) | Argument(name=kept))
            | Called(callee=Member(owner=Member(name=kept), name="get" | "pop"))
        ):
            return _ORIGINAL.search(kept) is not None
        case Argument(name=kept):
            return _ORIGINAL.search(kept) is not None
    return False
