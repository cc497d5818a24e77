"""The version a tree declares, wherever its build file says that it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source.declared_version import read_version

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


VERSIONS = [
    ({"pyproject.toml": '[project]\nname = "k"\nversion = "1.2"\n'}, "1.2", "pyproject.toml", (3, 3)),
    (
        {"pyproject.toml": '[project]\ndynamic = ["version"]\n', "version.txt": "0.3.0\n"},
        "0.3.0",
        "version.txt",
        (1, 1),
    ),
    ({"setup.cfg": "[metadata]\nversion = 2.0\n"}, "2.0", "setup.cfg", (2, 2)),
    ({"setup.py": 'setup(\n    version="3.1",\n)\n'}, "3.1", "setup.py", (2, 2)),
    ({"keel/__init__.py": '"""Keel."""\n__version__ = "4.0"  # x\n'}, "4.0", "keel/__init__.py", (2, 2)),
    ({"keel/_version.py": '__version__ = ".".join(parts)\n'}, None, "", (0, 0)),
    (
        {"keel/package_info.py": "MAJOR = 0\nMINOR = 16\nPATCH = 0\nPRE_RELEASE = 'rc0'\n__version__ = '.'.join(x)\n"},
        "0.16.0rc0",
        "keel/package_info.py",
        (1, 4),
    ),
    ({"README.md": "version 9\n"}, None, "", (0, 0)),
    (  # another call, and the version by a name
        {"setup.py": 'need(version="12.1")\nVERSION = "3.2"\nsetup(name="k", version=VERSION)\n'},
        "3.2",
        "setup.py",
        (2, 2),
    ),
    (
        {"keel/__init__.py": '"""As in\n__version__ = "9.9"\n"""\n__version__ = "4.1"\n'},
        "4.1",
        "keel/__init__.py",
        (4, 4),
    ),
    ({"setup.cfg": "[metadata]\nversion: 2.1\n[tool]\nversion = 9.9\n"}, "2.1", "setup.cfg", (2, 2)),
]


@pytest.mark.parametrize(("files", "text", "path", "lines"), VERSIONS)
def test_declared_versions_and_their_lines(
    tmp_path: Path, files: dict[str, str | bytes | None], text: str | None, path: str, lines: tuple[int, int]
) -> None:
    history = History.start(tmp_path / "r")
    commit = history.commit("one", files)
    version = read_version(open_repository(history.path), commit, ("keel",))
    if text is None:
        assert version is None
    else:
        assert version is not None
        assert (version.text, version.evidence.path, version.evidence.lines) == (text, path, lines)


def test_versions_are_found_without_configured_packages(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    files: dict[str, str | bytes | None] = {
        "mega/core/package_info.py": "MAJOR = 1\nMINOR = 2\nPATCH = 3\n",
        "tests/version.py": '__version__ = "9"\n',
    }
    commit = history.commit("one", files)
    version = read_version(open_repository(history.path), commit)
    assert version is not None
    assert version.text == "1.2.3"


SCM = '[build-system]\nrequires = ["setuptools", "setuptools-scm>=8"]\n[project]\nname = "x"\ndynamic = ["version"]\n'
TAGGED = [
    # what it shows, pyproject.toml, tag of the first commit, its version, the version two commits later
    ("a tag", SCM, "v1.2.0", "1.2.0", "1.2.1.dev2"),
    ("a candidate", SCM, "v1.2.0rc1", "1.2.0rc1", "1.2.0rc2.dev2"),
    ("a tag with a name before it", SCM, "core_v0.9", "0.9", "0.10.dev2"),
    ("hatch", SCM.replace("setuptools-scm>=8", "hatch_vcs"), "2.0", "2.0", "2.1.dev2"),
    ("no tag", SCM, None, None, None),
    ("a tag without a version", SCM, "nightly", None, None),
    ("nobody reads tags", SCM.replace("setuptools-scm>=8", "wheel"), "v1.2.0", None, None),
]


@pytest.mark.parametrize(("shows", "build", "tag", "first", "later"), TAGGED, ids=[row[0] for row in TAGGED])
def test_a_version_that_is_left_to_tags(
    tmp_path: Path, shows: str, build: str, tag: str | None, first: str | None, later: str | None
) -> None:
    history = History.start(tmp_path / "up")
    commits = [history.commit("one", {"pyproject.toml": build, "x/__init__.py": ""})]
    if tag is not None:
        history.git("tag", tag)
    commits += [history.commit(name, {f"x/{name}.py": ""}) for name in ("two", "three")]
    repository = open_repository(history.path)
    found = [read_version(repository, commit, ("x",)) for commit in (commits[0], commits[2])]
    assert [one.text if one else None for one in found] == [first, later]
    assert all("git describe" in str(one.evidence.command) for one in found if one)
