"""`layline campaign …`: the loop's commands, each one sentence of the protocol."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline import __version__, codec
from layline.app.campaign_open import choose_bench, mend, read_campaign, write_campaign
from layline.app.campaign_places import LESSONS, WORKSPACE, clock, quiet
from layline.app.campaign_publish import publish
from layline.app.campaign_show import answer_round, answer_status
from layline.app.lessons import read_lessons
from layline.campaign.ledger.ledger import LOCK_NAME, Ledger
from layline.campaign.ledger.replay import fold
from layline.campaign.ledger.rules import NOTES, check_termination, find_duties
from layline.campaign.ledger.state import Level, Phase
from layline.campaign.proposers import Proposal
from layline.campaign.proposers.duplicates import find_near_duplicates
from layline.campaign.rounds import (
    Campaign,
    check_frozen,
    check_machine,
    find_duplicates,
    finish_round,
    hash_text,
    move,
    open_round,
    prepare,
)
from layline.campaign.values.manifest import Manifest, Measuring, find_contradictions, render_manifest
from layline.campaign.values.measurement import Bucket
from layline.campaign.workspace import copy_files, is_workspace
from layline.core.report import Answer, Bullets, Paragraph, Section
from layline.errors import ConfigError, Error, RecordError
from layline.git.write import WorkTree, find_foreign, open_work_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from layline.git.write import Change

OURS = (f"{WORKSPACE}/", f"{LESSONS}/")
"""What Layline itself writes into the tree; never part of a candidate, never in the way."""


def campaign_new(manifest: Manifest, *, draft: Path | None = None, now: Callable[[], str] = clock) -> Answer:
    """PREPARE_ENVIRONMENT: branch, folder, manifest, frozen hashes."""
    problems = find_contradictions(manifest)
    if problems:
        raise RecordError("manifest", tuple(problems), hint="Nothing is guessed: say which of the two you mean.")
    tree = open_work_tree(Path.cwd())
    ledger = Ledger(tree.root / WORKSPACE / manifest.name)
    source = _find_inside(tree, draft)
    with ledger.lock(), _without_traces(ledger, tree.root):
        mend(ledger, now)
        state = fold(ledger.read().entries)
        if state is not None and (state.is_prepared or state.manifest != manifest):
            raise ConfigError(
                f"The campaign {manifest.name} exists.", hint="Choose another name, or `layline campaign status`."
            )
        bench = choose_bench(manifest, tree.root, ledger.folder, None, quiet)
        campaign = Campaign(ledger.folder, tree, ledger, bench, now)
        if state is None:
            _check_tree(tree, manifest, source)
            if is_workspace(manifest):
                copy_files(manifest, tree, tree.head(), ledger.folder)  # its harness is frozen with the rest
            ledger.append(now(), "created", _describe_origin(campaign, manifest, source))
        prepare(campaign)
        publish(campaign)
        return _with_lessons(answer_status(campaign.state, campaign.place), campaign)


def _with_lessons(answer: Answer, campaign: Campaign) -> Answer:
    """READ_HISTORICAL_TIPS: what earlier campaigns on the same hardware, operator and language learned."""
    found = [lesson for lesson in read_lessons(campaign) if not lesson.withdrawn]
    block = Bullets(tuple(f"{lesson.id}: {lesson.takeaway}" for lesson in found)) if found else Paragraph("None yet.")
    report = replace(
        answer.report,
        sections=(*answer.report.sections, Section(title="Lessons of earlier campaigns", blocks=(block,))),
    )
    listed = [{"id": lesson.id, "takeaway": lesson.takeaway} for lesson in found]
    return replace(answer, report=report, data={**answer.data, "lessons": listed})


def _find_inside(tree: WorkTree, draft: Path | None) -> str | None:
    """The draft as the repository names it; None where it lies elsewhere."""
    place = (Path.cwd() / draft).resolve() if draft is not None else None
    return place.relative_to(tree.root).as_posix() if place is not None and place.is_relative_to(tree.root) else None


@contextmanager
def _without_traces(ledger: Ledger, root: Path) -> Iterator[None]:
    """A campaign that is refused before its first entry leaves no folder behind. Call with the lock held."""
    try:
        yield
    except Error:
        if [entry.name for entry in ledger.folder.iterdir()] == [LOCK_NAME]:
            (ledger.folder / LOCK_NAME).unlink()
            for folder in (ledger.folder, *ledger.folder.parents):
                if folder == root or any(folder.iterdir()):
                    break
                folder.rmdir()
        raise


def _describe_origin(campaign: Campaign, manifest: Manifest, draft: str | None) -> dict[str, object]:
    tree = campaign.tree
    identity = tree.identity() if manifest.git_commit else None
    origin = {
        "commit": tree.head(),
        "branch": tree.branch(),
        "layline": __version__,
        "frozen": campaign.bench.frozen(),
        "identity": {"name": identity.name, "email": identity.email} if identity else None,
        "labels": list(campaign.bench.labels),
    }
    sources = getattr(campaign.bench, "sources", {})
    if sources:
        origin["operator_files"] = sources  # what was judged by, whatever becomes of the files
    if draft is not None:
        origin["draft"] = draft  # it may go on lying there, in no round's way
    return {
        "manifest": codec.encode(manifest),
        "manifest_sha256": hash_text(render_manifest(manifest)),
        "origin": origin,
    }


def find_dirt(changes: Iterable[Change], draft: str | None) -> list[Change]:
    """Changes that are neither Layline's own files nor the manifest the campaign began from."""
    return [change for change in changes if not change.path.startswith(OURS) and change.path != draft]


