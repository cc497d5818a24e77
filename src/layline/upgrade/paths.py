"""Whether every way through a function of ours comes by a call of the original, or does nothing of its own instead.

Where a wrapper does the work itself on some path, a new parameter would be dropped there unseen: a person must look.
A path that only returns a plain value (nothing to do today) drops every parameter alike, and is fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import libcst as cst

_DEFERRED = cst.FunctionDef | cst.ClassDef | cst.Lambda
_CHOICES = cst.IfExp | cst.BooleanOperation | cst.CompFor


class UnclearError(Exception):
    """A path that nobody can judge without running it."""


@dataclass(frozen=True, slots=True)
class _State:
    """What has happened on a path so far."""

    called: bool = False
    worked: bool = False
    """One of the parameters was handed to something else."""
    ended: bool = False


def is_handed_everywhere(function: cst.FunctionDef, calls: Iterable[cst.Call]) -> bool:
    """True if a parameter that these calls hand on gets lost on no path that does something with the others."""
    params = function.params
    taken = {one.name.value for one in (*params.params, *params.kwonly_params, *params.posonly_params)}
    walker = _Walker(frozenset(map(id, calls)), taken - {"self", "cls"})
    try:
        state = walker.run(function.body.body, _State())
        walker.end(state)
    except UnclearError:
        return False
    return True


class _Walker:
    def __init__(self, calls: frozenset[int], params: set[str]) -> None:
        self._calls = calls
        self._params = params

    def run(self, block: Sequence[cst.BaseStatement | cst.BaseSmallStatement], state: _State) -> _State:
        for statement in block:
            if not state.ended:
                state = self._step(statement, state)
        return state

    def end(self, state: _State, value: cst.BaseExpression | None = None) -> None:
        """The function ends here with this value."""
        if not state.ended and not state.called and (state.worked or not _is_plain(value)):
            raise UnclearError

    def _step(self, node: cst.CSTNode, state: _State) -> _State:
        match node:
            case cst.SimpleStatementLine(body=body):
                return self.run(body, state)
            case cst.Return(value=value):
                state = self._look(node, state)
                self.end(state, value)
                return replace(state, ended=True)
            case cst.Raise():
                return replace(state, ended=True)
            case cst.If():
                state = self._look(node.test, state)
                return _join(self._inner(node.body, state), self._inner(node.orelse, state))
            case cst.Try() | cst.TryStar():
                return self._step_try(node, state)
            case cst.With(items=items, body=body):
                for item in items:
                    state = self._look(item, state)
                return self._inner(body, state)
            case cst.For(iter=head, body=body) | cst.While(test=head, body=body):
                state = self._look(head, state)
                again = self._inner(body, state)
                return replace(state, worked=state.worked or again.worked)
        return self._look(node, state)

    def _inner(self, block: cst.CSTNode | None, state: _State) -> _State:
        match block:
            case None:
                return state
            case cst.If():
                return self._step(block, state)
            case cst.Else(body=body) | cst.Finally(body=body) | cst.ExceptHandler(body=body):
                return self._inner(body, state)
            case cst.IndentedBlock(body=body) | cst.SimpleStatementSuite(body=body):
                return self.run(body, state)
        raise UnclearError

    def _step_try(self, node: cst.Try | cst.TryStar, state: _State) -> _State:
        done = self._inner(node.orelse, self._inner(node.body, state))
        failed = replace(state, called=done.called, worked=done.worked)  # it was called, and raised
        for handler in node.handlers:
            done = _join(done, self._inner(handler.body, failed))
        return self._inner(node.finalbody, done)

    def _look(self, node: cst.CSTNode, state: _State) -> _State:
        """What one statement or expression does."""
        reader = _Reader(self._calls, self._params)
        node.visit(reader)
        if reader.hidden:
            raise UnclearError
        return replace(state, called=state.called or reader.called, worked=state.worked or reader.worked)


def _join(one: _State, two: _State) -> _State:
    if one.ended or two.ended:
        return two if one.ended else one
    return _State(one.called and two.called, one.worked or two.worked)


def _is_plain(value: cst.BaseExpression | None) -> bool:
    match value:
        case None | cst.Integer() | cst.Float() | cst.SimpleString():
            return True
        case cst.Name(value=word):
            return word in {"None", "True", "False"}
        case cst.Tuple(elements=elements):
            return all(_is_plain(one.value) for one in elements)
    return False


class _Reader(cst.CSTVisitor):
    """Calls of the original within a statement, and calls that get a parameter of ours."""

    def __init__(self, calls: frozenset[int], params: set[str]) -> None:
        super().__init__()
        self._calls = calls
        self._params = params
        self._depth = 0
        self.called = self.worked = self.hidden = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._depth += isinstance(node, _DEFERRED | _CHOICES)
        if id(node) in self._calls:
            self.called = True
            self.hidden = self.hidden or self._depth > 0
        elif isinstance(node, cst.Call):
            self.worked = self.worked or any(_root(arg.value) in self._params for arg in node.args)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._depth -= isinstance(original_node, _DEFERRED | _CHOICES)


def _root(node: cst.BaseExpression) -> str | None:
    while isinstance(node, cst.Attribute | cst.Subscript):
        node = node.value
    return node.value if isinstance(node, cst.Name) else None
