"""Patches put on single objects, swaps that are undone, and what one run leaves to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition
from snippets import HEAD, handler, only, read_files, read_snippet

ENTERED = """
import types
from up.a import C, TABLE, original

def f(self): pass

class Patcher:
    def __init__(self, model):
        self._model = model
        model.old = model.forward
        model.forward = types.MethodType(f, model)

    def __enter__(self):
        TABLE.register("key", f)
        for layer in self._model.layers:
            layer.attn._orig = layer.attn.forward
            layer.attn.forward = types.MethodType(f, layer.attn)
            layer.mlp.forward = types.MethodType(f, layer.mlp)

    def __exit__(self, *args):
        TABLE.register("key", original)
        self._model.forward = self._model.old
        for layer in self._model.layers:
            layer.attn.forward = layer.attn._orig
"""


def test_what_a_context_manager_puts_back_on_objects_is_transient(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": ENTERED}).unregistered
    assert [(item.effect.location.line, item.effect.moment.value) for item in found] == [
        (11, "transient"),
        (14, "transient"),
        (17, "transient"),
        (18, "install"),
    ]


OBJECTS = [
    (
        "asked by isinstance",
        (
            "import types\nfrom up.a import C\ndef f(self): pass\ndef go(model):\n    for m in model.modules():\n      "
            "  if isinstance(m, C):\n            m.forward = types.MethodType(f, m)\n"
        ),
        [("up.a.C.forward", True)],
    ),
    (
        "one of two classes",
        "from up.a import C, D\ndef f(self): pass\ndef go(m):\n    if isinstance(m, (C, D)):\n        m.forward = f\n",
        [("up.a.C.forward", True), ("up.a.D.forward", True)],
    ),
    (
        "an object of ours",
        (
            "import types\nclass Own: pass\ndef f(self): pass\ndef go(m):\n    if isinstance(m, Own):\n        "
            "m.forward = types.MethodType(f, m)\n"
        ),
        [],
    ),
    (
        "class of what was made",
        (
            "from up.a import Dict\ndef f(self): pass\ndef go():\n    d = Dict()\n    d.__class__.__repr__ = f\n    "
            "type(d).keys = f\n"
        ),
        [("up.a.Dict.__repr__", True), ("up.a.Dict.keys", True)],
    ),
    (
        "a private method bound",
        "import types\ndef f(self): pass\ndef go(model):\n    model._attn = types.MethodType(f, model)\n",
        [(None, False)],
    ),
    (
        "another method of the object",
        "import types\ndef go(model):\n    model.forward = model.encode\n",
        [(None, False)],
    ),
    (
        "only through self",
        (
            "import types\ndef f(self): pass\nclass P:\n    def go(self):\n        self.model.attn.forward = "
            "types.MethodType(f, self.model.attn)\n"
        ),
        [(None, False)],
    ),
    (
        "a name held elsewhere",
        (
            "import types\ndef f(self): pass\nclass P:\n    def go(self):\n        setattr(self.model, self.name, "
            "types.MethodType(f, self.model))\n"
        ),
        [(None, False)],
    ),
    (
        "classes and their subclasses",
        (
            "from up.a import A, B\ndef g(cls): pass\ndef go():\n    every = list(A.__subclasses__())\n    "
            "every.extend([A] + A.__subclasses__())\n    every.extend([B])\n    for c in set(every):\n        c.load = g\n"
        ),
        [(None, False), ("up.a.A.load", True), ("up.a.B.load", True)],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), OBJECTS, ids=[row[0] for row in OBJECTS])
def test_objects_are_named_by_their_class(
    tmp_path: Path, name: str, source: str, expected: list[tuple[str | None, bool]]
) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.target, item.effect.certain) for item in found] == expected


def test_the_way_to_an_object_is_told(tmp_path: Path) -> None:
    source = (
        "import types\ndef f(self): pass\ndef go(model):\n    for layer in model.layers:\n        "
        "layer.attn.forward = types.MethodType(f, layer.attn)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.reason == (
        "sets a method as `forward` of `model.layers[…].attn`, an object that only exists at run time"
    )


DECORATED = """
import contextlib
import up.io as io

