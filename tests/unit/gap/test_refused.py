"""Bounds of ours that refuse an upstream commit: what is asked of us before the pin can move there."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from histories import History
from layline.config import Backend, Pin
from layline.core.evidence import Location
from layline.gap.cells import plain_text
from layline.gap.dependencies.bounds import are_apart
from layline.gap.need_statements import dependency_items
from layline.gap.refused import Bound, Refused, find_allowing, find_holding, find_refused
from layline.git import open_repository
from layline.source.tree import Tree

if TYPE_CHECKING:
    from layline.gap.model import Gap

APART = [
    (">=2.16,<=4.0", ">=2.15", False),
    (">=2.16,<=4.0", ">=4.0", False),
    (">=2.16,<4.0", ">=4.0", True),
    (">=2.16,<=4.0", ">=4.7", True),
    ("~=1.4.2", ">=1.5", True),
    ("~=1.4.2", ">=1.3", False),
    ("==1.0", ">=1.1", True),
    ("<=4.0", "<3", False),
]


@pytest.mark.parametrize(("one", "other", "apart"), APART)
def test_two_bounds_that_no_version_fits(one: str, other: str, apart: bool) -> None:
    assert [are_apart(one, other), are_apart(other, one)] == [apart, apart]


OURS = '[project]\nname = "deck"\ndependencies = ["{}"]\n'
EXTRA = '[project]\nname = "deck"\n[project.optional-dependencies]\nold = ["{}"]\n'
STATEMENT = 'def check():\n    need("{}")\n'
THEIRS = '[project]\nname = "keel"\ndependencies = ["{}"]\n'
LISTED = '_all = ["{}"]\n'
CASES = [
    # our file, upstream's file at the pin and at the tip, what is refused
    ({"pyproject.toml": OURS.format("keel<=1.5")}, {}, {}, ["our bound keel<=1.5 does not allow 2.0"]),
    ({"pyproject.toml": OURS.format("keel<3")}, {}, {}, []),
    ({"pyproject.toml": OURS.format("keel<1")}, {}, {}, []),  # so at the pin already
    ({"pyproject.toml": OURS.format("keel<=1.5; python_version<'3'")}, {}, {}, []),
    ({"pyproject.toml": EXTRA.format("keel<=1.5")}, {}, {}, ["our bound keel<=1.5 does not allow 2.0"]),
    ({"pyproject.toml": EXTRA.format("rivet<=1.5")}, {}, {"pyproject.toml": THEIRS.format("rivet>=2")}, []),
    ({"deck/a.py": STATEMENT.format("keel>=1,<=1.5")}, {}, {}, ["our bound keel<=1.5 does not allow 2.0"]),
    ({"deck/a.py": STATEMENT.format("keel is broken")}, {}, {}, []),
    ({"deck/a.py": 'def check(old):\n    if old:\n        need("keel<=1.5")\n'}, {}, {}, []),
    ({"deck/a.py": 'IS_OLD = is_installed("keel<=1.5")\n'}, {}, {}, []),
    ({"tests/test_a.py": STATEMENT.format("keel<=1.5")}, {}, {}, []),
    (
        {"pyproject.toml": OURS.format("rivet<=1.5")},
        {"pyproject.toml": THEIRS.format("rivet>=1")},
        {"pyproject.toml": THEIRS.format("rivet>=2")},
        ["no version fits both our bound rivet<=1.5 and upstream's >=2 (pyproject.toml:3)"],
    ),
    # what is optional there, and used by upstream's code; what only its tests need
    (
        {"pyproject.toml": OURS.format("rivet<=1.5")},
        {},
        {"setup.py": LISTED.format("rivet>=2"), "keel/a.py": "import rivet\n"},
        ["no version fits both our bound rivet<=1.5 and upstream's >=2 (setup.py:1)"],
    ),
    (
        {"pyproject.toml": OURS.format("rivet<=1.5")},
        {},
        {"setup.py": LISTED.format("rivet>=2"), "tests/test_a.py": "import rivet\n"},
        [],
    ),
]


@pytest.mark.parametrize(("ours", "pin", "tip", "told"), CASES)
def test_bounds_of_ours_that_fit_the_pin_and_not_the_tip(
    tmp_path: Path, ours: dict[str, str], pin: dict[str, str], tip: dict[str, str], told: list[str]
) -> None:
    upstream, downstream = History.start(tmp_path / "up"), History.start(tmp_path / "down")
    commits = [upstream.commit("pin", {"keel/__init__.py": "", **pin}), upstream.commit("tip", {"new": "", **tip})]
    own = downstream.commit("ours", {"deck/__init__.py": "", **ours})
    theirs, mine = open_repository(upstream.path), open_repository(downstream.path)
    sides = Tree(theirs, commits[0]), Tree(theirs, commits[1])
    backend = Backend(label="Keel", packages=("keel",))
    found = find_refused(Tree(mine, own), backend, sides, ("1.0", "2.0"))
    assert [one.tell() for one in found] == told
    asked = [str(one.ours.place) for one in found if one.theirs is None]
    assert [str(one.ours.place) for one in find_holding(found, "1.9")] == asked
    assert not find_holding(found, "1.2")


def test_the_line_that_holds_the_pin_moves_with_it(tmp_path: Path) -> None:
    upstream, downstream = History.start(tmp_path / "up"), History.start(tmp_path / "down")
    pin = upstream.commit("pin", {"keel/__init__.py": ""})
    own = downstream.commit("ours", {"pyproject.toml": OURS.format("keel==1.0")})
    backend = Backend(label="Keel", packages=("keel",), pin=Pin(file="pyproject.toml", requirement="keel"))
    theirs = Tree(open_repository(upstream.path), pin)
    tree = Tree(open_repository(downstream.path), own)
    assert not find_refused(tree, backend, (theirs, theirs), ("1.0", "2.0"))


ALLOWED = [
    ({"pyproject.toml": OURS.format("keel>=1.0")}, ["2.0"], "keel>=1.0 at pyproject.toml:3"),
    ({"pyproject.toml": OURS.format("keel>=1.0")}, ["v2.0"], "keel>=1.0 at pyproject.toml:3"),
    ({"pyproject.toml": OURS.format("keel>=1.0,<2")}, ["2.1.dev0", "v1.9"], "keel>=1.0,<2 at pyproject.toml:3"),
    ({"pyproject.toml": OURS.format("keel>=1.0,<2")}, ["2.1.dev0"], None),
    ({"pyproject.toml": OURS.format("keel==1.0")}, ["2.0"], None),
    ({"pyproject.toml": OURS.format("keel")}, ["2.0"], None),
    ({"pyproject.toml": EXTRA.format("keel>=1.0")}, ["2.0"], None),
    ({"pyproject.toml": OURS.format("keel>=1.0")}, ["release"], None),
    ({"pyproject.toml": OURS.format("keel>=1.0")}, [], None),
    ({"pyproject.toml": OURS.format("rivet>=1.0")}, ["2.0"], None),
]


@pytest.mark.parametrize(("ours", "versions", "told"), ALLOWED)
def test_a_range_of_ours_that_takes_newer_versions(
    tmp_path: Path, ours: dict[str, str], versions: list[str], told: str | None
) -> None:
    downstream = History.start(tmp_path / "down")
    tree = Tree(open_repository(downstream.path), downstream.commit("ours", {"deck/__init__.py": "", **ours}))
    backend = Backend(label="Keel", packages=("keel",), pin=Pin(file="pyproject.toml", requirement="keel"))
    found = find_allowing(tree, backend, versions)
    assert (f"{found.name}{found.spec} at {found.place}" if found is not None else None) == told


def test_the_report_names_each_bound_once_with_its_places() -> None:
    def bound(name: str, spec: str, place: str) -> Bound:
        path, _, line = place.partition(":")
        return Bound(name=name, spec=spec, place=Location(path, int(line)))

    refused = (
        Refused(ours=bound("keel", ">=1,<=1.5", "pyproject.toml:4"), asked="2.0"),
        Refused(ours=bound("keel", ">=1,<=1.5", "deck/a.py:9"), asked="2.0"),
        Refused(ours=bound("rivet", "<3", "pyproject.toml:5"), asked=">=4", theirs=Location("setup.py", 7)),
    )
    side = SimpleNamespace(commit=SimpleNamespace(hash="0" * 40))
    needs = SimpleNamespace(unread=((), ()), differences=(), platform=())
    gap = cast(
        "Gap",
        SimpleNamespace(
            refused=refused,
            dependencies=needs,
            downstream="own",
            upstream="up",
            downstream_commit=side.commit,
            tip=side,
        ),
    )
    assert plain_text(dependency_items(gap)[0]) == (
        "Our own bounds do not fit the tip: keel<=1.5 (pyproject.toml:4 and deck/a.py:9; the tip is 2.0) and rivet<3 "
        "(pyproject.toml:5; upstream asks for >=4 at setup.py:7)."
    )
