"""A repository is data: whatever its configuration asks for, nothing of it runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commands import layline
from histories import History
from layered import make_layered
from layline.errors import GitError, MissingObject
from layline.git import open_repository
from layline.history.changes import read_diff
from layline.history.commits import compare_commits, read_log

TRAPS = """
[core]
    hooksPath = {traps}/hooks
    fsmonitor = {trap} fsmonitor
    pager = {trap} pager
    editor = {trap} editor
    sshCommand = {trap} ssh
    askPass = {trap} askpass
    gitProxy = {trap} proxy
    alternateRefsCommand = {trap} alternates
[pager]
    log = {trap} pager-log
[diff]
    external = {trap} external
[diff "trapped"]
    command = {trap} driver
    textconv = {trap} textconv
[filter "trapped"]
    clean = {trap} clean
    smudge = {trap} smudge
    process = {trap} process
    required = true
[merge "trapped"]
    driver = {trap} merge
[gpg]
    program = {trap} gpg
[log]
    showSignature = true
[alias]
    rev-list = !{trap} alias
    log = !{trap} alias
    cat-file = !{trap} alias
[credential]
    helper = !{trap} credential
[protocol "ext"]
    allow = always
[remote "origin"]
    url = ext::{trap} transport
    promisor = true
    partialclonefilter = blob:none
    uploadpack = {trap} uploadpack
[extensions]
    partialClone = origin
[include]
    path = {traps}/included
"""


@pytest.fixture
def trapped(tmp_path: Path) -> tuple[History, Path]:
    """A repository in which every setting that can run a program leaves a mark when it does."""
    layered = make_layered(tmp_path)
    marks = tmp_path / "marks"
    marks.mkdir()
    traps = tmp_path / "traps"
    (traps / "hooks").mkdir(parents=True)
    trap = traps / "trap"
    trap.write_text(f'#!/bin/sh\n: > "{marks}/$1-$$"\ncat >/dev/null 2>&1 </dev/null\nexit 0\n')
    trap.chmod(0o755)
    for hook in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "fsmonitor-watchman"):
        (traps / "hooks" / hook).write_text(f"#!/bin/sh\n{trap} hook-{hook}\n")
        (traps / "hooks" / hook).chmod(0o755)
    upstream = layered.upstream
    upstream.commit("Mark files", {".gitattributes": "* diff=trapped filter=trapped merge=trapped\n"})
    git_dir = upstream.path / ".git"
    (git_dir / "info" / "attributes").write_text("* diff=trapped filter=trapped\n")
    (traps / "included").write_text(f"[diff]\n\texternal = {trap} included\n[core]\n\tfsmonitor = {trap} included\n")
    with (git_dir / "config").open("a") as config:
        config.write(TRAPS.format(trap=trap, traps=traps))
    return upstream, marks


def test_the_traps_spring_for_plain_git(trapped: tuple[History, Path]) -> None:
    """The control: without our hardening this repository runs programs, so the tests below can fail."""
    upstream, marks = trapped
    subprocess.run(
        ["git", "-C", str(upstream.path), "diff", upstream.commits[1], upstream.commits[3]],
        capture_output=True,
        check=False,
    )
    subprocess.run(["git", "-C", str(upstream.path), "status"], capture_output=True, check=False)
    assert {mark.name.split("-")[0] for mark in marks.iterdir()} & {"driver", "external", "included", "fsmonitor"}


def test_reading_a_trapped_repository_runs_nothing(trapped: tuple[History, Path]) -> None:
    upstream, marks = trapped
    repository = open_repository(upstream.path)
    pin, tip = upstream.commits[1], repository.resolve("main")
    assert compare_commits(repository, pin, tip).behind == 3
    assert read_diff(repository, pin, tip).insertions > 0
    assert len(list(read_log(repository, pin, tip))) == 3
    for entry in repository.read_tree(tip):
        repository.read_blob(entry.oid)
    repository.refs()
    with pytest.raises(GitError):
        repository.resolve("no-such-branch")
    with pytest.raises(MissingObject):
        repository.resolve("f" * 40)
    assert list(marks.iterdir()) == []


def test_a_missing_object_of_a_partial_clone_is_not_fetched(trapped: tuple[History, Path]) -> None:
    upstream, marks = trapped
    repository = open_repository(upstream.path)
    tip = repository.resolve("main")
    oid = next(entry.oid for entry in repository.read_tree(tip) if entry.path == "keel/engine.py")
    loose = upstream.path / ".git" / "objects" / oid[:2] / oid[2:]
    loose.unlink()
    with pytest.raises(MissingObject, match=oid):
        repository.read_blob(oid)
    with pytest.raises(GitError, match=r"unable to read|bad object|missing"):
        read_diff(repository, upstream.commits[0], tip)
    assert list(marks.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        ("gap", "show", "keel", "--evidence"),
        ("gap", "show", "keel", "--to", "main~1", "--format", "json"),
        ("doctor",),
        ("init", "fresh", "--git", "upstream"),
    ],
)
def test_commands_on_a_trapped_repository_run_nothing(
    trapped: tuple[History, Path], tmp_path: Path, command: tuple[str, ...]
) -> None:
    _, marks = trapped
    (tmp_path / "fresh").mkdir()
    result = layline(
        *command, cwd=tmp_path, env={"GIT_EXTERNAL_DIFF": str(tmp_path / "traps" / "trap"), "GIT_PAGER": "false"}
    )
    assert result.code == 0, result.err
    assert list(marks.iterdir()) == []


def test_replace_refs_do_not_bend_history(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("replace", layered.upstream.commits[3], layered.upstream.commits[1])
    repository = open_repository(layered.upstream.path)
    assert compare_commits(repository, layered.upstream.commits[1], layered.upstream.commits[3]).behind == 2


def test_work_tree_attributes_do_not_change_figures(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    before = read_diff(open_repository(layered.upstream.path), layered.upstream.commits[0], layered.tip)
    (layered.upstream.path / ".gitattributes").write_text("*.py binary\n")
    after = read_diff(open_repository(layered.upstream.path), layered.upstream.commits[0], layered.tip)
    assert before == after
    assert before.insertions == 41


def test_a_symlink_to_a_shallow_file_is_not_followed(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("x" * 40 + "\n")
    (layered.upstream.path / ".git" / "shallow").symlink_to(secret)
    repository = open_repository(layered.upstream.path)
    assert len(list(repository.read_tree(layered.upstream.commits[0]))) == 2
