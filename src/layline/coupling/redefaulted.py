"""Calls of ours that leave out an argument whose default is the opposite at the tip, and that decides what is returned."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, State
from layline.coupling.states import Verdict
from layline.source.definitions import ParameterKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from layline.change.binding import CallShape
    from layline.change.compare import Comparer, Comparison
    from layline.source.definitions import Parameter

_SWITCHES = {"True": True, "False": False, "None": False}
"""Defaults that are written as a switch, and whether it is on."""
_BY_POSITION = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)


def judge_redefaulted(comparer: Comparer, call: CallShape, found: Comparison, *, bound: bool) -> Verdict | None:
    """Of a call that binds as before: whether it gets something else for what it leaves out."""
    before, after = found.before.definition, found.after.definition
    if before is None or after is None or found.after.module is None or call.has_star:
        return None
    old = {one.name: one.default for one in before.parameters or ()}
    left = _find_left_out(call, after.parameters or (), bound=bound)
    changed = [
        name for name, is_on in left.items() if name in old and _SWITCHES.get(old[name] or "", is_on) is not is_on
    ]
    node = comparer.tip.index.read_node(found.after.module, after) if changed else None
    body = node.body if isinstance(node, ast.FunctionDef) else []
    name = next((one for one in changed if _returns_by(body, one, left)), None)
    if name is None:
        return None
    now = next(one.default for one in after.parameters or () if one.name == name)
    why = Why(Reason.DEFAULT_SWITCHES, name, str(now), text=str(old[name]))
    return Verdict(state=State.SIGNATURE, consequence=Consequence.MAY_BREAK, why=(why,))


def _find_left_out(call: CallShape, parameters: tuple[Parameter, ...], *, bound: bool) -> Mapping[str, bool]:
    """The switches that a call does not name, and whether they are on."""
    taken = [one.name for one in parameters if one.kind in _BY_POSITION][: call.positional + bound]
    passed = {*taken, *call.keywords}
    return {
        one.name: _SWITCHES[one.default] for one in parameters if one.default in _SWITCHES and one.name not in passed
    }


def _returns_by(body: Iterable[ast.stmt], name: str, left: Mapping[str, bool]) -> bool:
    """Whether a switch decides over a `return` where the call gets by what it leaves out."""
    for statement in body:
        match statement:
            case ast.If(test=ast.Name(id=asked), body=then, orelse=other):
                if asked == name and any(isinstance(one, ast.Return) for one in (*then, *other)):
                    return True
                if asked in left and _returns_by(then if left[asked] else other, name, left):
                    return True
    return False