def _check_tree(tree: WorkTree, manifest: Manifest, draft: str | None) -> None:
    """A clean tree whose kernel files are committed as the bytes that lie there."""
    changes = find_dirt(tree.find_changes(), draft)
    if changes:
        listed = ", ".join(change.path for change in changes[:5])
        raise ConfigError(
            f"The work tree is not clean: {listed}.",
            hint="Commit, stash or ignore these first: a rollback must be exact.",
        )
    head = tree.head()
    for path in manifest.kernel_files:
        committed, place = tree.read_blob(head, path), tree.root / path
        if committed is None or not place.is_file():
            raise ConfigError(
                f"{path} is not a committed file of this repository.",
                hint="Commit the starting kernel: a rollback returns to it.",
            )
        if committed[1] != place.read_bytes():
            raise ConfigError(
                f"git changes {path} on checkout (a filter or line endings).",
                hint="Campaigns need the bytes as committed: switch the filter off for this file.",
            )


def campaign_baseline(
    chosen: str | None = None, *, now: Callable[[], str] = clock, progress: Callable[[str], None] = quiet
) -> Answer:
    """BASELINE: full validation, score vector, representative shapes, rollback root."""
    with write_campaign(chosen, now=now, progress=progress) as campaign:
        state = campaign.state
        if state.baseline is not None:
            raise ConfigError(
                "The baseline is measured already.",
                hint="Rounds come next; for another baseline begin another campaign.",
            )
        item = state.open_round
        if item is not None and item.kernel != campaign.read_kernel().id:
            campaign.record(
                "withdrawn", round=1, reason="the starting kernel was changed before its baseline was measured"
            )
            item = None
        if item is None:
            _check_changes(campaign)
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
) -> Answer:
    """VALIDATE the edit in the work tree: gates, measure, judge, accept (commit) or roll back."""
    with write_campaign(chosen, now=now, progress=progress) as campaign:
        campaign.stop_by = stop_by
        check_ready(campaign)
        check_proposal(campaign, proposal, again=again)
        open_round(campaign, proposal)
        return _finish(campaign)


def _finish(campaign: Campaign) -> Answer:
    item = finish_round(campaign)
    return answer_round(campaign.state, item, campaign.place)


