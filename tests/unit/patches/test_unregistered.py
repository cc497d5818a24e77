"""Effects outside any registration."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import read_files

FINDS: list[tuple[str, str, list[tuple[str, str]]]] = [
    # idiom, file, (style, target)
    ("on import", "import up.a\nup.a.f = print\n", [("binding-replacement", "up.a.f")]),
    ("in a function", "def go():\n    from up.a import C\n    C.m = lambda self: 1\n", [("binding-replacement", "up.a.C.m")]),
    ("in a method", "class P:\n    def go(self):\n        import up.a as m\n        m.f = self.g\n    def g(self): pass\n", [("binding-replacement", "up.a.f")]),
    ("project helper", "def replace_attr(owner, name, new):\n    setattr(owner, name, new)\n\ndef go():\n    import up.a as m\n    replace_attr(m, 'f', print)\n", [("binding-replacement", "up.a.f")]),
    ("wrapt", "from wrapt import wrap_function_wrapper as _w\ndef go():\n    _w('up.a', 'C.m', lambda w, i, a, k: w(*a, **k))\n", [("function-wrapping", "up.a.C.m")]),
    ("another package", "import other\nother.f = print\n", []),
    ("own attribute", "class A:\n    def go(self):\n        self.x = print\n", []),
    ("restore", "import up.a as m\nold = m.f\ndef undo():\n    m.f = old\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "source", "expected"), FINDS, ids=[row[0] for row in FINDS])
def test_plain_writes_are_listed(tmp_path: Path, name: str, source: str, expected: list[tuple[str, str]]) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.style.value, item.effect.target) for item in found] == expected


def test_an_effect_stands_under_its_function_with_its_callers(tmp_path: Path) -> None:
    files = {
        "own/boot.py": "def start_up():\n    import up.a as m\n    m.f = print\n",
        "own/main2.py": "from own.boot import start_up\nstart_up()\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert item.within == "own.boot.start_up"
    assert item.called_from == ("own/main2.py:2",)


def test_a_text_is_a_path_if_upstream_has_it_and_an_id_otherwise(tmp_path: Path) -> None:
    source = """
class Manager:
    @staticmethod
    def register_patch(name, new=None, create=False):
        pass


def f_wrapper(fn):
    def wrapper(*args):
        return fn(*args)
    return wrapper


def register(manager, args):
    manager.register_patch("up.a.f", f_wrapper)
    if args.fast:
        Manager.register_patch("up.a.C.m", print)
"""
    found = {patch.id: patch for patch in read_files(tmp_path, {"own/features.py": source}).patches}
    assert sorted(found) == ["up.a.C.m", "up.a.f"]
    assert found["up.a.f"].effects[0].style.value == "function-wrapping"
    assert found["up.a.C.m"].guard.keys == ("fast",)
