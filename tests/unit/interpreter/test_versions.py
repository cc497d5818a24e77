"""A test of a version is one condition, whichever of the two readers meets it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from layline.core.condition import ConditionKind
from layline.coupling.releases import ReleaseReader, Scope
from layline.interpreter.calls import Interpreter
from layline.interpreter.condition_reader import build_condition
from layline.interpreter.conditions import Reader, simplify
from layline.interpreter.config_paths import Roots
from snippets import open_reading

HEAD = (
    "import importlib.metadata\nimport operator\nimport keel\nfrom packaging import version\n"
    "from packaging.version import Version, parse\nfrom distutils.version import LooseVersion\n"
)
ASKS = [
    ('Version(keel.__version__) >= Version("5.2")', "keel.__version__ >= 5.2"),
    ('version.parse(keel.__version__) < version.parse("5")', "keel.__version__ < 5"),
    ('LooseVersion(keel.__version__) == "5.2"', "keel.__version__ == 5.2"),
    ('"5.1" > keel.VERSION', "keel.VERSION < 5.1"),
    ('parse(importlib.metadata.version("keel")) >= parse("5.2")', "keel >= 5.2"),
    ('operator.ge(parse(keel.__version__), parse("5.2"))', "keel.__version__ >= 5.2"),
    ("parse(keel.__version__).major >= 6", "keel.__version__ >= 6"),
    ("parse(keel.__version__).release[0] < 6", "keel.__version__ < 6"),
    ("parse(keel.__version__).release >= (5, 2)", "keel.__version__ >= 5.2"),
    ("parse(keel.__version__).release > (5, 2)", None),
    ("parse(keel.__version__).release[1] >= 3", None),
    ('keel.mode == "fast"', None),
    ('keel.__version__ == "main"', None),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Interpreter:
    return open_reading(tmp_path_factory.mktemp("ours"), {"own/a.py": HEAD}).machine


@pytest.mark.parametrize(("test", "expected"), ASKS, ids=[test for test, _ in ASKS])
def test_both_readers_say_the_same(machine: Interpreter, test: str, expected: str | None) -> None:
    module = machine.modules.find("own.a")
    assert module is not None
    machine.read_module(module)
    node = ast.parse(test, mode="eval").body
    machine.push(module, "")
    value = machine.evaluate(node, module.scope)
    found = build_condition(simplify(value), Reader(Roots()))
    around = ReleaseReader(machine.modules).read_test(node, Scope(module))
    for one in (found, around):
        assert (str(one) if one.kind is ConditionKind.VERSION else None) == expected


CLASSES = [
    ("isinstance(keel.Hull, type)", "keel.Hull"),
    ("inspect.isclass(keel.Hull)", "keel.Hull"),
    ("isinstance(keel.Hull, str)", None),
    ("isinstance(type(keel.Hull), type)", None),
    ("callable(keel.Hull)", None),
]


@pytest.mark.parametrize(("test", "expected"), CLASSES, ids=[test for test, _ in CLASSES])
def test_what_must_be_a_class(tmp_path: Path, test: str, expected: str | None) -> None:
    machine = open_reading(tmp_path, {"own/a.py": "import inspect\nimport keel\n"}).machine
    module = machine.modules.find("own.a")
    assert module is not None
    machine.read_module(module)
    machine.push(module, "")
    value = machine.evaluate(ast.parse(test, mode="eval").body, module.scope)
    found = build_condition(simplify(value), Reader(Roots()))
    assert (found.text if found.kind is ConditionKind.CLASS else None) == expected


def test_a_name_counts_as_a_path(tmp_path: Path) -> None:
    """`version` of a package is its version; the function that asks for one is not."""
    machine = open_reading(tmp_path, {"own/a.py": "import importlib.metadata\nimport keel\n"}).machine
    module = machine.modules.find("own.a")
    assert module is not None
    read = ReleaseReader(machine.modules).read_test
    assert read(ast.parse("importlib.metadata.version >= '5'", mode="eval").body, Scope(module)).text == ""
