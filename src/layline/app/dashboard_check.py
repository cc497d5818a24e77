"""`dashboard check`: says whether a built site is whole, self-contained and consistent."""

from __future__ import annotations

from pathlib import Path

from layline.core.report import Answer
from layline.dashboard.check.answer import build_check_answer
from layline.dashboard.check.site import check_site
from layline.errors import ConfigError


def dashboard_check(folder: Path) -> Answer:
    """Read a built site as a stranger would; anything wrong asks for a person."""
    if not folder.is_dir() or folder.is_symlink():
        raise ConfigError(f"{folder} is not a folder.")
    return build_check_answer(folder, check_site(folder))
