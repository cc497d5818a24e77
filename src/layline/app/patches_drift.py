"""`patches drift`: whether every patch still fits at any upstream ref."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.config import miss_backend
from layline.core.evidence import Skipped
from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.errors import Error
from layline.patches.drift.answer import build_drift_answer, join_drifts, read_baseline
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.workspace.guessed import tell_guess
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def patches_drift(workspace: Workspace, backend: str, options: DriftOptions, *, progress: Progress = silent) -> Answer:
    """Say, for every effect of every patch of `backend`, what became of its target between pin and tip."""
    baseline = read_baseline(options.baseline)
    asked, found = find_drift(workspace, backend, options, progress)
    answer = build_drift_answer(asked, found, options, baseline)
    return tell_uncommitted(workspace, tell_guess(asked.workspace, answer, backend), [backend])


def patches_drift_all(workspace: Workspace, options: DriftOptions, *, progress: Progress = silent) -> Answer:
    """The drift of every backend; one whose pin or objects are not there is skipped, and the answer says so."""
    answers: list[Answer] = []
    errors: dict[str, Error] = {}
    for key in workspace.settings.backends:
        try:
            answers.append(patches_drift(workspace, key, options, progress=progress))
        except Error as error:
            errors[key] = error
    if not answers:
        raise next(iter(errors.values()), miss_backend())
    return join_drifts(answers, [Skipped(f"backend {key}", error.message) for key, error in errors.items()])
