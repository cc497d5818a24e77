"""Which gate judged: verdicts of two gates may differ, and only the name says that they are two."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import layline

LENGTH = 12


@lru_cache(maxsize=1)
def name_gate() -> str:
    """Layline's version and a digest of everything that measures and judges, `1.2.3+0123456789ab`."""
    root = Path(layline.__file__).parent / "campaign"
    found = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".c")):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return f"{layline.__version__}+{found.hexdigest()[:LENGTH]}"
