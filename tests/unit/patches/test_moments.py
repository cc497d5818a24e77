"""Instance patches: made and undone by a context manager, a function, or never."""

from __future__ import annotations

from pathlib import Path

import pytest

from snippets import read_files

BASE = """
from types import MethodType


def mine(self, x):
    return x


class Base:
    def __init__(self, config, model):
        self._model = model
        self.config = config

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass
"""
MOMENTS: list[tuple[str, str, list[tuple[int, str]]]] = [
    # idiom, what stands below BASE, (line below BASE, moment) of each row
    (
        "entered and left",
        """
class P(Base):
    def __enter__(self):
        self._model._orig_forward = self._model.forward
        self._model.forward = MethodType(mine, self._model)
    def __exit__(self, *exc):
        self._model.forward = self._model._orig_forward
""",
        [(4, "transient")],
    ),
    (
        "kept in the constructor, set and put back by one method",
        """
def make(owner, old):
    def step(*args):
        owner.called = True
        return old(*args)
    return step
class P(Base):
    def __init__(self, model):
        self._model = model
        self._old = self._model.step
        self._new = make(self, self._model.step)
    def run(self):
        self._model.step = self._new
        self._model.fit()
        self._model.step = self._old
""",
        [(12, "transient")],
    ),
    (
        "each layer",
        """
class P(Base):
    def __enter__(self):
        for layer in self._model.layers:
            layer.attn._orig_forward = layer.attn.forward
            layer.attn.forward = MethodType(mine, layer.attn)
    def __exit__(self, *exc):
        for block in self._model.layers:
            if hasattr(block.attn, "_orig_forward"):
                block.attn.forward = block.attn._orig_forward
""",
        [(5, "transient")],
    ),
    (
        "made in the constructor, on its parameter",
        """
class P(Base):
    def __init__(self, config, model):
        model._orig_forward = model.forward
        model.forward = MethodType(mine, model)
        super().__init__(config, model)
    def __exit__(self, *exc):
        super().__exit__(*exc)
        self._model.forward = self._model._orig_forward
""",
        [(4, "transient")],
    ),
    (
        "undone by a base two classes up",
        """
class Undo(Base):
    def __exit__(self, *exc):
        super().__exit__(*exc)
        self._model.forward = self._model._orig_forward
class Middle(Undo):
    def __exit__(self, *exc):
        super().__exit__(*exc)
class P(Middle):
    def __enter__(self):
        super().__enter__()
        self._model._orig_forward = self._model.forward
        self._model.forward = MethodType(mine, self._model)
    def __exit__(self, *exc):
        super().__exit__(*exc)
""",
        [(12, "transient")],
    ),
    (
        "paired functions inside",
        """
class P(Base):
    def __enter__(self):
        def patch_it(moe):
            moe.router._orig_forward = moe.router.forward
            moe.router.forward = MethodType(mine, moe.router)
        for layer in self._model.layers:
            patch_it(layer.moe)
    def __exit__(self, *exc):
        def unpatch_it(moe):
            moe.router.forward = moe.router._orig_forward
        for layer in self._model.layers:
            unpatch_it(layer.moe)
""",
        [(5, "transient")],
    ),
    (
        "a helper method with an alias",
        """
class P(Base):
    def __enter__(self):
        self._patch()
    def _patch(self):
        model = self._model
        model._orig_forward = model.forward
        def g(x):
            return x
        model.forward = g
    def __exit__(self, *exc):
        self._model.forward = self._model._orig_forward
        del self._model._orig_forward
""",
        [(9, "transient")],
    ),
    (
        "a registry of upstream",
        """
from up.masks import TABLE, theirs
class P(Base):
    def __enter__(self):
        TABLE.register("k", mine)
        TABLE.register("other", mine)
    def __exit__(self, *exc):
        TABLE.register("k", theirs)
""",
        [(4, "transient"), (5, "install")],
    ),
    (
        "never undone: the name asked for on leaving is misspelt",
        """
class P(Base):
    def __enter__(self):
        self._model._orig_forward = self._model.forward
        self._model.forward = MethodType(mine, self._model)
    def __exit__(self, *exc):
        if hasattr(self._model, "_orig_frward"):
            self._model.forward = self._model._orig_forward
""",
        [(4, "install")],
    ),
    (
        "another name is undone, held by the object",
        """
class P(Base):
    def __enter__(self):
        setattr(self._model, self._name, mine)
        self._model.decode = MethodType(mine, self._model)
    def __exit__(self, *exc):
        setattr(self._model, self._name, self._orig)
""",
        [(3, "transient"), (4, "install")],
    ),
    (
        "another object is undone",
        """
class P(Base):
    def __enter__(self):
        self._model.vision.forward = MethodType(mine, self._model.vision)
    def __exit__(self, *exc):
        self._model.text.forward = self._model.text._orig_forward
""",
        [(3, "install")],
    ),
    (
        "undone at the end of the function",
        """
def run(model, x):
    old = model.forward
    model.forward = MethodType(mine, model)
    try:
        return model(x)
    finally:
        model.forward = old
""",
        [(3, "transient")],
    ),
    (
        "undone by a second helper in one function",
        """
def patch_it(model):
    model._orig_forward = model.forward
    model.forward = MethodType(mine, model)
def unpatch_it(model):
    model.forward = model._orig_forward
def run(model, x):
    patch_it(model)
    y = model(x)
    unpatch_it(model)
    return y
""",
        [(3, "transient")],
    ),
    (
        "either put or put back",
        """
def switch(model, on):
    old = model.forward
    if on:
        model.forward = MethodType(mine, model)
    else:
        model.forward = old
""",
        [(4, "install")],
    ),
    (
        "set by one method, put back by another",
        """
import up.a
class P:
    def on(self):
        self.kept = up.a.show
        up.a.show = mine
    def off(self):
        up.a.show = self.kept
""",
        [(5, "transient")],
    ),
    (
        "set by one method, put back by none",
        """
import up.a
class P:
    def on(self):
        self.kept = up.a.show
        up.a.show = mine
    def off(self):
        self.kept = None
""",
        [(5, "install")],
    ),
    (
        "kept on the class itself",
        """
from up.a import C
class P:
    def setup(self):
        setattr(C, "first", C.go)
        C.go = mine
    def teardown(self):
        C.go = getattr(C, "first")
""",
        [(5, "transient")],
    ),
    (
        "a copy of the original kept on the object, put back on its class by another method",
        """
from types import FunctionType
class P:
    def setup(self):
        for part in self:
            old = FunctionType(part.__getattr__.__code__, part.__getattr__.__globals__)
            part.first = old
            part.__class__.__getattr__ = mine
    def teardown(self):
        for part in self:
            part.__class__.__getattr__ = part.first
""",
        [(7, "transient")],
    ),
    (
        "modules put back from a copy of the table after the yield",
        """
import contextlib, importlib, sys, types
class Dummy(types.ModuleType):
    def __getattr__(self, name):
        return None
@contextlib.contextmanager
def stand_in(module):
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        saved = sys.modules.copy()
        name, *rest = module.split(".")
        sys.modules[name] = Dummy("dummy")
        put = [name]
        for part in rest:
            name += f".{part}"
            sys.modules[name] = Dummy("dummy")
            put.append(name)
        yield
        for name in put:
            if name in saved:
                sys.modules[name] = saved[name]
            else:
                del sys.modules[name]
    else:
        yield
""",
        [(12, "transient"), (16, "transient")],
    ),
    (
        "a new name deleted in the same run",
        """
import contextlib
import up.a
@contextlib.contextmanager
def for_a_time():
    up.a.extra = mine
    try:
        yield
    finally:
        del up.a.extra
""",
        [(5, "transient")],
    ),
    (
        "what a constructor puts there stays: a class below keeps it after that, and puts it back with the original",
        """
import up.a
class P(up.a.Trainer):
    def __init__(self, bold):
        super().__init__()
        if bold:
            from up.other import clip
            self.engine.clip_ = MethodType(clip, self.engine)
class Q(P):
    def __init__(self, bold):
        super().__init__(bold)
        self._old = self.engine.clip_
    def start(self):
        def ours(engine, x):
            return self._old(x)
        self.engine.clip_ = MethodType(ours, self.engine)
    def end(self):
        self.engine.clip_ = self._old
    def train(self):
        self.start()
        super().train()
        self.end()
def main():
    Q(True).train()
main()
""",
        [(7, "install"), (15, "transient")],
    ),
    (
        "either set or deleted",
        """
import up.a
def switch(on):
    if on:
        up.a.extra = mine
    else:
        del up.a.extra
""",
        [(4, "install"), (6, "install")],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), MOMENTS, ids=[row[0] for row in MOMENTS])
