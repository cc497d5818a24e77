"""Methods bound onto single objects: `model.forward = MethodType(g, model)`, `x.__class__ = Sub`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Holder, Style, TargetKind
from layline.interpreter.annotated import find_foreign_root, find_said
from layline.interpreter.events import Event, Write
from layline.interpreter.inner import open_held
from layline.interpreter.objects import class_of, find_class_name, find_classes, spell_object
from layline.interpreter.references import find_read
from layline.interpreter.state import text_of
from layline.interpreter.values import (
    Argument,
    Called,
    Class,
    Copied,
    Element,
    Function,
    Instance,
    Items,
    Literal,
    Member,
    Outside,
    Unknown,
    Value,
    find_alternatives,
)
from layline.patches.idioms.attributes import is_loaded_module
from layline.patches.idioms.behaviour import is_behaviour, is_function, say_how
from layline.patches.idioms.kept import find_kept
from layline.patches.idioms.object_style import is_original, judge_object_style, wraps_nameless
from layline.patches.idioms.owners import AT_RUN_TIME, MODULE_LIKE, find_holder
from layline.patches.idioms.parts import is_swapped
from layline.patches.idioms.spelling import is_own_word, read_written, say_where, say_whose, spell_owner
from layline.patches.installer import Installer, Known, MemberKind, moment_of
from layline.source.names import longest_root

if TYPE_CHECKING:
    from collections.abc import Iterator


_BASES = (".Module", ".PreTrainedModel", ".ModelMixin", "builtins.object")
"""Classes that too many others derive from to say whose method is meant."""


def find_instance_bindings(event: Event, installer: Installer) -> Iterator[Effect]:
    """A function or class put on an object that only exists at run time; the target cannot be named."""
    if not isinstance(event, Write) or event.value is None or event.restores:
        return
    if event.is_item and not (isinstance(event.owner, Member) and event.owner.name == "__dict__"):
        return
    if (
        is_loaded_module(event.owner)
        or _is_new_of_ours(event.owner)
        or not isinstance(event.owner, Argument | Member | Element | Called | Copied | Unknown)
    ):
        return
    event = replace(event, value=find_kept(event.value, installer.machine))
    name = text_of(event.name)
    if name is None:
        yield from _find_nameless(event, installer)
        return
    if _is_plain_attribute(event, name) or not is_behaviour(event, name, installer):
        return
    if installer.is_bookkeeping("", name, event.value):
        return
    yield from _tell(event, name, installer)


def _is_new_of_ours(owner: Value) -> bool:
    """`super().__new__(…)`: what our own class or metaclass is making."""
    match owner:
        case Called(callee=Member(owner=Called(callee=Outside(path="builtins.super")), name="__new__")):
            return True
        case Called(callee=Outside(path=path)):
            return path.endswith(".__new__")
    return False


def _tell(event: Write, name: str, installer: Installer) -> Iterator[Effect]:
    """One row per class the object may be of, where the code tells; else one that says how the object is reached."""
    value, owner = event.value or Unknown("deleted"), _find_holder(event.owner)
    made = class_of(owner)
    if isinstance(made, Outside) and (made.path.partition(".")[0] in sys.stdlib_module_names or _is_any(made)):
        return  # a stand-in or an empty container we made ourselves: `SimpleNamespace()`, `nn.Module()`
    tested = find_classes(event.owner, event.when, event.chosen)
    known = tested or find_said(owner, installer.machine)
    if len(known) > 1 and any(map(_is_any, known)):
        known = []  # it may be an object of nearly every class: `model: PreTrainedModel | Adapted`
    classes = [kind for kind in known if not _is_vague(kind, name, installer)]
    if classes and all(isinstance(kind, Class) for kind in classes):
        return  # an object of a class of ours: nothing of upstream is changed
    replacement, place = installer.describe(value)
    effect = Effect(
        style=judge_object_style(owner, name, value, installer),
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        holder=find_holder(owner),
        reached=spell_owner(owner, event, installer),
        attribute=name,
    )
    named = [kind for kind in classes if isinstance(kind, Outside)]
    for kind in named:
        found = installer.look_up(f"{kind.path}.{name}")
        if not tested and kind != made and _is_doubtful(event, name, found, installer):
            yield _describe_object(effect, event, name, installer)
            continue
        told = _mark_setting(effect, name, found.is_field and not _is_class(value, installer))
        named_it = _name_class(told, f"{kind.path}.{name}", kind == made, found)
        is_unread = found.kind is TargetKind.EXTERNAL and name != "__class__"
        yield _doubt_member(named_it, kind.path) if is_unread and not tested and kind != made else named_it
    if not classes:
        yield _describe_object(effect, event, name, installer)


def _name_class(effect: Effect, target: str, is_exact: bool, found: Known) -> Effect:
    """The class is known; one that was made here is that very class, so that a name it lacks is new."""
    return replace(
        effect,
        target=target,
        certain=True,
        target_kind=found.kind,
        alias_of=found.alias_of,
        may_be_of=found.may_be_of,
        adds=is_exact and found.kind is TargetKind.ABSENT,
        holder=Holder.OBJECT,
        reason=f"set on single objects of the class (reached as `{effect.reached or '…'}`), not on the class itself"
        + say_where(found),
    )


def _doubt_member(effect: Effect, kind: str) -> Effect:
    """What is said of an object names its class; that the class has such a member, nobody has read."""
    package = kind.partition(".")[0]
    why = f"whether the class has that name cannot be said: {package} was not read"
    return replace(effect, certain=False, reason=f"{effect.reason}; {why}")


def _is_doubtful(event: Write, name: str, found: Known, installer: Installer) -> bool:
    """Only an annotation names the class, which cannot be read, and upstream has such a method: it may be that one; or
    the line asks whether the object has it at all: then it may be one of a class below.
    """
    owner = _find_holder(event.owner)
    is_annotated = isinstance(owner, Argument) and found.kind is TargetKind.EXTERNAL and name != "__class__"
    asked = Called(Outside("builtins.hasattr"), (owner, Literal(name)))
    return is_annotated and (asked in event.when or bool(installer.find_members(name)))


def _describe_object(effect: Effect, event: Write, name: str, installer: Installer) -> Effect:
    """Nothing names the class: how the object is reached, and what is known of its attribute."""
    value, owner = event.value or Unknown("deleted"), _find_holder(event.owner)
    how = say_how(value) or "sets "
    if effect.style is Style.FUNCTION_WRAPPING:
        how = "sets a wrapping method as " if say_how(value) else "sets " if name == "__class__" else "wraps "
    how = "deletes " if event.value is None else how
    called = find_class_name(event.owner, event.when)
    root = None if called else find_foreign_root(owner, installer.machine)
    kind = f" (a class called {called})" if called else ""
    if root is not None and spell_object(owner):
        is_root = bool(find_said(owner, installer.machine))
        # a class is written of it: what is handed in is an object, whatever it is called
        effect = replace(effect, holder=Holder.OBJECT) if is_root and isinstance(owner, Argument) else effect
        kind = f" (class {root.path})" if is_root else f" (starting from an object of {root.path})"
    whose = say_whose(owner, event, installer)
    if kind and isinstance(owner, Argument) and MODULE_LIKE.search(owner.name):
        whose = f"`{owner.name}`, a parameter"  # that nobody tells its class would deny what follows
    # what upstream declares as a field holds a value, also where that can be called; a class there stands for a part
    is_setting = not _is_class(value, installer) and _is_field(owner, name, installer)
    written = read_written(event) if effect.holder is Holder.OBJECT and not is_own_word(effect.reached, event) else None
    return replace(
        _mark_setting(effect, name, is_setting),
        told=True,
        reason=f"{how}`{name}` of {whose}{kind}",
        as_written=(written, f"{how}`{name}` of `{written}`, {AT_RUN_TIME}") if written is not None else None,
    )


def _is_field(owner: Value, name: str, installer: Installer) -> bool:
    """Whether every class of upstream with this name declares it as data; where other classes have a method of it,
    those that upstream keeps under the attribute that the object is reached through: `layer.mlp.config`.
    """
    fields = frozenset({MemberKind.FIELD})
    if (found := installer.find_members(name)) == fields:
        return True
    held = owner.of if isinstance(owner, Copied) else owner
    return bool(found) and isinstance(held, Member) and installer.find_members(f"{held.name}.{name}") == fields


def _mark_setting(effect: Effect, name: str, is_setting: bool) -> Effect:
    """It is set, nothing is replaced."""
    return replace(effect, style=Style.CONFIG_REWRITE, mutates=(name,)) if is_setting else effect


def _is_class(value: Value, installer: Installer) -> bool:
    """A class, an object of ours, or a list that holds one; a list of functions is a value."""
    return any(
        isinstance(found, Class | Instance)
        or _is_their_class(found, installer)
        or (isinstance(found, Items) and any(_is_class(one, installer) for one in found.values))
        for found in find_alternatives(value)
    )


def _is_their_class(value: Value, installer: Installer) -> bool:
    is_theirs = isinstance(value, Outside) and longest_root(value.path, installer.packages) > 0
    return is_theirs and isinstance(value, Outside) and installer.look_up(value.path).is_class


def _find_holder(owner: Value) -> Value:
    """`x.__dict__["forward"] = …` is written onto x."""
    return owner.owner if isinstance(owner, Member) and owner.name == "__dict__" else owner


def _is_any(known: Value) -> bool:
    """A class that nearly every object is of."""
    return isinstance(known, Outside) and (known.path.startswith("builtins.") or known.path.endswith(_BASES))


def _is_vague(known: Value, name: str, installer: Installer) -> bool:
    """A base that any object has, or one that upstream gives no such method: it does not say whose method is meant."""
    if not isinstance(known, Outside):
        return False
    return _is_any(known) or installer.look_up(f"{known.path}.{name}").kind is TargetKind.ABSENT


def _find_nameless(event: Write, installer: Installer) -> Iterator[Effect]:
    """`setattr(self._model, self._name, g)`: which attribute is only known at run time."""
    if event.value is None or not isinstance(event.name, Member | Element):
        return
    is_part = not is_function(event.value) and is_swapped(event.name, event.value)
    if not is_part and not is_function(event.value):
        return
    replacement, place = installer.describe(event.value)
    yield Effect(
        style=Style.FUNCTION_WRAPPING if wraps_nameless(event) else Style.BINDING_REPLACEMENT,
        target=None,
        replacement=replacement,
        replacement_at=place,
        location=event.at,
        certain=False,
        moment=moment_of(event),
        holder=find_holder(event.owner),
        reached=spell_owner(event.owner, event, installer),
        told=True,
        reason=f"sets {'a part' if is_part else 'a method'} of {say_whose(event.owner, event, installer)}, under a name "
        f"that is computed (`{spell_object(event.name) or '…'}`)",
    )


def _is_plain_attribute(event: Write, name: str) -> bool:
    """An object setting its own attributes in a method is no patch."""
    owner = event.owner
    if isinstance(owner, Member) and owner.name == "__dict__":
        return False
    if isinstance(owner, Argument) and owner.name in {"self", "cls", "ctx", "module_self"}:
        return True
    if not name.startswith("_") or name.endswith("__"):
        return False
    # a private name is a slot, unless a method is bound onto it, or what is put there keeps what stood there
    return event.value is None or not (say_how(event.value) or _keeps_former(event, name))


def _keeps_former(event: Write, name: str) -> bool:
    """`old = x._go`, and a function that holds `old` is put onto `x._go`."""
    functions = [one for one in find_alternatives(event.value or Unknown("deleted")) if isinstance(one, Function)]
    held = (item for one in functions for read in find_read(one) for item in open_held(read))
    return any(is_original(item, event.owner, name, set()) for item in held)
