"""How the list says a long condition, another value, a class that only a run knows, and what a test needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.core.evidence import Location
from layline.core.patch import Effect, Inventory, Moment, Patch, Style, TargetKind, Unregistered
from layline.interpreter.needs import classify
from layline.patches.list_lines import build_listing
from layline.patches.port.plan import describe_installing, find_entered, name_all
from layline.render.inline import plain
from snippets import open_reading, read_files

NEEDS = [
    # path, what it asks for
    ("re.search", "call"),
    ("own.membership", "call"),
    ("own.read_input", "call"),
    ("own.is_npu", "platform"),
    ("torch.version.hip", "version"),
    ("own.get_arch", "platform"),
    ("torch.cuda.is_available", "platform"),
]


@pytest.mark.parametrize(("path", "expected"), NEEDS)
def test_what_a_call_asks_for(path: str, expected: str) -> None:
    assert classify(path) == expected


LONG = " and ".join(f"check_number_{number}(model)" for number in range(20))
TAILS = [
    # body below `import up.a as m`, the end of its line
    (
        f"def go(model):\n    if {LONG}:\n        m.f = print\n",
        (
            "when check_number_14(model) and check_number_15(model) and check_number_16(model) and check_number_17(model) "
            "and check_number_18(model) and check_number_19(model) and 14 more conditions (`patches show ID` shows "
            "more)"
        ),
    ),
    (
        "def g(): pass\ndef go(fast):\n    f = m.f\n    if fast:\n        f = g\n    m.f = f\n",
        "when fast; otherwise it is left as it was",
    ),
]


@pytest.mark.parametrize(("source", "expected"), TAILS)
def test_conditions_in_the_list(tmp_path: Path, source: str, expected: str) -> None:
    inventory = read_files(tmp_path, {"own/boot.py": f"import up.a as m\n{source}"})
    [told] = [item for group in build_listing(inventory, "own", "up").groups for item in group.items]
    [stray] = inventory.unregistered
    assert told.tail.endswith(expected.replace("ID", stray.effect.id))


LINES = [
    # our file, what its first line says
    (
        (
            "import sys\nclass Finder:\n    def find_spec(self, name, path, target=None):\n        return name == 'up.a'\n"
            "sys.meta_path.insert(0, Finder())\n"
        ),
        "adds the import hook own.boot.Finder() to sys.meta_path (uncertain) [ID]",
    ),
    (
        (
            "import sys, types\ndef make(name):\n    return types.ModuleType(name)\nm = make('up.x')\ndef f(): pass\n"
            "m.f = f\nsys.modules['up.x'] = m\n"
        ),
        "replaces up.x.f in a stand-in module of our own [ID]",
    ),
    (
        (
            "import sys, types\ndef build():\n    m = types.ModuleType('up.x')\n    m.TABLE = {}\n    return m\n"
            "sys.modules['up.x'] = build()\n"
        ),
        "sets up.x.TABLE to {} in a stand-in module of our own [ID]",
    ),
    ("import up.a as m\nm.T = {}\n", "sets up.a.T to {} [ID]"),
    ("import up.a as m\nm.t = ()\n", "sets up.a.t to an empty list or tuple [ID]"),
    ("import up.a as m\nm.t = {'k': 1}\n", "sets up.a.t to a literal [ID]"),
    ("from up.a import T\nold = T['k']\ndef g(*a): return old(*a)\nT['k'] = g\n", "wraps up.a.T['k'] [ID]"),
]


@pytest.mark.parametrize(("source", "expected"), LINES)
def test_what_is_changed_is_called_what_it_is(tmp_path: Path, source: str, expected: str) -> None:
    inventory = read_files(tmp_path, {"own/boot.py": source})
    told = [item for group in build_listing(inventory, "own", "up").groups for item in group.items]
    assert told[0].message == expected.replace("ID", inventory.unregistered[0].effect.id)


def test_what_is_handed_in_is_a_single_object_where_its_class_is_written(tmp_path: Path) -> None:
    source = "from torch import nn\ndef g(x): pass\ndef put(module: nn.Module):\n    module.forward = g\n"
    inventory = read_files(tmp_path, {"own/boot.py": source})
    assert inventory.unregistered[0].effect.target is None
    assert "It is set on a single object and uncertain." in build_listing(inventory, "own", "up").meta


def test_the_list_says_why_drift_counts_more_that_does_nothing() -> None:
    place, absent = Location("own/boot.py", 3), TargetKind.ABSENT
    made = Effect(style=Style.BINDING_REPLACEMENT, target="up.a.f", location=place, target_kind=absent)
    dead = replace(made, suggestion="up.a.g")
    strays = tuple(Unregistered(effect=one, within="own.boot") for one in (made, dead, made))
    listing = build_listing(Inventory(backend="up", commit="c" * 40, unregistered=strays), "own", "up")
    assert listing.meta[-1] == (
        "3 effects have a target that the pin does not have. 1 of them is dead. `patches drift` says whether the others are "
        "dead or add names of our own."
    )


def test_the_list_names_the_helper_that_writes() -> None:
    call, write = Location("own/boot.py", 30), Location("own/put.py", 3)
    made = Effect(style=Style.BINDING_REPLACEMENT, target="up.a.f", location=call, helper=write, id="e-1")
    stray = Unregistered(effect=made, within="own.boot")
    listing = build_listing(Inventory(backend="up", commit="c" * 40, unregistered=(stray,)), "own", "up")
    [told] = listing.groups[0].items
    assert (told.location, told.message) == (call, "replaces up.a.f; written by a helper at own/put.py:3 [e-1]")


def test_the_class_of_what_a_call_returns(tmp_path: Path) -> None:
    source = "import up.a as m\ndef g(self): pass\ndef go(x):\n    m.attach(x).__class__.forward = g\n"
    [stray] = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert stray.effect.reason == "sets `forward` of the class of what up.a.attach(…) returns"


def test_a_long_list_of_files_is_told_where_it_is_asked_for() -> None:
    few, many = [f"own/f{number}.py" for number in range(20)], [f"own/f{number}.py" for number in range(30)]
    assert name_all(few, whole=False) == ", ".join(few)
    assert name_all(many, whole=True) == ", ".join(many)
    assert name_all(many, whole=False).endswith("own/f11.py and 18 more (`patches port` names all)")


INSTALLING = [
    (Moment.INSTALL, "go", "Call go() before the name is used."),
    (Moment.TRANSIENT, "go", "Temporary: go() sets it and puts the old value back. Copy all of that function."),
    (
        Moment.TRANSIENT,
        "Go.__enter__",
        "It is undone when Go ends. Put the code that uses the name into the body of with Go(…).",
    ),
]


@pytest.mark.parametrize(("moment", "handler", "expected"), INSTALLING)
def test_how_a_patch_is_installed(moment: Moment, handler: str, expected: str) -> None:
    place = Location("own/boot.py", 3)
    effect = Effect(
        style=Style.BINDING_REPLACEMENT, target="up.a.f", replacement="own.g", location=place, moment=moment
    )
    patch = Patch(
        id="e-1234567",
        backend=None,
        phase=None,
        priority=None,
        location=place,
        handler=handler,
        handler_lines=(3, 3),
        effects=(effect,),
    )
    assert plain(describe_installing(patch, "Go" if handler.endswith("__enter__") else None)) == expected


ENTERED = [
    ("@contextmanager\ndef go(): yield\n", "go", "go"),
    ("@contextlib.asynccontextmanager\ndef go(): yield\n", "go", "go"),
    ("class Go:\n    def __enter__(self): pass\n", "Go.__enter__", "Go"),
    ("class Go:\n    def __call__(self): pass\n", "Go.__call__", None),
    ("def go():\n    def inner(): pass\n", "go.inner", None),
]


@pytest.mark.parametrize(("source", "handler", "expected"), ENTERED)
def test_only_a_context_manager_is_entered(tmp_path: Path, source: str, handler: str, expected: str | None) -> None:
    modules = open_reading(
        tmp_path, {"own/boot.py": f"from contextlib import contextmanager\n{source}"}
    ).machine.modules
    patch = Patch(
        id="e-1234567",
        backend=None,
        phase=None,
        priority=None,
        location=Location("own/boot.py", 1),
        handler=handler,
        handler_lines=(1, 1),
    )
    assert find_entered(modules, patch) == expected


UNNAMED = [
    # our file, the two sentences about targets without a name
    (
        "def go(model):\n    model.forward = go\ndef gone(model: A):\n    model.forward = go\n",
        ["The effect whose", "It changes"],
    ),
    (
        "def go(model, other):\n    model.forward = go\n    other.forward = go\n",
        [
            "The 2 effects whose target cannot be named are listed here, but `patches drift` cannot compare them.",
            "They change",
        ],
    ),
    ("def go(model: A):\n    model.forward = go\n", []),
    ("def go(model):\n    assert isinstance(model, A)\n    model.forward = go\n", []),
    ("def go(model):\n    if not isinstance(model, A):\n        return\n    model.forward = go\n", []),
]


@pytest.mark.parametrize(("source", "expected"), UNNAMED)
def test_what_is_done_with_targets_without_a_name_is_told_once(
    tmp_path: Path, source: str, expected: list[str]
) -> None:
    """What is said to help does help: an annotated parameter, or `isinstance` before the line."""
    inventory = read_files(tmp_path, {"own/boot.py": f"from up.a import A\n{source}"})
    lines = [line for group in build_listing(inventory, "own", "up").groups for line in group.lines]
    assert len(lines) == 1 + len(expected)
    assert all(map(str.startswith, lines[1:], expected))
    assert all("`model` at own/boot.py:3" in line for line in lines[2:])