def replace_in(module, name):
    kept = getattr(replace_in, "_kept", [])
    old = getattr(module, name)
    kept.append((module, name, old))
    setattr(replace_in, "_kept", kept)
    def wrap(new):
        setattr(module, name, new)
        return new
    return wrap

@contextlib.contextmanager
def patch_io(flag):
    if not flag:
        return
    @replace_in(io, "open")
    def open(path): pass
    try:
        yield
    finally:
        for entry in replace_in._kept:
            (module, name, old) = entry
            setattr(module, name, old)

def run():
    with patch_io(True):
        pass
"""


def test_a_decorator_that_patches_stands_in_the_function_around_it(tmp_path: Path) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": DECORATED}).unregistered
    assert (item.effect.target, item.effect.location.line) == ("up.io.open", 19)
    assert item.within == "own.boot.patch_io"
    assert (show_condition(item.effect.when) or None) == "flag"
    assert item.effect.moment.value == "transient"
    assert item.called_from == ("own/boot.py:29",)


def test_a_helper_whose_callers_decide_nothing_is_told_once(tmp_path: Path) -> None:
    source = (
        "import up.a as m\ndef export(model, wrap):\n    m.check = lambda: True\n    model.config.x = "
        "wrap(model)\n    model.f = wrap\ndef one(x):\n    export(x, print)\ndef two(x):\n    export(x, print)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.target, item.effect.location.line) for item in found if item.effect.target] == [
        ("up.a.check", 3)
    ]


def test_a_swap_by_one_of_two_names_is_put_back(tmp_path: Path) -> None:
    source = (
        "import up.a as m\nfrom own.v import is_old\ndef go():\n    name = 'load' if is_old('<', '5') else "
        "'open'\n    old = getattr(m, name)\n    setattr(m, name, print)\n    try:\n        yield\n    finally:\n  "
        "      setattr(m, name, old)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source, "own/v.py": ""}).unregistered
    assert [(i.effect.target, i.effect.moment.value, (show_condition(i.effect.when) or None)) for i in found] == [
        ("up.a.load", "transient", "is_old('<', '5')"),
        ("up.a.open", "transient", "not is_old('<', '5')"),
    ]


MARKED = f"""{HEAD}
_DONE = False

def install_all():
    global _DONE
    if _DONE:
        return
    import up.a as m
    m.f = print
    _DONE = True

@register_patch("one", backend="up", phase="setup")
def one(ctx):
    install_all()

@register_patch("two", backend="up", phase="setup")
def two(ctx):
    install_all()
