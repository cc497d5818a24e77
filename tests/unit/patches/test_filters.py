"""Filters of lists of targets, context managers, originals put back, loops that stop, hooks fed from tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.patch import TargetKind
from layline.patches.installer import Known
from layline.patches.inventory.read import read_inventory
from snippets import open_reading, read_files

_HEAD = "import up.a as m\n\ndef new(*a):\n    return a\n\n"


def _read(tmp_path: Path, text: str) -> list[tuple[str | None, str, bool]]:
    found = read_files(tmp_path, {"own/boot.py": _HEAD + text}).unregistered
    return [(item.effect.target, item.effect.moment.value, item.effect.certain) for item in found]


def test_a_filter_that_can_be_decided_is_applied_and_another_makes_its_rows_uncertain(tmp_path: Path) -> None:
    text = (
        "def go():\n    names = [n for n in ('f', '_g') if not n.startswith('_') and callable(getattr(m, n, "
        "None))]\n    for n in names:\n        setattr(m, n, new)\n"
    )
    assert _read(tmp_path, text) == [("up.a.f", "install", False)]


@pytest.mark.parametrize(
    ("test", "kinds", "expected"),
    [
        # what the loop keeps, what the pin has, the rows with whether they are certain
        ("not hasattr(m, n)", {"up.a.f": TargetKind.DEFINITION}, [("up.a.f", True), ("up.a.g", True)]),
        ("hasattr(m, n)", {"up.a.f": TargetKind.DEFINITION}, [("up.a.f", True)]),
        ("not m.skips(n)", {"up.a.f": TargetKind.DEFINITION}, [("up.a.f", False), ("up.a.g", False)]),
    ],
)
def test_a_filter_that_asks_for_the_name_alone_is_told_by_the_condition(
    tmp_path: Path, test: str, kinds: dict[str, TargetKind], expected: list[tuple[str, bool]]
) -> None:
    text = (
        f"def go():\n    names = [n for n in ('f', 'g') if {test}]\n    for n in names:\n        setattr(m, n, new)\n"
    )

    def look_up(dotted: str) -> Known:
        return Known(kinds.get(dotted, TargetKind.ABSENT))

    found = read_inventory(open_reading(tmp_path, {"own/boot.py": _HEAD + text}), "up", look_up).unregistered
    assert [(item.effect.target, item.effect.certain) for item in found] == expected


def test_what_leaving_a_context_manager_puts_back_is_transient(tmp_path: Path) -> None:
    text = (
        "class Swap:\n    def __enter__(self):\n        self.kept = {}\n        for n in ('f', 'g'):\n            "
        "self.kept[n] = getattr(m, n)\n            setattr(m, n, new)\n        m.stays = new\n"
        "    def __exit__(self, *why):\n        for n, old in self.kept.items():\n            setattr(m, n, old)\n"
    )
    assert sorted(_read(tmp_path, text)) == [
        ("up.a.f", "transient", True),
        ("up.a.g", "transient", True),
        ("up.a.stays", "install", True),
    ]


def test_a_decorator_that_only_adds_documentation_registers_nothing(tmp_path: Path) -> None:
    text = (
        "from up.doc import add_start_docstrings\n\n@add_start_docstrings('words')\ndef forward(self):\n    "
        "m.seen = 1\n    return self\n"
    )
    assert all(target == "up.a.seen" for target, _, _ in _read(tmp_path, text))


def test_an_original_taken_from_elsewhere_and_put_back_is_no_patch(tmp_path: Path) -> None:
    text = "import up.b\n\ndef on():\n    m.f = new\n    up.b.f = new\n\ndef off():\n    up.b.f = m.f\n"
    assert [target for target, _, _ in _read(tmp_path, text)] == ["up.a.f", "up.b.f"]


def test_a_loop_that_stops_at_the_first_fit_leaves_every_candidate(tmp_path: Path) -> None:
    text = (
        "from importlib import import_module\nfrom wrapt import wrap_function_wrapper\n\nclass P:\n    def "
        "go(self):\n        self.home = None\n        for name in ('up.x', 'up.y'):\n"
        "            found = getattr(import_module(name), 'f', None)\n            if found is not None:\n          "
        "      self.home = name\n                break\n"
        "        wrap_function_wrapper(self.home, 'f', lambda w, i, a, k: w(*a))\n"
    )
    assert [target for target, _, _ in _read(tmp_path, text)] == ["up.x.f", "up.y.f"]


def test_an_import_hook_is_fed_from_a_table(tmp_path: Path) -> None:
    text = (
        "from wrapt import register_post_import_hook, wrap_function_wrapper\n\nTABLE = (('up.x', 'f', new), "
        "('up.y', 'C.m', new))\n\n"
        "def later(name, target, wrapper):\n    def hook(module):\n        wrap_function_wrapper(module, target, "
        "wrapper)\n    register_post_import_hook(hook, name)\n\n"
        "def go():\n    for name, target, wrapper in TABLE:\n        later(name, target, wrapper)\n"
    )
    assert _read(tmp_path, text) == [("up.x.f", "deferred", True), ("up.y.C.m", "deferred", True)]
