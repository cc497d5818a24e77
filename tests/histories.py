"""Real git histories for tests: identities and dates are pinned, so hashes are stable."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

_DAY = 86_400
_START = 1_767_225_600
"""2026-01-01T00:00:00Z"""


@functools.cache
def _make_skeleton() -> tuple[tuple[str, bytes | None], ...]:
    """Folders and files of a new repository, from the outside in."""
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, ".git")
        # a template's sample hooks are many files
        subprocess.run(["git", "init", "-q", "--template=", "-b", "main", place], check=True)
        for folder in ("hooks", "info"):
            (made / folder).mkdir(exist_ok=True)
        found = [
            (str(path.relative_to(made)), None if path.is_dir() else path.read_bytes()) for path in made.rglob("*")
        ]
    return (("", None), *sorted(found))


@dataclass
class History:
    """A repository that grows by whole commits; each is a day after the last unless told otherwise."""

    path: Path
    commits: list[str] = field(default_factory=list)

    @classmethod
    def start(cls, path: Path) -> History:
        """Empty; what `git init` makes is copied: a process costs more than ten small files."""
        path.mkdir(parents=True)
        for name, data in _make_skeleton():
            place = path / ".git" / name
            place.mkdir(exist_ok=True) if data is None else place.write_bytes(data)
        return cls(path)

    def git(self, *arguments: str, at: int | None = None, stdin: bytes | None = None) -> str:
        """Run git in the work tree with pinned identity; `at` is a Unix time."""
        when = f"{at if at is not None else _START + len(self.commits) * _DAY} +0000"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_CONFIG_COUNT": "1",  # or each commit starts a process that looks for things to tidy up
            "GIT_CONFIG_KEY_0": "maintenance.auto",
            "GIT_CONFIG_VALUE_0": "false",
        }
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], env=environment, input=stdin, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, subject: str, files: dict[str, str | bytes | None] | None = None, *, at: int | None = None) -> str:
        """Write files (None removes one) and commit them; the new hash."""
        for name, content in (files or {}).items():
            place = self.path / name
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, at=at)
        self.commits.append(self._read_head())
        return self.commits[-1]

    def _read_head(self) -> str:
        """What `git rev-parse HEAD` says, without a process where the branch has a file of its own."""
        head = self.path / ".git" / "HEAD"
        branch = self.path / ".git" / head.read_text().removeprefix("ref: ").strip() if head.is_file() else None
        if branch is not None and branch.is_file():
            return branch.read_text().strip()
        return self.git("rev-parse", "HEAD")

    def gitlink(self, path: str, commit: str) -> None:
        """Pin a submodule at `path` without needing its objects; the next commit records it."""
        (self.path / path).mkdir(parents=True, exist_ok=True)  # else `git add -A` would drop the gitlink
        self.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
