"""A state that is changed for a moment is put back, however the moment ends."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from layline.interpreter.calls import Interpreter
from layline.interpreter.values import Function
from snippets import open_reading

_STATE = ("log", "frames", "deferred", "steps", "limit", "follows", "stored", "journal")


class Stopped(Exception):
    """Raised in the middle of a reading."""


@pytest.fixture
def machine(tmp_path: Path) -> Interpreter:
    return open_reading(tmp_path, {"own/a.py": "def f(x):\n    return g(x)\n"}).machine


def _find(machine: Interpreter) -> Function:
    module = machine.modules.find("own.a")
    assert module is not None
    machine.read_module(module)
    found = module.scope.names["f"]
    assert isinstance(found, Function)
    return found


@pytest.mark.parametrize("way", ["call_from", "run_deferred", "call_function"])
def test_what_breaks_off_leaves_the_state_as_it_was(
    machine: Interpreter, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = _find(machine)
    machine.push(function.module, "")

    def stop(*_: object, **__: object) -> Any:
        raise Stopped

    before = {name: getattr(machine, name) for name in _STATE}
    depth = len(machine.frames)
    monkeypatch.setattr(machine, "run_block", stop)
    arguments: dict[str, tuple[Any, ...]] = {
        "call_from": (function, []),
        "run_deferred": (function,),
        "call_function": (function, [], {}, ast.Constant(None)),
    }
    with pytest.raises(Stopped):
        getattr(machine, way)(*arguments[way])
    assert {name: getattr(machine, name) for name in _STATE} == before
    assert len(machine.frames) == depth
