"""`doctor`: what is configured, what is found, what is missing and how to get it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.prose import verb
from layline.core.report import Answer
from layline.files import name_path
from layline.project.doctor import build_answer, look_at_backend, look_at_tools, summarise

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def doctor(workspace: Workspace, *, pins: bool = False) -> Answer:
    """Look at every configured thing once; with `pins`, only whether each pin can be read, which needs no objects."""
    tree = workspace.tree
    findings = [] if pins else [*look_at_tools()]
    for key, backend in workspace.settings.backends.items():
        looked = look_at_backend(workspace, tree, key, backend)
        findings += [next(looked)] if pins else looked
    missing = [finding for finding in findings if finding.state == "missing"]
    guessed = sum(finding.state == "guessed" for finding in findings)
    summary = summarise(len(missing), len(findings), len(workspace.settings.backends), guessed)
    meta = (
        (
            "downstream",
            f"{workspace.downstream.name} at {workspace.commit[:12]} ({name_path(workspace.downstream.git_dir)})",
        ),
        ("configuration", name_path(workspace.root / "layline.toml")),
    )
    answer = build_answer(f"layline doctor: {workspace.settings.project.name}", meta, summary, findings)
    return replace(answer, needs_person=bool(missing) or not workspace.settings.backends)


def doctor_machine() -> Answer:
    """Where no layline.toml is: what this machine has, which is all that kernel campaigns need."""
    findings = list(look_at_tools())
    missing = [finding for finding in findings if finding.state == "missing"]
    summary = (
        f"{len(missing)} of {len(findings)} prerequisites {verb(len(missing), 'is')} missing."
        if missing
        else "This machine has everything that Layline needs."
    )
    told = "There is no layline.toml here or above: `layline init` writes one. `layline campaign` works without one."
    answer = build_answer("layline doctor: this machine", (), f"{summary} {told}", findings)
    return replace(answer, needs_person=bool(missing))
