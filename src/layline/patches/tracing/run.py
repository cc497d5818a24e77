"""Runs a command of the user's and watches the packages of the backends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from layline.patches.tracing.compare import Records, read_records

if TYPE_CHECKING:
    from layline.core.patch import Inventory
    from layline.workspace.open import Workspace


def find_watched(workspace: Workspace, inventories: list[Inventory]) -> set[str]:
    """The packages of the backends, and the top of every target on another package."""
    configured = {name for one in inventories for name in workspace.settings.backend(one.backend).packages}
    targets = {effect.target for one in inventories for effect in one.every_effect() if effect.target}
    tops = {target.partition(".")[0] for target in targets} - set(sys.stdlib_module_names)
    return configured | tops


def run_traced(words: tuple[str, ...], packages: list[str]) -> tuple[Records, int]:
    """The command's own output goes to stderr, so that ours stays readable."""
    with tempfile.TemporaryDirectory(prefix="layline-trace-") as name:
        folder = Path(name)
        tracer = resources.files("layline.patches.tracing").joinpath("tracer.py").read_text(encoding="utf-8")
        (folder / "hook").mkdir()
        (folder / "hook" / "sitecustomize.py").write_text(tracer, encoding="utf-8")
        before = os.environ.get("PYTHONPATH")
        watched = {
            "PYTHONPATH": os.pathsep.join([str(folder / "hook"), *([before] if before else [])]),
            "LAYLINE_TRACE_OUT": str(folder),
            "LAYLINE_TRACE_PACKAGES": ",".join(packages),
        }
        done = subprocess.run(list(words), env={**os.environ, **watched}, stdout=sys.stderr, check=False)
        return read_records(folder), done.returncode
