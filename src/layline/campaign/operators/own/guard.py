"""Call what an operator file defines: whatever goes wrong inside is told as the user's own, with its line."""

from __future__ import annotations

import functools
import signal
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from layline.campaign.operators.own.opened import refuse_reading
from layline.errors import ConfigError, Ended, Error

FUNCTIONS = ("reference", "legal", "inputs", "flops", "bytes", "check")
LIMIT_S = 120.0
"""How long one call of a user's function may take: a measuring run makes hundreds of them for each shape."""
HINT = "Correct the file; `layline campaign check-operator FILE` tries every function in it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The files that a user's functions were written in, and what was read with them."""

    names: tuple[str, ...]
    """As Python names them where something is raised."""
    folder: Path
    places: frozenset[Path]


class Endless(BaseException):
    """A user's function was stopped: no `except Exception` of the user's may hold it up."""


def guard_functions(said: SimpleNamespace, written: Written) -> SimpleNamespace:
    """The same, every function of it guarded: also those given by name, and those that tell a tensor's extents."""
    found = dict(vars(said))
    for name in FUNCTIONS:
        if name in found:
            found[name] = _guard_all(found[name], name, written)
    found["tensors"] = {
        name: replace(one, axes=_guard_all(one.axes, f"tensors[{name!r}].axes", written))
        for name, one in said.tensors.items()
    }
    return SimpleNamespace(**found)


def _guard_all(given: Any, name: str, written: Written) -> Any:
    if isinstance(given, Mapping):
        made = {one: guard(one, name, written) for one in given.values()}  # one function may draw several inputs
        return {key: made[one] for key, one in given.items()}
    return guard(given, name, written) if callable(given) else given


def guard(function: Callable[..., Any], name: str, written: Written) -> Callable[..., Any]:
    """What it raises, and that it leaves the process, is one sentence with the file's line; it reads no further files."""

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        try:
            with limit(), refuse_reading(name, written.folder, written.places):
                return function(*given)
        except (Error, Ended):
            raise
        except Endless as error:
            raise tell_endless(error, written.names, name) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's own code may raise anything
            raise tell(error, written.names, f"{name} raises ") from None

    return call


@contextmanager
def limit() -> Iterator[None]:
    """Stop what takes longer than a call may. Only a main thread can be stopped; an outer limit goes on counting."""
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def stop(_number: int, _frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tell_endless(error: Endless, names: Collection[str], what: str) -> ConfigError:
    """The sentence for something that did not come back, with the line it had come to."""
    found = find_place(error, names) or f"{next(iter(names))}: "
    return ConfigError(
        f"{found}{what} was stopped here: it had not returned after {LIMIT_S:g} s",
        hint="End the loop, or give smaller shapes: hundreds of calls are made for each shape.",
    )


def tell(error: BaseException, names: Collection[str], what: str = "", place: str = "") -> ConfigError:
    """The sentence for something that the user's own code raised."""
    found = find_place(error, names) or place or f"{next(iter(names))}: "
    raised = type(error).__name__
    said = f"{raised}: {error}" if str(error) else raised
    return ConfigError(f"{found}{what}{said}", hint=HINT)


def find_place(error: BaseException, names: Collection[str]) -> str:
    """`FILE:LINE: ` of the last line of these files on the way to an error; empty where there is none."""
    lines = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in names]
    return f"{lines[-1].filename}:{lines[-1].lineno}: " if lines else ""


def find_bad_functions(said: SimpleNamespace) -> list[str]:
    """Names that must be functions, or functions by name, and are not."""
    found = []
    for name in FUNCTIONS:
        given = getattr(said, name, None)
        parts = given.values() if isinstance(given, Mapping) else () if given is None else (given,)
        if not all(callable(one) for one in parts):
            found.append(name)
    return found
