from __future__ import annotations

import pytest

from layline.source.names import absolute_name, find_packages, longest_root, module_name

NAMES = [
    ("a/b.py", (".",), "a.b"),
    ("a/__init__.py", (".",), "a"),
    ("src/a/b.py", (".", "src"), "a.b"),
    ("src/a/b.py", (".",), "src.a.b"),
    ("pretrain_gpt.py", (".", "src"), "pretrain_gpt"),
    ("lib/python/a.py", ("lib", "lib/python"), "a"),
    ("examples/run-me/a.py", (".",), None),
    ("a/b.pyi", (".",), None),
    ("__init__.py", (".",), None),
    ("./src/x.py", ("./src",), None),
]


@pytest.mark.parametrize(("path", "roots", "name"), NAMES)
def test_module_name(path: str, roots: tuple[str, ...], name: str | None) -> None:
    assert module_name(path, roots) == name


ABSOLUTE = [
    ("a.b", False, 0, "x.y", "x.y"),
    ("a.b", False, 1, "x", "a.x"),
    ("a.b", True, 1, "x", "a.b.x"),
    ("a.b", True, 1, "", "a.b"),
    ("a.b.c", False, 2, "x", "a.x"),
    ("a", False, 1, "x", None),
    ("a", True, 2, "x", None),
]


@pytest.mark.parametrize(("module", "package", "level", "name", "expected"), ABSOLUTE)
def test_relative_imports_become_absolute(
    module: str, package: bool, level: int, name: str, expected: str | None
) -> None:
    assert absolute_name(module, package=package, level=level, name=name) == expected


def test_longest_root_wins_and_prefixes_end_at_dots() -> None:
    assert longest_root("megatron.core.x", ("megatron", "megatron.core")) == len("megatron.core")
    assert longest_root("megatron.corex", ("megatron.core",)) == 0


def test_packages_a_tree_offers() -> None:
    paths = [
        "a/__init__.py",
        "a/b/__init__.py",
        "ns/core/__init__.py",
        "ns/core/x/__init__.py",
        "tests/__init__.py",
        "src/s/__init__.py",
        "setup.py",
    ]
    assert find_packages(paths, (".", "src")) == ("a", "ns.core", "s")
