"""`patches matrix`, `gap trend`, `watch`: our patches over many upstream commits, months and days."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.files import write_named
from layline.render.charts import shields_endpoint
from layline.upgrade.matrix_answer import ask_matrix, build_matrix_answer
from layline.upgrade.trend import build_trend_answer, find_points
from layline.upgrade.watching import build_news_answer, count_broken, look, say_badge

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def patches_matrix(
    workspace: Workspace, key: str, *, refs: str | None = None, every: int | None = None, progress: Progress = silent
) -> Answer:
    """Say of every patch at which of these upstream commits it fits, needs a look, breaks, or has no module to
    patch.
    """
    return build_matrix_answer(workspace, key, ask_matrix(workspace, key, (refs, every), progress))


def gap_trend(workspace: Workspace, key: str, *, since: date | None = None, progress: Progress = silent) -> Answer:
    """Commits behind, patches and places that break on the first day of each month, and now."""
    return build_trend_answer(key, workspace.label(key), find_points(workspace, key, since, progress))


def watch(
    workspace: Workspace,
    *,
    today: date,
    state: Path | None = None,
    badge: Path | None = None,
    remember: bool = True,
    progress: Progress = silent,
) -> Answer:
    """Ask every backend, compare with the last answer, remember this one."""
    seen = look(workspace, today, state, progress, keep=remember)
    if badge is not None:
        drawn = shields_endpoint("upstream", say_badge(seen), "bad" if count_broken(seen.now) else "good")
        write_named(badge, json.dumps(drawn, indent=2) + "\n")
    return build_news_answer(workspace, seen, today)
