"""Does this call, or this override, fit that signature?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.source import Parameter, ParameterKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.gap.coupling.uses import CallShape
    from layline.source import Definition

_BY_POSITION = {ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL}
_BY_NAME = {ParameterKind.POSITIONAL, ParameterKind.KEYWORD_ONLY}


def find_misfit(parameters: Sequence[Parameter], call: CallShape) -> str | None:
    """Why the call cannot be bound to the parameters (`self` already taken off); None where it can."""
    names = {item.name: item for item in parameters}
    positional = [item for item in parameters if item.kind in _BY_POSITION]
    takes_more = any(item.kind is ParameterKind.VARIADIC for item in parameters)
    takes_any = any(item.kind is ParameterKind.KEYWORDS for item in parameters)
    if call.positional > len(positional) and not takes_more:
        return f"it takes {len(positional)} positional arguments, our call passes {call.positional}"
    for keyword in call.keywords:
        if not takes_any and (keyword not in names or names[keyword].kind not in _BY_NAME):
            return f"it has no parameter {keyword}"
    if call.open:
        return None
    given = {item.name for item in positional[: call.positional]} | set(call.keywords)
    missing = [item.name for item in parameters if item.required and item.name not in given]
    return f"our call does not pass {', '.join(missing)}" if missing else None


def find_unaccepted(ours: Sequence[Parameter], theirs: Sequence[Parameter]) -> list[Parameter]:
    """Parameters that callers of `theirs` may pass and `ours` cannot take."""
    if any(item.kind is ParameterKind.KEYWORDS for item in ours):
        return []
    names = {item.name for item in ours}
    room = sum(item.kind in _BY_POSITION for item in ours)
    anything = any(item.kind is ParameterKind.VARIADIC for item in ours)
    found = []
    for place, item in enumerate(theirs):
        if item.kind in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS} or item.name in names:
            continue
        by_position = item.kind in _BY_POSITION and (anything or place < room)
        if not by_position or item.kind is ParameterKind.KEYWORD_ONLY:
            found.append(item)
    return found


def own_parameters(definition: Definition) -> tuple[Parameter, ...]:
    """The parameters a caller sees: `self` or `cls` of a method taken off."""
    parameters = definition.parameters or ()
    decorators = {word.rpartition(".")[2] for word in definition.decorators}
    if definition.owner and "staticmethod" not in decorators and parameters and parameters[0].kind in _BY_POSITION:
        return parameters[1:]
    return parameters
