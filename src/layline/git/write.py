"""Writing to the user's own repository: branch, commit, restore; nothing else of Layline changes a repository.

Commits are made with plumbing: no hook, no signing program, no editor and no alias runs, and the same round gives the
same commit however often it is made. That is said to the user when a campaign begins.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import ConfigError, GitError
from layline.git.commands import argv, environment, run
from layline.git.repository import find_git_dir, run_or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_COMMIT = "0" * 40
GITLINK = "160000"
"""The mode of a submodule; its content is a commit, not bytes."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who commits."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs from the last commit; `code` as `git status --porcelain` writes it."""

    code: str
    path: str

    @property
    def is_untracked(self) -> bool:
        return self.code == "??"


class WorkTree:
    """A checked-out repository that belongs to the user who runs Layline."""

    def __init__(self, root: Path, git_dir: Path) -> None:
        self.root = root
        self.git_dir = git_dir

    def git(self, *arguments: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> bytes:
        return run(argv(self.git_dir, (f"--work-tree={self.root}", *arguments)), stdin=stdin, env=env)

    def head(self) -> str:
        found = run_or_none(argv(self.git_dir, ("rev-parse", "--verify", "--quiet", "HEAD^{commit}")))
        if found is None:
            raise GitError(f"{self.root} has no commit yet.", hint="Commit the kernel once; a rollback returns to it.")
        return found.decode().strip()

    def branch(self) -> str | None:
        """The branch that is checked out; None where HEAD is detached."""
        found = run_or_none(argv(self.git_dir, ("symbolic-ref", "--quiet", "--short", "HEAD")))
        return found.decode().strip() if found else None

    def find_changes(self) -> list[Change]:
        """Every path that differs from the last commit, untracked ones included, ignored ones not."""
        excludes = self._user_setting("core.excludesFile") or str(_default_excludes())
        out = self.git(
            "-c",
            f"core.excludesFile={excludes}",
            "status",
            "--porcelain=v1",
            "-z",
            "--untracked-files=all",
            "--no-renames",
        )
        rows = out.decode("utf-8", "surrogateescape").split("\0")
        return [Change(row[:2], row[3:]) for row in rows if row]

    def read_blob(self, commit: str, path: str) -> tuple[str, bytes] | None:
        """Mode and bytes of a file in a commit."""
        out = self.git("--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path)
        if not out:
            return None
        mode, _, rest = out.decode("utf-8", "surrogateescape").partition(" ")
        oid = rest.split("\t")[0].split(" ")[-1]
        return mode, self.git("cat-file", "blob", oid)

    def resolve_branch(self, name: str) -> str | None:
        found = run_or_none(argv(self.git_dir, ("rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}")))
        return found.decode().strip() if found else None

    def create_branch(self, name: str, commit: str) -> None:
        """Make a branch at the commit that is checked out and stand on it; files and index stay as they are."""
        self.git("check-ref-format", "--branch", name)
        existing = self.resolve_branch(name)
        if existing is not None and existing != commit:
            raise ConfigError(
                f"The branch {name} exists and points to another commit.", hint="Choose another `git_branch`."
            )
        if existing is None:
            self.git(
                "update-ref", "-m", "layline: begin campaign", f"refs/heads/{name}", commit, NO_COMMIT[: len(commit)]
            )
        self.git("symbolic-ref", "-m", "layline: begin campaign", "HEAD", f"refs/heads/{name}")

    def build_commit(
        self, parent: str, files: Mapping[str, tuple[str, bytes] | None], message: str, identity: Identity, when: str
    ) -> str:
        """A commit that changes just these files (None removes one); equal arguments give an equal hash."""
        with tempfile.TemporaryDirectory(prefix="layline-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.git("read-tree", parent, env=index)
            self.git("update-index", "-z", "--index-info", stdin=self._index_info(files), env=index)
            # a partial clone lacks files that we leave as they are
            tree = self.git("write-tree", "--missing-ok", env=index).decode().strip()
        person = {
            "GIT_AUTHOR_NAME": identity.name,
            "GIT_AUTHOR_EMAIL": identity.email,
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_NAME": identity.name,
            "GIT_COMMITTER_EMAIL": identity.email,
            "GIT_COMMITTER_DATE": when,
        }
        return (
            self.git("commit-tree", tree, "-p", parent, "-F", "-", stdin=message.encode(), env=person).decode().strip()
        )

    def advance(self, commit: str, parent: str) -> None:
        """Move HEAD's branch from `parent` to `commit`; nothing happens if it already exists."""
        now = self.head()
        if now == commit:
            return
        if now != parent:
            raise GitError(
                f"The branch moved to {now[:12]} while the round was open; it was at {parent[:12]}.",
                hint="Put it back with `git reset --keep`, then `layline campaign resume`.",
            )
        self.git("update-ref", "-m", "layline: accept round", "HEAD", commit, parent)

    def set_index(self, files: Mapping[str, tuple[str, bytes] | None]) -> None:
        """Make the index agree with these files, and nothing else of it change."""
        self.git("update-index", "-z", "--index-info", stdin=self._index_info(files))
        run_or_none(argv(self.git_dir, (f"--work-tree={self.root}", "update-index", "-q", "--refresh")))

    def identity(self) -> Identity:
        """Who the user's own configuration says commits."""
        name, email = self._user_setting("user.name"), self._user_setting("user.email")
        if not name or not email:
            raise ConfigError(
                "git does not know who you are.", hint="Set user.name and user.email, or use git_commit: false."
            )
        return Identity(name, email)

    def _index_info(self, files: Mapping[str, tuple[str, bytes] | None]) -> bytes:
        rows: list[bytes] = []
        for path, content in sorted(files.items()):
            name = path.encode("utf-8", "surrogateescape")
            if content is None:
                rows.append(b"0 " + NO_COMMIT.encode() + b"\t" + name)
            elif content[0] == GITLINK:
                rows.append(content[0].encode() + b" " + content[1] + b"\t" + name)
            else:
                oid = self.git("hash-object", "-w", "--stdin", stdin=content[1]).strip()
                rows.append(content[0].encode() + b" " + oid + b"\t" + name)
        return b"\0".join(rows) + b"\0" if rows else b""

    def _user_setting(self, key: str) -> str | None:
        """One value of the user's configuration as git would read it; reading it runs nothing."""
        kept = {
            name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL") if name in os.environ
        }
        env = environment() | kept
        for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
            if name not in kept:
                env.pop(name, None)
        command = [
            "git",
            f"--git-dir={self.git_dir}",
            "config",
            "--get",
            "--type=path" if key.endswith("File") else "--no-type",
            key,
        ]
        done = subprocess.run(command, env=env, capture_output=True, check=False, timeout=60)
        return done.stdout.decode("utf-8", "replace").strip() or None if done.returncode == 0 else None


def _default_excludes() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    home = os.environ.get("HOME", os.devnull)
    return (Path(base) if base else Path(home) / ".config") / "git" / "ignore"


def open_work_tree(start: Path) -> WorkTree:
    """The work tree that holds `start`."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / ".git").exists():
            git_dir = find_git_dir(folder)
            if git_dir is not None:
                return WorkTree(folder, git_dir)
    raise GitError(
        f"{start} is not inside a git work tree.", hint="Run this inside the repository that holds the kernel."
    )


def find_foreign(changes: Iterable[Change], allowed: Iterable[str]) -> list[Change]:
    """Changes outside the files a round may change."""
    mine = frozenset(allowed)
    return [change for change in changes if change.path not in mine]
