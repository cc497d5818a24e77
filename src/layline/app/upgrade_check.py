"""`upgrade check`: apart from the edits of an upgrade, because it needs no package that makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.upgrade.check import build_check_answer, leave_out_older
from layline.upgrade.compared import add_compared
from layline.upgrade.judging import judge_as_drift, judge_at, pin_of
from layline.workspace.guessed import tell_guess
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def upgrade_check(workspace: Workspace, key: str, *, pin: str | None = None, progress: Progress = silent) -> Answer:
    """Say of every import, target, call and anchor of ours whether it fits the pin, or another commit."""
    upstream, pinned = pin_of(workspace, key)
    commit = upstream.resolve_upstream(pin) if pin is not None else pinned
    there = judge_at(workspace, key, commit, progress)
    here = judge_at(workspace, key, pinned, progress) if commit != pinned else None
    if here is not None:
        between = judge_as_drift(workspace, key, commit, progress, culprits=False)
        there = add_compared(leave_out_older(there, here, upstream), between)
    answer = build_check_answer(workspace, key, there, here, promised=pin is None)
    return tell_uncommitted(workspace, tell_guess(workspace, answer, key), [key])
