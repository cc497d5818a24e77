"""Effects outside any registration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.config import Backend
from layline.core.patch import Moment, TargetKind
from layline.patches.guards.show import show_condition
from layline.patches.inventory.read import read_inventory
from layline.patches.list_lines import build_listing
from layline.patches.report import describe_logic
from snippets import open_reading, read_files

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
    (
        "a class handed to a helper",
        "def give(cls):\n    cls.step = fast\ndef fast(self): pass\ndef go():\n    from up.a import C\n    give(C)\n",
        [("binding-replacement", "up.a.C.step")],
    ),
    (
        "methods of a class of ours, one after the other",
        (
            "from up.a import C, D\nclass P:\n    def go(self): pass\n    def run(self): pass\n"
            "for name, method in P.__dict__.items():\n    setattr(C, name, method)\n"
            "for name, method in vars(P).items():\n    setattr(D, name, method)\n"
        ),
        [("binding-replacement", f"up.a.{kind}.{name}") for kind in "CD" for name in ("go", "run")],
    ),
    (
        "a module handed to a helper",
        "def give(owner):\n    owner.step = fast\ndef fast(self): pass\ndef go():\n    import up.a\n    give(up.a)\n",
        [("binding-replacement", "up.a.step")],
    ),
    (
        "a class handed to a lambda",
        (
            "from up.a import C\ngive = lambda owner: setattr(owner, 'step', fast)\ndef fast(self): pass\ndef go():\n"
            "    give(C)\n"
        ),
        [("binding-replacement", "up.a.C.step")],
    ),
    (
        "where the file is run as a program",
        "import up.a as m\nif __name__ == '__main__':\n    m.f = print\n    m.g = made()\n",
        [("binding-replacement", "up.a.f")],
    ),
    (
        "a table of classes handed to a helper",
        (
            "from up.a import C, D\ndef fast(self): pass\ndef give(every):\n    for one in every:\n        one.step = fast\n"
            "give([C, D])\n"
        ),
        [("binding-replacement", "up.a.C.step"), ("binding-replacement", "up.a.D.step")],
    ),
    (
        "a foreign name on a foreign name",
        "import torch\ntorch.cuda.Event = torch.npu.Event\n",
        [("binding-replacement", "torch.cuda.Event")],
    ),
    (
        "a class of ours among those that a foreign name stands for",
        "from typing import Union\nimport other as o\nclass Mine: pass\no.INPUT = Union[o.INPUT, Mine]\n",
        [("binding-replacement", "other.INPUT")],
    ),
    ("a constant on a foreign name", "import torch\ntorch.cuda.LIMIT = torch.npu.LIMIT\n", []),
    (
        "code that is a text, executed in the names of a module",
        "import up.a as m\nexec('def f(): pass', m.__dict__)\nmade = {}\nexec('def g(): pass', made)\nm.g = made['g']\n",
        [("binding-replacement", "up.a.f"), ("binding-replacement", "up.a.g")],
    ),
    (
        "several modules put in place at once",
        "import sys\nsys.modules.update({'up.b': sys.modules['up.a']})\n",
        [("binding-replacement", "up.b")],
    ),
    (
        "a slot of ours that another function fills, put back",
        (
            "import up.a as m\n_kept = None\ndef off():\n    m.f = _kept\ndef on():\n    global _kept\n    _kept = m.f\n"
            "    m.f = new\ndef new(): return _kept()\n"
        ),
        [("function-wrapping", "up.a.f")],
    ),
    (
        "code put on an object that another function keeps",
        (
            "from up.a import C\n_held: C = None\ndef keep():\n    global _held\n    _held = C()\n"
            "def fast(self): pass\ndef go():\n    if _held is None:\n        return\n    C.step = fast\n"
        ),
        [("binding-replacement", "up.a.C.step")],
    ),
    (
        "a mock that a stack enters",
        (
            "from contextlib import ExitStack\nfrom unittest import mock\ndef go():\n    with ExitStack() as stack:\n"
            "        stack.enter_context(mock.patch('up.a.f', print))\n"
        ),
        [("binding-replacement", "up.a.f")],
    ),
    (
        "a list copied and put back larger",
        (
            "from up.a import C\ndef go():\n    old = getattr(C, '_keys', None)\n    more = list(old) if old else []\n"
            "    more.append('x')\n    C._keys = more\n"
        ),
        [("binding-replacement", "up.a.C._keys")],
    ),
    (
        "a copy is another object",
        "import copy\nimport up.a as m\nmine = copy.copy(m.EMPTY)\nmine.f = print\nm.g = print\n",
        [("binding-replacement", "up.a.g")],
    ),
    (
        "code that is a text",
        (
            "import up.a as m\ndef fast(): pass\ndef go():\n    for name in ('f', 'g'):\n"
            "        exec(f'm.{name} = fast')\n    exec('not python (')\n"
        ),
        [("binding-replacement", "up.a.f"), ("binding-replacement", "up.a.g")],
    ),
    (
        "a decorator of another package taken off",
        "import torch\ntorch.nested.f = torch.nested.f.__wrapped__\n",
        [("binding-replacement", "torch.nested.f")],
    ),
    (
        "a decorator of ours taken off again",
        (
            "import functools\nimport up.a as m\ndef on():\n    old = m.f\n    @functools.wraps(old)\n"
            "    def new():\n        return old()\n    m.f = new\ndef off():\n    m.f = m.f.__wrapped__\n"
        ),
        [("function-wrapping", "up.a.f")],
    ),
    (
        "what a decorated name of upstream stands for is called",
        "import up.a as m\nold = m.f.__wrapped__\ndef new():\n    return old()\nm.f = new\n",
        [("function-wrapping", "up.a.f")],
    ),
    (
        "the original kept in a default",
        (
            "import up.a as m\ndef go():\n    old = m.f\n    def new(*a, _old=old):\n        return _old(*a)\n"
            "    m.f = new\n"
        ),
        [("function-wrapping", "up.a.f")],
    ),
    (
        "the original kept in an object of Python's",
        (
            "import up.a as m\nfrom types import SimpleNamespace\nheld = SimpleNamespace(f=m.f, on=False)\n"
            "def new():\n    return held.f()\nm.f = new\nif held.on:\n    m.g = new\n"
        ),
        [("function-wrapping", "up.a.f"), ("binding-replacement", "up.a.g")],
    ),
    (
        "a class that two functions hand on to the one that writes",
        "def give(cls):\n    cls.step = fast\ndef hand(cls):\n    give(cls)\ndef fast(self): pass\ndef go():\n    from up.a import C\n    hand(C)\n",
        [("binding-replacement", "up.a.C.step")],
    ),
    (
        "a module that an object holds until a method writes onto it",
        (
            "import up.a\ndef put_on(owner, name, new):\n    setattr(owner, name, new)\nclass Request:\n    def __init__(self, owner):\n"
            "        self.owner = owner\n    def run(self):\n        put_on(self.owner, 'f', go)\ndef patch_all(owner):\n    Request(owner).run()\n"
            "def go():\n    patch_all(up.a)\n"
        ),
        [("binding-replacement", "up.a.f")],
    ),
    (
        "code that runs where a module of ours has none of its own",
        "import up.a, own.main\ndef give(owner):\n    owner.f = lambda: 1\ndef hand(owner):\n    do = getattr(own.main, 'give', give)\n    do(owner)\ndef go():\n    give(C())\n    hand(up.a)\nclass C: pass\n",
        [("binding-replacement", "up.a.f")],
    ),
    (
        "a decorator of ours around the function and around a method",
        (
            "import up.a as m\ndef quiet(func):\n    def inner(*given):\n        return func(*given)\n    return inner\n@quiet\ndef go():\n    m.f = print\n"
            "class P:\n    @quiet\n    def go(self):\n        m.g = print\n"
        ),
        [("binding-replacement", "up.a.f"), ("binding-replacement", "up.a.g")],
    ),
    ("another package", "import other\nother.f = 1\n", []),
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


def test_what_a_base_does_whoever_inherits_it_is_told_of_the_base(tmp_path: Path) -> None:
    files = {
        "own/base.py": "import up.a as m\n\nclass Base:\n    word = 'x'\n    def install(self):\n"
        "        m.f = lambda: 1\n        print(self.word)\n",
        "own/an_heir.py": "import up.b as n\nfrom own.base import Base\n\nclass Heir(Base):\n    word = 'y'\n\n"
        "n.g = print\n",
    }
    found = read_files(tmp_path, files).unregistered
    assert [(item.effect.target, item.within) for item in found] == [
        ("up.b.g", "own.an_heir"),
        ("up.a.f", "own.base.Base.install"),
    ]


def test_what_several_heirs_do_alike_is_told_of_the_base(tmp_path: Path) -> None:
    files = {
        "own/base.py": "import up.a\n\nclass Base:\n    names = ()\n    def install(self):\n"
        "        for name in self.names:\n            setattr(up.a, name, len)\n\n"
        "class One(Base):\n    names = ('f', 'g')\n\nclass Two(Base):\n    names = ('f',)\n",
    }
    found = read_files(tmp_path, files).unregistered
    assert {(item.effect.target, item.within) for item in found} == {
        ("up.a.f", "own.base.Base.install"),
        ("up.a.g", "own.base.One.install"),
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
    assert (
        found[1].effect.reason
        == "wraps `Client.put` of `module`, a parameter whose class cannot be read from its callers"
    )


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
    assert [item.why for item in inventory.skipped] == ["1 value set on them is not listed: other 1"]


def test_values_of_our_own_package_are_not_counted_as_another_package(tmp_path: Path) -> None:
    files = {
        "own/settings.py": "class Trainer:\n    steps = 1\n",
        "own/boot.py": "import up.a, other.x\nfrom own.settings import Trainer\n\ndef go():\n    Trainer.run = go\n    other.x.FLAG = 1\n    up.a.f = go\n",
    }
    inventory = read_files(tmp_path, files)
    assert [item.why for item in inventory.skipped] == ["1 value set on them is not listed: other 1"]


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


UNNAMED = [
    # idiom, file, style, the reason begins with, the condition
    (
        "a function of ours under a name that is computed, on what is known",
        "import up.a as m\ndef g(): pass\ndef go(name):\n    setattr(m, name, g)\n",
        "binding-replacement",
        "an attribute of up.a whose name is only known at run time",
        None,
    ),
    (
        "a parameter that defaults to None",
        (
            "from types import MethodType\ndef g(self): pass\ndef go(model=None):\n    if model is not None:\n"
            "        model.forward = MethodType(g, model)\n"
        ),
        "binding-replacement",
        "sets a method as `forward` of `model`",
        "model is not None",
    ),
    (
        "a module found by an object",
        "import sys\ndef g(): pass\ndef go(model):\n    module = sys.modules[model.__module__]\n    module.f = g\n",
        "binding-replacement",
        "sets `f` of the module sys.modules[model.__module__], which is only known at run time",
        None,
    ),
    (
        "the class called from the object",
        "def go(x):\n    def new(*a):\n        return type(x).forward(x, *a)\n    x.forward = new\n",
        "function-wrapping",
        "wraps `forward` of `x`",
        None,
    ),
    (
        "through its dictionary",
        "def g(self): pass\ndef go(model):\n    model.mlp.__dict__['forward'] = g\n",
        "binding-replacement",
        "sets `forward` of `model.mlp`",
        None,
    ),
]


@pytest.mark.parametrize(("name", "source", "style", "reason", "when"), UNNAMED, ids=[row[0] for row in UNNAMED])
def test_objects_of_a_run_are_told_as_they_are_reached(
    tmp_path: Path, name: str, source: str, style: str, reason: str, when: str | None
) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.style.value == style
    assert (item.effect.reason or "").startswith(reason)
    assert (show_condition(item.effect.when) or None) == when


CONDITIONS = [
    # idiom, file, target → condition
    (
        "what an object of ours holds, which is not what its class does",
        (
            "import up.a as m\nclass P:\n    def fill(self, given):\n        self.__dict__.update(given)\n"
            "    def go(self):\n        if self.__dict__.get('fast', None) is not None:\n            m.f = print\n"
        ),
        {"up.a.f": "self.__dict__.get('fast', None) is not None"},
    ),
    (
        "the case that takes what the others leave",
        (
            "import up.a as m\ndef go(kind, fast):\n    match kind:\n        case 'a':\n            m.f = print\n"
            "        case 'b' if fast:\n            m.g = print\n        case _:\n            m.h = print\n"
        ),
        {
            "up.a.f": "kind matches 'a'",
            "up.a.g": "kind matches 'b' and fast",
            "up.a.h": "kind does not match 'a' and not (kind matches 'b' and fast)",
        },
    ),
    (
        "what is asked of each of many objects",
        (
            "from up.a import C\ndef g(self): pass\ndef go(model, left):\n    todo = []\n    for name, one in model.named_modules():\n"
            "        if isinstance(one, C) and not is_left(name, left):\n            todo.append(one)\n"
            "    for one in todo:\n        one.forward = g\ndef is_left(name, left): return name in left\n"
        ),
        {"up.a.C.forward": "isinstance(one, C) and model.named_modules()[…][0] not in left"},
    ),
    (
        "an `if` around an extended list",
        (
            "import up.a as m\ndef go(fast):\n    names = ['f']\n    if fast:\n        names.extend(['g'])\n"
            "    for n in names:\n        setattr(m, n, print)\n"
        ),
        {"up.a.f": None, "up.a.g": "fast"},
    ),
    (
        "an `if` around a list and a table that grow",
        (
            "import up.a as m\ndef go(fast, more):\n    names = ['f']\n    if fast:\n        names += ['g']\n    for n in names:\n"
            "        setattr(m, n, print)\n    table = {'h': print}\n    if more:\n        table |= {'k': print}\n"
            "    for n, new in table.items():\n        setattr(m, n, new)\n"
        ),
        {"up.a.f": None, "up.a.g": "fast", "up.a.h": None, "up.a.k": "more"},
    ),
    (
        "a flag that another function sets",
        (
            "import up.a as m\n_ON = False\n_DONE = False\ndef enable():\n    global _ON\n    _ON = True\ndef is_on():\n    return _ON\n"
            "def go():\n    if not _ON:\n        return\n    m.f = print\ndef again():\n    if is_on():\n        m.g = print\n"
            "def once():\n    global _DONE\n    if not _DONE:\n        m.h = print\n    _DONE = True\n"
        ),
        {"up.a.f": "_ON", "up.a.g": "is_on()", "up.a.h": None},
    ),
    (
        "a list that asks itself",
        "import up.a as m\ndef go(x):\n    seen = []\n    if x not in seen:\n        seen.append(x)\n    m.f = print\n",
        {"up.a.f": None},
    ),
    (
        "an import that succeeds goes on with the next",
        (
            "import importlib\nimport sys\ndef go():\n    for n in ('up.x',):\n        try:\n"
            "            importlib.import_module(n)\n            continue\n        except ImportError:\n            pass\n"
            "        sys.modules[n] = print\n"
        ),
        {"up.x": "`importlib.import_module(n)` raises ImportError"},
    ),
    (
        "a table of modules and classes that a key chooses from",
        (
            "import importlib\nTABLE = {'a': ('up.a', 'A'), 'b': ('up.b', 'B'), 'c': ('up.b', 'B')}\n"
            "def go(kind=None):\n    if kind is None:\n        kinds = list(TABLE.keys())\n"
            "    elif kind in TABLE:\n        kinds = [kind]\n    else:\n        raise ValueError\n"
            "    for one in kinds:\n        path, name = TABLE[one]\n"
            "        getattr(importlib.import_module(path), name).f = print\n"
        ),
        {"up.a.A.f": "kind is None or kind == 'a'", "up.b.B.f": "kind is None or kind in ['b', 'c']"},
    ),
    (
        "a flag that is found out once",
        (
            "import up.a as m\n_FLAG = None\ndef flag():\n    global _FLAG\n    if _FLAG is not None:\n        return _FLAG\n"
            "    try:\n        _FLAG = m.ask()\n    except Exception:\n        _FLAG = False\n    return _FLAG\n"
            "if flag():\n    m.f = print\n"
        ),
        {"up.a.f": "flag()"},
    ),
    (
        "a list that a test fills, of objects only a run knows",
        (
            "from up.a import C\ndef g(self): pass\ndef fits(x): return x.size > 4\ndef go(model):\n    todo = []\n"
            "    for layer in model.layers:\n        if fits(layer) and isinstance(layer, C):\n"
            "            todo.append(layer)\n    for one in todo:\n        one.forward = g\n"
        ),
        {"up.a.C.forward": "fits(layer) and isinstance(layer, C)"},
    ),
    (
        "a comprehension over objects only a run knows",
        (
            "from up.a import C\ndef g(self): pass\ndef go(model):\n"
            "    for one in [m for m in model.layers if m.big and isinstance(m, C)]:\n        one.forward = g\n"
        ),
        {"up.a.C.forward": "m.big and isinstance(m, C)"},
    ),
    (
        "a table that is filled in one branch",
        (
            "import up.a as m\ndef go(fast):\n    if fast:\n        table = {n: getattr(m, n) for n in ['f', 'g']}\n"
            "    else:\n        table = {}\n    for n in table.keys():\n        setattr(m, n, print)\n"
        ),
        {"up.a.f": "fast", "up.a.g": "fast"},
    ),
    (
        "an entry that is put in a table on a test",
        (
            "import up.a as m\ndef go(fast):\n    table = {'f': print}\n    if fast:\n        table['g'] = print\n"
            "    for n in table:\n        setattr(m, n, table[n])\n"
        ),
        {"up.a.f": None, "up.a.g": "fast"},
    ),
    (
        "one class on two ways",
        (
            "import up.a as m\ndef go(x, a, b):\n    if a:\n        k = m.C\n    elif b:\n        k = m.D\n    else:\n        k = m.C\n"
            "    k.forward = print\n"
        ),
        {"up.a.C.forward": "a or not b", "up.a.D.forward": "not a and b"},
    ),
    (
        "one class on every way",
        "import up.a as m\ndef ours(self): ...\ndef go(x, a):\n    if a:\n        x = m.C(x)\n    else:\n        x = m.C(1)\n    x.forward = ours\n",
        {"up.a.C.forward": None},
    ),
    (
        "objects made on two ways, behind a test of both",
        (
            "import up.a as m\ndef ours(self): ...\ndef go(x, a, b, c):\n    if not a:\n        if b:\n            x = m.C(x, 1)\n        elif c:\n"
            "            x = m.C(x)\n    x.forward = ours\n"
        ),
        {"up.a.C.forward": "not a and (b or c)"},
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), CONDITIONS, ids=[row[0] for row in CONDITIONS])
def test_conditions_of_lists_loops_and_flags(
    tmp_path: Path, name: str, source: str, expected: dict[str, str | None]
) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert {item.effect.target: (show_condition(item.effect.when) or None) for item in found} == expected


INSIDE = [
    # idiom, what is done to up.a, what changes in it
    (
        "a table that a text of mock names",
        "mock.patch.dict('up.a.TABLE', {'k': print}, j=print).start()",
        ["TABLE['k']", "TABLE['j']"],
    ),
    ("a table that is joined with another", "m.TABLE |= {'k': print}", ["TABLE['k']"]),
    ("a list that grows", "m.NAMES += [print]", ["NAMES.extend"]),
    (
        "an imported table, then an item of it",
        "TABLE |= {'k': print}\nTABLE[print.__name__] = print",
        ["TABLE['k']", "TABLE['print']"],
    ),
]


@pytest.mark.parametrize(("name", "line", "expected"), INSIDE, ids=[row[0] for row in INSIDE])
def test_what_is_changed_inside_is_no_replacement_of_the_whole(
    tmp_path: Path, name: str, line: str, expected: list[str]
) -> None:
    source = f"import up.a as m\nfrom unittest import mock\nfrom up.a import TABLE\n{line}\n"
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [key for item in found for key in item.effect.mutates] == expected
    assert {item.effect.target for item in found} <= {"up.a.TABLE", "up.a.NAMES"}


def test_an_original_kept_in_a_module_of_ours_is_called(tmp_path: Path) -> None:
    files = {
        "own/kept.py": "first = None\n",
        "own/boot.py": "import up.a as m\nfrom own import kept\nkept.first = m.f\ndef new():\n    return kept.first()\nm.f = new\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert (item.effect.style.value, item.effect.target) == ("function-wrapping", "up.a.f")


def test_a_helper_in_a_file_that_knows_no_upstream_is_read(tmp_path: Path) -> None:
    files = {
        "own/helper.py": "def fast(self): pass\ndef give(cls):\n    setattr(cls, 'step', fast)\n",
        "own/boot.py": "from own.helper import give\nfrom up.a import C\ndef go():\n    give(C)\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert (item.effect.target, str(item.effect.location)) == ("up.a.C.step", "own/boot.py:4")


def test_what_a_wrapper_that_is_registered_by_path_writes_is_told(tmp_path: Path) -> None:
    source = (
        "import up.b\nclass Manager:\n    @classmethod\n    def register_patch(cls, path, new): pass\n"
        "def make_wrapper(first):\n    def new(self):\n        up.b.g = print\n        return first(self)\n    return new\n"
        "Manager.register_patch('up.a.C.go', make_wrapper)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.target, item.effect.moment, str(item.effect.location)) == (
        "up.b.g",
        Moment.DEFERRED,
        "own/boot.py:7",
    )


def test_a_backend_without_upstream_objects_lists_what_no_other_backend_owns(tmp_path: Path) -> None:
    backends = {
        "up": Backend(path="third_party/up", packages=("up",), integration=("own/up",)),
        "away": Backend(path="third_party/away", integration=("own/away",)),
    }
    files = {
        f"own/{name}/boot.py": f"import torch\ndef f(): pass\ntorch.{name} = f\n" for name in ("up", "away", "shared")
    }
    reading = open_reading(tmp_path, files, backends=backends)
    found = read_inventory(reading, "away").unregistered
    assert [item.effect.target for item in found] == ["torch.away", "torch.shared"]


def test_a_path_into_any_package_that_we_import_is_a_target(tmp_path: Path) -> None:
    manager = "class Manager:\n    @classmethod\n    def register_patch(cls, path, new): pass\n"
    calls = "".join(
        f"    {who}.register_patch('other.a.{name}', f)\n" for who, name in (("Manager", "C"), ("given", "D"))
    )
    files = {
        "own/manager.py": manager,
        "own/boot.py": f"import other.a\nfrom own.manager import Manager\ndef f(): pass\ndef go(given):\n{calls}"
        "    Manager.register_patch('own.id', f)\n",
    }
    inventory = read_files(tmp_path, files)
    assert [patch.id for patch in inventory.patches if patch.effects] == ["other.a.C", "other.a.D"]
    assert not [row for row in inventory.skipped if "other" in row.what]


REGISTERED = [
    # idiom, files, (registry call, what is registered)
    (
        "classes of a table, by keywords",
        {
            "own/boot.py": "from up.ops import Op\nclass A: pass\nclass B: pass\nOURS = {'a': A, 'b': B}\ndef go():\n"
            "    for name, one in OURS.items():\n        Op.register_oot(kind=one, name=name)\n"
        },
        [("up.ops.Op.register_oot('a')", "own.boot.A"), ("up.ops.Op.register_oot('b')", "own.boot.B")],
    ),
    (
        "a class",
        {"own/boot.py": "from up.a import REG\nclass Mine: pass\nREG.register_model('Arch', Mine)\n"},
        [("up.a.REG.register_model('Arch')", "own.boot.Mine")],
    ),
    (
        "a class under a class",
        {"own/boot.py": "from up.a import Auto\nclass Key: pass\nclass Mine: pass\nAuto.register(Key, Mine)\n"},
        [("up.a.Auto.register()", "own.boot.Mine")],
    ),
    (
        "a class by its path",
        {
            "own/boot.py": "from up.a import REG\ndef go():\n    REG.register_model('Arch', 'own.models:Mine')\n",
            "own/models.py": "class Mine: pass\n",
        },
        [("up.a.REG.register_model('Arch')", "own.models.Mine")],
    ),
    (
        "a table of classes",
        {
            "own/boot.py": (
                "from up.a import REG\nclass A: pass\nclass B: pass\n"
                "for k, v in {'a': A, 'b': B}.items():\n    REG.register_oot(v, name=k)\n"
            )
        },
        [("up.a.REG.register_oot('a')", "own.boot.A"), ("up.a.REG.register_oot('b')", "own.boot.B")],
    ),
    (
        "a buffer of our own",
        {"own/boot.py": "class A:\n    def go(self):\n        self.register_buffer('x', print)\n"},
        [],
    ),
]


@pytest.mark.parametrize(("name", "files", "expected"), REGISTERED, ids=[row[0] for row in REGISTERED])
def test_what_is_handed_to_a_registry_of_upstream(
    tmp_path: Path, name: str, files: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    found = read_files(tmp_path, files).unregistered
    assert [(item.effect.mutates[0], item.effect.replacement) for item in found] == expected


def test_what_a_handler_does_through_a_helper_is_told_once(tmp_path: Path) -> None:
    helper = "def put(owner, name, new):\n    setattr(owner, name, new)\n"
    source = (
        "from own.engine.core import register_patch\nfrom own.helper import put\ndef _install():\n    import up.a as m\n"
        "    put(m, 'f', print)\n@register_patch('the.id', backend='up')\ndef install(ctx):\n    _install()\n"
    )
    found = read_files(tmp_path, {"own/up_patches.py": source, "own/helper.py": helper})
    assert [effect.target for patch in found.patches for effect in patch.effects] == ["up.a.f"]
    assert found.unregistered == ()


def test_a_module_imported_by_name_inside_a_function_is_read(tmp_path: Path) -> None:
    source = "def go():\n    import importlib\n    m = importlib.import_module('up.a')\n    m.f = print\n"
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.target == "up.a.f"


def test_the_head_line_counts_every_effect_once_and_says_what_overlaps(tmp_path: Path) -> None:
    source = (
        "import other.x, types, up.a\n"
        "def f(self): return 1\n"
        "up.a.f = f\nother.x.f = f\nother.x.g = f\n"
        "def go(model):\n    model.forward = types.MethodType(f, model)\n"
    )
    read = read_files(tmp_path, {"own/boot.py": source})
    items = [
        replace(one, effect=replace(one.effect, target_kind=TargetKind.EXTERNAL))
        if (one.effect.target or "").startswith("other")
        else one
        for one in read.unregistered
    ]
    listing = build_listing(replace(read, unregistered=tuple(items), pin="a" * 40), "own", "Up")
    assert listing.title == (
        "Up: 4 monkey patches: 1 on Up, 2 on other packages, 1 on targets that cannot be named without running the code."
    )
    assert listing.meta[1:] == (
        "This project has no patch registry: each name that a line of ours changes counts as one patch.",
        "Other packages: other (2).",
        "1 of the 4 changes a single object, not a class or a module.",
        "The one that cannot be named is called uncertain below.",
    )


def test_the_head_line_knows_the_backend_without_its_objects(tmp_path: Path) -> None:
    read = read_files(tmp_path, {"own/boot.py": "import other.x\nother.x.f = print\n"})
    items = [replace(one, effect=replace(one.effect, target_kind=TargetKind.EXTERNAL)) for one in read.unregistered]
    found = replace(read, unregistered=tuple(items), pin=None)
    assert build_listing(found, "own", "Other", packages=("other",)).title == ("Other: 1 monkey patch: 1 on Other.")


def test_the_head_line_names_what_stands_beside_the_backend(tmp_path: Path) -> None:
    read = read_files(tmp_path, {"own/boot.py": "import other.x\nother.x.f = print\n"})
    items = [replace(one, effect=replace(one.effect, target_kind=TargetKind.EXTERNAL)) for one in read.unregistered]
    found = replace(read, unregistered=tuple(items), pin="a" * 40)
    listing = build_listing(found, "own", "Other", packages=("other",))
    assert listing.title == "Other: 1 monkey patch: none on Other, 1 on other packages."
    assert listing.meta[2] == "Other packages: other.x (1)."


@pytest.mark.parametrize(("packages", "last"), [(5, "other4 (1)"), (6, "other5 (1)"), (7, "others (2)")])
def test_packages_beyond_the_first_are_counted(tmp_path: Path, packages: int, last: str) -> None:
    source = "".join(f"import other{at}\nother{at}.run = lambda: {at}\n" for at in range(packages))
    read = read_files(tmp_path, {"own/boot.py": source})
    items = tuple(
        replace(one, effect=replace(one.effect, target_kind=TargetKind.EXTERNAL)) for one in read.unregistered
    )
    listing = build_listing(replace(read, unregistered=items, pin="a" * 40), "own", "Up")
    assert f"{packages} on other packages." in listing.title
    assert listing.meta[2].startswith("Other packages: other0 (1), other1 (1), other2 (1), other3 (1), other4 (1)")
    assert listing.meta[2].endswith(f"{last}.")


def test_the_head_line_says_that_no_patch_is_on_the_backend(tmp_path: Path) -> None:
    read = read_files(tmp_path, {"own/boot.py": "import other.x\nother.x.f = print\n"})
    items = [replace(one, effect=replace(one.effect, target_kind=TargetKind.EXTERNAL)) for one in read.unregistered]
    listing = build_listing(replace(read, unregistered=tuple(items), pin="a" * 40), "own", "Up")
    assert listing.title == "Up: 1 monkey patch: none on Up, 1 on other packages."


CHECKS = "    if not a:\n        raise ValueError\n    assert b\n    if c:\n        raise TypeError\n"
CALLERS = [
    # (what it shows, what the caller asks before it calls, when it applies)
    ("three checks", f"{CHECKS}    if d == 1:\n", "in the caller main: a and b and not c and d == 1"),
    (
        "many checks",
        f"{CHECKS}    if e:\n        if a:\n            raise ValueError\n        e = 2\n    if early:\n        return\n    if d == 1:\n",
        "in the caller main: not early and d == 1 and none of 4 earlier checks raises",
    ),
]


@pytest.mark.parametrize(("shows", "asks", "when"), CALLERS, ids=[row[0] for row in CALLERS])
def test_what_a_caller_decides_is_not_lost_among_its_checks(tmp_path: Path, shows: str, asks: str, when: str) -> None:
    boot = "def go():\n    import up.a as m\n    m.f = print\n"
    main = f"from own.boot import go\ndef main(a, b, c, d, e, early):\n{asks}        go()\n"
    (item,) = read_files(tmp_path, {"own/boot.py": boot, "own/main.py": main}).unregistered
    assert show_condition(item.effect.when) == when


PUT = (
    "from unittest.mock import patch\ndef g(): ...\ndef h(): ...\ndef go():\n    path = 'up.a.f'\n"
    "    patcher = patch(path, g if up.v > 1 else h)\n    patcher.start()\n"
)
WAYS = [
    # (what it shows, who calls, when it applies)
    (
        "one caller",
        "class W:\n    def __new__(cls, a):\n        if a:\n            go()\n",
        "in the caller W.__new__: a",
    ),
    (
        "another asks nothing",
        "class W:\n    def __new__(cls, a):\n        if a:\n            go()\ndef two():\n    go()\n",
        "",
    ),
    (
        "another asks for something else",
        "class W:\n    def __new__(cls, a):\n        if a:\n            go()\ndef two(b):\n    if b:\n        go()\n",
        "one of 2 calls leads here: (in the caller W.__new__: a) or (in the caller two: b)",
    ),
]


@pytest.mark.parametrize(("callers", "when"), [row[1:] for row in WAYS], ids=[row[0] for row in WAYS])
def test_what_one_of_several_callers_asks_does_not_decide(tmp_path: Path, callers: str, when: str) -> None:
    files = {"own/boot.py": f"import up\n{PUT}", "own/work.py": f"from own.boot import go\n{callers}"}
    found = read_files(tmp_path, files).unregistered
    assert [show_condition(one.effect.when) for one in found] == [when]


def test_a_method_put_on_an_object_is_told_in_the_title_of_its_page(tmp_path: Path) -> None:
    source = "def g(self): pass\ndef go(model):\n    model.forward = g.__get__(model)\n"
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert describe_logic((item.effect,)) == (
        "sets a method as `forward` of `model`, an object that only exists at run time → own.boot.g (own/boot.py:1)"
    )


BUILT = """
from unittest.mock import patch
from packaging import version
import up


