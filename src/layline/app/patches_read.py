"""`patches show|find|notes|port|diff|retarget|trace`: the commands that read our code anew."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.patch import TargetKind
from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.coupling.threeway import build_three_way
from layline.errors import Error
from layline.patches.drift.read import find_rows, open_drift, recall_drift
from layline.patches.drift.three_way import build_diff_report, encode_views
from layline.patches.found import build_found, build_noted, check_file, read_notes
from layline.patches.kept import read_inventories
from layline.patches.named import Named, find_named
from layline.patches.opened import read_all, recall_reading
from layline.patches.port.ported import build_ported, follow_port, write_bundle
from layline.patches.show import build_shown, read_keys
from layline.patches.tracing.answer import build_traced
from layline.patches.tracing.compare import compare
from layline.patches.tracing.run import find_watched, run_traced
from layline.render.markdown import render_markdown
from layline.source.names import find_target
from layline.upgrade.retargeted import build_retargeted, find_retarget
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.coupling.subjects import Subject
    from layline.workspace.open import Workspace


def patches_show(
    workspace: Workspace, patch_id: str, backend: str | None = None, *, progress: Progress = silent
) -> Answer:
    """What a patch does, when, where, upstream beside ours, rivals, history, porting plan."""
    opened = recall_reading(workspace, progress)
    named = find_named(read_all(opened, workspace.choose(backend), progress), patch_id)
    return tell_uncommitted(workspace, build_shown(workspace, opened, named), [named.inventory.backend])


def patches_find(workspace: Workspace, word: str, backend: str | None = None, *, progress: Progress = silent) -> Answer:
    """Every place that speaks of `word`, best first."""
    if len(word.strip()) < 2:
        raise Error("Give at least two letters to look for.")
    check_file(workspace.tree, word)
    return build_found(workspace, read_inventories(workspace, workspace.choose(backend), progress), word)


def patches_notes(workspace: Workspace, file: Path) -> Answer:
    """Hold the tables of hand-written notes against the code; the code wins."""
    text = read_notes(workspace, file)
    opened = recall_reading(workspace)
    return build_noted(opened, read_all(opened, workspace.choose(None)), file, text)


def patches_port(
    workspace: Workspace,
    patch_id: str,
    *,
    to: Path | None = None,
    backend: str | None = None,
    progress: Progress = silent,
) -> Answer:
    """The porting plan of a patch; with `to`, a bundle is written there."""
    opened = recall_reading(workspace, progress)
    named = find_named(read_all(opened, workspace.choose(backend), progress), patch_id)
    ported = follow_port(opened, named, read_keys(workspace, opened, named.inventory, named.patch))
    opened.upstreams.save()
    files = write_bundle(opened, ported, to, render_markdown) if to is not None else ()
    return build_ported(opened, ported, to, files)


def patches_diff(workspace: Workspace, patch: str, *, to: str | None = None, progress: Progress = silent) -> Answer:
    """The three-way view of one patch: upstream then, upstream now, ours."""
    named = find_named(read_inventories(workspace, workspace.choose(None), progress), patch)
    backend, patch = named.inventory.backend, named.patch.id
    if not any(find_target(one) and one.target_kind is not TargetKind.EXTERNAL for one in named.patch.effects):
        upstream = workspace.open_backend(backend)  # two refs need not be read to know that nothing of them is patched
        ends = (
            workspace.find_pinned(backend).commit,
            upstream.resolve_upstream(to or workspace.settings.backend(backend).ref),
        )
        return Answer(report=build_diff_report(patch, [], workspace.here), data=encode_views(patch, backend, *ends, []))
    opening = recall_drift(workspace, backend, to, progress)
    rows, opened = find_rows(opening, wanted=partial(_is_of, named)), opening.opened
    views = [view for row in rows if (view := build_three_way(row, opened.sides)) is not None]
    report = build_diff_report(patch, views, workspace.here)
    return Answer(report=report, data=encode_views(patch, backend, opened.pin, opened.tip, views))


def _is_of(named: Named, subject: Subject) -> bool:
    """Whether a judged thing belongs to the patch that was named."""
    return subject.patch.id == named.patch.id or (subject.effect is not None and subject.effect.id in named.ids)


def patches_retarget(
    workspace: Workspace, backend: str, *, to: str | None = None, progress: Progress = silent
) -> tuple[Answer, str]:
    """The edit for moved and renamed targets: an answer that tells it, and the diff itself."""
    opening = open_drift(workspace, backend, to, progress)
    found = find_retarget(workspace, backend, opening)
    return build_retargeted(backend, opening.pair, found), found.diff


def patches_trace(
    workspace: Workspace, words: tuple[str, ...], backend: str | None = None, *, progress: Progress = silent
) -> Answer:
    """Run `words` in the user's environment, watch the packages of the backends, and compare."""
    if shutil.which(words[0]) is None:
        raise Error(f"There is no command {words[0]!r}.", hint="Give the whole command after --.")
    inventories = read_inventories(workspace, workspace.choose(backend), progress)
    packages = sorted(find_watched(workspace, inventories))
    if not packages:
        raise Error("No package is configured to watch.", hint="Write `packages` of the backend into layline.toml.")
    records, code = run_traced(words, packages)
    return build_traced(compare(inventories, records, workspace.root), workspace.commit, words, code)
