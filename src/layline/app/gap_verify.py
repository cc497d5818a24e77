"""`gap verify`: recompute every fact of a report from git; what changed, is gone or cannot be reached is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.gap_handed import HANDED
from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.errors import Error
from layline.gap.files import FOLDER, evidence_path
from layline.gap.verify import build_answer, verify

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def gap_verify(workspace: Workspace, records: tuple[Path, ...] = (), *, progress: Progress = silent) -> Answer:
    """Recompute the named records, or all that Layline made; the answer needs a person if anything differs."""
    folder = workspace.root / workspace.settings.project.docs / FOLDER / "dashboard-data" / "reports"
    chosen = records or tuple(sorted(path for path in folder.glob("*.json") if evidence_path(path).exists()))
    if not chosen:
        raise Error(f"There is no report made by Layline below {folder}.", hint="`layline gap report` writes one.")
    verified = [verify(workspace, path, HANDED, progress) for path in chosen]
    return build_answer(verified)
