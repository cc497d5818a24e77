"""Names that a failed import leaves undefined, used in functions that our code reaches only where a flag says that the
import went well: a pass over all places, because whose calls these are only all our files tell.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.why import Reason, Why
from layline.coupling.tested_names import NameUse, find_bound, find_uses
from layline.interpreter.line_tests import find_chain

if TYPE_CHECKING:
    from layline.coupling.model import Coupling
    from layline.interpreter.modules import Module, Modules

_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def drop_gated(
    couplings: Iterable[Coupling], modules: Modules, find_files: Callable[[str], list[str]]
) -> Iterator[Coupling]:
    """The places without what is told of such names. `find_files`: the files of ours that have a word."""
    for one in couplings:
        why = next((why for why in one.why if why.reason is Reason.CAUGHT), None)
        flags = (
            {name for part in why.parts if part.reason is Reason.FLAGS_FALL for name in part.names} if why else set()
        )
        module = modules.find(modules.names_by_path.get(one.location.path, "")) if flags else None
        if why is None or module is None or all(part.reason is not Reason.NOT_BOUND_USED for part in why.parts):
            yield one
            continue
        gated = _find_gated(module, flags, _others(one.location.path, modules, find_files))
        parts = tuple(left for part in why.parts if (left := _leave_out(part, module, gated)) is not None)
        yield one if parts == why.parts else replace(one, why=tuple(_put(each, why, parts) for each in one.why))


def _put(each: Why, why: Why, parts: tuple[Why, ...]) -> Why:
    return replace(why, parts=parts) if each is why else each


def _leave_out(part: Why, module: Module, gated: frozenset[str]) -> Why | None:
    """What is told of a name without lines in such functions; None where no line is left."""
    if part.reason is not Reason.NOT_BOUND_USED:
        return part
    left = tuple(line for line in part.names if _find_outermost(module, int(line)) not in gated)
    return None if not left else replace(part, names=left, text="line" if len(left) == 1 else "lines")


def _others(path: str, modules: Modules, find_files: Callable[[str], list[str]]) -> Callable[[str], bool]:
    """Whether another file has a word, and not for something of its own."""

    def is_used(name: str) -> bool:
        for other in (one for one in find_files(name) if one != path):
            home = modules.find(modules.names_by_path.get(other, ""))
            bound = dict(find_bound(home.body)).get(name) if home is not None else None
            if not isinstance(bound, _DEFINED):
                return True
        return False

    return is_used


def _find_gated(module: Module, flags: set[str], is_used: Callable[[str], bool]) -> frozenset[str]:
    """Functions and classes of a file that only its own code uses, behind a test of a flag or in one of the same kind."""
    defined = {one.name for one in module.body if isinstance(one, _DEFINED)}
    uses: dict[str, list[NameUse]] = {name: [] for name in defined}
    for use in find_uses(module.body, defined, flags, (0, 0)):
        uses[use.name].append(use)
    found = {name for name in defined if uses[name] and not is_used(name)}
    while True:
        kept = {name for name in found if all(_is_gated(use, name, found, module) for use in uses[name])}
        if kept == found:
            return frozenset(found)
        found = kept


def _is_gated(use: NameUse, name: str, found: set[str], module: Module) -> bool:
    around = _find_outermost(module, use.line)
    return use.tested or around == name or around in found


def _find_outermost(module: Module, line: int) -> str | None:
    chain = find_chain(module.body, line)
    return chain[0].name if chain else None
