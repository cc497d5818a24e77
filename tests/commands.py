"""Runs whole commands as a user does: a process of its own, a real exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import layline as package

_SOURCE = str(Path(package.__file__).resolve().parent.parent)
"""The same layline that the tests import, wherever the command runs."""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def layline(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> Result:
    """Run `layline …` in `cwd`; its output is a pipe, where nothing is wrapped."""
    done = subprocess.run(
        [sys.executable, "-m", "layline", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": _SOURCE, "COLUMNS": "", **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=300,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
