"""What a change of a dependency is called."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layline.core.evidence import Location
from layline.gap.dependencies import Declaration, Declarations, Kind, Rank, compare_declarations, find_conflicts
from layline.gap.dependencies.model import leave_unread, parse_need

METADATA = "pyproject.toml"


def one(
    text: str,
    scope: str = "runtime",
    *,
    rank: Rank = Rank.METADATA,
    path: str = METADATA,
    kind: Kind = Kind.REQUIREMENT,
) -> Declaration:
    need = parse_need(text)
    assert need is not None
    return Declaration(
        rank=rank,
        kind=kind,
        name=need.name,
        spec=need.spec,
        scope=scope,
        place=Location(path, 1),
        extras=need.extras,
        marker=need.marker,
    )


def side(*items: Declaration) -> Declarations:
    return Declarations(tuple(items), (), tuple({(item.rank, item.place.path): None for item in items}), ())


@pytest.mark.parametrize(
    ("was", "now", "changes"),
    [
        ("a>=1", "a>=2", ["floor raised"]),
        ("a>=2", "a>=1", ["floor lowered"]),
        ("a", "a>=2", ["floor added"]),
        ("a>=3.6", "a>=3.6,<4.8", ["capped"]),
        ("a>=2.21", "a>=3.6,<4.8", ["floor raised", "capped"]),
        ("a<80,>=77", "a>=80", ["floor raised", "cap removed"]),
        ("a~=0.5.0", "a>=0.5.0,<0.7.0", ["cap raised"]),
        ("a~=6.0", "a~=7.0", ["floor raised", "cap raised"]),
        ("a", "a==0.6.0", ["pinned"]),
        ("a==8.3.5", "a==9.1.1", ["pin moved"]),
        ("a==1", "a>=1", ["unpinned"]),
        ("a~=2.2", "a", ["unpinned"]),
        ("a>=1,!=1.2", "a>=1,!=1.3", ["exclusions changed"]),
        ("a[x]", "a[y]", ["extras changed"]),
        ("a; os_name == 'nt'", "a", ["marker changed"]),
        ("a @ git+https://h/x@1", "a @ git+https://h/x@2", ["revision moved"]),
        ("a>=1", "a @ git+https://h/x@2", ["source changed"]),
        ("a==$X", "a==$Y", ["changed"]),
        ("a>=1", "a>=1", None),
    ],
)
def test_bounds(was: str, now: str, changes: list[str] | None) -> None:
    rows = compare_declarations(side(one(was)), side(one(now)))
    assert [[change.value for change in row.changes] for row in rows] == ([] if changes is None else [changes])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([("a", "extra dev")], [("a", "runtime")], [("a", ["promoted to runtime"])]),
        ([("a", "runtime")], [("a", "extra ssm")], [("a", ["moved to an extra"])]),
        ([("a~=2.2", "extra dev")], [("a", "extra ssm")], [("a", ["moved", "unpinned"])]),
        ([("a", "extra dev"), ("a", "extra lts")], [("a", "extra dev")], [("a", ["no longer declared here"])]),
        ([("a", "extra dev")], [("a", "extra dev"), ("a", "extra ci")], [("a", ["also declared"])]),
        ([("a", "runtime")], [], [("a", ["dropped"])]),
        ([], [("a", "runtime")], [("a", ["added"])]),
    ],
)
def test_places(
    before: list[tuple[str, str]], after: list[tuple[str, str]], expected: list[tuple[str, list[str]]]
) -> None:
    rows = compare_declarations(side(*(one(*item) for item in before)), side(*(one(*item) for item in after)))
    assert [(row.name, [change.value for change in row.changes]) for row in rows] == expected


EXTRA, COMPUTED = "extra dev", "setup.py"


@pytest.mark.parametrize(
    ("before", "after", "unread", "expected"),
    [
        ([("a", "runtime")], [], ("runtime",), []),
        ([("a", "runtime")], [("a", EXTRA)], ("runtime",), [("a", ["also declared"])]),
        ([("a", EXTRA), ("b", "runtime")], [], ("extra",), [("b", ["no longer declared here"])]),
        ([("a", "runtime"), ("b>=1", "runtime")], [("b>=2", "runtime")], ("runtime",), [("b", ["floor raised"])]),
        ([("a", "runtime")], [], (), []),
    ],
)
def test_what_could_not_be_read_at_the_tip_is_not_dropped(
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    unread: tuple[str, ...],
    expected: list[tuple[str, list[str]]],
) -> None:
    part = leave_unread(COMPUTED, 1, "computed", unread, Kind.REQUIREMENT)
    tip = replace(side(*(one(*item) for item in after)), skipped=(part,))
    rows = compare_declarations(side(*(one(*item) for item in before)), tip)
    assert [(row.name, [change.value for change in row.changes]) for row in rows] == expected


def test_what_could_not_be_read_at_the_pin_is_not_new() -> None:
    pin = replace(side(), skipped=(leave_unread(COMPUTED, 1, "computed", ("runtime",), Kind.REQUIREMENT),))
    assert [row.name for row in compare_declarations(pin, side(one("a"), one("b", EXTRA)))] == ["b"]


def test_extras_that_take_a_need_from_one_line_are_one_row() -> None:
    scopes = ("extra a", "extra b", "extra c")
    rows = compare_declarations(
        side(*(one("t>=1", name) for name in scopes)), side(*(one("t>=2", name) for name in scopes))
    )
    assert [(row.name, row.scopes) for row in rows] == [("t", scopes)]


def test_ranks_are_never_mixed() -> None:
    metadata = one("a>=1")
    requirement = one("a>=2", "requirements.txt", rank=Rank.REQUIREMENTS, path="requirements.txt")
    rows = compare_declarations(side(metadata, requirement), side(metadata))
    assert [(row.rank, [change.value for change in row.changes]) for row in rows] == [
        (Rank.REQUIREMENTS, ["dropped", "file removed"])
    ]


def test_several_values_of_a_setting_are_one_list() -> None:
    path = ".github/workflows/ci.yml"

    def setting(value: str) -> Declaration:
        return Declaration(
            rank=Rank.COMMANDS,
            kind=Kind.SETTING,
            name="gpu-arch-version",
            spec=value,
            scope=path,
            place=Location(path, 1),
        )

    rows = compare_declarations(side(setting("7.1"), setting("12.6")), side(setting("13.0")))
    assert [(row.was.spec, row.now.spec) for row in rows if row.was and row.now] == [("7.1, 12.6", "13.0")]


@pytest.mark.parametrize(("weaker", "excludes"), [("a>=2", False), ("a==0.9", True), ("a==1.5", False)])
def test_conflicts_between_ranks_are_shown(weaker: str, excludes: bool) -> None:
    items = (one("a>=1"), one(weaker, "requirements.txt", rank=Rank.REQUIREMENTS, path="requirements.txt"))
    assert [(conflict.name, conflict.excludes) for conflict in find_conflicts(items)] == [("a", excludes)]
