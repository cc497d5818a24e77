"""Every effect at one upstream commit, as `patches matrix` and `gap trend` show it; kept between runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline import codec
from layline.core.evidence import Location
from layline.core.progress import Progress, silent
from layline.core.revision import Commit
from layline.coupling.around import mark_unreached
from layline.coupling.culprit import find_culprits
from layline.coupling.drift_model import Drift
from layline.coupling.fold import fold_told
from layline.coupling.told import tells_elsewhere
from layline.patches.drift.read import OpenedDrift, find_rows, open_drift
from layline.upgrade.judging import find_drift_lines, find_lines, is_broken, pin_of
from layline.upgrade.matrix import Cell, Fit
from layline.workspace.kept import Results, find_inputs, result_key
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """What was found for one upstream commit, as it is kept."""

    cells: tuple[Cell, ...]
    breaks: int
    """Places of ours that break there, in patches and outside, as `patches drift` counts them."""
    elsewhere: tuple[Location, ...]
    """Those outside patches that break there: imports, calls, overrides."""
    failing: int = 0
    """Places that fail there as they do at the pin."""


def judge_cells(workspace: Workspace, key: str, commit: str, progress: Progress = silent) -> Cells:
    """Every effect at one upstream commit, with who broke it; kept, because nothing of it changes."""
    known = know_packages(workspace)
    digest = _name_cells(known, key, commit)
    kept = _load_cells(digest)
    if kept is None:
        opening = open_drift(known, key, commit, progress)
        opened, pair = opening.opened, opening.pair
        found_rows = find_rows(opening)  # first: they decide what the places are judged without
        rows = list(mark_unreached(found_rows, pair.settled, pair.modules))
        broken = [row for row in rows if is_broken(row)]
        found = find_culprits(broken, opened.sides, opened.upstream)
        culprits = {id(old): new.culprit for old, new in zip(broken, found, strict=True)}
        lines = find_drift_lines(rows, fold_told(pair.settled, rows))
        kept = Cells(
            cells=tuple(_cell(row, opened, culprits.get(id(row))) for row in rows if row.target is not None),
            breaks=len(lines),
            elsewhere=tuple(Location(*one) for one in sorted(lines - find_lines(broken))),
            failing=len(
                find_lines(one for one in opening.pair.settled if one.fails_already and tells_elsewhere(one))
                | find_lines(row for row in rows if row.fails_already)
            ),
        )
        opening.save()
        Results("cells").store(digest, codec.encode(kept))
    return kept


def has_cells(workspace: Workspace, key: str, commit: str) -> bool:
    """Whether the answer for a commit is kept already."""
    return _load_cells(_name_cells(know_packages(workspace), key, commit)) is not None


def _name_cells(known: Workspace, key: str, commit: str) -> str:
    upstream, pin = pin_of(known, key)
    return result_key("cells", key, pin, commit, upstream.is_shallow, *find_inputs(known))


def _load_cells(digest: str) -> Cells | None:
    return Results("cells").load(digest, lambda plain: codec.decode(Cells, plain, where="cache"))


def _cell(row: Drift, opened: OpenedDrift, culprit: Commit | None) -> Cell:
    effect = row.effect.id if row.effect is not None and row.effect.id else f"{row.patch} {row.location}"
    return Cell(
        effect=f"{effect} {row.target}",
        patch=row.patch,
        target=row.target or "",
        location=row.location,
        fit=_find_fit(row, opened),
        broken=is_broken(row),
        culprit=culprit,
    )


def _find_fit(row: Drift, opened: OpenedDrift) -> Fit:
    if _has_no_module(row, opened):
        return Fit.ABSENT
    return Fit.LOOK if row.fails_already else Fit(row.severity.value)


def _has_no_module(row: Drift, opened: OpenedDrift) -> bool:
    """True if the module that the pin found the target in does not exist at the other commit."""
    if row.comparison is None or row.comparison.after.exists:
        return False
    module = row.comparison.before.bound_in or row.comparison.before.module
    return module is not None and module not in opened.sides.tip.index.entries
