"""Where packages begin: beside a build file; an ordinary module called `setup.py` is none."""

from __future__ import annotations

from pathlib import Path

from snippets import read_files

BUILD = "from setuptools import setup\n\nsetup(name='x')\n"
PATCH = "import up.a\n\n\ndef new(): pass\n\n\ndef install():\n    up.a.f = new\n"


def find(tmp_path: Path, files: dict[str, str]) -> list[tuple[str | None, str]]:
    return [(item.effect.target, item.within) for item in read_files(tmp_path, files).unregistered]


def test_a_module_called_setup_is_a_module(tmp_path: Path) -> None:
    found = find(
        tmp_path, {"own/training/__init__.py": "", "own/training/setup.py": PATCH, "own/training/boot.py": PATCH}
    )
    assert found == [("up.a.f", "own.training.boot.install"), ("up.a.f", "own.training.setup.install")]


def test_a_build_file_begins_a_project(tmp_path: Path) -> None:
    assert find(tmp_path, {"part/setup.py": BUILD, "part/lib/boot.py": PATCH}) == [("up.a.f", "lib.boot.install")]