def check_ready(campaign: Campaign) -> None:
    """A new round may begin: nothing is open, nothing is owed, the limit is not reached, the harness is the same."""
    check_frozen(campaign)
    check_machine(campaign)
    state = campaign.state
    if state.phase is not Phase.ANALYZE:
        hints = {
            Phase.BASELINE: "Run `layline campaign baseline` first.",
            Phase.VALIDATE: "Run `layline campaign resume`: a round is open.",
        }
        raise ConfigError(f"No round can begin: the campaign is in {state.phase}.", hint=hints.get(state.phase))
    duties = list(find_duties(state))
    if duties:
        first = duties[0]
        raise ConfigError(
            f"Not yet: {first.why}.", hint=f'`layline campaign note {state.rounds[-1].number} --{first.note} "…"`.'
        )
    limit = state.manifest.max_iterations
    if limit is not None and len(state.rounds) - 1 >= limit:
        raise ConfigError(
            f"max_iterations ({limit}) is reached.", hint="`layline campaign stop` writes the termination check."
        )


def check_proposal(campaign: Campaign, proposal: Proposal, *, again: bool) -> None:
    """One stated hypothesis, an eligible bucket, a change that is new and touches the kernel alone."""
    if not proposal.hypothesis.strip() or not proposal.change.strip():
        raise ConfigError("A round states its hypothesis and its one change before it is measured.")
    if proposal.bucket is None or proposal.bucket.is_refused:
        named = proposal.bucket or "no bucket"
        raise ConfigError(
            f"{named} is not eligible: such a gain never reaches real training.", hint="K1–K4, or W1 with its bound."
        )
    if proposal.bucket is Bucket.W1 and campaign.state.manifest.weight_share is None:
        raise ConfigError(
            "W1 needs its bound.", hint="Say `weight_share` (quant_time(weight) / step_time) in the manifest."
        )
    _check_changes(campaign)
    kernel = campaign.read_kernel()
    same = [item.number for item in find_duplicates(campaign.state, kernel)]
    if campaign.state.best.number in same:
        raise ConfigError(
            "The kernel is the best one, byte for byte: there is nothing to judge.", hint="Edit it first."
        )
    if same and not again:
        raise ConfigError(
            f"Round {same[-1]} measured exactly these bytes.", hint="Change something, or measure again with --again."
        )
    near = [
        item.number for item in find_near_duplicates(campaign.state, {file.path: file.data for file in kernel.files})
    ]
    if near and not again:
        raise ConfigError(
            f"This is round {near[-1]}'s kernel but for comments and spacing: there is nothing to judge.",
            hint="Change something, or measure it all the same with --again.",
        )


def _check_changes(campaign: Campaign) -> None:
    """Only kernel files may differ; new files are no part of a candidate, but a command would see them."""
    changes = campaign.tree.find_changes()
    allowed = () if is_workspace(campaign.state.manifest) else campaign.state.manifest.kernel_files
    foreign = find_dirt(find_foreign(changes, allowed), campaign.state.origin.get("draft"))
    if campaign.state.manifest.measuring is Measuring.TRUSTED:
        foreign = [item for item in foreign if not item.is_untracked]
    if foreign:
        listed = ", ".join(item.path for item in foreign[:5])
        raise ConfigError(
            f"More than the kernel changed: {listed}.",
            hint=f"A round changes {', '.join(campaign.state.manifest.kernel_files)} and nothing else.",
        )


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
    return answer_status(campaign.state, campaign.place)


def campaign_resume(
    chosen: str | None = None, *, now: Callable[[], str] = clock, progress: Callable[[str], None] = quiet
) -> Answer:
    """Continue where a crash, a full disk or a failed measurement stopped; nothing happens twice."""
    with write_campaign(chosen, now=now, progress=progress) as campaign:
        if campaign.state.open_round is not None:
            return _finish(campaign)
        return answer_status(campaign.state, campaign.place)


def campaign_move(
    chosen: str | None = None, *, now: Callable[[], str] = clock, progress: Callable[[str], None] = quiet
) -> Answer:
    """Take the campaign to this kind of machine: the best is measured here before anything else."""
    with write_campaign(chosen, now=now, progress=progress) as campaign:
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
                hint='Go on, or stop by request: `layline campaign stop --reason "…"`.',
            )
        campaign.record(
            "stopped", checks=[{"condition": name, "holds": holds, "why": why} for name, holds, why in checks]
        )
        return answer_status(campaign.state, campaign.place)