def test_moments(tmp_path: Path, name: str, source: str, expected: list[tuple[int, str]]) -> None:
    found = read_files(tmp_path, {"own/boot.py": BASE + source}).unregistered
    first = BASE.count("\n") + 1
    assert [(item.effect.location.line - first, item.effect.moment.value) for item in found] == expected


def test_a_method_of_theirs_that_is_bound_onto_an_object_wraps_nothing(tmp_path: Path) -> None:
    source = next(text for name, text, _ in MOMENTS if name.startswith("what a constructor puts there"))
    found = read_files(tmp_path, {"own/boot.py": BASE + source}).unregistered
    assert [one.effect.style.value for one in found] == ["binding-replacement", "function-wrapping"]


PLACES: list[tuple[str, str, list[tuple[int, str | None]]]] = [
    # idiom, what stands below BASE, (line below BASE, target) of each row
    (
        "no caller names the object: once, where it stands",
        """
def patch_it(model):
    model.inner.forward = MethodType(mine, model.inner)
def first(model):
    patch_it(model.a)
def second(model):
    patch_it(model.b)
""",
        [(2, None)],
    ),
    (
        "one caller names it, the other does not: each where it calls",
        """
def patch_it(klass):
    klass.forward = lambda self: 1
def first():
    from up.a import C
    patch_it(C)
def second(model):
    patch_it(model.b)
""",
        [(5, "up.a.C.forward"), (7, None)],
    ),
    (
        "the caller gives the function",
        """
def patch_it(model, new):
    model.forward = MethodType(new, model)
def other(self, x):
    return x
def first(model):
    patch_it(model, mine)
    patch_it(model, other)
""",
        [(6, None), (7, None)],
    ),
    (
        "parameters decide nothing",
        """
import up.a
def start_all(model):
    model.config.callback = lambda: 1
    up.a.f = mine
def first(model):
    start_all(model)
""",
        [(3, None), (4, "up.a.f")],
    ),
    (
        "now, and again in a wrapper later: told as it happens now",
        """
import up.a
def wrap_it(name, old):
    def new(*args):
        return old(name, *args)
    return new
def change(job):
    job.run = wrap_it(job.name, job.run)
    return job
def install():
    def create(jobs):
        return [change(job) for job in jobs]
    up.a.create = create
""",
        [(7, None), (12, "up.a.create")],
    ),
    (
        "an object that our base constructor makes",
        """
class Ours:
    pass
class Better(Ours):
    pass
class First(Base):
    def __init__(self, config, model, unet=None):
        super().__init__(config, model)
        self.a, self.b, self.c, self.d, self.e, self.f, self.g = range(7)
        print(1), print(2), print(3)
        if unet is None:
            print(4)
        if config is None:
            print(5)
        for _ in range(3):
            print(6)
        for _ in range(3):
            print(7)
        self.unet = Ours() if unet is not None else None
        self.other = model
class Second(First):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.unet.__class__ = Better
        self.other.__class__ = Better
""",
        [(24, None)],
    ),
    (
        "a class under a test",
        """
import sys
import up.a
if sys.version_info >= (3, 13):
    class Shared(up.a.Shared):
        pass
else:
    class Shared(up.a.Shared):
        def __init__(self, name):
            old = up.a.register
            up.a.register = mine
            try:
                super().__init__(name)
            finally:
                up.a.register = old
""",
        [(10, "up.a.register")],
    ),
    (
        "a stand-in that we make",
        """
from types import SimpleNamespace
def first(old):
    stand_in = SimpleNamespace(forward=None)
    stand_in.forward = mine
""",
        [],
    ),
    (
        "an empty container that we fill",
        """
from torch import nn
class Block(nn.Module): ...
class Stack(nn.Module):
    def __init__(self):
        self.mid = nn.Module()
        self.mid.first = Block()
        for step in range(3):
            down = nn.Module()
            down.sample = Block()
""",
        [],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), PLACES, ids=[row[0] for row in PLACES])
