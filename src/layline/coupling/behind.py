"""Places of ours behind an import of the same file that fails at the pin already: no line of the file runs today."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, Coupling, State, Touch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.interpreter.modules import Modules

_IMPORTS = {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT}


def mark_behind(couplings: Iterable[Coupling], modules: Modules) -> Iterator[Coupling]:
    """The same places; what breaks behind such an import says so."""
    listed = list(couplings)
    broken = {one.location.path for one in listed if one.consequence is Consequence.WILL_BREAK}
    first: dict[str, int] = {}
    for one in listed:
        if one.touch in _IMPORTS and one.state is State.MISSING and one.location.path in broken:
            for line in (one.location.line, *one.lines):
                if line < first.get(one.location.path, line + 1) and _runs_first(modules, one.location.path, line):
                    first[one.location.path] = line
    for one in listed:
        line = first.get(one.location.path, one.location.line)
        if one.consequence is Consequence.WILL_BREAK and line < one.location.line:
            behind = Why(Reason.FAILS_BEFORE, places=(Location(one.location.path, line),))
            yield replace(one, why=(*one.why, behind))
        else:
            yield one


def _runs_first(modules: Modules, path: str, line: int) -> bool:
    """Whether the import at a line runs whenever the file is loaded: it stands in no block."""
    module = modules.find(modules.names_by_path.get(path, ""))
    return any(
        isinstance(one, ast.Import | ast.ImportFrom) and one.lineno <= line <= (one.end_lineno or one.lineno)
        for one in (module.body if module is not None else ())
    )
