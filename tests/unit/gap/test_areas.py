"""Churn classes, areas, packages that come and go, and upstream changes by pull request."""

from __future__ import annotations

import pytest

from layline.core.revision import Commit
from layline.gap.already import mark_known
from layline.gap.areas import area_classes, find_package_changes, measure_areas
from layline.gap.changes import build_changes, find_reverted, mark_lost
from layline.gap.churn import measure_churn
from layline.history.changes import Diff, FileChange


def change(path: str, status: str = "M", lines: tuple[int, int] = (1, 0), old: str | None = None) -> FileChange:
    return FileChange(path=path, old_path=old, status=status, insertions=lines[0], deletions=lines[1])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("uv.lock", "lock files"),
        ("tests/functional/gpt/golden_values_dev.json", "generated and golden"),
        ("up/proto/x_pb2.py", "generated and golden"),
        ("tests/unit/test_a.py", "tests"),
        ("up/core/test_utils.py", "tests"),
        ("docs/a.rst", "docs"),
        ("up/README.md", "docs"),
        (".github/workflows/ci.yml", "workflows and builds"),
        ("pyproject.toml", "workflows and builds"),
        ("up/core/layers.py", "code"),
        ("csrc/kernel.cu", "code"),
    ],
)
def test_a_file_has_one_churn_class(path: str, expected: str) -> None:
    assert [churn.name for churn in measure_churn(Diff((change(path),)), {}) if churn.files] == [expected]


def test_churn_classes_add_up_to_the_diff() -> None:
    diff = Diff((change("a.py", lines=(5, 1)), change("tests/x.json", "A", (100, 0)), change("uv.lock", lines=(3, 9))))
    churns = measure_churn(diff, {})
    assert (sum(c.files for c in churns), sum(c.insertions for c in churns), sum(c.deletions for c in churns)) == (
        3,
        108,
        10,
    )


def test_configured_areas_replace_the_defaults() -> None:
    diff = Diff((change("up/a.py", "A"), change("up/b.py", "R", old="up/old.py"), change("elsewhere.py", "D")))
    touched = {"1": ("up/a.py", "up/b.py"), "2": ("elsewhere.py",), "3": ("up/a.py",)}
    areas = measure_areas(diff, touched, {"ours": ("up/**",)})
    assert [(area.name, area.added, area.renamed, area.removed, area.commits) for area in areas] == [
        ("ours", 1, 1, 0, 2),
        ("other", 0, 0, 1, 1),
    ]


def test_a_package_is_added_only_if_its_folder_was_absent() -> None:
    pin = [
        "up/legacy/a.py",
        "up/legacy/deep/b.py",
        "examples/bert/run.sh",
        "up/moe/x.py",
        "up/moe/y.py",
        "up/moe/__init__.py",
        *(f"up/parts/ft/{name}" for name in ("__init__.py", "manager.py", "deep/utils.py", "old.py")),
    ]
    tip = [*(f"up/torchft/{name}" for name in ("__init__.py", "manager.py", "deep/utils.py", "a.py", "b.py", "c.py"))]
    tip += ["up/new/a.py", "examples/bert/run.py", "up/experts/x.py", "up/experts/y.py", "up/experts/__init__.py"]
    renames = (change("up/experts/x.py", "R", old="up/moe/x.py"), change("up/experts/y.py", "R", old="up/moe/y.py"))
    parts = tuple(change(one, "R", old=one.replace("torchft", "parts/ft")) for one in tip[:3])
    found = [
        (one.kind, one.old_path, one.path, one.files)
        for one in find_package_changes(pin, tip, Diff((*renames, *parts)))
    ]
    assert found == [
        ("renamed", "up/moe", "up/experts", 3),
        ("added", None, "up/new", 1),
        ("renamed", "up/parts/ft", "up/torchft", 6),
        ("removed", None, "up/legacy", 2),
    ]


def commit(number: int, subject: str, author: str = "Ada") -> Commit:
    return Commit(
        hash=f"{number:040x}", committed=f"2026-01-{number:02}T00:00:00Z", authored="", author=author, subject=subject
    )


def test_reverts_inside_the_gap_cancel_and_a_reland_stays() -> None:
    log = [
        commit(5, 'Revert "Something older" (#50)'),
        commit(4, "Add A (#14)"),
        commit(3, 'Revert "Add A (#12)" (#13)'),
        commit(2, "Add A (#12)"),
        commit(1, "Add B (#11)"),
    ]
    assert find_reverted(log) == {f"{3:040x}", f"{2:040x}"}


