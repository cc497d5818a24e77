"""A private bare repository that borrows another's objects and nothing else.

Hooks, configuration, attributes, filters, replace refs, grafts and promisor remotes of the analysed repository are
not switched off one by one: the git process that reads its objects never sees them.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from layline.errors import GitError


class Shadow:
    """Lives in a temporary directory until closed or collected."""

    def __init__(self, git_dir: Path, *, sha256: bool) -> None:
        objects = git_dir / "objects"
        if "\n" in str(objects):
            raise GitError(f"{str(git_dir)!r} has a line break in its path.", hint="Move the repository elsewhere.")
        self.directory = Path(tempfile.mkdtemp(prefix="layline-git-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self.directory, ignore_errors=True)
        (self.directory / "objects" / "info").mkdir(parents=True)
        (self.directory / "refs").mkdir()
        (self.directory / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        format_lines = "\trepositoryformatversion = 1\n\tbare = true\n"
        extensions = "[extensions]\n\tobjectFormat = sha256\n" if sha256 else ""
        (self.directory / "config").write_text(f"[core]\n{format_lines}{extensions}", encoding="ascii")
        alternates = self.directory / "objects" / "info" / "alternates"
        alternates.write_text(f"{objects}\n", encoding="utf-8")
        shallow = git_dir / "shallow"
        if shallow.is_file() and not shallow.is_symlink():
            shutil.copyfile(shallow, self.directory / "shallow")

    def close(self) -> None:
        self._finalizer()