"""


def test_a_mark_set_by_one_handler_is_not_there_for_the_next(tmp_path: Path) -> None:
    patches = read_snippet(tmp_path, MARKED).patches
    assert [[effect.target for effect in patch.effects] for patch in patches] == [["up.a.f"], ["up.a.f"]]


IMPORTS = [
    (
        "the fallback of ours",
        "try:\n    from own.real import C\nexcept ImportError:\n    from up.a import C\nC.m = print",
        [("own.real.C.m", True), ("up.a.C.m", False)],
    ),
    (
        "a foreign package",
        "try:\n    import other.x as m\nexcept ImportError:\n    import up.a as m\nm.f = print",
        [("other.x.f", True), ("up.a.f", True)],
    ),
]


@pytest.mark.parametrize(("name", "body", "expected"), IMPORTS, ids=[row[0] for row in IMPORTS])
def test_the_way_an_import_does_not_take_is_uncertain(
    tmp_path: Path, name: str, body: str, expected: list[tuple[str, bool]]
) -> None:
    body = body.replace("= print", "= lambda *a: 1")
    patch = only(read_snippet(tmp_path, handler(body), {"own/real.py": "class C:\n    def m(self): pass\n"}))
    assert [(effect.target, effect.certain) for effect in patch.effects] == expected


BODY_KEYS = [
    ("returns early", "args = get_args(ctx)\nif not args.fast:\n    return\nimport up.a as m\nm.f = print", ("fast",)),
    (
        "only asks",
        "args = get_args(ctx)\nif not hasattr(args, 'fast'):\n    return\nimport up.a as m\nm.f = print",
        ("fast",),
    ),
    ("raises", "args = get_args(ctx)\nif args.slow:\n    raise ValueError\nimport up.a as m\nm.f = print", ()),
    (
        "a helper that computes",
        (
            "def norm(args):\n    if args.path is None:\n        return None\n    return args.path.split()\nargs = "
            "get_args(ctx)\nimport up.a as m\nm.f = norm(args)"
        ),
        (),
    ),
]


@pytest.mark.parametrize(("name", "body", "expected"), BODY_KEYS, ids=[row[0] for row in BODY_KEYS])
def test_an_early_return_of_the_handler_gates(tmp_path: Path, name: str, body: str, expected: tuple[str, ...]) -> None:
    assert only(read_snippet(tmp_path, handler(body))).body_keys == expected


def test_a_rewritten_original_is_an_effect_on_what_it_was(tmp_path: Path) -> None:
    first = handler(
        "import up.a as m\nm._own_original_f = m.f\ndef g(*a): return m._own_original_f(*a)\nm.f = g",
        arguments='"a.first", backend="up", phase="setup"',
    )
    second = handler(
        "import inspect\nimport up.a as m\nold = m._own_original_f\nspace = {}\n"
        "exec(inspect.getsource(old).replace('x', 'y'), old.__globals__, space)\nm._own_original_f = "
        "space[old.__name__]",
        arguments='"b.second", backend="up", phase="setup"',
    )
    patches = {
        p.id: p
        for p in read_files(tmp_path, {"own/patches/a_patches.py": first, "own/patches/b_patches.py": second}).patches
    }
    (effect,) = patches["b.second"].effects
    assert (effect.style.value, effect.target, effect.anchors) == ("source-rewrite", "up.a.f", ("x",))


TAKE = "import inspect, re\nimport up.a as m\ns = inspect.getsource(m.f)\n"
ANCHORS = [
    # (what it shows, what is done with the source `s` before and after it is executed, texts that are looked for in it)
    ("a pattern that is plain text", "s = re.sub(r'self\\.x = 1', 'pass', s)", "", ("self.x = 1",)),
    ("a pattern that is none", "s = re.sub(r'(\\*\\*kwargs)[\\s]{0,}', 'x', s)", "", ()),
    ("another source after it", "", "t = inspect.getsource(m.h).replace('old', 'g')\nexec(t, globals())", ()),
    ("an unknown source after it", "", "exec(inspect.getsource(eval(name)).replace('old', 'new'), globals())", ()),
]


@pytest.mark.parametrize(("before", "after", "anchors"), [row[1:] for row in ANCHORS], ids=[row[0] for row in ANCHORS])
def test_the_texts_that_are_looked_for_are_those_of_one_source(
    tmp_path: Path, before: str, after: str, anchors: tuple[str, ...]
) -> None:
    source = f"{TAKE}{before}\nexec(s, globals())\n{after}\nm.f = f\n"
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [item.effect.anchors for item in found if item.effect.target == "up.a.f"] == [anchors]


def test_a_class_that_is_handed_on_may_be_entered(tmp_path: Path) -> None:
    files = {
        "own/boot.py": "import up.a as m\nclass P:\n    def __enter__(self):\n        m.f = print\n",
        "own/x.py": "from own.boot import P\nclass Config:\n    PATCHER = P\ndef go(c, p):\n    made = P()\n    "
        "with P():\n        return isinstance(p, P)\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert item.called_from == (
        "own/x.py:3 (passed as a value)",
        "own/x.py:5 (made here, entered elsewhere)",
        "own/x.py:6",
    )


def test_a_class_over_its_target_replaces_the_methods_it_declares(tmp_path: Path) -> None:
    files = {
        "own/core.py": "class Patch:\n    def __class_getitem__(cls, target): return cls\n    @classmethod\n    "
        "def apply(cls): pass\n",
        "own/boot.py": "from own.core import Patch\nfrom up.a import C\n\nclass CPatch(Patch[C]):\n    _orig_init "
        "= C.__init__\n    def __init__(self):\n        self._orig_init()\n    def run(self): pass\n",
    }
    found = read_files(tmp_path, files).unregistered
    assert [(item.effect.target, item.effect.location.line, item.effect.style.value) for item in found] == [
        ("up.a.C.__init__", 6, "function-wrapping"),
        ("up.a.C.run", 8, "binding-replacement"),
    ]


LATER = """
import wrapt

