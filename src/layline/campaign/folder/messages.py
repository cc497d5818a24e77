"""The commit message of an accepted round, in the prescribed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.values.markdown import number, one_line
from layline.campaign.values.scores import compute_score

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Round, State


def build_commit_message(state: State, item: Round, place: str) -> str:
    """Subject and body of the specification; a trailer ties the commit to the ledger."""
    manifest = state.manifest
    subject = f"[optimize] {manifest.target_op} {manifest.target_backend} round-{item.number}: {one_line(item.change)}"
    return (
        f"{subject}\n\n"
        f"Hypothesis: {one_line(item.hypothesis)}\n"
        f"Result: {_result(state, item)}\n"
        f"Details: {place}/logs/optimize.md\n\n"
        f"Layline-Campaign: {manifest.name} round-{item.number}\n"
    )


def _result(state: State, item: Round) -> str:
    run, interval = item.last_run, item.verdict.interval if item.verdict else None
    now, was = (run.table(), run.table(best=True)) if run else (None, None)
    primary = state.manifest.primary_metric
    gain = f"{interval.estimate:+.1%}, at least {interval.lower:+.1%}" if interval else "not measured"
    if now is None or was is None:
        return gain
    unit = primary.rsplit(" ", 1)[-1]
    return f"geomean {number(compute_score(was, primary))} -> {number(compute_score(now, primary))} {unit} ({gain})"
