"""`upgrade check`: apart from the edits of an upgrade, because it needs no package that makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.upgrade.absolute import Standing
from layline.upgrade.check import build_check_answer, leave_out_older
from layline.upgrade.compared import add_compared
from layline.upgrade.judging import judge_as_drift, judge_at, pin_of
from layline.workspace.guessed import tell_guess
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def upgrade_check(workspace: Workspace, key: str, *, pin: str | None = None, progress: Progress = silent) -> Answer:
    """Say of every import, target, call and anchor of ours whether it fits the pin, or another commit."""
    upstream, pinned = pin_of(workspace, key)
    commit = upstream.resolve_upstream(pin) if pin is not None else pinned
    here = judge_at(workspace, key, pinned, progress)
    there = here if commit == pinned else _judge_both(workspace, key, commit, here, progress)
    answer = build_check_answer(workspace, key, there, here if commit != pinned else None, promised=pin is None)
    return tell_uncommitted(workspace, tell_guess(workspace, answer, key), [key])


def _judge_both(workspace: Workspace, key: str, commit: str, here: Standing, progress: Progress) -> Standing:
    """What fits another commit than the pin, by itself and compared with the pin; both stay as they are, so it is
    kept.
    """
    upstream = workspace.open_backend(key)

    def judge() -> Standing:
        there = judge_at(workspace, key, commit, progress)
        between = judge_as_drift(workspace, key, commit, progress, culprits=False)
        return add_compared(leave_out_older(there, here, upstream), between)

    inputs = key, commit, upstream.is_shallow, *find_inputs(know_packages(workspace))
    return find_kept(Standing, "standing-compared", judge, *inputs)
