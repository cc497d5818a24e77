"""The library's door: few names, all documented, nothing imported before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import layline

LIBRARY = (Path(__file__).parents[2] / "docs" / "library.md").read_text()


def test_every_public_name_exists_and_is_documented() -> None:
    assert 20 <= len(layline.__all__) <= 35
    for name in layline.__all__:
        found = getattr(layline, name)
        assert found.__doc__, name
        assert f"`{name}`" in LIBRARY, name


def test_importing_layline_imports_nothing_heavy() -> None:
    heavy = ("pydantic", "rich", "jinja2", "numpy", "click", "yaml")
    code = f"import sys, layline; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_starts_without_heavy_imports() -> None:
    code = (
        "import sys; from layline.cli.main import layline; print([n for n in ('pydantic', 'rich', 'jinja2', "
        "'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
