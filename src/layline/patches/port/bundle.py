"""A bundle that installs one patch into a vanilla upstream: installer, vendored code, README, smoke test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.effect_ids import is_effect_id
from layline.core.patch import Holder, Moment
from layline.patches.port.slicing import Slice
from layline.patches.port.vendor import write_modules

if TYPE_CHECKING:
    from layline.core.patch import Effect, Patch
    from layline.interpreter.config_paths import Roots
    from layline.interpreter.modules import Modules
    from layline.source.tree import Tree

_INSTALLER = '''"""Installs the patch `{id}` of {source}.

{description}

    from {package} import apply, remove, is_applied

`apply(config)` runs the original installer; `remove()` restores what was there; `is_applied()` says which is the case.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

TARGETS: tuple[str, ...] = {targets}
"""Upstream symbols that are rebound."""
ENVIRONMENT: tuple[str, ...] = {environment}
ROOT: tuple[str, ...] = {root}
"""Where the installer looks for its config on the context it is given."""

_MISSING: Any = object()
_before: dict[str, Any] | None = None
_environment: dict[str, str | None] = {{}}


class Box(dict[str, Any]):
    """A namespace that answers attributes and items alike; what is not there is None."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def apply(config: dict[str, Any] | None = None, **context: Any) -> None:
    """Run the original installer; tests around its calls stayed behind (see the README). Applying twice does nothing."""
    global _before
    if _before is not None:
        return
    from {vendored} import {handler} as install

    before = {{target: _snapshot(target) for target in TARGETS}}
    loaded = {{target: sys.modules.get(target, _MISSING) for target in TARGETS}}
    _environment.update({{name: os.environ.get(name) for name in ENVIRONMENT}})
    try:
        install({call})
    except BaseException:
        _restore(before, loaded)
        raise
    if TARGETS and not any(_changed(target, old) for target, old in before.items()):
        _restore(before, loaded)
        raise RuntimeError("the installer set nothing: a test inside it does not hold here, or a config key is missing (see the README)")
    _before = {{"values": before, "loaded": loaded}}


def remove() -> None:
    """Put back what was there before `apply`."""
    global _before
    if _before is not None:
        _restore(_before["values"], _before["loaded"])
        _before = None


def is_applied() -> bool:
    """True while at least one target is rebound; where the patch rebinds none, from `apply` to `remove`."""
    return _before is not None and (not TARGETS or any(_changed(target, old) for target, old in _before["values"].items()))


def _changed(target: str, old: tuple[Any, Any]) -> bool:
    value, copy = old
    now = _read(target)
    return now is not value or (copy is not None and now != copy)


def _snapshot(target: str) -> tuple[Any, Any]:
    """What stands there, and the entries of a table: registries are changed in place."""
    value = _read(target)
    return value, dict(value) if isinstance(value, dict) else None


def _context(config: dict[str, Any], more: dict[str, Any]) -> Box:
    box: Any = _box(config)
    for name in reversed(ROOT):
        box = Box({{name: box}})
    box.update(more)
    return box


def _box(value: Any) -> Any:
    return Box({{key: _box(item) for key, item in value.items()}}) if isinstance(value, dict) else value


def _owner(target: str) -> tuple[Any, str]:
    """The object that holds the last name of a target: the longest importable module, then attributes."""
    parts = target.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for name in parts[end:-1]:
            found = getattr(found, name, _MISSING)
        return found, parts[-1]
    return _MISSING, parts[-1]


def _read(target: str) -> Any:
    owner, name = _owner(target)
    if owner is _MISSING:
        return _MISSING
    return vars(owner).get(name, _MISSING) if hasattr(owner, "__dict__") else getattr(owner, name, _MISSING)


def _restore(values: dict[str, Any], loaded: dict[str, Any]) -> None:
    for target, (old, copy) in values.items():
        owner, name = _owner(target)
        if copy is not None:
            old.clear()
            old.update(copy)
        if owner is _MISSING:
            pass
        elif old is not _MISSING:
            setattr(owner, name, old)
        elif name in vars(owner):
            delattr(owner, name)
        if loaded[target] is _MISSING and old is _MISSING:
            sys.modules.pop(target, None)
    for name, old in _environment.items():
        if old is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = old
    _environment.clear()
'''
_SMOKE = '''"""Run beside a vanilla upstream: `python {package}_smoke_test.py ['{{"key": value}}' ['{{"target": [arguments]}}']]`.

