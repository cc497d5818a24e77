"""Objects that only exist at run time, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.core.patch import Holder
from layline.interpreter.objects import class_of, spell_object
from layline.interpreter.values import Argument, Called, Element, Literal, Member, Outside, Value
from layline.source.names import longest_root

if TYPE_CHECKING:
    from layline.patches.installer import Installer

AT_RUN_TIME = "an object that only exists at run time"
MODULE_LIKE = re.compile(r"(?:^|_)(?:module|mod|cls|klass|class|package)(?:_|$)|_cls$|_module$")
_GENERIC = frozenset("self cls args kwargs ctx".split())


def name_owner(owner: Value) -> str:
    """An owner that only exists at run time, as far as the code tells."""
    match owner:
        case Argument(name=name) if name not in _GENERIC:
            return f"`{name}`, a parameter whose class cannot be read from its callers"
        case Element(owner=Called(callee=Outside(path=path))) if path.endswith(".__subclasses__"):
            return f"every subclass of {path.removesuffix('.__subclasses__')}"
        case Member(owner=inner, name="__class__") | Called(callee=Outside(path="builtins.type"), arguments=(inner,)):
            spelled = None if isinstance(inner, Called) else spell_object(inner)
            return f"the class of `{spelled}`, {AT_RUN_TIME}" if spelled else f"the class of {name_owner(inner)}"
        case Called(callee=Outside(path=path), arguments=arguments) if not path.startswith("builtins."):
            texts = [repr(v.value) for v in arguments if isinstance(v, Literal) and isinstance(v.value, str)]
            return f"what {path}({', '.join(texts[:2]) or '…'}) returns"
    spelled = spell_object(owner)
    return f"`{spelled}`, {AT_RUN_TIME}" if spelled else AT_RUN_TIME


def find_holder(owner: Value) -> Holder:
    """What kind of thing a write goes to that only a run knows."""
    match owner:
        case Member(name="__class__") | Called(callee=Outside(path="builtins.type"), arguments=(_,)):
            return Holder.CLASS
        case Element(owner=Called(callee=Outside(path=path))) if path.endswith(".__subclasses__"):
            return Holder.SUBCLASSES
        case Called(callee=Outside(path=path)) if not path.startswith("builtins.") and class_of(owner) is None:
            return Holder.RESULT
        case Argument(name=name) if MODULE_LIKE.search(name):
            return Holder.PARAMETER
    return Holder.OBJECT


def is_given_by_others(owner: Value, installer: Installer) -> bool:
    """What a function of a package that is no upstream returns: it may be made of classes of ours."""
    match owner:
        case Called(callee=Outside(path=path)) if class_of(owner) is None:
            return bool(installer.packages) and not longest_root(path, installer.packages)
    return False
