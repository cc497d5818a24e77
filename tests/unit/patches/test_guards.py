"""Conditions: what they truly depend on, and how they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.patches.guards.show import show_condition, show_guard
from snippets import handler, only, read_snippet

BEFORE = """
import importlib.util
import os

KEYS = ("x", "y")
NAME = "named"


def is_on(ctx):
    args = get_args(ctx)
    if not getattr(args, "on", False):
        return False
    if importlib.util.find_spec("turbo") is None:
        return False
    return True


def any_key(ctx):
    args = get_args(ctx)
    for key in KEYS:
        if getattr(args, key, None):
            return True
    return False


def by_text(ctx):
    try:
        importlib.import_module("turbo.fast")
    except ImportError:
        return False
    return getattr(get_args(ctx), "on", False)


def importable(ctx):
    try:
        import turbo
    except ImportError:
        return False
    return getattr(get_args(ctx), "on", False)


class Gate:
    @classmethod
    def opens(cls, ctx):
        return getattr(get_args(ctx), NAME, False)
"""
READS: list[tuple[str, str, tuple[str, ...], str]] = [
    # idiom, condition, config keys, readable expression
    ("no condition", "None", (), "always"),
    ("constant", "lambda ctx: True", (), "always"),
    ("getattr on args", 'lambda ctx: getattr(get_args(ctx), "a", False)', ("a",), "a"),
    ("dotted parameter", 'lambda ctx: get_param(ctx, "a.b.c", False)', ("a.b.c",), "a.b.c"),
    ("nested object", "lambda ctx: get_args(ctx).a.b", ("a.b",), "a.b"),
    (
        "and, or, not",
        (
            'lambda ctx: (getattr(get_args(ctx), "a", 0) or getattr(get_args(ctx), "b", 0)) and not '
            'getattr(get_args(ctx), "c", 0)'
        ),
        ("a", "b", "c"),
        "(a or b) and not c",
    ),
    ("comparison", 'lambda ctx: getattr(get_args(ctx), "n", 0) > 1', ("n",), "n > 1"),
    ("helper with early returns", "is_on", ("on",), "on and turbo is importable"),
    ("loop over a table of keys", "any_key", ("x", "y"), "x or y"),
    ("any over a generator", "lambda ctx: any(getattr(get_args(ctx), k, None) for k in KEYS)", ("x", "y"), "x or y"),
    ("import in a try", "importable", ("on",), "turbo is importable and on"),
    ("import by text in a try", "by_text", ("on",), "turbo.fast is importable and on"),
    ("classmethod and constant name", "Gate.opens", ("named",), "named"),
    ("environment", 'lambda ctx: os.environ.get("FLAG", "0") == "1"', (), "env FLAG (default '0') == '1'"),
    ("is not None", 'lambda ctx: getattr(get_args(ctx), "p", None) is not None', ("p",), "p is not None"),
]


@pytest.mark.parametrize(("name", "condition", "keys", "expression"), READS, ids=[row[0] for row in READS])
def test_guard_is_reduced(tmp_path: Path, name: str, condition: str, keys: tuple[str, ...], expression: str) -> None:
    arguments = f'"the.id", backend="up", phase="setup", condition={condition}'
    guard = only(read_snippet(tmp_path, handler("pass", arguments=arguments, before=BEFORE))).guard
    assert guard.keys == keys
    assert show_guard(guard) == expression


def test_other_requirements_are_named(tmp_path: Path) -> None:
    arguments = '"the.id", condition=lambda ctx: os.environ.get("FLAG") == "1" and is_on(ctx)'
    guard = only(read_snippet(tmp_path, handler("pass", arguments=arguments, before=BEFORE))).guard
    assert [need.split(" ")[0] for need in guard.other] == ["env:FLAG", "package:turbo"]


NEEDS = [
    # (condition, what is needed)
    ('hasattr(up.a, "f")', ("attr:up.a.f (hasattr(up.a, 'f'))",)),
    ('not hasattr(up.a, "f")', ("no attr:up.a.f",)),
    ('not (hasattr(up.a, "f") or hasattr(up.a, "g"))', ("no attr:up.a.f", "no attr:up.a.g")),
    (
        'not (hasattr(up.a, "f") and is_on(ctx))',
        ("attr:up.a.f (hasattr(up.a, 'f'))", "package:turbo importable"),
    ),
    ('below("up", "4.57")', ("package:up importable", "version:up < 4.57")),
]
VERSIONS = """
import importlib.metadata
import importlib.util
import up.a
from packaging.version import Version
def available(name):
    found = importlib.util.find_spec(name) is not None
    number = "not there"
    if found:
        spelled = importlib.metadata.packages_distributions()[name]
        spelled = name if name in spelled else (name.replace("_", "-") if name.replace("_", "-") in spelled else spelled[0])
        number = importlib.metadata.version(spelled)
    return found, number
def below(name, limit):
    found, number = available(name)
    return found and Version(number) < Version(limit)
"""


@pytest.mark.parametrize(("condition", "needs"), NEEDS)
def test_what_must_be_missing_is_told_so_and_long_tests_are_cut(
    tmp_path: Path, condition: str, needs: tuple[str, ...]
) -> None:
    arguments = f'"the.id", condition=lambda ctx: {condition}'
    guard = only(read_snippet(tmp_path, handler("pass", arguments=arguments, before=BEFORE + VERSIONS))).guard
    assert guard.other == needs


def test_early_returns_are_told_apart(tmp_path: Path) -> None:
    body = 'if not getattr(get_args(ctx), "inner", False):\n    return\nimport up.a as m\nm.f = print'
    patch = only(read_snippet(tmp_path, handler(body)))
    assert show_guard(patch.guard) == "always"
    assert patch.body_keys == ("inner",)


def test_an_import_by_text_is_asked_of_what_comes_after_it(tmp_path: Path) -> None:
    body = (
        "import importlib\ntry:\n    one = importlib.import_module('up.a')\n    one.f = new\n"
        "    two = importlib.import_module('up.b')\n    two.f = new\nexcept ImportError:\n    return"
    )
    found = only(read_snippet(tmp_path, handler(body)))
    assert [show_condition(effect.when) for effect in found.effects] == [
        "up.a is importable",
        "up.a is importable and up.b is importable",
    ]
