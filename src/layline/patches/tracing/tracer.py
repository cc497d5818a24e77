"""Watches modules and classes of upstream inside a traced process; copied there as `sitecustomize`.

Runs in the user's interpreter: the standard library alone, no import of Layline. Every write onto a watched module is
noted with the line that does it; what became of names and class attributes is compared when the process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import sys
import types
from typing import Any

_PACKAGES = tuple(name for name in os.environ.get("LAYLINE_TRACE_PACKAGES", "").split(",") if name)
_OUT = os.environ.get("LAYLINE_TRACE_OUT", "")
_snapshots: dict[str, tuple[types.ModuleType, dict[str, Any], dict[str, tuple[type, dict[str, Any]]]]] = {}
_notes: set[str] = set()
_OF_ITS_OWN = ("__dict__", "__weakref__", "__doc__", "__abstractmethods__", "_abc_impl", "__builtins__", "__cached__")


def _is_watched(name: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in _PACKAGES)


def _note(**row: Any) -> None:
    """One line per fact, written at once: a process may end without warning."""
    text = json.dumps(row, sort_keys=True)
    if text not in _notes:
        _notes.add(text)
        with open(os.path.join(_OUT, f"{os.getpid()}.jsonl"), "a", encoding="utf-8") as file:
            file.write(text + "\n")


def _describe(value: Any) -> dict[str, Any]:
    """Where a value comes from: its name and the file and line of its code."""
    function = getattr(value, "func", value)
    function = getattr(function, "__func__", function)
    for wrapper in ("fget", "__wrapped__"):
        if not hasattr(function, "__code__") and getattr(function, wrapper, None) is not None:
            function = getattr(function, wrapper)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", None) or type(value).__name__
    module = getattr(function, "__module__", None) or ""
    file = code.co_filename if code is not None else getattr(sys.modules.get(str(module)), "__file__", "") or ""
    return {"value": f"{module}.{name}", "file": str(file), "line": code.co_firstlineno if code else 0}


def _find_writer() -> tuple[str, int, str]:
    """The nearest line outside this file and the import machinery."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen"):
            return file, frame.f_lineno, str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
    return "", 0, ""


class _Watched(types.ModuleType):
    """A module of upstream that says who writes onto it."""

    def __setattr__(self, name: str, value: Any) -> None:
        _note_write(self.__name__, name, value, "set")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        _note_write(self.__name__, name, None, "deleted")
        super().__delattr__(name)


def _note_write(module: str, name: str, value: Any, how: str) -> None:
    if not _is_watched(module):
        return  # a module of ours that took over the class of one of upstream
    if name.startswith("__") or (isinstance(value, types.ModuleType) and value.__name__ == f"{module}.{name}"):
        return  # the import machinery binds a submodule to its package
    file, line, by = _find_writer()
    if file and not _is_watched(by):
        _note(kind="write", target=f"{module}.{name}", how=how, by_file=file, by_line=line, **_describe(value))


def _watch(module: types.ModuleType) -> None:
    name = getattr(module, "__name__", "")
    if not _is_watched(name) or name in _snapshots:
        return
    names = dict(vars(module))
    classes = {
        key: (value, dict(vars(value)))
        for key, value in names.items()
        if isinstance(value, type) and getattr(value, "__module__", None) == name
    }
    _snapshots[name] = (module, names, classes)
    _note(kind="module", target=name)
    if type(module) is types.ModuleType:
        module.__class__ = _Watched


class _Finder:
    """Lets the other finders find, and watches what they load."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not _is_watched(name):
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                _hook(spec.loader)
                return spec
        return None


def _hook(loader: Any) -> None:
    run = getattr(loader, "exec_module", None)
    if run is None:
        return

    def exec_module(module: types.ModuleType) -> None:
        run(module)
        _watch(module)

    with contextlib.suppress(AttributeError):  # a loader that is one for all modules cannot be told what to do
        loader.exec_module = exec_module


def _compare(owner: str, before: dict[str, Any], now: dict[str, Any], kind: str) -> None:
    for name in sorted(set(before) | set(now)):
        if name in _OF_ITS_OWN:
            continue
        if name not in now:
            _note(kind=kind, target=f"{owner}.{name}", how="deleted", value="", file="", line=0)
        elif name not in before or before[name] is not now[name]:
            _note(kind=kind, target=f"{owner}.{name}", how="set", **_describe(now[name]))


def _finish() -> None:
    for name, (module, names, classes) in list(_snapshots.items()):
        for key, (kind, before) in classes.items():
            _compare(f"{name}.{key}", before, dict(vars(kind)), "class")
        _compare(name, names, dict(vars(module)), "end")


def _load_next() -> None:
    """The `sitecustomize` of the environment, which this one stands in front of."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != here]
    ours = sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ImportError):
        importlib.import_module("sitecustomize")
    if ours is not None:
        sys.modules.setdefault("sitecustomize", ours)


if _OUT and _PACKAGES:
    _note(kind="process", target=" ".join(sys.orig_argv) if hasattr(sys, "orig_argv") else sys.executable)
    sys.meta_path.insert(0, _Finder())
    atexit.register(_finish)
    for _module in list(sys.modules.values()):  # of the standard library some are there before this
        _watch(_module)
    _load_next()
