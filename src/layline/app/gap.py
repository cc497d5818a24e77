"""`gap show`: how far a pinned backend is behind, every figure with the command that reproduces it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from layline.config import miss_backend
from layline.core.evidence import Skipped
from layline.core.report import Answer
from layline.core.revision import Relation
from layline.errors import Error
from layline.gap.endpoints import find_alerts, find_endpoints
from layline.gap.show import build_data, build_report, find_broken_limits, join_gaps, measure, parse_limit
from layline.workspace.guessed import tell_guess
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.workspace.open import Workspace


def gap_show(
    workspace: Workspace, key: str, *, to: str | None = None, today: date, fail_on: tuple[str, ...] = ()
) -> Answer:
    """Pin, tip, dates, versions, distance, relation, diff size and age of one backend."""
    return tell_uncommitted(workspace, _answer(workspace, key, to, today, fail_on), [key], code=False)


def gap_show_all(workspace: Workspace, *, to: str | None = None, today: date, fail_on: tuple[str, ...] = ()) -> Answer:
    """One line for each backend; one whose pin or objects are not there is skipped, and the answer says so."""
    found: list[Answer] = []
    errors: dict[str, Error] = {}
    for key in workspace.settings.backends:
        try:
            found.append(_answer(workspace, key, to, today, fail_on))
        except Error as error:
            errors[key] = error
    if not found:
        raise next(iter(errors.values()), miss_backend())
    skipped = [Skipped(f"backend {key}", error.message) for key, error in errors.items()]
    return tell_uncommitted(workspace, join_gaps(workspace, found, skipped), workspace.settings.backends, code=False)


def _answer(workspace: Workspace, key: str, to: str | None, today: date, fail_on: tuple[str, ...]) -> Answer:
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
    return tell_guess(workspace, Answer(report=report, data=data, needs_person=bool(broken)), key)
