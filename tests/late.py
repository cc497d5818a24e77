"""Modules that are imported when a test first uses them.

Every worker collects every file and runs only some: a package that one file needs and that takes a second to import is
not imported by all.
"""

from __future__ import annotations

import importlib
from typing import Any


class Late:
    """Stands for a module until somebody asks it for a name."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest looks at everything a file holds
            raise AttributeError(name)
        return getattr(importlib.import_module(self._module), name)
