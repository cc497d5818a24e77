"""Installers small enough to read at a glance, put into a real repository and read by the patch explorer."""

from __future__ import annotations

import hashlib
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from histories import History
from layline.config import Backend, Project, Registry, Settings
from layline.git import open_repository
from layline.patches.inventory.read import read_downstream, read_inventory
from layline.patches.inventory.reading import Reading
from layline.source import Tree

if TYPE_CHECKING:
    from layline.core.patch import Inventory, Patch

ENGINE = '''
"""A registry like those in the wild."""
import os

PHASES = ["setup", "before_train", "convert"]


def get_args(ctx):
    config = ctx.extra.get("module_config")
    assert config is not None
    return getattr(config, "params", None)


def get_param(ctx, path, default=None):
    current = get_args(ctx)
    for part in path.split("."):
        current = getattr(current, part, None)
        if current is None:
            return default
    return current if current is not None else default


def register_patch(patch_id, *, description="", backend=None, phase=None, condition=None, priority=50,
                   backend_versions=None, tags=None):
    def decorator(function):
        return function

    return decorator


def enabled_ids():
    raw = os.getenv("OWN_PATCHES", "").strip()
    if not raw or raw.lower() == "all":
        return None
    if raw.lower() == "none":
        return []
    return raw.split(",")
'''
AUTO_IMPORT = """
import importlib
import pkgutil


def _load():
    for info in pkgutil.walk_packages(__path__, prefix=__name__ + "."):
        if not info.name.endswith("_patches"):
            continue
        importlib.import_module(info.name)


_load()
"""
HEAD = """
from own.engine.core import get_args, get_param, register_patch
"""


@dataclass(frozen=True)
class Snippet:
    """A file of a downstream called `own` over an upstream called `up`."""

    name: str
    source: str
    more: tuple[tuple[str, str], ...] = ()
    """Other files of the same downstream: path → text."""


def handler(body: str, *, arguments: str = '"the.id", backend="up", phase="setup"', before: str = "") -> str:
    """A registered handler with this body."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{HEAD}{textwrap.dedent(before)}\n\n@register_patch({arguments})\ndef install(ctx):\n{text}\n"


def read_snippet(
    folder: Path, source: str, more: dict[str, str] | None = None, name: str = "case_patches"
) -> Inventory:
    """The inventory of one file, in a repository of its own."""
    return read_files(folder, {f"own/patches/{name}.py": source, **(more or {})})


def read_files(folder: Path, files: dict[str, str]) -> Inventory:
    return read_inventory(open_reading(folder, files), "up")


def open_reading(
    folder: Path,
    files: dict[str, str],
    registries: dict[str, Registry] | None = None,
    backends: dict[str, Backend] | None = None,
) -> Reading:
    every = {
        "own/__init__.py": "",
        "own/main.py": "import own.patches\n",
        "own/engine/__init__.py": "from own.engine.core import register_patch, get_args, get_param\n",
        "own/engine/core.py": ENGINE,
        "own/patches/__init__.py": AUTO_IMPORT,
        **files,
    }
    digest = hashlib.sha256(repr((sorted(every.items()), registries)).encode()).hexdigest()[:12]
    history = History.start(folder / digest)
    commit = history.commit("all", dict(every))
    settings = Settings(
        project=Project(name="own"),
        registries=registries or {},
        backends=backends
        or {"up": Backend(path="third_party/up", packages=("up",), patches=("own/patches",), integration=("own",))},
    )
    return read_downstream(Tree(open_repository(history.path), commit), settings)


def only(inventory: Inventory) -> Patch:
    assert len(inventory.patches) == 1, [patch.id for patch in inventory.patches]
    return inventory.patches[0]
