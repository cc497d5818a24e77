"""Which files a user's own code opens for reading: what it calls right may hang on every byte of them."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from layline.errors import ConfigError


class _Listening(threading.local):
    """What is heard by each thread: another one may read what it likes meanwhile."""

    def __init__(self) -> None:
        self.sets: list[set[str]] = []


_LISTENING = _Listening()


@contextmanager
def hear_opened() -> Iterator[set[str]]:
    """Absolute paths of what this thread opens for reading meanwhile."""
    _begin_hearing()
    heard: set[str] = set()
    _LISTENING.sets.append(heard)
    try:
        yield heard
    finally:
        _LISTENING.sets.pop()


@cache
def _begin_hearing() -> None:
    """Once in the life of a process: Python has no way to take an audit hook back."""
    sys.addaudithook(_hear)


def _hear(event: str, given: tuple[Any, ...]) -> None:
    if event not in ("open", "ctypes.dlopen") or not _LISTENING.sets:
        return
    name, is_read = given[0], True
    if event == "open":
        _name, mode, flags = given
        is_read = "r" in mode or "+" in mode if isinstance(mode, str) else flags & os.O_ACCMODE != os.O_WRONLY
    if is_read and isinstance(name, (str, bytes, os.PathLike)):
        _LISTENING.sets[-1].add(os.path.abspath(os.fsdecode(name)))  # noqa: PTH100  links are followed where it is used


def find_data(heard: set[str], folder: Path) -> list[Path]:
    """The user's files among them: below the folder, or elsewhere in the project and not imported."""
    imported = _find_imported()
    places = sorted({Path(one) for one in map(_find_source, heard)})
    return [
        one
        for one in dict.fromkeys(place.resolve() for place in places)
        if one.is_file() and not _is_installed(one, folder) and (one.is_relative_to(folder) or str(one) not in imported)
    ]


def _find_imported() -> set[str]:
    return {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}


def _find_source(name: str) -> str:
    """Of what Python compiled earlier, the text it was compiled from."""
    if not name.endswith(".pyc"):
        return name
    try:
        return source_from_cache(name)
    except ValueError:  # compiled by another program, which has its own way of naming
        return name


def _is_installed(place: Path, folder: Path) -> bool:
    """Whether it belongs to Python or the machine, or lies outside the project."""
    installed = [Path(one).resolve() for one in (sys.prefix, sys.base_prefix)]
    if "site-packages" in place.parts or any(map(place.is_relative_to, installed)):
        return True
    elsewhere = map(Path, (tempfile.gettempdir(), "/usr", "/etc", "/proc", "/sys", "/dev"))
    is_in_project = place.is_relative_to(Path.cwd().resolve()) and not any(map(place.is_relative_to, elsewhere))
    return not (place.is_relative_to(folder) or is_in_project)


def read_data(heard: set[str], folder: Path) -> Iterator[tuple[str, bytes]]:
    """What an operator file read while it ran, but for the modules it imported, which are told by themselves."""
    imported = _find_imported()
    for place in find_data(heard, folder):
        if str(place) not in imported:
            yield tell_place(place, folder), place.read_bytes()


@contextmanager
def refuse_reading(what: str, folder: Path, known: Collection[Path]) -> Iterator[None]:
    """While a function of the user's is called, nothing of the project may be read that was not read with its file."""
    with hear_opened() as heard:
        yield
    unknown = [one for one in find_data(heard, folder) if one not in known] if heard else []
    if unknown:
        raise ConfigError(
            f"{what} reads {tell_place(unknown[0], folder)} when it is called: a change of that file would not be noticed.",
            hint="Read it at the top of the operator file: then its bytes are in the ledger.",
        )


def tell_place(place: Path, folder: Path) -> str:
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else str(place)
