"""`upgrade plan`, `upgrade apply`: move a pin, with the edits that Layline can prove."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.upgrade.apply import ApplyOptions, apply_plan, refuse_project
from layline.upgrade.judging import pin_of
from layline.upgrade.pin_edit import find_pin_refusal
from layline.upgrade.plan_answer import build_answer
from layline.upgrade.planning import find_plan
from layline.upgrade.question import find_safe
from layline.upgrade.values import Plan
from layline.workspace.guessed import tell_guess
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def upgrade_plan(
    workspace: Workspace, key: str, *, to: str | None = None, safe: bool = False, progress: Progress = silent
) -> Answer:
    """The steps from the pin to a ref, or to the newest commit that breaks nothing."""
    end = to if to is not None else workspace.settings.backend(key).ref
    plan = _plan_safe(workspace, key, end, progress) if safe else find_plan(workspace, key, end, progress)
    refusal = find_pin_refusal(workspace, key, plan.to) if plan.steps else None
    answer = tell_guess(workspace, build_answer(plan, workspace.label(key), refusal), key)
    return tell_uncommitted(workspace, answer, [key])


def _plan_safe(workspace: Workspace, key: str, end: str, progress: Progress) -> Plan:
    upstream, pin = pin_of(workspace, key)
    found = find_safe(workspace, key, upstream.resolve_upstream(end), progress)
    if found.commit == pin:
        return Plan(backend=key, commit=workspace.commit, start=pin, to=pin, steps=(), safe_pin=pin)
    plan = find_plan(workspace, key, found.commit, progress)
    return replace(plan, safe_pin=found.commit, after_safe=found.next_commit)


def upgrade_apply(workspace: Workspace, key: str, options: ApplyOptions, progress: Progress = silent) -> Answer:
    """Put the pin's moves and their mechanical mends on a branch; what is there already is kept."""
    tree = refuse_project(workspace, key, options)
    plan = find_plan(workspace, key, options.end(workspace.settings.backend(key)), progress)
    return apply_plan(workspace, plan, tree, options, progress)
