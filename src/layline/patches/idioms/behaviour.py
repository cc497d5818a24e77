"""Whether what is put on a single object is behaviour: code, a part that runs, what is made of either."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.patch import TargetKind
from layline.interpreter.annotated import find_foreign_root
from layline.interpreter.calls import is_wrapt_decorator
from layline.interpreter.objects import class_of
from layline.interpreter.references import makes_callable
from layline.interpreter.values import (
    Called,
    Class,
    Copied,
    Function,
    Instance,
    Items,
    Member,
    Outside,
    Partial,
    Value,
    find_alternatives,
    find_order,
)
from layline.patches.idioms.attributes import is_kept_original
from layline.patches.idioms.owners import is_given_by_others
from layline.patches.installer import MemberKind
from layline.source.names import longest_root

if TYPE_CHECKING:
    from layline.interpreter.events import Write
    from layline.patches.installer import Installer

_BEHAVES = frozenset("forward __call__ generate __class__".split())
"""Attributes that hold behaviour, whatever is put there."""
_RUNS = ("forward", "__call__")
"""Methods of a part that takes part in what the whole does."""


def say_how(value: Value) -> str:
    bound = any(
        (isinstance(found, Function) and found.bound is not None)
        or (isinstance(found, Called) and found.callee == Outside("types.MethodType"))
        for found in find_alternatives(value)
    )
    return "sets a method as " if bound else ""


def is_function(value: Value) -> bool:
    return any(isinstance(found, Function | Partial) or say_how(found) for found in find_alternatives(value))


def is_behaviour(event: Write, name: str, installer: Installer) -> bool:
    value = event.value
    if value is None:
        return False
    if name == "__class__":
        return not _is_cast(value, event.owner, installer) and not is_kept_original(value, name)
    if name in _BEHAVES and isinstance(value, Member) and value.owner == event.owner and value.name != name:
        is_kept = (value.name, name) in installer.machine.aside or is_kept_original(value, name)
        return not is_kept  # `model.forward = model.encode`
    return any(
        isinstance(found, Function | Class | Partial)
        or _is_changed_copy(found)
        or _is_component(found, event.owner, installer)
        or _holds_ours(found, installer)
        or (installer.holds_code(name) and (_is_method(found, installer) or _is_ours_listed(found)))
        or _is_their_code(found, event.owner, name, installer)
        or (isinstance(found, Called) and (_binds_new(found, event, name) or _is_made_by_us(found, installer)))
        or _wraps_method(found, event.owner, name)
        or _wraps_part(found, event.owner, name, installer)
        for found in find_alternatives(value)
    )


def _wraps_method(value: Value, owner: Value, name: str) -> bool:
    """`layer.forward = torch.compile(layer.forward)`: another package makes something of the method that stood there."""
    return name in _BEHAVES and isinstance(value, Called) and Member(owner, name) in value.arguments


def _wraps_part(value: Value, owner: Value, name: str, installer: Installer) -> bool:
    """`model.module = Theirs(model.module)`: an object of a class of upstream that runs takes the place of a part and
    keeps it.
    """
    if not isinstance(value, Called) or not isinstance(value.callee, Outside):
        return False
    given = (*value.arguments, *(item for _, item in value.keywords))
    path = value.callee.path
    if Member(owner, name) not in given or not longest_root(path, installer.packages):
        return False
    return any(installer.look_up(f"{path}.{one}").kind is TargetKind.DEFINITION for one in _RUNS)


def _is_changed_copy(value: Value) -> bool:
    """A copy of an object that code of ours was put on: it brings that along."""
    return isinstance(value, Copied) and any(map(is_function, value.attributes.values()))


def _is_component(value: Value, owner: Value, installer: Installer) -> bool:
    """An object of a class of ours that stands for a part of another package: `trainer.strategy = OurStrategy()`."""
    if isinstance(value, Items):
        is_theirs = bool(value.values) and _is_upstreams(owner, installer)
        return is_theirs and any(_is_component(item, owner, installer) for item in value.values)
    if not isinstance(value, Instance):
        return False
    bases = [kind.path for kind in find_order(value.of) if isinstance(kind, Outside)]
    is_below = any(longest_root(path, installer.packages) > 0 for path in bases)
    if any(path.endswith(".Module") for path in bases) or (is_below and not is_given_by_others(owner, installer)):
        return True
    behaves = any(isinstance(item, ast.FunctionDef) and item.name != "__init__" for item in value.of.node.body)
    return behaves and _is_upstreams(owner, installer)


def _is_method(value: Value, installer: Installer) -> bool:
    """A method of upstream's objects, by its name, or a list of such."""
    if isinstance(value, Items):
        return bool(value.values) and all(_is_method(item, installer) for item in value.values)
    return isinstance(value, Member) and installer.find_members(value.name) == frozenset({MemberKind.METHOD})