It calls each patched name: with the arguments given for it, or with none if it needs none.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

from {package} import TARGETS, _read, apply, is_applied, remove


def exercise(target: str, given: list[Any] | None) -> str:
    put = _read(target)
    try:
        known = inspect.signature(put).parameters.values()
    except (TypeError, ValueError):
        return "cannot be called" if not callable(put) else "not called"
    needed = [one.name for one in known if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if given is None and needed:
        return "not called, takes " + ", ".join(needed)
    try:
        put(*(given or ()))
    except Exception as error:
        if given is not None:
            raise
        return f"called, raised {{type(error).__name__}}: {{error}}"
    return "called"


def main() -> None:
    config = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {config}
    calls = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {{}}
    assert not is_applied()
    apply(config)
    assert is_applied(), "nothing was rebound"
    told = [f"{{target}} ({{exercise(target, calls.get(target))}})" for target in TARGETS]
    remove()
    assert not is_applied(), "something was not put back"
    print("rebound and restored:", "; ".join(told) or "no symbol")


if __name__ == "__main__":
    main()
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a bundle comes from."""

    repository: str
    commit: str
    license_note: str = ""


def build_bundle(
    patch: Patch,
    taken: tuple[Slice, Modules, Tree],
    roots: Roots,
    origin: Origin,
    registers: frozenset[str],
    beside: tuple[str, ...] = (),
) -> dict[str, str]:
    """Path → text of every file of the bundle; `beside`: what else the installer sets."""
    found, modules, tree = taken
    package = name_package(patch.id)
    module = modules.names_by_path[patch.file]
    inside = {name.partition(".")[0] for name in found.modules}
    named = (*(effect.target or "" for effect in patch.effects if is_set_at_once(effect)), *beside)
    targets = tuple(dict.fromkeys(one for one in named if one.partition(".")[0] not in inside))
    environment = tuple(
        dict.fromkeys(key.removeprefix("env:") for e in patch.effects for key in e.mutates if key.startswith("env:"))
    )
    root = min(roots.learned, default=(), key=len)
    handler = patch.handler.rpartition(".")[2]
    values = {
        "id": patch.id,
        "package": package,
        "targets": repr(targets),
        "environment": repr(environment),
        "root": repr(root),
        "source": f"{origin.repository} at {origin.commit}",
        "description": " ".join(patch.description.split()).replace('"""', "'''"),
        "vendored": f"{package}.vendor.{module}",
        "handler": handler,
        # a registered handler takes the engine's context, any other function its own parameters
        "call": "**context" if is_effect_id(patch.id) else "_context(config or {}, context)",
    }
    files = {f"{package}/__init__.py": _INSTALLER.format(**values), f"{package}/vendor/__init__.py": ""}
    for path, text in write_modules(found, modules, tree, package, registers).items():
        files[f"{package}/vendor/{path}"] = text
    files[f"{package}_smoke_test.py"] = _SMOKE.format(
        package=package,
        config="{" + ", ".join(f"{key.partition('.')[0]!r}: True" for key in patch.guard.keys if "." not in key) + "}",
    )
    return files


def is_set_at_once(effect: Effect) -> bool:
    """Whether installing sets a name of a module or class, which can be put back."""
    return bool(effect.target) and effect.moment is Moment.INSTALL and effect.holder is not Holder.OBJECT


def name_package(patch_id: str) -> str:
    return "ported_" + re.sub(r"\W+", "_", patch_id).strip("_").lower()
