"""Edits that are not committed: an answer for HEAD says that it does not know them, one for the disk that it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from layline.core.ours import is_own
from layline.errors import GitError
from layline.git.worktree import find_edits
from layline.workspace.told import add_alert

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.core.report import Answer
    from layline.workspace.open import Workspace

_MOST = 3
_BUILD_FILES = frozenset({"pyproject.toml", "setup.cfg", ".gitmodules"})


def tell_uncommitted(workspace: Workspace, answer: Answer, backends: Iterable[str], *, code: bool = True) -> Answer:
    """The answer with one line about edits it does not know, or a line that it cannot be had from a commit.

    `code`: it depends on our Python files, configuration and patch files, not only on the pins.
    """
    if workspace.worktree:
        return add_alert(answer, "worktree", True, _say_worktree(workspace))
    asked = [workspace.settings.backend(key) for key in backends]
    paths = _find_paths(workspace, asked, _depends(asked, code=code))
    return add_alert(answer, "uncommitted", list(paths), _say_uncommitted(paths)) if paths else answer


def _find_paths(workspace: Workspace, asked: list[Backend], wanted: Callable[[str], bool]) -> tuple[str, ...]:
    try:
        if workspace.commit != workspace.downstream.resolve("HEAD"):
            return ()
        edits = find_edits(workspace.downstream, workspace.commit, wanted)
    except GitError:
        return ()  # an index that git cannot read: nothing is known, and the answer is for the commit
    if edits is None:
        return ()
    return tuple(path for path in edits.paths if path not in edits.untracked or _is_read(path, asked))


def _is_read(path: str, asked: list[Backend]) -> bool:
    """Whether a file that git does not know belongs to what is read: a note or script beside it does not."""
    if any(path in _find_pin_files(backend) for backend in asked):
        return True
    folders = [folder for one in asked for folder in (*one.integration, *one.patches)]
    configs = [folder for one in asked for folder in one.configs]
    inside = path.startswith(tuple(f"{folder.rstrip('/')}/" for folder in (*folders, *configs)) or ("\0",))
    return inside or (not folders and "/" in path)


def _depends(asked: list[Backend], *, code: bool) -> Callable[[str], bool]:
    pins = {path for backend in asked for path in _find_pin_files(backend)}
    configs = tuple(f"{folder.rstrip('/')}/" for backend in asked for folder in backend.configs)

    def depends(path: str) -> bool:
        if path in pins or not code:
            return path in pins
        if path.endswith(".py"):
            return is_own(path)
        return path.startswith(configs or ("\0",)) or path.endswith((".patch", ".diff")) or path in _BUILD_FILES

    return depends


def _find_pin_files(backend: Backend) -> Iterable[str]:
    if backend.pin is not None:
        is_here = backend.pin.file is not None and backend.pin.branch is None
        return [backend.pin.file] if is_here and backend.pin.file is not None else []
    return [backend.path] if backend.path is not None else []


def _say_uncommitted(paths: tuple[str, ...]) -> str:
    shown = ", ".join(paths[:_MOST]) + (f" and {len(paths) - _MOST} more" if len(paths) > _MOST else "")
    what = "1 file has uncommitted edits" if len(paths) == 1 else f"{len(paths)} files have uncommitted edits"
    return f"{what} that this answer (for HEAD) does not include: {shown}. Commit them, or use --worktree."


def _say_worktree(workspace: Workspace) -> str:
    return (
        f"This answer is for the files on disk, over commit {workspace.commit[:12]}; it cannot be reproduced from a "
        "commit."
    )
