"""Requirements and configuration keys that follow upstream: what is sure, what is edited, what is left alone."""

from __future__ import annotations

import pytest

from layline.core.evidence import Location
from layline.gap.dependencies.model import Declaration, Kind, Rank
from layline.upgrade.floors import find_floors, is_raised, raise_floor
from layline.upgrade.keys import RenamedKey, find_new_key, is_renamed, rename_keys


def need(spec: str, *, name: str = "rivet", path: str = "pyproject.toml", marker: str = "") -> Declaration:
    rank = Rank.METADATA if path == "pyproject.toml" else Rank.REQUIREMENTS
    scope = "runtime" if rank is Rank.METADATA else path
    return Declaration(
        rank=rank, kind=Kind.REQUIREMENT, name=name, spec=spec, scope=scope, place=Location(path, 1), marker=marker
    )


FLOORS = [
    # (ours, upstream then, upstream now, the new floor; "person": our other bounds refuse it; None: nothing to do)
    (need(">=1.0"), ">=1.0", ">=2.0", "2.0"),
    (need(">=1.0", path="requirements.txt"), "", ">=2.0", "2.0"),
    (need(">=1.0,<3"), ">=1.0", ">=2.0", "2.0"),
    (need(">=1.0,<2"), ">=1.0", ">=2.0", "person"),
    (need(">=2.0"), ">=1.0", ">=2.0", None),
    (need(">=1.0"), ">=2.0", ">=2.0", None),  # so at the pin already
    (need(""), ">=1.0", ">=2.0", None),
    (need("==1.0"), ">=1.0", ">=2.0", None),
    (need(">=1.0", path="docs/requirements.txt"), ">=1.0", ">=2.0", None),
    (need(">=1.0", marker="sys_platform == 'linux'"), ">=1.0", ">=2.0", None),
    (need(">=1.0", name="other"), ">=1.0", ">=2.0", None),
]


@pytest.mark.parametrize(("ours", "then", "now", "wanted"), FLOORS)
def test_a_floor_that_upstream_raised(ours: Declaration, then: str, now: str, wanted: str | None) -> None:
    found = [("person" if one.problem else one.new) for one in find_floors([ours], [need(then)], [need(now)])]
    assert found == ([wanted] if wanted is not None else [])


LINES = [
    ('    "rivet>=1.0",  # why\n', '    "rivet>=2.0",  # why\n'),
    ("rivet >= 1.0, <3\n", "rivet >= 2.0, <3\n"),
    ("rivet>=1.0.0; extra\n", "rivet>=2.0; extra\n"),
    ('deps = ["rivet>=1.0", "other>=1.0"]\n', None),
    ("rivet\n", None),
]


@pytest.mark.parametrize(("text", "wanted"), LINES)
def test_the_line_of_a_requirement(text: str, wanted: str | None) -> None:
    (floor,) = find_floors([need(">=1.0")], [need(">=1.0")], [need(">=2.0")])
    assert raise_floor(text, floor) == wanted


def test_a_raised_floor_is_read_again() -> None:
    (floor,) = find_floors([need(">=1.0")], [need(">=1.0")], [need(">=2.0")])
    other = need(">=1", name="other")
    assert is_raised(floor, [need(">=1.0"), other], [need(">=2.0"), other])
    assert not is_raised(floor, [need(">=1.0"), other], [need(">=2.0")])


DECLARED = "group.add_argument('--{1}', type=int, default=3)\n\n\ndef run(args):\n    return steps(args.{0})\n"
KEYS = [
    # (upstream before, upstream after, what `tide_limit` is called now)
    (DECLARED.format("tide_limit", "tide-limit"), DECLARED.format("tide_bound", "tide-bound"), "tide_bound"),
    ("tide_limit: int = 3\nuse(tide_limit)\n", "tide_bound: int = 3\nuse(tide_bound)\n", "tide_bound"),
    # another use; another default and another use; two that are as alike; still there; only declared
    ("tide_limit: int = 3\nuse(tide_limit)\n", "tide_bound: int = 4\nother(tide_bound)\n", None),
    (
        "tide_limit: int = 3\nuse(tide_limit)\n",
        "tide_bound: int = 3\nuse(tide_bound)\nwind_bound: int = 3\nuse(wind_bound)\n",
        None,
    ),
    ("tide_limit: int = 3\nuse(tide_limit)\n", "tide_bound: int = 3\nuse(tide_bound)\nuse(tide_limit)\n", None),
    ("tide_limit: int = 3\n", "tide_bound: int = 3\n", None),
]


@pytest.mark.parametrize(("before", "after", "wanted"), KEYS)
def test_a_key_is_the_same_where_upstream_does_the_same_with_it(before: str, after: str, wanted: str | None) -> None:
    assert find_new_key("tide_limit", {"tide_bound", "wind_bound"}, [(before, after)]) == wanted


YAML = [
    ("a: 1\ntide_limit: 3  # m\n", [2], "a: 1\ntide_bound: 3  # m\n"),
    ("- tide_limit: 3\n", [1], "- tide_bound: 3\n"),
    ("a: {tide_limit: 3}\n", [1], None),
    ("tide_limits: 3\n", [1], None),
]


@pytest.mark.parametrize(("text", "lines", "wanted"), YAML)
def test_the_lines_of_a_key(text: str, lines: list[int], wanted: str | None) -> None:
    assert rename_keys(text, lines, "tide_limit", "tide_bound") == wanted


def test_a_renamed_key_is_read_again() -> None:
    place, other = Location("a.yaml", 2), Location("a.yaml", 1)
    key = RenamedKey("tide_limit", "tide_bound", (place,))
    before = {"tide_limit": [place], "other": [other]}
    assert is_renamed(key, before, {"tide_bound": [place], "other": [other]})
    assert not is_renamed(key, before, {"tide_bound": [place]})
    assert not is_renamed(key, before, {"tide_bound": [place], "tide_limit": [other], "other": [other]})
