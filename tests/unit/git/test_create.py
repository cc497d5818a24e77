"""Repositories made from a plan: the same plan gives the same hashes, whatever the machine is set to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layline.errors import GitError
from layline.git.create import (
    GITLINK,
    LINK,
    Change,
    PlannedCommit,
    PlannedTag,
    Signature,
    create_repository,
    create_submodule,
    create_work_tree,
)

ADA = Signature("Ada Ünal", "ada@example.org", "1767225600 +0530")


def planned(
    number: int, *changes: Change, parents: tuple[int, ...] = (), ref: str = "refs/heads/main"
) -> PlannedCommit:
    message = f"Commit {number}\n"
    return PlannedCommit(
        number=number, ref=ref, message=message, author=ADA, committer=ADA, parents=parents, changes=changes
    )


PLAN = (
    planned(1, Change("a file", b"one\n"), Change("folder/inner.bin", b"\x00\xff")),
    planned(2, Change("link", b"a file", LINK), Change("sub", b"1" * 40, GITLINK), parents=(1,)),
    planned(3, Change("side", b""), parents=(1,), ref="refs/heads/side"),
    planned(4, Change("a file", None), Change("side", b""), parents=(2, 3)),
)
TAG = PlannedTag(name="v1", commit=2, tagger=ADA, message="v1\n")


def git(directory: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=True).stdout


def test_a_plan_becomes_commits_trees_and_tags(tmp_path: Path) -> None:
    made = create_repository(tmp_path / "r.git", PLAN, [TAG])

    assert git(tmp_path / "r.git", "rev-parse", "main", "main^1", "main^2", "v1^{commit}").split() == [
        made[3],
        made[1],
        made[2],
        made[1],
    ]
    rows = [line.split() for line in git(tmp_path / "r.git", "ls-tree", "-r", "main").splitlines()]
    assert [(row[0], row[3]) for row in rows] == [
        ("100644", "folder/inner.bin"),
        ("120000", "link"),
        ("100644", "side"),
        ("160000", "sub"),
    ]
    assert (
        git(tmp_path / "r.git", "log", "-1", "--format=%an %ad", "--date=iso-strict")
        == "Ada Ünal 2026-01-01T05:30:00+05:30\n"
    )
    assert git(tmp_path / "r.git", "fsck", "--strict") == ""


def test_hashes_do_not_depend_on_the_users_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = tmp_path / "gitconfig"
    hostile.write_text(
        "[core]\n\tautocrlf = true\n[i18n]\n\tcommitEncoding = latin1\n[init]\n\tdefaultBranch = trunk\n"
    )
    plain = create_repository(tmp_path / "plain.git", PLAN, [TAG])
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(hostile))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Mallory")
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")

    assert create_repository(tmp_path / "again.git", PLAN, [TAG]) == plain
    assert plain[3] == "68fe9b17cb251ff2d674537d91a8b4fb4e8bd7c1"


def test_an_existing_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="already exists"):
        create_repository(tmp_path, PLAN)


def test_a_work_tree_with_a_submodule_is_clean(tmp_path: Path) -> None:
    upstream = create_repository(tmp_path / "up.git", [planned(1, Change("x", b"x\n"))])
    create_repository(
        tmp_path / "down.git", [planned(1, Change("libs/up", upstream[0].encode(), GITLINK), Change("y", b"y\n"))]
    )

    create_work_tree(tmp_path / "down.git", tmp_path / "down", remote="https://example.org/down.git")
    create_submodule(
        tmp_path / "down", "libs/up", tmp_path / "up.git", commit=upstream[0], remote="https://example.org/up.git"
    )

    assert not (tmp_path / "down.git").exists()
    assert git(tmp_path / "down", "status", "--porcelain") == ""
    assert (tmp_path / "down" / "libs" / "up" / "x").read_text() == "x\n"
    assert git(tmp_path / "down" / "libs" / "up", "rev-parse", "HEAD", "origin/main").split() == [upstream[0]] * 2
