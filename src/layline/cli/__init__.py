"""The door for people: parse → app → render → exit code."""

from __future__ import annotations

import sys
from typing import NoReturn

from layline.core.environment import explain
from layline.core.memory import end_at_once

__all__ = ["enter", "main"]

try:
    from layline.cli.main import main
except ModuleNotFoundError as error:  # what parses the command line is not installed
    _fault = explain(error)
    if _fault is None:
        raise
    _said = f"error: {_fault.message}\nhint: {_fault.hint}\n"

    def main(arguments: list[str] | None = None) -> NoReturn:  # noqa: ARG001  as the real one
        """Say what is missing, whatever was asked."""
        sys.stderr.write(_said)
        sys.exit(2)


def enter() -> NoReturn:
    """The whole program, as a process of its own."""
    end_at_once(main)