def wrap(original):
    def inner(self):
        with patch("up.a.helper", new_helper):
            return original(self)
    return inner


def new_helper(): ...
def old(self): ...


def build(v):
    path = "up.a.C.m"
    if v >= version.parse("2.0"):
        from up.a import C
        return [patch(path, wrap(C.m))]
    return [patch(path, old)]


def go():
    for one in build(version.parse(up.__version__)):
        one.start()
"""


def test_patches_that_a_function_returns_are_told_apart_by_version(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": BUILT}).unregistered
    version = "packaging.version.parse(up.__version__) {} packaging.version.parse('2.0')"
    assert [(one.effect.replacement, show_condition(one.effect.when), one.effect.certain) for one in found[1:]] == [
        ("own.boot.old", version.format("<"), True),
        ("own.boot.wrap.inner", version.format(">="), True),
    ]
    inner = found[0].effect
    assert (inner.target, inner.location.line, inner.moment) == ("up.a.helper", 9, Moment.TRANSIENT)
    assert show_condition(inner.when) == "in the caller build: v >= version.parse('2.0')"


NAMED_BY_TABLE = """
TABLE = {"a": ("up.a", "A"), "b": ("up.b", "B")}


def put_on(cls, new):
    def forward(self, x):
        return new(self, x)
    cls.forward = forward


