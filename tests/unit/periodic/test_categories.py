from __future__ import annotations

import pytest

from layline.config import Category, Periodic
from layline.errors import ConfigError
from layline.periodic.categories import find_prefixes, judge_category
from layline.periodic.presets import GENERAL, PRIMUS, fill_preset


@pytest.mark.parametrize(
    ("title", "prefixes"),
    [
        ("fix: a", ["fix"]),
        ("fix(engine)!: a", ["engine", "fix"]),
        ("Fix/preflight: a", ["fix"]),
        ("[Fix] a", ["fix", "a"]),
        ("[Backend][Fix] feat: a", ["backend", "fix", "feat"]),
        ("[CI/CD]switch runner", ["ci", "cd", "switch"]),
        ("Fix the loader", ["fix"]),
        ("", []),
    ],
)
def test_what_a_title_begins_with(title: str, prefixes: list[str]) -> None:
    assert list(find_prefixes(title)) == prefixes


@pytest.mark.parametrize(
    ("title", "paths", "moves_pins", "category"),
    [
        ("fix(engine): a", ("engine/a.py",), False, "Bug Fix"),
        ("Fix the loader", ("a.py",), False, "Bug Fix"),
        ("fix: bump engine", ("third_party/engine",), True, "Dependencies"),
        ("perf: less copying", ("a.py",), False, "Performance"),
        ("feat: make loading faster", ("a.py",), False, "Performance"),
        ("feat(ci): run twice", ("a.py",), False, "CI/Infra"),
        ("feat: run twice", (".github/workflows/ci.yaml", "tools/x.sh"), False, "CI/Infra"),
        ("feat: run twice", (".github/workflows/ci.yaml", "a.py"), False, "Other"),
        ("Explain the loader", ("docs/loader.md", "README.md"), False, "Docs"),
        ("refactor: split", ("a.py",), False, "Refactor"),
        ("feat: fix point arithmetic", ("a.py",), False, "Other"),
        ("feat: a", (), False, "Other"),
        ("build(deps): raise tide", ("requirements.txt",), False, "Dependencies"),
        ("fix(ci): stop twice", (".github/a.yaml",), False, "CI/Infra"),
        ("feat: a new model", ("third_party/engine", "a.py"), True, "Dependencies"),
        ("feat: a new model", tuple(f"{number}.py" for number in range(11)), True, "Other"),
        ("ci: revert to tide 0.4", ("hooks/requirements-engine.txt",), False, "Dependencies"),
        ("[Fix] hold tide back", ("requirements.txt", "uv.lock"), False, "Dependencies"),
        ("ci: bump the base image", tuple(f"{number}.py" for number in range(11)), True, "CI/Infra"),
    ],
)
def test_the_first_criterion_decides(title: str, paths: tuple[str, ...], moves_pins: bool, category: str) -> None:
    found, reason = judge_category(title, paths, GENERAL.categories, moves_pins=moves_pins)
    assert (found, bool(reason)) == (category, True)


@pytest.mark.parametrize(("title", "expected"), [("Add headers", "Docs"), ("fix: headers", "Bug Fix")])
def test_comments_alone_are_docs_where_the_title_says_nothing(title: str, expected: str) -> None:
    found = judge_category(title, ("a.py",), GENERAL.categories, moves_pins=False, changes_comments=lambda: True)
    assert found[0] == expected


def test_the_reason_names_what_decided() -> None:
    assert judge_category("fix: a", (), GENERAL.categories, moves_pins=False)[1] == "its title begins with 'fix'"


def test_a_preset_fills_what_the_user_leaves_open() -> None:
    told = Periodic(preset="primus", timezone="Europe/Berlin", categories=(Category(name="All"),))
    filled = fill_preset(told)
    assert (filled.timezone, filled.required) == ("Europe/Berlin", PRIMUS.required)
    assert [category.name for category in filled.categories] == ["All"]
    assert filled.statuses["primus_turbo"].kind == "in-repo"
    assert fill_preset(Periodic()).timezone == "UTC"


def test_an_unknown_preset_is_refused() -> None:
    with pytest.raises(ConfigError, match="no preset called 'prime'"):
        fill_preset(Periodic(preset="prime"))