def _is_ours_listed(value: Value) -> bool:
    """A list of functions of ours: `config.sync_func = [lambda x: … for each part]`."""
    return isinstance(value, Items) and bool(value.values) and all(map(is_function, value.values))


def _is_their_code(value: Value, owner: Value, name: str, installer: Installer) -> bool:
    """A function or class of upstream, put onto one of its objects or where it holds something to be called: which of
    its own code runs is chosen by ours.
    """
    is_new = isinstance(owner, Called) and class_of(owner) is not None  # what our own code makes is no part of theirs
    if is_new or not isinstance(value, Outside) or not longest_root(value.path, installer.packages):
        return False
    known = installer.look_up(value.path)
    is_code = known.kind in {TargetKind.DEFINITION, TargetKind.IMPORTED_NAME} and not known.is_field
    return is_code and (installer.holds_code(name) or _is_upstreams(owner, installer))


def _holds_ours(value: Value, installer: Installer) -> bool:
    """An object of upstream's that names a class of ours: `spec.attention = ModuleSpec(module=OurAttention)`."""
    if not isinstance(value, Called) or not isinstance(value.callee, Outside):
        return False
    given = (*value.arguments, *(item for _, item in value.keywords))
    is_theirs = class_of(value) is not None and longest_root(value.callee.path, installer.packages) > 0
    return is_theirs and any(isinstance(item, Class) or _holds_ours(item, installer) for item in given)


def _is_upstreams(owner: Value, installer: Installer) -> bool:
    """An object of a class of upstream, or one that is reached through such."""
    root = find_foreign_root(owner, installer.machine)
    return root is not None and longest_root(root.path, installer.packages) > 0


def _is_cast(value: Value, owner: Value, installer: Installer) -> bool:
    """Another object's class, or one of the package that the object is of: no code of ours comes in."""
    if isinstance(value, Member):
        return value.name == "__class__"
    root = find_foreign_root(owner, installer.machine)
    return isinstance(value, Outside) and root is not None and value.path.split(".")[0] == root.path.split(".")[0]


def _binds_new(value: Called, event: Write, name: str) -> bool:
    """`MethodType(mine, obj)`; the original bound again, `MethodType(obj._orig_forward, obj)`, is put back."""
    first = value.arguments[0] if value.arguments else None
    if value.callee != Outside("types.MethodType") or first is None:
        return value.callee == Outside("types.MethodType")
    # of several objects that it may be, each gets back its own
    owners = [event.owner, *(one for bound in value.arguments[1:2] for one in find_alternatives(bound))]
    return not is_kept_original(first, name) and not all(_is_own(one, owners, name) for one in find_alternatives(first))


def _is_own(value: Value, owners: list[Value], name: str) -> bool:
    """What one of these objects has under that name, or what was wrapped there: `obj.forward.__wrapped__`."""
    while isinstance(value, Member) and value.name in {"__wrapped__", "__func__"}:
        value = value.owner
    return any(value == Member(owner, name) for owner in owners)


def _is_made_by_us(value: Called, installer: Installer) -> bool:
    """What code of ours makes that can be called: `our_wrapper(tracer)(client.send)`, an object of ours called; what
    any other function or method returns may be plain data.
    """
    root: Value = value
    while isinstance(root, Called):
        root = root.callee
    match root:
        case Instance():
            return True
        case Function():
            return is_wrapt_decorator(root) or makes_callable(root.node)
        case Outside(path=path):
            found = installer.find_function(path.split("."))
            return found is not None and makes_callable(found)
    return False
