"""`layline campaign …`: the loop's commands, each one sentence of the protocol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.check_operator import refuse_unfit
from layline.campaign.elsewhere import BenchElsewhere
from layline.campaign.ledger.ledger import Ledger
from layline.campaign.ledger.replay import fold
from layline.campaign.ledger.rules import NOTES, check_termination
from layline.campaign.ledger.state import Level, Phase
from layline.campaign.loop.admit import check_changes, check_proposal, check_ready
from layline.campaign.loop.begin import (
    check_tree,
    describe_origin,
    find_inside,
    with_lessons,
    without_traces,
)
from layline.campaign.proposers import Proposal
from layline.campaign.rounds import (
    Campaign,
    finish_round,
    move,
    open_round,
    prepare,
)
from layline.campaign.session.open import choose_bench, mend, read_campaign, write_campaign
from layline.campaign.session.places import WORKSPACE, clock, quiet
from layline.campaign.session.publish import publish
from layline.campaign.told.status import answer_round, answer_status
from layline.campaign.trusted import TrustedBench
from layline.campaign.values.manifest import Manifest, find_contradictions
from layline.campaign.verify import find_edited_operator
from layline.campaign.workspace import copy_files, is_workspace
from layline.core.evidence import Alert, Severity
from layline.core.report import Answer
from layline.errors import ConfigError, RecordError
from layline.git.write import open_work_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.executors import Executor


def campaign_new(manifest: Manifest, *, draft: Path | None = None, now: Callable[[], str] = clock) -> Answer:
    """PREPARE_ENVIRONMENT: branch, folder, manifest, frozen hashes."""
    problems = find_contradictions(manifest)
    if problems:
        raise RecordError(
            "manifest", tuple(problems), hint="Correct these lines; Layline does not choose between them."
        )
    tree = open_work_tree(Path.cwd())
    ledger = Ledger(tree.root / WORKSPACE / manifest.name)
    source = find_inside(tree, draft)
    with ledger.lock(), without_traces(ledger, tree.root):
        mend(ledger, now)
        state = fold(ledger.read().entries)
        if state is not None and (state.is_prepared or state.manifest != manifest):
            raise ConfigError(
                f"The campaign {manifest.name} exists.", hint="Choose another name, or `layline campaign status`."
            )
        bench = choose_bench(manifest, tree.root, ledger.folder, None, quiet)
        campaign = Campaign(ledger.folder, tree, ledger, bench, now)
        if state is None:
            check_tree(tree, manifest, source)
            if isinstance(bench, TrustedBench):
                refuse_unfit(manifest.operator or "", bench.operator, bench.file)
            if is_workspace(manifest):
                copy_files(manifest, tree, tree.head(), ledger.folder)  # its harness is frozen with the rest
            ledger.append(now(), "created", describe_origin(campaign, manifest, source))
        prepare(campaign)
        publish(campaign)
        return with_lessons(answer_status(campaign.state, campaign.place), campaign)


def campaign_baseline(
    chosen: str | None = None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Answer:
    """BASELINE: full validation, score vector, representative shapes, rollback root."""
    with write_campaign(chosen, now=now, progress=progress, executor=executor) as campaign:
        state = campaign.state
        if state.baseline is not None:
            raise ConfigError(
                "The baseline has already been measured.",
                hint="Continue with `layline campaign round`; for another baseline, begin a new campaign.",
            )
        item = state.open_round
        if item is not None and item.kernel != campaign.read_kernel().id:
            campaign.record(
                "withdrawn", round=1, reason="the starting kernel was changed before its baseline was measured"
            )
            item = None
        if item is None:
            check_changes(campaign)
            open_round(
                campaign,
                Proposal(
                    hypothesis="Baseline round. No optimization change yet; record the starting correctness and "
                    "performance and choose representative shapes.",
                    change="No code change. Freeze the starting kernel and environment state.",
                    bucket=None,
                    level=Level.FULL,
                ),
            )
        return _finish(campaign)


def campaign_round(
    proposal: Proposal,
    chosen: str | None = None,
    *,
    again: bool = False,
    stop_by: float | None = None,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Answer:
    """VALIDATE the edit in the work tree: gates, measure, judge, accept (commit) or roll back."""
    with write_campaign(chosen, now=now, progress=progress, executor=executor) as campaign:
        campaign.stop_by = stop_by
        check_ready(campaign)
        check_proposal(campaign, proposal, again=again)
        open_round(campaign, proposal)
        return _finish(campaign)


def _finish(campaign: Campaign) -> Answer:
    item = finish_round(campaign)
    return answer_round(campaign.state, item, campaign.place)


def campaign_note(
    round_: int, notes: list[tuple[str, str]], chosen: str | None = None, *, now: Callable[[], str] = clock
) -> Answer:
    """Write down a diagnosis, an attribution, the next direction, a lesson."""
    if not notes:
        raise ConfigError("Nothing to note.", hint=f"Kinds: {', '.join(NOTES)}.")
    with write_campaign(chosen, now=now) as campaign:
        if campaign.state.round(round_).settled is None:
            raise ConfigError(f"Round {round_} is still open.", hint="`layline campaign resume` finishes it.")
        for kind, text in notes:
            if not text.strip():
                raise ConfigError(f"The {kind} is empty.")
            campaign.record("noted", round=round_, kind=kind, text=text.strip())
        return answer_status(campaign.state, campaign.place)


def campaign_status(chosen: str | None = None) -> Answer:
    """Where a campaign stands and what comes next."""
    campaign = read_campaign(chosen)
    answer = answer_status(campaign.state, campaign.place)
    edited = tuple(Alert(severity=Severity.LOOK, message=told) for told in find_edited_operator(campaign))
    return replace(answer, report=replace(answer.report, alerts=(*edited, *answer.report.alerts)))


def campaign_resume(
    chosen: str | None = None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Answer:
    """Continue where a crash, a full disk or a failed measurement stopped; nothing happens twice."""
    with write_campaign(chosen, now=now, progress=progress, executor=executor) as campaign:
        if campaign.state.open_round is not None:
            return _finish(campaign)
        return answer_status(campaign.state, campaign.place)


def campaign_move(
    chosen: str | None = None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Answer:
    """Take the campaign to this kind of machine, or the executor's: the best is measured there before anything else."""
    with write_campaign(chosen, now=now, progress=progress, executor=executor) as campaign:
        if isinstance(campaign.bench, BenchElsewhere):
            campaign.bench.turn()
        move(campaign)
        return answer_status(campaign.state, campaign.place)


def campaign_stop(reason: str | None, chosen: str | None = None, *, now: Callable[[], str] = clock) -> Answer:
    """TERMINATION_CHECK: T1–T4 written down; refused unless one holds."""
    with write_campaign(chosen, now=now) as campaign:
        state = campaign.state
        if state.phase is not Phase.ANALYZE:
            raise ConfigError(f"The campaign is in {state.phase}: it cannot be stopped now.")
        checks = check_termination(state, reason)
        if not any(holds for _, holds, _ in checks):
            said = "; ".join(f"{name}: {why}" for name, _, why in checks)
            raise ConfigError(
                f"None of the rules for stopping applies. {said}.",
                hint='Continue, or stop by your own decision: `layline campaign stop --reason "…"`.',
            )
        campaign.record(
            "stopped", checks=[{"condition": name, "holds": holds, "why": why} for name, holds, why in checks]
        )
        return answer_status(campaign.state, campaign.place)
