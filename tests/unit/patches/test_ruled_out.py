"""Lines that the tests before them rule out: never run, and told so; what a value is there is not made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.condition import ConditionKind, asks_about
from layline.patches.guards.show import show_condition
from layline.patches.list_lines import build_listing
from layline.patches.wanted import is_addition
from snippets import read_files

Row = tuple[str | None, str, str]
RULED_OUT: list[tuple[str, str, list[Row]]] = [
    # what, body of `def go(fast, slow=None, names=())` below `import up.a as m`, (target, when, moment) of each row
    ("left behind by a return", "if fast:\n    return\nif fast:\n    m.f = print\n", [("up.a.f", "never", "install")]),
    ("in the other branch", "if fast:\n    if not fast:\n        m.f = print\n", [("up.a.f", "never", "install")]),
    (
        "one of two is enough",
        "if fast or slow:\n    return\nif fast and slow:\n    m.f = print\n",
        [("up.a.f", "never", "install")],
    ),
    ("another name", "if fast:\n    return\nif slow:\n    m.f = print\n", [("up.a.f", "not fast and slow", "install")]),
    (
        "set again in between",
        "if fast:\n    return\nfast, slow = names\nif fast:\n    m.f = print\n",
        [("up.a.f", "not fast and fast", "install")],
    ),
    (
        "filled in between",
        "if names:\n    return\nfill(names)\nif names:\n    m.f = print\n",
        [("up.a.f", "not names and names", "install")],
    ),
    (
        "what the other branch put in a table",
        (
            "if fast:\n    return\nif fast:\n    table = {'f': m.f}\nelse:\n    table = {}\n"
            "for name in table.keys():\n    setattr(m, name, print)\n"
        ),
        [],
    ),
    (
        "put back, were it ever put there",
        (
            "if fast:\n    return\nif fast:\n    old = m.f\ntry:\n    if fast:\n        m.f = print\n    yield\n"
            "finally:\n    if fast:\n        m.f = old\n"
        ),
        [("up.a.f", "never", "transient")],
    ),
]


@pytest.mark.parametrize(("what", "body", "expected"), RULED_OUT, ids=[row[0] for row in RULED_OUT])
def test_lines_that_earlier_tests_rule_out(tmp_path: Path, what: str, body: str, expected: list[Row]) -> None:
    text = "".join(f"    {line}\n" for line in body.splitlines())
    files = {"own/boot.py": f"import up.a as m\ndef go(fast, slow=None, names=()):\n{text}"}
    found = read_files(tmp_path, files).unregistered
    rows = [(item.effect.target, show_condition(item.effect.when), item.effect.moment.value) for item in found]
    assert rows == expected


def test_a_line_that_never_runs_is_a_warning(tmp_path: Path) -> None:
    source = "import up.a as m\ndef go(fast):\n    if fast:\n        return\n    if fast:\n        m.f = print\n"
    listing = build_listing(read_files(tmp_path, {"own/boot.py": source}), "own", "up")
    [told] = [item for group in listing.groups for item in group.items]
    assert (told.code, told.details) == (
        "never-active",
        (("why", "conditions above this line make it unreachable"),),
    )


HELPERS = """
import importlib.metadata
import importlib.util
import operator
from packaging.version import parse
OPERATIONS = {">=": operator.ge, "<": operator.lt}
THERE = importlib.util.find_spec("up") is not None
NUMBER = "N/A"
if THERE:
    try:
        NUMBER = importlib.metadata.version("up")
    except importlib.metadata.PackageNotFoundError:
        THERE = False
def compare(what, operation, wanted):
    if operation not in OPERATIONS.keys():
        raise ValueError(operation)
    operation = OPERATIONS[operation]
    if isinstance(what, str):
        what = parse(importlib.metadata.version(what))
    return operation(what, parse(wanted))
def is_up(operation, wanted):
    if not THERE:
        return False
    return compare(parse(parse(NUMBER).base_version), operation, wanted)
"""
CHOSEN: list[tuple[str, str, list[Row]]] = [
    (
        "a name by a flag",
        "setattr(m, 'f' if fast else 'g', print)\n",
        [("up.a.f", "fast", "install"), ("up.a.g", "not fast", "install")],
    ),
    (
        "a name by a version",
        "name = 'f' if is_up('<', '5') else 'g'\nsetattr(m, name, print)\n",
        [
            ("up.a.f", "is_up('<', '5')", "install"),
            ("up.a.g", "not is_up('<', '5')", "install"),
        ],
    ),
    (
        "a name by a version, put back",
        (
            "name = 'f' if is_up('<', '5') else 'g'\nold = getattr(m, name)\nif fast:\n    setattr(m, name, print)\n"
            "try:\n    yield\nfinally:\n    setattr(m, name, old)\n"
        ),
        [
            ("up.a.f", "fast and is_up('<', '5')", "transient"),
            ("up.a.g", "fast and not is_up('<', '5')", "transient"),
        ],
    ),
    (
        "name and value by one version",
        "new = is_up('>=', '5')\nsetattr(m, 'g' if new else 'f', print if new else repr)\n",
        [
            ("up.a.g", "new", "install"),
            ("up.a.f", "not new", "install"),
        ],
    ),
    ("the same name both ways", "setattr(m, 'f' if fast else 'f', print)\n", [("up.a.f", "", "install")]),
]


@pytest.mark.parametrize(("what", "body", "expected"), CHOSEN, ids=[row[0] for row in CHOSEN])
def test_a_name_that_a_test_chooses_carries_the_test(tmp_path: Path, what: str, body: str, expected: list[Row]) -> None:
    text = "".join(f"    {line}\n" for line in body.splitlines())
    files = {
        "own/__init__.py": "",
        "own/helpers.py": HELPERS,
        "own/boot.py": f"import up.a as m\nfrom .helpers import is_up\ndef go(fast):\n{text}",
    }
    found = read_files(tmp_path, files).unregistered
    rows = [(item.effect.target, show_condition(item.effect.when), item.effect.moment.value) for item in found]
    assert sorted(rows) == sorted(expected)
    asked = [asks_about(item.effect.when, ConditionKind.VERSION) for item in found]
    assert set(asked) == {"is_up" in body}


ADDED = [
    # (what it shows, body as above, whether each row adds its name)
    ("only where it is missing", "if not hasattr(m, 'f'):\n    m.f = print\n", [True]),
    ("left where it is there", "if hasattr(m, 'f'):\n    return\nm.f = print\n", [True]),
    ("where another is missing", "if not hasattr(m, 'g'):\n    m.f = print\n", [None]),
    ("where it is there", "if hasattr(m, 'f'):\n    m.f = print\n", [None]),
    ("missing, or asked for", "if fast or not hasattr(m, 'f'):\n    m.f = print\n", [None]),
    ("whatever is there", "m.f = print\n", [None]),
    ("filled once", "if m.f is None:\n    m.f = print\n", [None]),
    ("not importable", "try:\n    from up.a import f\nexcept ImportError:\n    m.f = print\n", [True]),
]


@pytest.mark.parametrize(("what", "body", "expected"), ADDED, ids=[row[0] for row in ADDED])
def test_what_is_written_only_where_it_is_missing_is_added(
    tmp_path: Path, what: str, body: str, expected: list[bool | None]
) -> None:
    text = "".join(f"    {line}\n" for line in body.splitlines())
    found = read_files(tmp_path, {"own/boot.py": f"import up.a as m\ndef go(fast):\n{text}"}).unregistered
    assert [is_addition(item.effect) for item in found] == expected
