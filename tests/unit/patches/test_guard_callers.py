"""The guard of a registration inside a function: what its callers ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition, show_guard
from snippets import read_files

MANAGER = """
class Manager:
    @staticmethod
    def register_patch(name, new=None):
        pass
"""
FEATURES = """
from own.manager import Manager


class Feature:
    def __init__(self, name, level=2):
        self.name = name.replace("-", "_")
        self.level = level

    def is_wanted(self, args):
        return (self.level <= args.level and getattr(args, self.name, None)) or self.level == 0

    def register_all(self, manager, args):
        pass


class Fast(Feature):
    def __init__(self):
        super(Fast, self).__init__("go-fast")

    def register_all(self, manager, args):
        manager.register_patch("up.a.f", print)


class Basic(Feature):
    def __init__(self):
        super().__init__("basic", level=0)

    def register_all(self, manager, args):
        manager.register_patch("up.a.g", print)
"""
RUN = """
from own.manager import Manager


def apply(features, own_args):
    for feature in features:
        if feature.is_wanted(own_args):
            feature.register_all(Manager, own_args)
"""


def test_a_caller_s_question_is_asked_of_the_class_that_registers(tmp_path: Path) -> None:
    files = {"own/manager.py": MANAGER, "own/features.py": FEATURES, "own/run.py": RUN}
    found = {patch.id: patch.guard for patch in read_files(tmp_path, files).patches}
    assert show_guard(found["up.a.f"]) == "2 <= level and go_fast (where register_all is called, own/run.py:8)"
    assert found["up.a.f"].keys == ("go_fast", "level")
    assert show_condition(found["up.a.f"].written) == "feature.is_wanted(own_args)"
    assert show_guard(found["up.a.g"]) == "always"


CALLERS: list[tuple[str, str, str]] = [
    # who calls, the other file, the guard
    ("nobody", "", "where go runs (no caller found)"),
    ("plainly", "from own.boot import go\ngo()\n", "where go is called, own/x.py:2"),
    (
        "on a condition",
        "from own.boot import go\ndef main(args):\n    if args.fast:\n        go()\n",
        "fast (where go is called, own/x.py:4)",
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), CALLERS, ids=[row[0] for row in CALLERS])
def test_always_is_not_said_of_what_a_caller_decides(tmp_path: Path, name: str, source: str, expected: str) -> None:
    boot = "from own.manager import Manager\ndef go():\n    Manager.register_patch('up.a.f', print)\n"
    files = {"own/manager.py": MANAGER, "own/boot.py": boot, "own/x.py": source}
    (patch,) = read_files(tmp_path, files).patches
    assert show_guard(patch.guard) == expected


def test_a_registration_on_import_is_always(tmp_path: Path) -> None:
    boot = "from own.manager import Manager\nManager.register_patch('up.a.f', print)\n"
    (patch,) = read_files(tmp_path, {"own/manager.py": MANAGER, "own/boot.py": boot}).patches
    assert show_guard(patch.guard) == "always"
