"""Parts of a model put in the place of others: `for name, child in model.named_children(): setattr(model, name, …)`."""

from __future__ import annotations

import sys

from layline.interpreter.objects import class_of, is_child, is_part_name
from layline.interpreter.values import Called, Element, Member, Outside, Value, find_alternatives


def is_swapped(name: Value, value: Value) -> bool:
    """Whether a part that is made anew is set under the name that a sweep gave."""
    swept = is_part_name(name) if isinstance(name, Element) else False
    return swept and all(map(_is_made_part, find_alternatives(value)))


def _is_made_part(value: Value) -> bool:
    match value:
        case Called(callee=Member(name=name)):
            return name[:1].isupper()  # a class of a package that is only looked for: `te.Linear(…)`
        case Called(callee=Outside(path=path), arguments=(given, *_)) if is_child(given):
            return path.rpartition(".")[0].rpartition(".")[2][:1].isupper()  # `Fast.from_float(child)`
    kind = class_of(value)
    if isinstance(kind, Outside):
        return kind.path.partition(".")[0] not in sys.stdlib_module_names | {"builtins"}
    return kind is not None