def test_changes_are_grouped_by_pull_request_and_ours_come_first() -> None:
    log = [
        commit(6, "ci: bump runner (#16)"),
        commit(5, "Update golden values (#15)"),
        commit(4, "Refresh lock", author="dependabot[bot]"),
        commit(3, "feat(moe): add router (#13)"),
        commit(2, "broad rewrite (#12)"),
        commit(1, "Follow-up (#13)"),
    ]
    paths = {
        6: ("a.py",),
        5: ("tests/golden_values.json",),
        4: ("up/x.py",),
        3: ("up/moe/r.py",),
        2: ("up/a.py", "up/b.py"),
        1: ("up/moe/q.py",),
    }
    touched = {f"{number:040x}": value for number, value in paths.items()}
    changes = build_changes(log, touched, area_classes({}), {"up/moe/q.py"})
    assert [(one.number, one.kind, one.title, one.area, one.files, one.ours) for one in changes.kept] == [
        (13, "feat", "Add router", "models", 2, ("up/moe/q.py",)),
        (12, "", "Broad rewrite", "other", 2, ()),
    ]
    assert (changes.reverted, changes.housekeeping) == (0, 3)


@pytest.mark.parametrize(
    ("title", "new", "tip", "lost"),
    [
        ("[Boat2] add boat2 vl", ["up/boat2_vl/__init__.py", "up/data/wave.py"], ["up/data/wave.py"], True),
        ("Add waves", ["up/boat2_vl/__init__.py", "up/data/wave.py"], ["up/data/wave.py"], False),
        ("Add waves", ["up/wave.py"], [], True),
        ("Add waves", [], [], False),
        ("Add waves", ["tests/test_wave.py"], [], False),
    ],
)
def test_what_a_change_brought_may_be_gone_at_the_tip(title: str, new: list[str], tip: list[str], lost: bool) -> None:
    day = "2026-01-01T00:00:00Z"
    one = Commit(hash="a" * 40, committed=day, authored="", author="A", subject=f"{title} (#7)")
    touched = {one.hash: ("up/core.py", *new)}
    pin = frozenset({"up/core.py"})
    changes = mark_lost(build_changes([one], touched, area_classes({}), set()), touched, pin, {*pin, *tip})
    assert [change.is_lost for change in changes.kept] == [lost]


@pytest.mark.parametrize(
    ("at_pin", "day", "known"),
    [
        ("a\nnew\nb\nmore of the pin\n  new\n", "2026-01-01", True),
        ("a\nnew\nb\n", "2026-01-01", False),
        ("a\nb\n", "2026-01-01", False),
        ("a\nnew\nb\nnew\n", "2026-01-03", False),
    ],
)
def test_the_pin_may_have_what_a_change_adds(at_pin: str, day: str, known: bool) -> None:
    """Every added line as often as the change leaves it there."""
    pin = Commit(hash="b" * 40, committed="2026-01-02T00:00:00Z", authored="", author="A", subject="v1 branch (#9)")
    one = Commit(hash="a" * 40, committed=f"{day}T00:00:00Z", authored="", author="A", subject="Add new (#7)")
    texts = {f"{one.hash}^": "a\nb\n", one.hash: "a\nnew\nb\nnew\n", pin.hash: at_pin}
    touched = {one.hash: ("up/core.py", "docs/a.md")}
    changes = build_changes([one], touched, area_classes({}), set())
    found = mark_known(changes, touched, pin, lambda commit, path: texts[commit].encode())
    assert [change.is_known for change in found.kept] == [known]
    copied = mark_known(changes, touched, pin, lambda commit, path: b"", {one.hash})
    assert [change.is_known for change in copied.kept] == [day <= pin.date]


def test_a_folder_that_became_a_module_is_not_deleted() -> None:
    pin, tip = ["up/a/__init__.py", "up/b/__init__.py", "up/x.py"], ["up/a.py", "up/x.py"]
    found = find_package_changes(pin, tip, Diff(()))
    assert [(one.path, one.kind, one.is_module) for one in found] == [
        ("up/a", "removed", True),
        ("up/b", "removed", False),
    ]
