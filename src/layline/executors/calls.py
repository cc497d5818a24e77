"""The worker's side: call a function of ours by its dotted name and say what came of it, in plain JSON."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable
from contextvars import ContextVar

from layline.errors import Error
from layline.executors.machine import digest_code
from layline.executors.values import Plain, Tell, ignore

ANSWER, MESSAGE, HINT, SAID = "answer", "message", "hint", "said"
_OURS = ("layline", "bench")
_listener: ContextVar[Tell] = ContextVar("_listener", default=ignore)


def say(said: str) -> None:
    """For a function that is called here: tell whoever asked how far it is."""
    _listener.get()(said)


def call(name: str, job: Plain, tell: Tell = ignore) -> Plain:
    """`package.module:function` of Layline or its benchmarks, called with a job; what it raises becomes part of the reply."""
    _listener.set(tell)
    try:
        return {ANSWER: _find(name)(job)}
    except Error as error:
        return {MESSAGE: error.message, HINT: error.hint}
    except Exception as error:  # noqa: BLE001  the worker's boundary: the driver raises it again
        return {MESSAGE: f"{name} failed: {type(error).__name__}: {error}", HINT: None}


def call_same(name: str, job: Plain, code: str, tell: Tell = ignore) -> Plain:
    """As `call`, if the code here is the code of whoever asks: machines join a cluster at any time."""
    if digest_code() != code:
        host = platform.node()
        return {MESSAGE: f"Another version of Layline runs on {host}.", HINT: "Install the same version on every node."}
    return call(name, job, tell)


def _find(name: str) -> Callable[[Plain], Plain]:
    module, _, function = name.partition(":")
    if module.partition(".")[0] not in _OURS:
        raise Error(f"{name!r} is not a function of Layline.")
    found: Callable[[Plain], Plain] = getattr(importlib.import_module(module), function)
    return found
