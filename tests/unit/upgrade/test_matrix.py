"""Which refs a matrix asks about, and what its rows say."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.app.over_time import patches_matrix
from layline.app.patches_drift import patches_drift
from layline.core.evidence import Location
from layline.errors import ConfigError, Error
from layline.git import open_repository
from layline.patches.drift.ask import DriftOptions
from layline.upgrade import refs
from layline.upgrade.matrix import Matrix
from layline.upgrade.matrix_answer import find_birthday, find_refs
from upgrading import Files, Project, make_project

DAY = 86_400
MONDAY = 1_767_571_200
"""2026-01-05T00:00:00Z, the first day of an ISO week."""


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Two commits in the first week, none in the second, one at the last second of the third, one right after."""
    history = History.start(tmp_path_factory.mktemp("weeks") / "up")
    for name, at in (("pin", -1), ("a", 0), ("b", DAY), ("c", 21 * DAY - 1), ("d", 21 * DAY)):
        history.commit(name, {"x.py": name}, at=MONDAY + at)
    return history


def test_one_commit_for_each_week_that_has_one(weeks: History) -> None:
    pin, _, second, third, fourth = weeks.commits
    found = refs.find_weekly(open_repository(weeks.path), pin, fourth)
    assert found == [("2026-W02", second), ("2026-W04", third), ("2026-W05", fourth)]


def test_tags_count_on_branches_that_left_and_by_date(weeks: History) -> None:
    weeks.git("tag", "v1.1", weeks.commits[3])
    weeks.git("tag", "nightly-x", weeks.commits[2])
    weeks.git("checkout", "-q", "-b", "release", weeks.commits[1])
    side = weeks.commit("fix", {"y.py": ""}, at=MONDAY + 2 * DAY)
    weeks.git("tag", "-a", "-m", "x", "v1.0.1", side)
    weeks.git("checkout", "-q", "main")
    repository = open_repository(weeks.path)
    assert [ref.name for ref in refs.date_refs(repository, refs.find_tags(repository))] == ["v1.0.1", "v1.1"]


@pytest.mark.parametrize(
    ("pinned", "wanted"),
    [("2026-01-01", "abc"), ("2026-02-01", "abc"), ("2026-02-15", "abc"), ("2026-03-02", "bc"), ("2027-01-01", "c")],
)
def test_releases_begin_with_the_newest_up_to_the_pin(pinned: str, wanted: str) -> None:
    found = [refs.Ref("a", "1", "2026-02-01"), refs.Ref("b", "2", "2026-03-01"), refs.Ref("c", "3", "2026-04-01")]
    assert "".join(ref.name for ref in refs.keep_since(found, pinned)) == wanted


@pytest.mark.parametrize(
    ("born", "wanted"), [(None, ["v1", "v2", "v3"]), ("2026-01-26", ["v2", "v3"]), ("2025-01-01", ["v1", "v2", "v3"])]
)
def test_all_releases_are_those_since_our_first_commit(tmp_path: Path, born: str | None, wanted: list[str]) -> None:
    history = History.start(tmp_path / "up")
    for name, at in (("v1", 0), ("v2", 14 * DAY), ("v3", 28 * DAY)):
        history.commit(name, {"x.py": name}, at=MONDAY + at)
        history.git("tag", name)
    found = find_refs(open_repository(history.path), "all-tags", (history.commits[-1], "main"), born)
    assert [ref.name for ref in found] == wanted
    assert find_birthday(open_repository(history.path)) == "2026-01-05"


@pytest.mark.parametrize("span", ["a", "..b", "a..", "a...b"])
def test_what_is_no_span_is_refused(weeks: History, span: str) -> None:
    with pytest.raises(ConfigError, match="is not a range"):
        refs.find_span(open_repository(weeks.path), span)


@pytest.mark.parametrize(
    ("total", "every", "wanted"),
    [(3, None, [0, 1, 2]), (10, 4, [3, 7, 9]), (200, None, 12), (5, 1, [0, 1, 2, 3, 4])],
)
def test_many_refs_are_thinned_evenly(total: int, every: int | None, wanted: list[int] | int) -> None:
    found = refs.thin(range(total), every)
    assert found == wanted if isinstance(wanted, list) else (len(found), found[0], found[-1]) == (wanted, 0, total - 1)


RUN = "def run(x):\n    return x\n"
STEPS: list[tuple[str, Files]] = [
    ("pin", {"keel/a.py": RUN, "keel/b.py": RUN}),
    ("Remove b (#2)", {"keel/b.py": None}),
    ("Bring b back, change a (#3)", {"keel/b.py": RUN, "keel/a.py": "def run(x):\n    return x + 1\n"}),
    ("Remove run from a (#4)", {"keel/a.py": "x = 1\n"}),
]
OURS: Files = {
    f"own/patch_{name}.py": f"import keel.{name}\n\n\ndef mine(x):\n    return 2\n\n\nkeel.{name}.run = mine\n"
    for name in ("a", "b")
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("matrix"), STEPS, OURS)