def go(kind=None):
    if kind is None:
        kinds = list(TABLE.keys())
    elif kind in TABLE:
        kinds = [kind]
    else:
        raise ValueError(kind)
    done = []
    for one in kinds:
        path, name = TABLE[one]
        try:
            import importlib

            module = importlib.import_module(path)
            put_on(getattr(module, name), print)
            done.append(name)
        except (ImportError, AttributeError):
            print(one)
    return done
"""


def test_classes_that_a_table_names_are_found_in_a_long_function(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": NAMED_BY_TABLE}).unregistered
    assert [item.effect.target for item in found] == ["up.a.A.forward", "up.b.B.forward"]
    assert [show_condition(item.effect.when) for item in found] == [
        "(kind is None or kind == 'a') and path is importable",
        "(kind is None or kind == 'b') and path is importable",
    ]


def test_variables_set_beside_no_other_patch_are_counted(tmp_path: Path) -> None:
    source = "import os\nimport up.a\nos.environ['UP_A'] = '1'\ndef go():\n    os.environ.setdefault('UP_B', '2')\n"
    (told,) = read_files(tmp_path, {"own/boot.py": source}).skipped
    assert told.why == "2 variables that our code sets outside its patches are not listed: UP_A, UP_B"


def test_what_two_branches_put_in_one_place_is_told_of_both(tmp_path: Path) -> None:
    source = (
        "import up.a as m\ndef g(): pass\ndef h(): pass\ndef go(fast):\n    table = {'f': g} if fast else {'f': h}\n"
        "    for n, v in table.items():\n        setattr(m, n, v)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    told = [(item.effect.replacement, show_condition(item.effect.when)) for item in found]
    assert told == [("own.boot.g", "fast"), ("own.boot.h", "not (fast)")]


def test_a_key_that_a_table_is_given_anew_is_one_entry(tmp_path: Path) -> None:
    source = (
        "import up.a as m\nclass A: pass\nclass B: pass\ndef go():\n    table = {'x': A, 'y': A}\n"
        "    if m.is_old():\n        table.update({'x': B})\n"
        "    for n, v in table.items():\n        m.R.register(n, v)\n"
    )
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.replacement, len(one.replacements_at)) for one in found] == [
        ("own.boot.B or own.boot.A", 2),
        ("own.boot.A", 0),
    ]


def test_a_long_test_on_an_entry_is_told_as_it_is_written(tmp_path: Path) -> None:
    source = (
        "import up.a as m\ndef go(cfg=None):\n    if cfg is None:\n        cfg = m.the_settings_of_this_very_run_of_ours_and_of_those_before().whichever.parts\n"
        "    table = {}\n    if cfg is not None and cfg.deep:\n        table['f'] = print\n"
        "    for n, v in table.items():\n        setattr(m, n, v)\n"
    )
    (found,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert show_condition(found.effect.when) == "cfg is not None and cfg.deep"


def test_an_object_of_ours_is_named_among_several(tmp_path: Path) -> None:
    source = "import up.a as m\nclass Ours:\n    def run(self): pass\ndef go(k):\n    f = m.A() if k else Ours()\n    m.f = f\n"
    (found,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert found.effect.replacement == "up.a.A(…) or own.boot.Ours()"
    assert str(found.effect.replacement_at) == "own/boot.py:2"


SAME_NAMES = [
    # what is called, what is written, style of the last
    ("other.npu.f", ["other.cuda.f"], "binding-replacement"),
    ("other.core.f", ["other.core.deep.f"], "function-wrapping"),
    ("other.core.deep.f", ["other.core.f"], "function-wrapping"),
    ("other.x.f", ["other.x.f", "other.y.f"], "function-wrapping"),
]


@pytest.mark.parametrize(("called", "written", "style"), SAME_NAMES, ids=[row[1][-1] for row in SAME_NAMES])
def test_two_names_that_cannot_be_looked_up_are_one_object_only_on_evidence(
    tmp_path: Path, called: str, written: list[str], style: str
) -> None:
    source = f"import other\nkept = {called}\ndef g():\n    return kept()\n"
    source += "".join(f"{name} = g\n" for name in written)
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert found[-1].effect.style.value == style


def test_what_is_put_there_by_default_is_named_among_several(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d"]
    source = "import up.a as m\n" + "".join(f"def {name}(): pass\n" for name in names)
    source += "def go(k):\n" + "".join(f"    {'el' * (n > 0)}if k == {n}:\n        f = {names[n]}\n" for n in range(3))
    source += "    else:\n        f = d\n    m.f = f\n"
    (found,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert found.effect.replacement == " or ".join(f"own.boot.{name}" for name in names)
    assert [str(place) for place in found.effect.replacements_at] == [f"own/boot.py:{n}" for n in range(2, 6)]


def test_what_is_handed_on_is_told_where_it_is_named(tmp_path: Path) -> None:
    files = {
        "own/give.py": "def give(cls, name, new):\n    setattr(cls, name, new)\n",
        "own/hand.py": "from own.give import give\ndef hand(cls, new):\n    give(cls, 'step', new)\n"
        "def make(cls, new):\n    cls = cls()\n    give(cls, 'gone', new)\n",
        "own/boot.py": "from up.a import C\nfrom own.hand import hand, make\ndef fast(self): ...\ndef go():\n    hand(C, fast)\n    make(C, fast)\n",
    }
    (first, *rest) = read_files(tmp_path, files).unregistered
    assert (str(first.effect.location), str(first.effect.helper), first.within) == (
        "own/boot.py:5",
        "own/give.py:2",
        "own.boot.go",
    )
    assert [str(item.effect.location) for item in rest] == ["own/hand.py:6"]


def test_a_decorator_of_another_file_hides_no_function(tmp_path: Path) -> None:
    files = {
        "own/quiet.py": "def named(name):\n    def around(func):\n        def inner(*given):\n            return func(*given)\n        return inner\n    return around\n",
        "own/boot.py": "import up.a as m\nfrom own.quiet import named\n@named('x')\ndef go():\n    m.f = print\n",
    }
    found = read_files(tmp_path, files).unregistered
    assert [(item.effect.target, item.within) for item in found] == [("up.a.f", "own.boot.go")]
