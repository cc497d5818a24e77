"""`gap show`: how far a pinned backend is behind, every figure with the command that reproduces it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from layline.core.report import Answer
from layline.core.revision import Relation
from layline.gap.endpoints import find_alerts, find_endpoints
from layline.gap.show import build_data, build_report, find_broken_limits, measure, parse_limit
from layline.workspace.guessed import tell_guess
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def gap_show(
    workspace: Workspace, key: str, *, to: str | None = None, today: date, fail_on: tuple[str, ...] = ()
) -> Answer:
    """Pin, tip, dates, versions, distance, relation, diff size and age of one backend."""
    limits = tuple(parse_limit(text) for text in fail_on)
    backend = workspace.settings.backend(key)
    upstream = workspace.open_backend(key)
    ends = find_endpoints(workspace, upstream, key, to=to)
    facts = list(measure(upstream, backend, ends))
    values = {fact.name: fact.value for fact in facts}
    alerts = tuple(find_alerts(upstream, ends, Relation(values["relation"]), today))
    broken = tuple(find_broken_limits(values, limits, ends))
    data = build_data(workspace, key, facts, ends, today)
    report = build_report(workspace, backend.label or key, facts, (*broken, *alerts), today)
    answer = tell_guess(workspace, Answer(report=report, data=data, needs_person=bool(broken)), key)
    return tell_uncommitted(workspace, answer, [key], code=False)
