"""`patches drift`: whether every patch still fits at any upstream ref."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.drift_kept import KeptDrift, read_kept
from layline.core.evidence import Evidence, Severity
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Subject
from layline.errors import Error
from layline.history import read_commit
from layline.patches.baseline import Accepted, find_stale, parse_baseline, split_accepted
from layline.patches.drift_lines import build_drift_listing
from layline.patches.drift_report import (
    DriftReport,
    build_findings,
    build_report,
    encode_drift,
)
from layline.patches.wanted import ALL, Wanted
from layline.workspace.kept import find_inputs
from layline.workspace.open import know_packages
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.workspace.open import Workspace

FAIL_ON = {"breaks": (Severity.BREAKS,), "look": (Severity.BREAKS, Severity.LOOK), "none": ()}
_READER = "layline.app.drift_read"
"""By its name: it brings in the analysers, which a kept answer does not need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftOptions:
    """How a drift question is asked."""

    to: str | None = None
    culprits: bool = False
    fail_on: str = "breaks"
    baseline: Path | None = None
    today: date = date.max
    since: str | None = None
    """The upstream commit compared from; default: the pin. For a pull request that moves it: where it was."""
    dead: bool = False
    """Only ask what does nothing today already: the pin is compared with itself."""
    wanted: Wanted = ALL
    """Which rows the answer has; its exit code counts those."""
    elsewhere: bool = True
    """Also ask about our overrides and calls; a gap report, which judges all of our code itself, does not."""

    @property
    def reads_ours(self) -> bool:
        return self.elsewhere and not self.dead


def patches_drift(workspace: Workspace, backend: str, options: DriftOptions, *, progress: Progress = silent) -> Answer:
    """Say, for every effect of every patch of `backend`, what became of its target between pin and tip."""
    baseline = _read_baseline(options.baseline)
    asked, found = find_drift(workspace, backend, options, progress)
    rows = tuple(row for row in found.rows if options.wanted.keeps_row(row))
    places = tuple(item for item in found.elsewhere if options.wanted.keeps_elsewhere(item))
    counted, accepted = split_accepted(rows, baseline, options.today)
    elsewhere, elsewhere_accepted = split_accepted(places, baseline, options.today)
    used = (item for _, item in (*accepted, *elsewhere_accepted))
    drift = DriftReport(
        backend=backend,
        label=workspace.settings.backend(backend).label or backend,
        downstream=Evidence(repo=workspace.downstream.name, commit=workspace.commit),
        pin=read_commit(asked.upstream, found.pin),
        tip=read_commit(asked.upstream, found.tip),
        rows=counted,
        accepted=accepted,
        stale=find_stale(baseline, used),
        skipped=found.skipped,
        listed=found.listed,
        uncompared=found.count_uncompared(rows),
        culprits=options.culprits,
        elsewhere=elsewhere,
        elsewhere_accepted=elsewhere_accepted,
    )
    severities = {*(row.severity for row in counted), *(item.severity for item in drift.elsewhere)}
    needs = bool(counted) if options.dead else bool(severities & set(FAIL_ON[options.fail_on]))
    answer = Answer(
        report=build_report(drift),
        data=encode_drift(drift),
        needs_person=needs,
        findings=build_findings(drift),
        listing=build_drift_listing(
            drift,
            whole=split_accepted(found.rows, baseline, options.today)[0],
            commits={name: read_commit(asked.upstream, name) for name in {one.culprit for one in elsewhere} if name},
            notes=Severity.OK in options.wanted.severities,
        ),
        subject=Subject(repo=workspace.downstream.name, commit=workspace.commit, question=f"patches-drift/{backend}"),
    )
    return tell_uncommitted(workspace, answer, [backend])


def find_drift(
    workspace: Workspace, backend: str, options: DriftOptions, progress: Progress = silent
) -> tuple[Asked, KeptDrift]:
    """The rows themselves, before a baseline or a filter: what other analysers build on."""
    asked = _ask(know_packages(workspace), backend, options)

    def judge() -> KeptDrift:
        found: KeptDrift = importlib.import_module(_READER).judge_drift(asked, options, progress)
        return found

    return asked, read_kept(asked.inputs, judge)


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A drift question whose refs are known."""

    workspace: Workspace
    backend: str
    upstream: Repository
    pin: str
    tip: str
    inputs: tuple[object, ...] = ()
    """All that the answer depends on besides our own code."""


def _ask(workspace: Workspace, backend: str, options: DriftOptions) -> Asked:
    settings = workspace.settings.backend(backend)
    upstream = workspace.open_backend(backend)
    pinned = workspace.find_pinned(backend)
    pin = upstream.resolve(options.since) if options.since else pinned.commit
    tip = pinned.commit if options.dead else upstream.resolve_upstream(options.to or settings.ref)
    how = (options.since is not None, options.dead, options.culprits, options.elsewhere, upstream.is_shallow)
    return Asked(workspace, backend, upstream, pin, tip, (backend, pin, tip, *how, *find_inputs(workspace)))


def _read_baseline(file: Path | None) -> tuple[Accepted, ...]:
    if file is None:
        return ()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"The baseline {file} cannot be read: {error}.") from None
    return parse_baseline(text, where=str(file))
