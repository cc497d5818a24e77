"""The version a tree declares, wherever its build file says that it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.history import read_version

DYNAMIC = '[project]\nname = "x"\ndynamic = ["version"]\n[tool.setuptools.dynamic]\nversion = {attr = "ns.core.package_info.__version__"}\n'
PARTS = "MAJOR = 0\nMINOR = 16\nPATCH = 1\nPRE_RELEASE = 'rc0'\nVERSION = (MAJOR, MINOR, PATCH, PRE_RELEASE)\n__version__ = '.'.join(map(str, VERSION[:3]))\n"
DECLARED = [
    # idiom, files, version, path
    (
        "attr below a namespace",
        {"pyproject.toml": DYNAMIC, "ns/core/package_info.py": PARTS, "ns/core/__init__.py": ""},
        "0.16.1rc0",
        "ns/core/package_info.py",
    ),
    (
        "attr that a package imports",
        {
            "pyproject.toml": DYNAMIC.replace("package_info.__", "__"),
            "ns/core/__init__.py": "from .package_info import (\n    __version__,\n)\n",
            "ns/core/package_info.py": "__version__ = '1.2'\n",
        },
        "1.2",
        "ns/core/package_info.py",
    ),
    (
        "attr in src",
        {"pyproject.toml": DYNAMIC, "src/ns/core/package_info.py": "__version__ = '3.4'\n"},
        "3.4",
        "src/ns/core/package_info.py",
    ),
    (
        "file",
        {
            "pyproject.toml": DYNAMIC.replace('attr = "ns.core.package_info.__version__"', 'file = "ns/VERSION"'),
            "ns/VERSION": "5.6\n",
        },
        "5.6",
        "ns/VERSION",
    ),
    (
        "hatch",
        {
            "pyproject.toml": '[project]\nname = "x"\ndynamic = ["version"]\n[tool.hatch.version]\npath = "ns/about.py"\n',
            "ns/about.py": "__version__ = '7.8'\n",
        },
        "7.8",
        "ns/about.py",
    ),
    ("poetry", {"pyproject.toml": '[tool.poetry]\nname = "x"\nversion = "9.1"\n'}, "9.1", "pyproject.toml"),
    (
        "setup.cfg attr",
        {
            "setup.cfg": "[metadata]\nversion = attr: ns.core.__version__\n",
            "ns/core/__init__.py": "__version__ = '2.3'\n",
        },
        "2.3",
        "ns/core/__init__.py",
    ),
    (
        "below a namespace, nowhere declared",
        {"ns/core/__init__.py": "__version__ = '4.5'\n"},
        "4.5",
        "ns/core/__init__.py",
    ),
]


@pytest.mark.parametrize(("name", "files", "version", "path"), DECLARED, ids=[row[0] for row in DECLARED])
def test_declared_versions(tmp_path: Path, name: str, files: dict[str, str], version: str, path: str) -> None:
    history = History.start(tmp_path / "up")
    commit = history.commit("all", dict(files))
    found = read_version(open_repository(history.path), commit, ("ns",))
    assert found is not None
    assert (found.text, found.evidence.path) == (version, path)
