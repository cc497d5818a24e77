"""What a machine is, read on the machine itself and never configured."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path

import layline
from layline.executors.processor import name_processor

_SECONDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One place where work is done."""

    host: str
    node: str = ""
    """How the executor calls it; empty where there is only one."""
    processor: str
    cores: int
    accelerators: tuple[str, ...] = ()
    """Identity, product, driver and power limit of each."""
    python: str
    libraries: tuple[str, ...] = ()
    """Those that kernels are run with, and their versions."""
    code: str
    """Digest of Layline's own code."""

    @property
    def kind(self) -> str:
        """What may be compared at all: the same product of accelerator, or the same processor where there is none."""
        products = sorted({name_product(line) for line in self.accelerators})
        return " + ".join(products) if products else self.processor

    def count(self, kind: str) -> int:
        """How many of a kind are here: accelerators of this product, or one, if it is the processor."""
        return sum(name_product(line) == kind for line in self.accelerators) or int(kind == self.processor)

    def only(self, kind: str) -> Machine:
        """The same machine for work of one kind: its accelerators of this product, none where it is the processor."""
        return replace(self, accelerators=tuple(line for line in self.accelerators if name_product(line) == kind))


def name_product(line: str) -> str:
    """The product in what an accelerator says of itself."""
    return line.partition(", ")[2].partition(", ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A machine that is there and cannot say what it is."""

    host: str
    node: str
    why: str
    hint: str


def read_machine(node: str = "") -> Machine:
    return Machine(
        host=platform.node(),
        node=node,
        processor=name_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        accelerators=read_accelerators(),
        python=platform.python_version(),
        libraries=read_libraries(),
        code=digest_code(),
    )


@lru_cache(maxsize=1)
def digest_code() -> str:
    """Of every file of Layline that can change an answer."""
    root = Path(layline.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def read_libraries() -> tuple[str, ...]:
    found = []
    for name in ("numpy", "torch", "triton"):
        with suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return tuple(found)


def read_accelerators() -> tuple[str, ...]:
    """Identity, product, driver and power limit of each, in the driver's order."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    query = "--query-gpu=uuid,name,driver_version,power.limit"
    try:
        out = subprocess.run(
            [tool, query, "--format=csv,noheader"], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return tuple(line.strip() for line in out.stdout.splitlines() if line.strip()) if out.returncode == 0 else ()