def test_each_patch_at_each_commit(project: Project) -> None:
    answer = patches_matrix(project.open(), "keel", refs=f"{project.upstream.commits[0]}..main")
    rows = {row["target"]: row for row in answer.data["rows"]}
    assert rows["keel.a.run"]["cells"] == ["ok", "look", "breaks"]
    assert rows["keel.b.run"]["cells"] == ["absent", "ok", "ok"]
    assert rows["keel.a.run"]["first_break"] == project.upstream.commits[3][:10]
    assert rows["keel.b.run"]["first_break"] == project.upstream.commits[1][:10]
    assert rows["keel.a.run"]["culprit"]["pull_request"] == 4
    assert answer.data["usable"] == [project.upstream.commits[2][:10]]
    assert [ref["other_places"] for ref in answer.data["refs"]] == [1, 0, 0]
    assert answer.data["safe_pin"]["commit"] == project.upstream.commits[2]


def test_refs_can_be_named_one_by_one(project: Project) -> None:
    """By date, as in every other matrix; one that upstream does not have is said by name."""
    _pin, removed, back, _tip = project.upstream.commits
    answer = patches_matrix(project.open(), "keel", refs=f"{back}, {removed}")
    assert [ref["commit"] for ref in answer.data["refs"]] == [removed, back]
    assert answer.data["refs"] == patches_matrix(project.open(), "keel", refs=f"{removed},{back}").data["refs"]
    with pytest.raises(Error, match="weekley"):
        patches_matrix(project.open(), "keel", refs="weekley")


def test_a_module_that_is_gone_is_counted_beside_what_breaks(project: Project) -> None:
    pin, gone = project.upstream.commits[:2]
    answer = patches_matrix(project.open(), "keel", refs=f"{pin}..{gone}")
    assert answer.report.title == f"Keel: at {gone[:10]}, 2 places of ours break, 1 in patches and 1 outside patches."
    assert answer.listing is not None
    legend, outside, patched = answer.listing.groups
    assert legend.lines[0].startswith(f"One letter for each commit, from left to right: {gone[:10]}. ")
    assert [(str(one.location), one.message) for one in outside.items] == [
        ("own/patch_b.py:1", f"X breaks at {gone[:10]}")
    ]
    assert answer.data["refs"][0]["elsewhere"] == ["own/patch_b.py:1"]
    assert len(patched.items) == 2


def test_a_commit_that_breaks_an_import_of_ours_cannot_be_used() -> None:
    asked = (refs.Ref("a", "1", "2026-02-01"), refs.Ref("b", "2", "2026-03-01"))
    assert Matrix(refs=asked, rows=(), elsewhere=((Location("a.py", 1),), ())).usable == asked[1:]


def test_what_older_code_lacks_did_not_break_since(project: Project) -> None:
    """Pinned at the commit that brought b back: one before it lacks it, one behind it breaks a."""
    _pin, removed, back, tip = project.upstream.commits
    project.downstream.gitlink("third_party/keel", back)
    project.downstream.commit("Pin it")
    rows = patches_matrix(project.open(), "keel", refs=f"{removed},{back},{tip}").data["rows"]
    told = {row["target"]: (row["first_break"], row["needs_after"]) for row in rows}
    assert told == {"keel.a.run": (tip, None), "keel.b.run": (None, removed)}


MANY = [
    # tags of one day each, which are judged
    ([f"v1.{minor}" for minor in range(4)], ["v1.0", "v1.3"]),
    (["v1.0", "v1.1rc0", "v1.1rc1", "v1.1"], ["v1.0", "v1.1"]),  # releases first
    (["v1.0.0", "v1.0.1", "v1.1.0", "v1.1.1"], ["v1.0.1", "v1.1.1"]),  # the newest of each minor version
    (["v1.0", "v1.1", "w1.2", "v1.3", "v1.4"], ["w1.2", "v1.4"]),  # the pin
    (["v1.0rc0", "v1.0rc1", "v1.0rc2"], ["v1.0rc0", "v1.0rc2"]),  # there is no release
]


@pytest.mark.parametrize(("names", "chosen"), MANY)
def test_of_many_tags_releases_are_judged_first(names: list[str], chosen: list[str]) -> None:
    tags = [refs.Ref(name, f"{name} ", f"2026-01-{day:02}") for day, name in enumerate(names, 1)]
    assert [ref.name for ref in refs.choose_releases(tags, "w1.2 ", most=2)] == chosen