def test_places(tmp_path: Path, name: str, source: str, expected: list[tuple[int, str | None]]) -> None:
    found = read_files(tmp_path, {"own/boot.py": BASE + source}).unregistered
    first = BASE.count("\n") + 1
    assert [(item.effect.location.line - first, item.effect.target) for item in found] == expected


ONCE = [
    # (what it shows, what the replacement does, when it is there)
    ("puts the original back", "inner.step = old", "transient"),
    ("puts something else there", "inner.step = print", "install"),
    ("puts it back elsewhere", "inner.other = old", "install"),
    ("puts it back where it fails", "if not args: inner.step = old", "install"),
]


@pytest.mark.parametrize(("line", "moment"), [row[1:] for row in ONCE], ids=[row[0] for row in ONCE])
def test_a_replacement_that_puts_the_original_back_is_there_for_a_time(tmp_path: Path, line: str, moment: str) -> None:
    source = (
        "def go(inner, method):\n    old = inner.step\n    def once(*args):\n"
        f"        {line}\n        return method(*args)\n    inner.step = once\n    inner.run()\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [item.effect.moment for item in found if item.effect.location.line == 6] == [moment]


KEPT = [
    # (what it shows, where a function that patches is put, when its patch happens)
    ("in a table of ours", "class Table:\n    held = {}\nTable.held['a'] = load\n", "install"),
    (
        "by a method of ours",
        "class T:\n    held = {}\n    @classmethod\n    def add(c, n, f):\n        c.held[n] = f\nT.add('a', load)\n",
        "install",
    ),
    ("in upstream", "import up.b\nup.b.start = load\n", "deferred"),
]


@pytest.mark.parametrize(("put", "moment"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_what_a_function_does_that_only_we_keep_waits_for_nothing(tmp_path: Path, put: str, moment: str) -> None:
    load = "def load():\n    import up.a as m\n    m.f = print\n"
    found = read_files(tmp_path, {"own/boot.py": load + put}).unregistered
    assert [item.effect.moment for item in found if item.effect.target == "up.a.f"] == [moment]


RAISES = [
    # (what it shows, the file, whether it fails where upstream lacks the name)
    ("assigned", "import up.a\nup.a.f = print\n", False),
    ("patched", "from unittest import mock\nmock.patch('up.a.f', print).start()\n", True),
    ("patched or created", "from unittest import mock\nmock.patch('up.a.f', print, create=True).start()\n", False),
]


@pytest.mark.parametrize(("source", "raises"), [row[1:] for row in RAISES], ids=[row[0] for row in RAISES])
def test_mock_fails_where_the_name_is_missing(tmp_path: Path, source: str, raises: bool) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.raises is raises
