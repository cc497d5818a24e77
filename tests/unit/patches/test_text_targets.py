"""Targets named by text in calls that speak of patching: what is found, when it happens, what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_guard
from snippets import read_files

PATCHER = """
import up

class Patcher:
    def __init__(self, specs): self.specs = specs
    def __enter__(self): pass
    def __exit__(self, *args): pass

def patch_within_function(specs):
    patcher = Patcher(specs)
    def decorator(function):
        def wrapper(*args):
            with patcher:
                return function(*args)
        return wrapper
    return decorator

def new(x): pass
"""
FINDS = [
    # idiom, code, (target, moment)
    (
        "list of pairs",
        "def go():\n    with Patcher([('up.a.f', new), ('up.a.C.m', new)]):\n        pass\n",
        [("up.a.C.m", "transient"), ("up.a.f", "transient")],
    ),
    (
        "kept and entered later",
        "def go():\n    patcher = Patcher([('up.a.f', new)])\n    with patcher:\n        pass\n",
        [("up.a.f", "transient")],
    ),
    (
        "one pair around a function",
        "@patch_within_function(('up.a.f', new))\ndef go(): pass\n",
        [("up.a.f", "transient")],
    ),
    (
        "several around a method",
        "class A:\n    @patch_within_function([('up.a.f', new), ('up.a.g', new)])\n    def go(self): pass\n",
        [("up.a.f", "transient"), ("up.a.g", "transient")],
    ),
    (
        "table of another library",
        "from lib import apply_patches\ndef go():\n    apply_patches({'up.a.f': new})\n",
        [("up.a.f", "install")],
    ),
    (
        "plain call",
        "from lib import override_function\ndef go():\n    override_function('up.a.f', new)\n",
        [("up.a.f", "install")],
    ),
    (
        "module and name",
        "from lib import replace_function\ndef go():\n    replace_function('up.a', 'C.m', new)\n",
        [("up.a.C.m", "install")],
    ),
    (
        "every loaded module",
        "from lib import patch_everywhere\ndef go():\n    patch_everywhere('f', new, 'up')\n",
        [(None, "install")],
    ),
]
IGNORES = [
    ("our own module", "from lib import override_function\ndef go():\n    override_function('own.boot.new', new)\n"),
    ("a file", "from lib import replace_file\ndef go():\n    replace_file('weights.bin', new)\n"),
    ("text edited", "def go(text):\n    return text.replace('up.a', new)\n"),
    ("names mapped to names", "from lib import replace_names\ndef go():\n    replace_names([('up.a.f', 'up.b.f')])\n"),
    ("a name that does not speak of it", "from lib import look_at\ndef go():\n    look_at('up.a.f', new)\n"),
    ("no replacement", "from lib import is_patched\ndef go():\n    is_patched('up.a.f')\n"),
]


@pytest.mark.parametrize(("name", "source", "expected"), FINDS, ids=[row[0] for row in FINDS])
def test_paths_in_texts_are_targets(
    tmp_path: Path, name: str, source: str, expected: list[tuple[str | None, str]]
) -> None:
    found = read_files(tmp_path, {"own/boot.py": PATCHER + source}).unregistered
    assert [(item.effect.target, item.effect.moment.value) for item in found] == expected
    assert all(item.effect.replacement == "own.boot.new" for item in found)


@pytest.mark.parametrize(("name", "source"), IGNORES, ids=[row[0] for row in IGNORES])
def test_other_texts_are_none(tmp_path: Path, name: str, source: str) -> None:
    inventory = read_files(tmp_path, {"own/boot.py": PATCHER + source})
    assert (inventory.patches, inventory.unregistered) == ((), ())


def test_a_decorator_with_a_path_registers_its_function(tmp_path: Path) -> None:
    source = """
from lib import REWRITER

@REWRITER.register_rewriter("up.a.C.m", backend="trt", check=REWRITER.version(8))
def first(self):
    return REWRITER.context().origin_func(self)

@REWRITER.register_rewriter(func_name="up.a.f")
def second(): pass
"""
    found = {patch.id: patch for patch in read_files(tmp_path, {"own/boot.py": source}).patches}
    assert sorted(found) == ["up.a.C.m", "up.a.f"]
    first, second = found["up.a.C.m"], found["up.a.f"]
    assert show_guard(first.guard) == "registered with backend='trt', check=REWRITER.version(8)"
    assert (first.effects[0].style.value, first.effects[0].moment.value) == ("function-wrapping", "deferred")
    assert (show_guard(second.guard), second.effects[0].style.value) == ("always", "binding-replacement")


def test_what_a_helper_is_seen_to_write_is_told_once(tmp_path: Path) -> None:
    source = (
        "import up.a\ndef patch_it(path, new):\n    setattr(up.a, path.split('.')[-1], new)\ndef go():\n    "
        "patch_it('up.a.f', print)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.target, item.effect.location.line) == ("up.a.f", 3)