def instrument(client):
    client._old_send = client.send
    client.send = wrapper(client)

def wrapper(client):
    def send(*args):
        return client._old_send(*args)
    return send

def make(tracer):
    def wrapped_create(wrapped, instance, args, kwargs):
        client = wrapped(*args, **kwargs)
        instrument(client)
        return client
    return wrapped_create

def go(tracer):
    wrapt.wrap_function_wrapper("up.a", "create", make(tracer))
"""


def test_what_an_installed_wrapper_does_comes_later(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": LATER}).unregistered
    assert [(item.effect.target, item.effect.location.line, item.effect.moment.value) for item in found] == [
        (None, 6, "deferred"),
        ("up.a.create", 21, "install"),
    ]


def test_environment_variables_outside_registrations_are_counted(tmp_path: Path) -> None:
    source = "import os\nimport up.a as m\ndef go():\n    os.environ['A'] = '1'\n    m.f = print\n"
    skipped = read_files(tmp_path, {"own/boot.py": source}).skipped
    assert [item.why for item in skipped] == ["1 variable that our code sets outside its patches is not listed: A"]


def test_the_gate_at_the_only_call_is_told(tmp_path: Path) -> None:
    files = {
        "own/boot.py": "def start_up():\n    import up.a as m\n    m.f = print\n",
        "own/x.py": "import os\nfrom own.boot import start_up\nif os.getenv('FAST') == '1':\n    start_up()\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert (show_condition(item.effect.when) or None) == "in the caller x: os.getenv('FAST') == '1'"


def test_a_kept_original_that_is_thrown_away_is_no_effect(tmp_path: Path) -> None:
    source = "import up.a as m\ndef off():\n    del m.f_origin\n    del m.C.__init__\n"
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [item.effect.target for item in found] == ["up.a.C.__init__"]


CONVERT = """
import up.a

def convert(m, kind, new):
    if m.__class__ == kind:
        setattr(m, "forward", new.__get__(m, m.__class__))
    for _, child in m.named_children():
        convert(child, kind, new)

def f(self): pass
def g(self): pass

def go(model, module):
    convert(model, up.a.C, f)
    convert(model, module.D, g)
    convert(model, up.a.C, g)
"""


def test_callers_that_decide_what_a_helper_does_are_told_one_by_one(tmp_path: Path) -> None:
    found = read_files(tmp_path, {"own/boot.py": CONVERT}).unregistered
    assert [(i.effect.target, i.effect.location.line, i.effect.replacement) for i in found] == [
        ("up.a.C.forward", 14, "own.boot.f"),
        (None, 15, "own.boot.g"),
        ("up.a.C.forward", 16, "own.boot.g"),
    ]


def test_a_class_known_by_name_alone_is_told(tmp_path: Path) -> None:
    source = (
        "import types\ndef f(self): pass\ndef go(model):\n    for m in model.modules():\n        if "
        "m.__class__.__name__ == 'Attention':\n            m.forward = types.MethodType(f, m)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.reason or "").endswith("an object that only exists at run time (a class called Attention)")


def test_what_wrapts_decorator_makes_wraps_what_it_is_given(tmp_path: Path) -> None:
    source = (
        "import wrapt\nimport up.a as m\nclass W:\n    def __call__(self, wrapped):\n        "
        "@wrapt.decorator\n        def inner(wrapped, instance, args, kwargs):\n            return wrapped(*args)\n"
        "        return inner(wrapped)\ndef go(client):\n    client.send = W()(client.send)\n    m.f = W()(m.f)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(i.effect.target, i.effect.style.value, str(i.effect.replacement_at)) for i in found] == [
        (None, "function-wrapping", "own/boot.py:6"),
        ("up.a.f", "function-wrapping", "own/boot.py:6"),
    ]
