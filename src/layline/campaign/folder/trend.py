"""`logs/performance_trend.md`: one row per settled round, in the exact columns of the specification. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.audit.layout import TREND_COLUMNS
from layline.campaign.ledger.state import Settled
from layline.campaign.values.markdown import MINUS, number, one_line, row
from layline.campaign.values.measurement import Outcome
from layline.campaign.values.scores import BACKWARD, FORWARD, STEP, compute_aggregates

if TYPE_CHECKING:
    from layline.campaign.ledger.state import Round, State
    from layline.campaign.values.bench_csv import BenchTable

STATUS = {Settled.BASELINE: "BASELINE", Settled.ACCEPTED: "ACCEPTED", Settled.ROLLED_BACK: "ROLLBACK"}


def build_trend_head(state: State) -> str:
    manifest = state.manifest
    return (
        f"# Performance trend — {manifest.target_op} {manifest.target_backend} on {manifest.target_gpu}\n\n"
        "Append-only. Every row is over the representative shapes, so that rows can be read against one another; "
        "figures\n"
        "are those of their own round, and the verdict never comes from comparing rows: best and candidate are "
        "measured\n"
        "together, in pairs.\n\n" + row(TREND_COLUMNS) + "\n|" + "---|" * len(TREND_COLUMNS) + "\n"
    )


def build_trend_row(state: State, item: Round) -> str:
    table, base = _table(state, item), _table(state, state.rounds[0])
    status = STATUS[item.settled] if item.settled else MINUS
    figures = _figures(table)
    return (
        row(
            (
                str(item.number),
                status,
                one_line(item.change),
                *figures,
                _versus(item, table, base),
                _finding(item, table),
            )
        )
        + "\n"
    )


def _table(state: State, item: Round) -> BenchTable | None:
    """The round's figures over the representative shapes alone."""
    run = item.last_run
    table = run.table() if run else None
    if table is None:
        return None
    kept = tuple(found for found in table.rows if found.label in state.representative)
    return type(table)(table.where, table.header_line, kept or table.rows)


def _figures(table: BenchTable | None) -> tuple[str, ...]:
    if table is None:
        return ("-",) * 5
    names = (FORWARD, BACKWARD) if table.is_gemm else (table.metrics[0], None)
    means = compute_aggregates(table)
    cells = [cell for name in names for cell in (number(means.get(name) if name else None), number(_peak(table, name)))]
    return (*cells, number(means[STEP] if table.is_gemm else means[table.metrics[0]]))


def _peak(table: BenchTable, name: str | None) -> float | None:
    values = [value for found in table.rows if found.passed and name and (value := found.number(name))]
    return max(values, default=None)


def _versus(item: Round, table: BenchTable | None, base: BenchTable | None) -> str:
    if item.settled is Settled.BASELINE or table is None or base is None:
        return MINUS
    now, was = compute_aggregates(table), compute_aggregates(base)
    if not table.is_gemm:
        return f"step {_change(now, was, table.metrics[0])}, fwd {_change(now, was, table.metrics[0])}, bwd {MINUS}"
    return f"step {_change(now, was, STEP)}, fwd {_change(now, was, FORWARD)}, bwd {_change(now, was, BACKWARD)}"


def _change(now: dict[str, float | None], was: dict[str, float | None], name: str) -> str:
    after, before = now.get(name), was.get(name)
    return f"{after / before - 1:+.3%}" if after and before else MINUS


def _finding(item: Round, table: BenchTable | None) -> str:
    if item.settled is Settled.BASELINE:
        if table is not None and not table.is_gemm:
            return f"Forward columns hold {table.metrics[0]}; there is no backward direction"
        return (
            "starting point"
            if table is None or table.has_backward
            else "no backward direction: the step is the forward mean"
        )
    inconclusive = item.verdict is not None and item.verdict.outcome is Outcome.INCONCLUSIVE
    return ("inconclusive: " if inconclusive else "") + (one_line(item.verdict.reason) if item.verdict else MINUS)
