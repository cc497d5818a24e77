"""What the machine got wrong is told as such; everything else stays a bug of ours."""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path

import pytest

from layline.core.environment import OPTIONAL, REQUIRED, explain, install, install_extra

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_table_says_what_the_packaging_says() -> None:
    assert sorted(REQUIRED.values()) == sorted(PROJECT["dependencies"])
    assert {extra: sorted(modules.values()) for extra, modules in OPTIONAL.items()} == {
        extra: sorted(needs) for extra, needs in PROJECT["optional-dependencies"].items()
    }


@pytest.mark.parametrize(
    ("module", "says", "hint"),
    [
        ("pydantic", "pydantic is not installed; Layline needs it", "'pydantic>=2.8'"),
        ("yaml", "yaml is not installed; Layline needs it", "'pyyaml>=6.0'"),
        ("numpy.linalg", "numpy is not installed; it is needed for campaigns", "'numpy>=1.26' 'scipy>=1.11'"),
        ("mcp.server", "mcp is not installed; it is needed for the server for agents", "'mcp>=2'"),
        ("lsprotocol", "lsprotocol is not installed; it is needed for the server for editors", "'pygls>=2'"),
        ("weasyprint", "weasyprint is not installed", "pip install weasyprint"),
        ("pydantic_core", "pydantic_core is not installed", "--force-reinstall"),
        ("_sqlite3", "This Python was built without the module _sqlite3", "another Python"),
    ],
)
def test_a_missing_package_is_a_sentence_and_a_command(module: str, says: str, hint: str) -> None:
    found = explain(ModuleNotFoundError("gone", name=module))
    assert found is not None
    assert says in found.message
    assert hint in (found.hint or "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_no_more_is_a_sentence(number: int) -> None:
    found = explain(OSError(number, "Whatever", "docs/report.md"))
    assert found is not None
    assert found.message.startswith("docs/report.md cannot be")
    assert found.message.endswith("written: Whatever.")
    assert explain(OSError(number, "Whatever")) is not None


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("gone", name="layline.campaign.gone"),
        ModuleNotFoundError("gone"),
        ImportError("cannot import name"),
        OSError(errno.EBADF, "Bad file descriptor"),
        OSError("without a number"),
        KeyError("pydantic"),
    ],
)
def test_everything_else_is_ours(error: Exception) -> None:
    assert explain(error) is None


def test_commands_are_quoted_for_a_shell() -> None:
    assert install("rich", "jinja2") == "python -m pip install 'rich>=13.7' 'jinja2>=3.1'"
    assert install_extra("pdf") == "python -m pip install 'typst>=0.13'"
