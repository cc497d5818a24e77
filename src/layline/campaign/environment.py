"""The environment a kernel is built and run in: is the package installed from this tree, which compiler, which GPU."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

from layline.campaign.handoff_request import EDITABLE, Prerequisite, Request
from layline.source.setup_script import read_setup_name

COMPILERS = {"C": ("cc",), "HIP": ("hipcc",)}
ALL_COMPILERS = ("hipcc", "nvcc", "cc")
"""Triton and other embedded languages bring their own and use one of these for their launchers."""
_PROBE = "import importlib.metadata as m, sys; print(m.distribution(sys.argv[1]).read_text('direct_url.json') or '{}')"


def check_environment(root: Path, request: Request, python: str) -> tuple[list[Prerequisite], dict[str, str]]:
    """Rows for the hand-off, and what was seen of the machine."""
    seen = {name: value for name, value in (("gpu", find_gpu()), ("driver", find_driver())) if value}
    rows = [
        check_install(root, request.gpu, python),
        _row(
            "Compiler",
            find_compiler(list_compilers(request.language, request.gpu)),
            "on the PATH",
            f"no {' or '.join(list_compilers(request.language, request.gpu))} on the PATH",
        ),
        _row("GPU and architecture", seen.get("gpu"), "rocminfo or nvidia-smi", "no GPU tool answers here"),
        _row("Driver", seen.get("driver"), "the kernel module", "no amdgpu or nvidia module is loaded"),
    ]
    if request.gpu == "cpu":
        rows[2:] = [
            replace(row, value=row.value or "not needed", found=row.found if row.value else "the target is the CPU")
            for row in rows[2:]
        ]
    return rows, seen


def _row(name: str, value: str | None, found: str, missing: str) -> Prerequisite:
    return Prerequisite(name=name, value=value, found=found if value else f"missing: {missing}")


def check_install(root: Path, gpu: str, python: str) -> Prerequisite:
    """Whether the package is installed editable from this tree; edits have no effect otherwise."""
    name = read_package_name(root)
    name_row = "Package installed editable"
    if name is None:
        return Prerequisite(
            name=name_row, value="not a package", found="no pyproject.toml or setup.py at the root: nothing to install"
        )
    reinstall = f"GPU_ARCHS={gpu} {EDITABLE}" if gpu.startswith("gfx") else EDITABLE
    answer = _run((python, "-I", "-c", _PROBE, name))
    if answer is None:
        return Prerequisite(
            name=name_row,
            value=None,
            found=f"missing: {name} is not installed for {python}; run `{reinstall}`, or name the interpreter that has it with --python",
        )
    try:
        origin = json.loads(answer)
    except json.JSONDecodeError:
        origin = {}
    place = Path(unquote(urlparse(origin.get("url", "")).path)) if origin.get("url", "").startswith("file:") else None
    if place is not None and origin.get("dir_info", {}).get("editable") and place.resolve() == root.resolve():
        return Prerequisite(name=name_row, value=name, found="direct_url.json: editable, from this tree")
    how = "from another tree" if place and place.resolve() != root.resolve() else "as a copy"
    return Prerequisite(
        name=name_row,
        value=None,
        found=f"missing: {name} is installed {how}, edits here have no effect; run `{reinstall}`",
    )


def read_package_name(root: Path) -> str | None:
    """The distribution's name, from pyproject.toml or the literal in setup.py; nothing of the project is run."""
    try:
        plain = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
        name = plain.get("project", {}).get("name")
        if isinstance(name, str):
            return name
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        pass
    try:
        return read_setup_name((root / "setup.py").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def list_compilers(language: str, gpu: str) -> tuple[str, ...]:
    """Those that can build this language for this target: nvcc makes nothing for an AMD architecture."""
    fitting = COMPILERS.get(language, ALL_COMPILERS)
    if gpu.startswith("gfx"):
        return tuple(one for one in fitting if one != "nvcc")
    return tuple(one for one in fitting if one != "hipcc") or fitting if gpu.startswith("sm") else fitting


def find_compiler(names: tuple[str, ...]) -> str | None:
    """The first of them there is."""
    for name in names:
        if shutil.which(name):
            answer = _run((name, "--version"))
            return answer.splitlines()[0].strip() if answer else name
    return None


def find_gpu() -> str | None:
    """The architecture (`gfx950`) or product name of the first GPU."""
    answer = _run(("rocminfo",))
    found = re.search(r"\bgfx[0-9a-f]{3,4}\b", answer) if answer else None
    if found:
        return found[0]
    answer = _run(("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"))
    return answer.splitlines()[0].strip() if answer else None


def find_driver() -> str | None:
    for path in ("/sys/module/amdgpu/version", "/proc/driver/nvidia/version"):
        try:
            return Path(path).read_text(encoding="utf-8").splitlines()[0].strip()
        except (OSError, IndexError):
            continue
    return None


def _run(command: tuple[str, ...]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None
