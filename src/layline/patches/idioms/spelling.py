"""How an object that only exists at run time is reached, in the words of the line that writes to it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.patch import Holder
from layline.interpreter.line_tests import find_chain
from layline.interpreter.objects import spell_object
from layline.interpreter.values import Argument, Called, Class, Copied, Element, Instance, Member, Value, find_order
from layline.patches.idioms.owners import AT_RUN_TIME, MODULE_LIKE, find_holder, name_owner

if TYPE_CHECKING:
    from layline.interpreter.events import Write
    from layline.patches.installer import Installer, Known

_LONGEST = 60
_SELF = "self"


def spell_owner(owner: Value, event: Write, installer: Installer) -> str | None:
    """How an object is reached: by what it is, else as it is written; `self` is only the object around the line."""
    spelled, other = spell_object(owner), _find_other(owner, event, installer)
    if _is_one_of(event) and (written := read_written(event)):
        return written
    if spelled is not None and other is None:
        return spelled
    if spelled is not None and other is not None and len(event.trail) > 1:  # the line is a helper's
        return f"{other.name}(…){spelled.removeprefix(_SELF)}"
    return read_written(event)


def _is_one_of(event: Write) -> bool:
    """Of several objects that a line may mean, how one is reached would leave out the others."""
    return bool(event.chosen) and len(event.trail) <= 1


def is_own_word(reached: str | None, event: Write) -> bool:
    """Whether how an object is reached begins with a parameter of the function that the line stands in."""
    function = event.trail[-1][1] if event.trail else None
    if reached is None or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    given = function.args
    names = {arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    written = read_written(event)
    if written in names:
        return reached == written
    return reached.partition(".")[0].partition("[")[0] in names


def read_written(event: Write) -> str | None:
    """The object as the line writes it."""
    match event.node:
        case (
            ast.Attribute(value=written)
            | ast.Call(func=ast.Name(id="setattr"), args=[written, *_])
            | ast.Subscript(value=ast.Attribute(value=written, attr="__dict__"))
        ):
            text = ast.unparse(written)
            return text if len(text) <= _LONGEST else None
    return None


def say_whose(owner: Value, event: Write, installer: Installer) -> str:
    """Parameters that stand for modules and classes are named; others are some object."""
    is_unsaid = spell_object(owner) is None or _find_other(owner, event, installer) is not None or _is_one_of(event)
    if is_unsaid and find_holder(owner) is Holder.OBJECT and (written := spell_owner(owner, event, installer)):
        return f"`{written}`, {AT_RUN_TIME}"
    if isinstance(owner, Argument) and not MODULE_LIKE.search(owner.name):
        return f"`{owner.name}`, {AT_RUN_TIME}"
    return name_owner(owner)


def _find_other(owner: Value, event: Write, installer: Installer) -> Class | None:
    """The class of ours whose object the owner is reached through, where the line stands in no method of it."""
    root = owner
    while isinstance(root, Member | Element | Called | Copied):
        root = root.callee if isinstance(root, Called) else root.of if isinstance(root, Copied) else root.owner
    if not isinstance(root, Instance):
        return None
    modules = installer.machine.modules
    module = modules.find(modules.names_by_path.get(event.at.path, ""))
    around = find_chain(module.body, event.at.line) if module is not None else []
    own = [kind.node for kind in find_order(root.of) if isinstance(kind, Class)]
    return None if any(node is kind for node in around for kind in own) else root.of


def say_where(found: Known) -> str:
    """Of a name that no class of upstream defines, who has it."""
    if found.set_by is not None:
        return f", whose objects have it because methods of {found.set_by} set it"
    return f"; upstream does not define that name, but {found.may_be_of} may" if found.may_be_of else ""
