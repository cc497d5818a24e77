"""`patches list`: what each monkey patch does, from code alone; a kept list is answered without the analysers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.patches.kept import read_inventories
from layline.patches.listed import Filter, build_list
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def patches_list(
    workspace: Workspace,
    backend: str | None = None,
    wanted: Filter = Filter(),  # noqa: B008  frozen
    *,
    progress: Progress = silent,
) -> Answer:
    """Every patch of one backend, or of all."""
    keys = workspace.choose(backend)
    inventories = read_inventories(workspace, keys, progress)
    answer = build_list(workspace, inventories, wanted, alone=bool(backend))
    if len(keys) == 1:
        from layline.workspace.guessed import tell_guess  # start-up does not pay for it

        answer = tell_guess(workspace, answer, keys[0])
    return tell_uncommitted(workspace, answer, keys)
