"""Effects outside any registration."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import read_files

FINDS: list[tuple[str, str, list[tuple[str, str]]]] = [
    # idiom, file, (style, target)
    ("on import", "import up.a\nup.a.f = print\n", [("binding-replacement", "up.a.f")]),
    (
        "in a function",
        "def go():\n    from up.a import C\n    C.m = lambda self: 1\n",
        [("binding-replacement", "up.a.C.m")],
    ),
    (
        "in a method",
        "class P:\n    def go(self):\n        import up.a as m\n        m.f = self.g\n    def g(self): pass\n",
        [("binding-replacement", "up.a.f")],
    ),
    (
        "project helper",
        (
            "def replace_attr(owner, name, new):\n    setattr(owner, name, new)\n\ndef go():\n    import up.a as m\n   "
            " replace_attr(m, 'f', print)\n"
        ),
        [("binding-replacement", "up.a.f")],
    ),
    (
        "wrapt",
        (
            "from wrapt import wrap_function_wrapper as _w\ndef go():\n    _w('up.a', 'C.m', lambda w, i, a, k: w(*a, "
            "**k))\n"
        ),
        [("function-wrapping", "up.a.C.m")],
    ),
    ("another package", "import other\nother.f = print\n", []),
    ("own attribute", "class A:\n    def go(self):\n        self.x = print\n", []),
    ("restore", "import up.a as m\nold = m.f\ndef undo():\n    m.f = old\n", []),
]


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


def test_a_table_of_a_subclass_is_read_by_the_method_it_inherits(tmp_path: Path) -> None:
    files = {
        "own/base.py": "import wrapt\n\nclass Base:\n    pairs = []\n    def get_pairs(self):\n        return "
        "self.pairs\n    def install(self):\n        for module, name in self.get_pairs():\n            "
        "wrapt.wrap_function_wrapper(module, name, self.call)\n    def call(self, wrapped, instance, args, "
        "kwargs):\n        return wrapped(*args)\n",
        "own/sessions.py": 'from own.base import Base\n\nclass Sessions(Base):\n    pairs = [("up.sessions", '
        '"Session.send"), ("up.api", "get")]\n',
        "own/late.py": "from own.sessions import Sessions\n\nclass Late(Sessions):\n    def get_pairs(self):\n     "
        '   return [("up.late", "run")]\n',
    }
    found = read_files(tmp_path, files).unregistered
    assert {(item.effect.target, item.within) for item in found} == {
        ("up.sessions.Session.send", "own.sessions.Sessions.install"),
        ("up.api.get", "own.sessions.Sessions.install"),
        ("up.late.run", "own.late.Late.install"),
    }


def test_a_hook_table_binds_the_module_that_a_function_is_handed(tmp_path: Path) -> None:
    files = {
        "own/hooks/web.py": "from wrapt import wrap_function_wrapper\n\ndef instrument_web(module):\n    "
        "wrap_function_wrapper(module, 'Client.get', lambda w, i, a, k: w(*a))\n\ndef instrument_lost(module):\n   "
        " wrap_function_wrapper(module, 'Client.put', lambda w, i, a, k: w(*a))\n",
        "own/config.py": 'def define(target, module, function):\n    pass\n\ndefine("up.web", "own.hooks.web", '
        '"instrument_web")\n',
    }
    found = read_files(tmp_path, files).unregistered
    assert [(item.effect.target, item.effect.certain) for item in found] == [("up.web.Client.get", True), (None, False)]
    assert found[1].effect.reason == "wraps `Client.put` of `module`, a parameter; no caller that names it was found"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("resolve_path(module, name)", ["up.a.C.m"]),
        ("(lambda: None)()", []),
    ],
)
def test_a_copy_of_wrapt_is_known(tmp_path: Path, value: str, expected: list[str]) -> None:
    files = {
        "own/packages/wrapt/patches.py": "def resolve_path(module, name):\n    return object()\n\ndef "
        "apply_patch(parent, attribute, replacement):\n    setattr(parent, attribute, replacement)\n",
        "own/boot.py": "from own.packages.wrapt.patches import apply_patch, resolve_path\n\ndef go(module='up.a', "
        f"name='C.m'):\n    parent, attribute, original = {value}\n    apply_patch(parent, attribute, lambda *a: "
        "original(*a))\n",
    }
    found = read_files(tmp_path, files).unregistered
    assert [item.effect.target for item in found if item.effect.target] == expected


REMOVERS = [
    (
        "kept on self",
        (
            "import up.a as m\nclass P:\n    def on(self):\n        self._original_f = m.f\n        m.f = print\n    "
            "def off(self):\n        m.f = self._original_f\n"
        ),
    ),
    ("kept under its own name", "import up.a as m\nclass P:\n    def off(self):\n        m.f = self._f\n"),
    ("kept in a table", "import up.a as m\nsaved = {}\ndef off(originals):\n    m.f = originals['f']\n"),
    (
        "a stash thrown away",
        (
            "import up.a as m\ndef on():\n    m._old_f = m.f\n    m.f = print\ndef off():\n    m.f = m._old_f\n    del "
            "m._old_f\n"
        ),
    ),
    ("an entry kept under another key", "import up.a as m\ndef on():\n    m.TABLE['f_origin'] = m.TABLE['f']\n"),
]


@pytest.mark.parametrize(("name", "source"), REMOVERS, ids=[row[0] for row in REMOVERS])
def test_putting_back_is_no_patch(tmp_path: Path, name: str, source: str) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert all(item.effect.replacement == "builtins.print" for item in found), [item.effect for item in found]


def test_constructors_are_targets_like_any_other(tmp_path: Path) -> None:
    lines = [
        f"import {name}.a\n{name}.a.C.__init__ = lambda self: None\n" for name in ("up", "two", "three", "four", "five")
    ]
    found = read_files(tmp_path, {"own/boot.py": "".join(lines)}).unregistered
    assert {item.effect.target for item in found} >= {"up.a.C.__init__", "five.a.C.__init__"}


def test_code_put_into_other_packages_is_listed_and_plain_values_are_counted(tmp_path: Path) -> None:
    source = (
        "import asyncio, other.x\nasyncio.run = lambda main: main\nother.x.f = lambda: 1\nother.x.FLAG = True\nup = 1\n"
    )
    inventory = read_files(tmp_path, {"own/boot.py": source})
    assert [item.effect.target for item in inventory.unregistered] == ["asyncio.run", "other.x.f"]
    assert [item.why for item in inventory.skipped] == [
        "1 values set on packages that are no backend are not listed: other 1"
    ]


def test_projects_inside_a_tree_have_their_own_names(tmp_path: Path) -> None:
    files = {
        "parts/one/pyproject.toml": "[project]\nname = 'one'\n",
        "parts/one/src/one_part/callbacks.py": "flag = None\n",
        "parts/one/src/one_part/boot.py": "from one_part import callbacks\nimport up.a\ndef f(): pass\n"
        "callbacks.flag = f\nup.a.f = f\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert (item.effect.target, item.effect.replacement) == ("up.a.f", "one_part.boot.f")


def test_a_slot_that_is_empty_in_the_class_is_what_a_method_put_there(tmp_path: Path) -> None:
    source = "import up.a as m\nclass P:\n    _original_f = None\n    def off(self):\n        m.f = self._original_f\n"
    assert read_files(tmp_path, {"own/boot.py": source}).unregistered == ()


def test_what_is_kept_with_a_request_is_data(tmp_path: Path) -> None:
    source = "import flask, up.a\ndef go(token):\n    flask.request.environ['up.token'] = token\n"
    assert read_files(tmp_path, {"own/boot.py": source}).unregistered == ()
