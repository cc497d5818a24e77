"""Makes new repositories from a list of planned commits, through `git fast-import`: same plan, same hashes."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import GitError
from layline.git.commands import argv, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE, LINK, GITLINK = "100644", "120000", "160000"


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when; `date` is git's raw form, `<seconds> <zone>`."""

    name: str
    email: str
    date: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}> {self.date}"


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit does to one path; no `data` removes it, a gitlink's data is the commit it pins."""

    path: str
    data: bytes | None
    mode: str = FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCommit:
    """One commit to make; parents are named by their place in the plan."""

    number: int
    """Counted from 1."""
    ref: str
    message: str
    author: Signature
    committer: Signature
    parents: tuple[int, ...]
    changes: tuple[Change, ...]
    """Against the first parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTag:
    """An annotated tag."""

    name: str
    commit: int
    tagger: Signature
    message: str


def create_repository(directory: Path, commits: Iterable[PlannedCommit], tags: Iterable[PlannedTag] = ()) -> list[str]:
    """Make a bare repository at `directory`, which must not exist; the hashes of the commits in order."""
    if directory.exists():
        raise GitError(f"{directory} already exists.", hint="Choose a new directory.")
    _init(directory)
    stream = b"".join((*_find_commit_lines(commits), *_find_tag_lines(tags), b"done\n"))
    handle, marks = tempfile.mkstemp(prefix="layline-marks-")
    os.close(handle)
    try:
        run(argv(directory, ("fast-import", "--quiet", "--done", f"--export-marks={marks}")), stdin=stream)
        rows = [line.split() for line in Path(marks).read_text(encoding="ascii").splitlines()]
    finally:
        Path(marks).unlink()
    return [oid for _, oid in sorted((int(mark.removeprefix(":")), oid) for mark, oid in rows)]


def create_work_tree(bare: Path, work_tree: Path, *, remote: str) -> None:
    """Turn the bare repository at `bare` into `work_tree/.git` with `main` checked out."""
    git_dir = work_tree / ".git"
    work_tree.mkdir(parents=True)
    bare.rename(git_dir)
    _configure(git_dir, remote)
    _check_out(git_dir, work_tree)


def create_submodule(work_tree: Path, path: str, mirror: Path, *, commit: str, remote: str) -> None:
    """Check out `commit` of the bare repository at `mirror` as the submodule `path`, as `git submodule update`
    would.
    """
    git_dir = work_tree / ".git" / "modules" / path
    git_dir.parent.mkdir(parents=True, exist_ok=True)
    _init(git_dir)
    shutil.copytree(mirror / "objects", git_dir / "objects", dirs_exist_ok=True)
    heads = run(
        argv(
            mirror,
            ("for-each-ref", "--format=create refs/remotes/origin/%(refname:lstrip=2) %(objectname)", "refs/heads"),
        )
    )
    tags = run(argv(mirror, ("for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags")))
    run(argv(git_dir, ("update-ref", "--stdin")), stdin=heads + tags)
    (git_dir / "HEAD").write_text(f"{commit}\n", encoding="ascii")
    back = "../" * (2 + len(Path(path).parts))
    _configure(git_dir, remote, f"worktree = {back}{path}")
    checked_out = work_tree / path
    up = "../" * len(Path(path).parts)
    (checked_out / ".git").write_text(f"gitdir: {up}.git/modules/{path}\n", encoding="utf-8")
    _check_out(git_dir, checked_out)
    with (work_tree / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(f'[submodule "{path}"]\n\tactive = true\n\turl = {remote}\n')


def _init(directory: Path) -> None:
    options = ("--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch=main")
    run(["git", "init", *options, str(directory)])


def _configure(git_dir: Path, remote: str, *core: str) -> None:
    lines = ["[core]", "repositoryformatversion = 0", "filemode = true", "bare = false", *core]
    lines += ['[remote "origin"]', f"url = {remote}", "fetch = +refs/heads/*:refs/remotes/origin/*"]
    text = "".join(f"{line}\n" if line.startswith("[") else f"\t{line}\n" for line in lines)
    (git_dir / "config").write_text(text, encoding="utf-8")


def _check_out(git_dir: Path, work_tree: Path) -> None:
    run(argv(git_dir, (f"--work-tree={work_tree}", "read-tree", "--reset", "-u", "HEAD")))


def _find_commit_lines(commits: Iterable[PlannedCommit]) -> Iterator[bytes]:
    for commit in commits:
        yield f"commit {commit.ref}\nmark :{commit.number}\n".encode()
        yield f"author {commit.author}\ncommitter {commit.committer}\n".encode()
        yield _data(commit.message.encode())
        for word, parent in zip(("from", *["merge"] * len(commit.parents)), commit.parents, strict=False):
            yield f"{word} :{parent}\n".encode()
        for change in commit.changes:
            yield from _find_change_lines(change)
        yield b"\n"


def _find_change_lines(change: Change) -> Iterator[bytes]:
    if change.data is None:
        yield f"D {change.path}\n".encode()
    elif change.mode == GITLINK:
        yield f"M {GITLINK} {change.data.decode('ascii')} {change.path}\n".encode()
    else:
        yield f"M {change.mode} inline {change.path}\n".encode()
        yield _data(change.data)


def _find_tag_lines(tags: Iterable[PlannedTag]) -> Iterator[bytes]:
    for tag in tags:
        yield f"tag {tag.name}\nfrom :{tag.commit}\ntagger {tag.tagger}\n".encode()
        yield _data(tag.message.encode())


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