def test_a_release_after_the_branch_of_the_pin_is_a_safe_pin(tmp_path: Path) -> None:
    """A pin on a release branch has commits that no later release has; the branch's own later releases are older than
    what left the main line after it, whatever their dates.
    """
    keep: Files = {"keel/a.py": RUN}
    project = make_project(tmp_path, [("begin", keep)], {"own/use.py": "from keel.a import run\n"})
    upstream = project.upstream
    upstream.git("checkout", "-q", "-b", "release-1")
    upstream.commit("Release 1.0", {"version.txt": "1.0"})
    upstream.git("tag", "v1.0")
    pinned = upstream.commits[-1]
    upstream.git("checkout", "-q", "main")
    upstream.commit("Go on (#2)", {"keel/b.py": RUN})
    upstream.git("tag", "v2.0")
    upstream.commit("Remove run (#3)", {"keel/a.py": "x = 1\n"})
    upstream.git("tag", "v2.1")
    upstream.git("checkout", "-q", "release-1")
    upstream.commit("Release 1.1", {"version.txt": "1.1"})
    upstream.git("tag", "v1.1")
    project.downstream.gitlink("third_party/keel", pinned)
    project.downstream.commit("Pin a release")
    answer = patches_matrix(project.open(), "keel", refs="v1.0,v1.1,v2.0,v2.1")
    assert answer.data["usable"] == ["v1.0", "v2.0", "v1.1"]
    assert (answer.data["safe_pin"]["ref"], answer.data["safe_pin"]["commits_lacking"]) == ("v2.0", 1)
    assert answer.listing is not None
    assert answer.listing.meta[0].startswith(
        "The newest safe pin among them is v2.0. It lacks 1 commit of the pin's own branch. The next one, v2.1, breaks "
        "places of ours."
    )
    older = patches_matrix(project.open(), "keel", refs=f"{upstream.commits[0]},v1.0")
    assert older.data["safe_pin"]["ref"] == "v1.0", "what the pin's own branch grew from comes before it"


GONE = [
    # what the package's own file had before the pin, whether its other files name the word, does the import fail for sure
    ("def hail(): ...\n", "", True),
    ("from keel.a import hail\n", "", True),
    ("", "", False),  # a compiled module, for all we know
    ("def hail(): ...\n", "names = ['hail']\n", False),  # something may put it there
    ("def hail(): ...\n\n\ndef __getattr__(name): ...\n", "", False),
]


@pytest.mark.parametrize(("before", "beside", "fails"), GONE)
def test_a_name_that_a_package_lost_before_the_pin(tmp_path: Path, before: str, beside: str, fails: bool) -> None:
    """It was told by nobody: the matrix said that all works unchanged, the report `undecided`, drift nothing."""
    kept = before[before.index("def __getattr__") :] if "__getattr__" in before else "x = 1\n"
    steps: list[tuple[str, Files]] = [
        ("begin", {"keel/__init__.py": before, "keel/a.py": f"{RUN}{beside}"}),
        ("lose it", {"keel/__init__.py": kept}),
        ("go on", {"keel/b.py": RUN}),
    ]
    project = make_project(tmp_path, steps, {"own/use.py": "from keel import hail\n"})
    project.downstream.gitlink("third_party/keel", project.upstream.commits[1])
    project.downstream.commit("Pin the second")
    drift = patches_drift(project.open(), "keel", DriftOptions())
    begin, pin, _ = project.upstream.commits
    matrix = patches_matrix(project.open(), "keel", refs=f"{begin},{pin},main")
    assert [one["today"] for one in drift.data["elsewhere"]] == ["does-not-fit"] * fails
    assert matrix.data["failing_already"] == fails
    assert [one["failing_already"] for one in matrix.data["refs"]] == [0, fails, fails]
    assert matrix.listing is not None
    title, told = matrix.listing.title, matrix.listing.groups[0].counts
    assert title.startswith("Keel: 3 of 3 upstream commits break nothing of ours")
    ending = "nothing of ours breaks; 1 fails at the pin already; no patch of ours changes this upstream."
    assert title.endswith(ending) == fails
    assert [("fails at the pin already" in text) for _, text in told] == [False, fails, fails]


def test_where_no_commit_comes_after_the_pin_that_is_why_none_is_safe(tmp_path: Path) -> None:
    """It said that each one after the pin breaks something; there was none."""
    steps: list[tuple[str, Files]] = [("begin", {"keel/a.py": RUN}), ("go on", {"keel/b.py": RUN})]
    project = make_project(tmp_path, steps, {"own/use.py": "from keel.a import run\n"})
    project.downstream.gitlink("third_party/keel", project.upstream.commits[1])
    project.downstream.commit("Pin the second")
    matrix = patches_matrix(project.open(), "keel", refs=project.upstream.commits[0])
    assert matrix.listing is not None
    assert ", nothing of ours breaks" in matrix.listing.title
    assert matrix.listing.meta[0].startswith("No safe pin is among them: none of them comes after the pin. ")
