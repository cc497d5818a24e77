"""Answers worth keeping, by a digest of what they were read from: paths and blobs, pins, settings, and our own code.

A commit that changes nothing an answer is read from finds the answer of the commit before. `LAYLINE_CHECK=1` finds
every kept answer anew and compares: it is for tests and for doubts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import layline
from layline import codec
from layline.config import Settings
from layline.errors import Error, RecordError
from layline.source import open_cache
from layline.source.memos import Memos

if TYPE_CHECKING:
    from layline.git import TreeEntry
    from layline.workspace.open import Workspace

_ROOMS = (
    "core",
    "git",
    "history",
    "source",
    "workspace",
    "change",
    "interpreter",
    "coupling",
    "executors",
    "patches",
    "gap",
    "upgrade",
    "render",
    "app",
)
"""The packages that can change an answer about code; an edit in any other keeps all answers."""
_NOT_ASKED = ("campaign", "dashboard", "periodic", "lessons", "bench", "demo", "skills", "pdf")
"""Commands of `app` that these answers do not pass through."""
_SUFFIXES = (".py", ".patch", ".diff", ".pth")
_NAMES = frozenset({"pyproject.toml", "setup.cfg"})

Value = TypeVar("Value")


def result_key(*inputs: object) -> str:
    """A digest of the inputs and of Layline's own source: another version never reads an old answer."""
    plain = [
        item if isinstance(item, str | int | list | dict | tuple | type(None)) else codec.encode(item)
        for item in inputs
    ]
    text = json.dumps([own_digest(), plain], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_downstream(workspace: Workspace) -> str:
    """Of everything in the downstream's tree that patches and couplings are read from; the commit itself is no part."""
    configs = tuple(
        f"{folder.rstrip('/')}/" for backend in workspace.settings.backends.values() for folder in backend.configs
    )
    found = hashlib.sha256()
    folders: set[str] = set()
    for entry in workspace.downstream.read_tree(workspace.commit):
        folders.update([entry.path.partition("/src/")[0]] if "/src/" in entry.path else [])
        if _is_read(entry, configs):
            found.update(f"{entry.mode} {entry.oid} {entry.path}\0".encode("utf-8", "surrogatepass"))
    found.update("\0".join(sorted(folders)).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def _is_read(entry: TreeEntry, configs: tuple[str, ...]) -> bool:
    name = entry.path.rpartition("/")[2]
    return (
        entry.is_symlink
        or entry.path.endswith(_SUFFIXES)
        or name in _NAMES
        or (bool(configs) and entry.path.startswith(configs))
    )


def is_checking() -> bool:
    """Whether every kept answer is found anew and compared."""
    return os.environ.get("LAYLINE_CHECK", "") not in {"", "0"}


def open_memos(kind: str, *inputs: object) -> Memos:
    """Rows about parts of a project that depend on these inputs and on our own code."""
    return Memos(open_cache(analyser=f"memo-{kind}"), result_key(*inputs), compare if is_checking() else None)


class Results:
    """Plain JSON objects by key, in Layline's cache; losing it costs time, never an answer."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._cache = open_cache(analyser=f"result-{kind}")

    def load(self, key: str, decode: Callable[[dict[str, Any]], Value]) -> Value | None:
        """The kept value; None where there is none, it cannot be decoded, or it is to be checked."""
        plain = None if is_checking() else self._load(key)
        try:
            return decode(plain) if plain is not None else None
        except (RecordError, KeyError, TypeError, ValueError):  # cut short, or of another shape: found again
            return None

    def store(self, key: str, value: dict[str, Any]) -> None:
        if is_checking():
            compare(f"{self._kind} {key[:12]}", self._load(key), value)
        self._cache.store([(key, json.dumps(value, ensure_ascii=True))])

    def _load(self, key: str) -> dict[str, Any] | None:
        text = self._cache.load([key]).get(key)
        try:
            found = json.loads(text) if text is not None else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


def find_kept(shape: type[Value], kind: str, make: Callable[[], Value], *inputs: object) -> Value:
    """What was made of these inputs before, else what is made now; it is kept for the next time."""
    results, key = Results(kind), result_key(kind, *inputs)
    known = results.load(key, lambda plain: codec.decode(shape, plain, where="cache"))
    if known is None:
        known = make()
        results.store(key, codec.encode(known))
    return known


def compare(what: str, kept: dict[str, Any] | None, fresh: dict[str, Any]) -> None:
    """Raise an error that names the first difference; nothing was kept: nothing to compare."""
    if kept is None:
        return
    difference = next(_find_differences(kept, json.loads(json.dumps(fresh)), ""), None)
    if difference is not None:
        raise Error(
            f"LAYLINE_CHECK: the kept answer ({what}) differs from the fresh one: {difference}.",
            hint="This is a bug of Layline: please report it with the commit; `layline cache clear` helps for now.",
        )


def _find_differences(kept: Any, fresh: Any, where: str) -> Iterator[str]:
    match kept, fresh:
        case dict(), dict():
            for key in sorted({*kept, *fresh}):
                if where or key != "commit":  # an answer is stamped with the commit it is asked for
                    yield from _find_differences(kept.get(key), fresh.get(key), f"{where}.{key}")
        case list(), list() if len(kept) == len(fresh):
            for number, (one, two) in enumerate(zip(kept, fresh, strict=True)):
                yield from _find_differences(one, two, f"{where}[{number}]")
        case _ if kept != fresh:
            yield f"{where.lstrip('.')} was {str(kept)[:200]} and is {str(fresh)[:200]}"


def name_program() -> str:
    """Layline's version and a digest of its source, `1.2.3+0123456789ab`."""
    return f"{layline.__version__}+{own_digest()[:12]}"


@lru_cache(maxsize=1)
def own_digest() -> str:
    root = Path(layline.__file__).parent
    found = hashlib.sha256()
    for path in sorted((*root.glob("*.py"), *(path for room in _ROOMS for path in (root / room).rglob("*.py")))):
        name = path.relative_to(root).as_posix()
        if not name.removeprefix("app/").startswith(_NOT_ASKED) or not name.startswith("app/"):
            found.update(name.encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def find_inputs(workspace: Workspace) -> tuple[object, ...]:
    """Everything that an answer about our code depends on: the downstream, its settings, each pin and whether it is
    here.
    """
    return workspace.downstream.name, digest_downstream(workspace), workspace.settings, find_pins(workspace)


def find_judged(workspace: Workspace) -> tuple[object, ...]:
    """The same for inventories and drift, which name no address of the downstream."""
    return digest_downstream(workspace), leave_out_unasked(workspace.settings), find_pins(workspace)


def leave_out_unasked(settings: Settings) -> Settings:
    """Settings without those that no reader or judge of patches looks at: an edit of them changes no such answer."""
    backends = {
        key: replace(one, ref="", areas={}, churn={}, dependencies=()) for key, one in settings.backends.items()
    }
    return Settings(
        project=replace(settings.project, repository=None, docs=""), backends=backends, registries=settings.registries
    )


def find_pins(workspace: Workspace) -> list[tuple[str, str]]:
    """Each backend with its pin, or with why there is none."""
    pins: list[tuple[str, str]] = []
    for key in workspace.settings.backends:
        try:
            pin = workspace.find_pinned(key).commit
        except Error as error:
            pin = error.message
        pins.append((key, pin))
    return pins
