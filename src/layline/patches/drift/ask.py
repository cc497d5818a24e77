"""A drift question: how it is asked, and what is found for it, kept or judged now."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.patches.drift.kept import KeptDrift, read_kept
from layline.patches.wanted import ALL, Wanted
from layline.workspace.kept import find_judged
from layline.workspace.open import know_packages, pin_to

if TYPE_CHECKING:
    from layline.coupling.pair import Pair
    from layline.git import Repository
    from layline.workspace.open import Workspace

_READER = "layline.patches.drift.read"
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
    """The upstream commit compared from, as if it were the pin; for a pull request that moves the pin: where it was."""
    dead: bool = False
    """Only ask what does nothing today already: the pin is compared with itself."""
    wanted: Wanted = ALL
    """Which rows the answer has; its exit code counts those."""
    elsewhere: bool = True
    """Also tell our overrides and calls; a gap report lists them itself, from the same judgement."""

    @property
    def reads_ours(self) -> bool:
        return self.elsewhere and not self.dead


def find_drift(
    workspace: Workspace, backend: str, options: DriftOptions, progress: Progress = silent, pair: Pair | None = None
) -> tuple[Asked, KeptDrift]:
    """The rows themselves, before a baseline or a filter: what other analysers build on.

    `pair`: the two commits, where another question has read them already.
    """
    asked = _ask(workspace, backend, options)

    def judge() -> KeptDrift:
        found: KeptDrift = importlib.import_module(_READER).judge_drift(asked, options, progress, pair)
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
    upstream = workspace.open_backend(backend)
    if options.since:  # what our code does is decided there, too: conditions, names that are absent
        workspace = pin_to(workspace, backend, upstream.resolve(options.since))
    workspace = know_packages(workspace)
    pin = workspace.find_pinned(backend).commit
    ref = options.to or workspace.settings.backend(backend).ref
    tip = pin if options.dead else upstream.resolve_upstream(ref)
    how = (options.since is not None, options.dead, options.culprits, options.elsewhere, upstream.is_shallow)
    return Asked(workspace, backend, upstream, pin, tip, (backend, pin, tip, *how, *find_judged(workspace)))
