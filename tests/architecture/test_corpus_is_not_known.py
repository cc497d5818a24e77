"""The gate must not be written to its corpus: nothing in the package may import, name or read it."""

from __future__ import annotations

from pathlib import Path

import layline

SOURCE = Path(layline.__file__).parent


def test_the_package_does_not_know_the_corpus() -> None:
    known = [path.name for path in SOURCE.rglob("*.py") if "corpus" in path.read_text("utf-8")]
    assert known == []


def test_the_worker_needs_the_standard_library_alone() -> None:
    for path in (SOURCE / "campaign" / "worker").glob("*.py"):
        lines = path.read_text("utf-8").splitlines()
        imported = {line.split()[1].partition(".")[0] for line in lines if line.startswith(("import ", "from "))}
        import sys

        assert imported <= {*sys.stdlib_module_names, "__future__"}, path.name
