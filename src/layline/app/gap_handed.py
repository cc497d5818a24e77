"""What the gap room is handed: the drift of our patches, and a renderer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.core.drift import Uncompared
from layline.core.evidence import Skipped
from layline.errors import Error
from layline.gap.measure import Beside, Handed
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.render.markdown import render_markdown

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift
    from layline.coupling.pair import Pair


def read_patches(pair: Pair) -> tuple[tuple[Drift, ...] | None, Beside]:
    """The drift of our patches; a registry that cannot be read is said, not fatal."""
    try:
        options = DriftOptions(to=pair.tip, culprits=True, elsewhere=False)
        _, found = find_drift(pair.workspace, pair.backend, options, pair.progress, pair)
    except Error as error:
        return None, Beside(skipped=(Skipped("patches", error.message),))
    return found.rows, Beside(unnamed=found.uncompared.get(Uncompared.NO_TARGET, 0))


HANDED = Handed(read_patches=read_patches, render=render_markdown)
