"""Signatures side by side: upstream's at the pin and ours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.source import ParameterKind

if TYPE_CHECKING:
    from layline.source import Definition


def show_signature(definition: Definition) -> str:
    """As a `def` or `class` line would read."""
    name = definition.qualname.rpartition(".")[2]
    if definition.parameters is None:
        bases = f"({', '.join(definition.bases)})" if definition.bases else ""
        return f"class {name}{bases}" if definition.bases or definition.kind.value == "class" else name
    words: list[str] = []
    star = False
    for item in definition.parameters:
        if item.kind is ParameterKind.VARIADIC:
            star = True
        if item.kind is ParameterKind.KEYWORD_ONLY and not star:
            words.append("*")
            star = True
        words.append(str(item))
    returns = f" -> {definition.returns}" if definition.returns else ""
    return f"{'async ' if definition.is_async else ''}def {name}({', '.join(words)}){returns}"


def find_differences(theirs: Definition, ours: Definition) -> Iterator[str]:
    """What a caller of the upstream function would notice."""
    if theirs.parameters is None or ours.parameters is None:
        return
    ours_by_name = {item.name: item for item in ours.parameters}
    takes_any = {item.kind for item in ours.parameters} & {ParameterKind.VARIADIC, ParameterKind.KEYWORDS}
    for item in theirs.parameters:
        if item.kind in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS} or item.name in {"self", "cls"}:
            continue
        mine = ours_by_name.get(item.name)
        if mine is None:
            if not takes_any:
                yield f"our code does not take upstream's `{item.name}`"
        elif item.default != mine.default:
            yield (
                f"`{item.name}` defaults to {item.default or 'nothing'} upstream and {mine.default or 'nothing'} in "
                "our code"
            )
    known = {item.name for item in theirs.parameters}
    for item in ours.parameters:
        if (
            item.name not in known
            and item.default is None
            and item.kind not in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS}
            and item.name not in {"self", "cls"}
        ):
            yield f"our code needs `{item.name}`, which upstream does not pass by that name"
    if theirs.is_async != ours.is_async:
        yield "one is async, the other is not"
