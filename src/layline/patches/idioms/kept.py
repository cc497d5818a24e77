"""Code that an object of ours keeps: `self.fast = make(…)` in one method, `model.forward = self.fast` in another."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from layline.interpreter.modules import Scope
from layline.interpreter.values import Function, Instance, Member, Partial, Value, find_alternatives
from layline.source.walking import remember, walk

if TYPE_CHECKING:
    from layline.interpreter.state import Machine


def find_kept(value: Value | None, machine: Machine) -> Value | None:
    """The function behind an attribute that the class sets by one call, wherever; the value itself where it is none."""
    match value:
        case Member(owner=Instance(of=of) as held, name=name):
            made = _find_made(of.node, name)
            if len({(owner, ast.dump(call)) for owner, call in made}) == 1:
                owner, call = made[0]
                with machine.from_outside(of.module):
                    found = machine.evaluate(call, Scope(of.module, of.module.scope, {owner: held}))
                if any(isinstance(one, Function | Partial) for one in find_alternatives(found)):
                    return found
    return value


@remember
def _find_made(owner: ast.ClassDef, name: str) -> list[tuple[str, ast.expr]]:
    """What the methods of a class put under a name of their object, with what they call that object."""
    found: list[tuple[str, ast.expr]] = []
    for node in walk(owner):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=held), attr=attr)], value=ast.Call() as call):
                if attr == name:
                    found.append((held, call))
    return found
