"""OURS: the one rule for what a path of a source tree is, by the names of its folders and file alone.

A tree of a project holds its own code, and beside it tests, code of others, examples, documents and tools. Whoever asks
"is this ours?", "is this a test?" or "does a package live here?" asks here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache


class Role(StrEnum):
    """What stands at a path."""

    OWN = "own"
    TEST = "test"
    VENDORED = "vendored"
    EXAMPLE = "example"
    DOCUMENT = "document"
    BENCHMARK = "benchmark"
    TOOL = "tool"
    """Scripts and build files beside the packages; ours, but nobody imports them."""


_FOLDERS = {
    **dict.fromkeys(("tests", "test", "unittests", "ut", "st"), Role.TEST),
    **dict.fromkeys(("third_party", "3rdparty", "vendor", "node_modules"), Role.VENDORED),
    **dict.fromkeys(("example", "examples", "demo", "demos"), Role.EXAMPLE),
    **dict.fromkeys(("doc", "docs"), Role.DOCUMENT),
    **dict.fromkeys(("benchmark", "benchmarks"), Role.BENCHMARK),
}
"""A folder of this name, wherever it stands."""
_TOP_FOLDERS = dict.fromkeys(("tools", "scripts", "tasks", "ci", "docker", "setup"), Role.TOOL)
"""Only at the top: inside a package such a folder is part of it."""
_TEST_FOLDER = re.compile(r"tests?_\w+|\w+_tests?")
_TEST_FILE = re.compile(r"(?:conftest|test_\w+)\.\w+")
"""Not `*_test.py`: such a file is as often a check that users run (`gpu_sniff_test.py`) as a test of the code."""


def find_role(path: str) -> Role:
    """The role of a file: of the first folder that has one, else of its name."""
    folder, _, name = path.rpartition("/")
    role = _find_folder_role(folder)
    return Role.TEST if role is Role.OWN and _TEST_FILE.fullmatch(name) else role


def is_own(path: str) -> bool:
    """True for the project's code, its tools included."""
    return find_role(path) in {Role.OWN, Role.TOOL}


def is_packaged(path: str) -> bool:
    """True for what others can import: the project's code without its tools."""
    return find_role(path) is Role.OWN


def is_test(path: str) -> bool:
    """True for a test wherever it stands, among examples or vendored code too."""
    return find_role(path) is Role.TEST or _TEST_FILE.fullmatch(path.rpartition("/")[2]) is not None


def is_vendored(path: str) -> bool:
    return find_role(path) is Role.VENDORED


def is_test_module(name: str) -> bool:
    """As `is_test`, of the dotted name of a module or package."""
    return _FOLDERS.get(name.rpartition(".")[2]) is Role.TEST or is_test(name.replace(".", "/") + ".py")


@lru_cache(maxsize=65_536)
def _find_folder_role(folder: str) -> Role:
    names = folder.split("/") if folder else []
    for name in names:
        if name in _FOLDERS:
            return _FOLDERS[name]
        if _TEST_FOLDER.fullmatch(name):
            return Role.TEST
    return _TOP_FOLDERS.get(names[0], Role.OWN) if names else Role.OWN
