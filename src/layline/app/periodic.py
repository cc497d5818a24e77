"""`periodic weekly` and `periodic monthly`: a Markdown report and its record, from git history alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.app.gap_handed import read_patches
from layline.core.checks import clean_line
from layline.core.period import Cadence
from layline.core.report import Answer
from layline.coupling.pair import Pair
from layline.dashboard.backend_status import same_commit
from layline.dashboard.breakage import find_breakage
from layline.dashboard.content import load_evidence
from layline.gap.areas import area_classes
from layline.gap.changes import build_changes
from layline.gap.measure import judge_ours
from layline.gap.overview import find_broken_places, find_fixes
from layline.history.commits import read_log
from layline.history.touched import read_touched_files
from layline.periodic.distance import Target
from layline.periodic.model import Effect, Notable
from layline.periodic.run import Handed, Span, report_period
from layline.render.markdown import render_markdown
from layline.workspace.records import GAP_FOLDER, Records, load_records

if TYPE_CHECKING:
    from layline.gap.changes import UpstreamChange
    from layline.workspace.open import Workspace


MOST_NOTABLE = 12
MOST_IN_ONE_AREA = 3


def periodic_weekly(workspace: Workspace, span: Span, *, write: bool = True, replace_foreign: bool = False) -> Answer:
    """The report of an ISO week, up to its end or to a moment."""
    return report_period(workspace, Cadence.WEEKLY, span, HANDED, write=write, replace_foreign=replace_foreign)


def periodic_monthly(workspace: Workspace, span: Span, *, write: bool = True, replace_foreign: bool = False) -> Answer:
    """The report of a month, up to its end or to a moment."""
    return report_period(workspace, Cadence.MONTHLY, span, HANDED, write=write, replace_foreign=replace_foreign)


def measure_effect(workspace: Workspace, target: Target, pin: str, tip: str) -> Effect | None:
    """What the way from pin to tip does to our code; None where `packages` does not say what is the backend's."""
    if not target.backend.packages:
        return None
    patches, _, impact = judge_ours(Pair(workspace, target.key, pin, tip), read_patches)
    breaking, fixes = (len(find(impact.couplings, patches or ())) for find in (find_broken_places, find_fixes))
    return Effect(will_break=breaking, to_fix=fixes, used_files=frozenset(impact.used_files))


def read_effect(workspace: Workspace, target: Target, pin: str, tip: str) -> Effect | None:
    """The places that a gap report of the same pin and tip counted: one reason for one label, wherever it is told."""
    docs = workspace.settings.project.docs
    for item in load_records(workspace.root, docs=docs, only=GAP_FOLDER).gap:
        record = item.record
        ends = same_commit(record.local.commit, pin) and same_commit(record.upstream.commit, tip)
        if record.backend.key == target.key and ends:
            plain = load_evidence(workspace.root, docs, Records(gap=(item,))).get(record.id)
            found = find_breakage(record, plain) if plain else None
            if found is not None:
                return Effect(will_break=found.count, to_fix=found.to_fix, used_files=frozenset())
    return None


def find_notable(target: Target, since: str, tip: str, used: frozenset[str]) -> tuple[tuple[Notable, ...], int]:
    """Upstream changes between two commits and how many there are: what touches `used` first, then the broadest."""
    touched = read_touched_files(target.upstream, since, tip)
    changes = build_changes(read_log(target.upstream, since, tip), touched, area_classes(target.backend.areas), used)
    told: list[Notable] = []
    for change in changes.kept:
        if len(told) < MOST_NOTABLE and sum(item.area == change.area for item in told) < MOST_IN_ONE_AREA:
            told.append(
                Notable(
                    area=change.area,
                    number=change.number,
                    title=_bare_title(change),
                    commit=change.commits[0],
                    ours=len(change.ours),
                )
            )
    return tuple(told), len(changes.kept)


def _bare_title(change: UpstreamChange) -> str:
    """Some titles name the pull request twice."""
    return clean_line(change.title.removesuffix(f"(#{change.number})"), 160) or change.commits[0][:12]


HANDED = Handed(
    find_notable=find_notable, measure_effect=measure_effect, read_effect=read_effect, render=render_markdown
)
