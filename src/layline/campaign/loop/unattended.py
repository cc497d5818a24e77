"""The loop by itself, with a search or with any program; every round takes the path a person's takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from layline.campaign.ledger.round_time import estimate_round
from layline.campaign.ledger.rules import check_termination, find_duties
from layline.campaign.ledger.snapshot import write_kernel_files
from layline.campaign.ledger.state import Level, Phase, Round, Settled, State
from layline.campaign.loop.analyze import campaign_analyze
from layline.campaign.proposers import Brief, Declined, Proposal, Proposed, Proposer
from layline.campaign.proposers.command import Command
from layline.campaign.proposers.duplicates import find_near_duplicates
from layline.campaign.proposers.search import Search
from layline.campaign.proposers.shards import SCREENING, Shards
from layline.campaign.rounds import Campaign, check_machine
from layline.campaign.session.live import tell_allowed
from layline.campaign.session.open import read_campaign, write_campaign
from layline.campaign.told.brief import brief_campaign
from layline.campaign.trusted import TrustedBench, choose_shapes
from layline.core.prose import count
from layline.core.report import Answer, Paragraph, Report, Section, Table
from layline.errors import BenchError, ConfigError
from layline.executors import Executor, Lost, open_wanted
from layline.executors.machine import read_accelerators
from layline.executors.processor import name_processor

if TYPE_CHECKING:
    from layline.campaign import answers

DECLINES = 5
"""Answers without a usable proposal in a row after which the loop ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When the loop ends by itself."""

    rounds: int | None = None
    budget_s: float | None = None
    time_limit_s: float = 600.0
    """For one answer of a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The loop's commands as a person gives them: a round that nobody watches takes the same path."""

    baseline: Callable[..., Answer]
    round: Callable[..., Answer]
    resume: Callable[..., Answer]
    stop: Callable[..., Answer]
    describe: Callable[[Brief], Mapping[str, str]]
    """The brief as the files a program finds in its folder."""


@dataclass(slots=True)
class Loop:
    """One run of the loop: what it was given and what it saw."""

    steps: Steps
    chosen: str | None
    limits: Limits
    now: Callable[[], str]
    progress: Callable[[str], None]
    executor: Executor | None = None
    """Who looks at kernels and measures; None: this process."""
    started: float = field(default_factory=time.monotonic)
    declined: list[tuple[int, str]] = field(default_factory=list)
    streak: int = 0
    reserve_s: float = 0.0
    """What the shortest round takes here."""
    why: str = ""

    def has_time(self) -> bool:
        """Whether another round can begin and end within the budget."""
        return self.stop_by is None or time.monotonic() + self.reserve_s < self.stop_by

    @property
    def stop_by(self) -> float | None:
        return None if self.limits.budget_s is None else self.started + self.limits.budget_s

    def state(self) -> State:
        return read_campaign(self.chosen).state


def run_unattended(loop: Loop, proposer: str, passed: tuple[str, ...], executor: str | None) -> Answer:
    """Propose, validate, accept or roll back, until the target, the limits or the proposer's ideas are reached."""
    with open_wanted(executor) as loop.executor:
        return _run(loop, proposer, passed)


def _run(loop: Loop, proposer: str, passed: tuple[str, ...]) -> Answer:
    _begin(loop)
    before = len(loop.state().rounds)
    chosen_proposer = _choose(proposer, loop, passed)
    last = None if loop.limits.rounds is None else before + loop.limits.rounds
    left_s = None if loop.stop_by is None else loop.stop_by - time.monotonic()
    with tell_allowed(read_campaign(loop.chosen).ledger.folder, budget_s=left_s, last_round=last):
        _run_rounds(loop, chosen_proposer, before)
    _close(loop)
    return _build_answer(loop, before)


def _run_rounds(loop: Loop, chosen_proposer: Proposer, before: int) -> None:
    while _goes_on(loop, before):
        with suppress(Lost):  # it is measured before the next round, then
            campaign_analyze(loop.chosen, now=loop.now, progress=loop.progress, executor=loop.executor)
        loop.progress(f"asking {chosen_proposer.name} for round {len(loop.state().rounds) + 1}")
        brief = replace(brief_campaign(read_campaign(loop.chosen)), time_limit_s=loop.limits.time_limit_s)
        answer = chosen_proposer.propose(brief)
        if isinstance(answer, Proposed):
            duplicate = _find_duplicate(loop.state(), answer)
            answer = Declined(reason=duplicate) if duplicate else answer
        if isinstance(answer, Declined):
            _decline(loop, chosen_proposer, answer)
            continue
        _validate(loop, chosen_proposer, answer, brief)


def _begin(loop: Loop) -> None:
    """Finish what an earlier run left open; measure the baseline where there is none."""
    if loop.state().open_round is not None:
        _resume(loop)
    if loop.state().baseline is None:
        loop.steps.baseline(loop.chosen, now=loop.now, progress=loop.progress, executor=loop.executor)
    check_machine(read_campaign(loop.chosen, executor=loop.executor))  # before hours go into looking at kernels


def _resume(loop: Loop) -> None:
    loop.steps.resume(loop.chosen, now=loop.now, progress=loop.progress, executor=loop.executor)


def _choose(proposer: str, loop: Loop, passed: tuple[str, ...]) -> Proposer:
    kind, _, command = proposer.partition(":")
    if kind == "command" and command.strip():
        return Command(command, loop.steps.describe, passed)
    if proposer != "search":
        raise ConfigError(f"There is no proposer {proposer!r}.", hint="`search`, or `command:PROGRAM ARGUMENTS`.")
    bench = read_campaign(loop.chosen, executor=loop.executor).bench
    if not isinstance(bench, TrustedBench):
        raise ConfigError(
            "The search needs an operator definition.", hint="Begin the campaign with --operator, or use `command:…`."
        )
    state, operator = loop.state(), bench.operator
    shapes = tuple(shape for shape in choose_shapes(operator, state.manifest) if shape.label in state.representative)
    search = Search(operator, shapes, loop.has_time, is_timed=loop.stop_by is not None)
    return search if loop.executor is None else replace(search, look=_spread(loop, bench, loop.executor))


def _spread(loop: Loop, bench: TrustedBench, executor: Executor) -> Shards:
    """Candidates are looked at on many machines; each attempt is in the record before it goes out.

    An attempt costs one durable line; the folder is derived again when all have answered.
    """
    ledger = read_campaign(loop.chosen).ledger

    number = 0

    def note(kind: str, data: dict[str, Any]) -> None:
        nonlocal number
        number = number or len(loop.state().rounds) + 1
        if kind == SCREENING:
            with ledger.lock():
                ledger.append(loop.now(), kind, {"round": number, **data})
            return
        with write_campaign(loop.chosen, now=loop.now) as campaign:
            campaign.record(kind, round=number, **data)
        number = 0

    kind = bench.machine()
    is_had = any(one.count(kind) for one in executor.machines())
    is_rehearsal = bench.operator.is_on_device and not is_had and not read_accelerators()
    return Shards(
        executor=executor,
        kind=name_processor() if is_rehearsal else kind,
        name=bench.manifest.operator or "",
        sources=tuple(bench.sources.items()),
        note=note,
    )


def _goes_on(loop: Loop, before: int) -> bool:
    state = loop.state()
    loop.reserve_s = estimate_round(state)
    if state.phase is not Phase.ANALYZE:
        loop.why = f"the campaign is in {state.phase}"
    elif any(holds for _name, holds, _why in check_termination(state, None)):
        loop.steps.stop(None, loop.chosen, now=loop.now)
        loop.why = "; ".join(why for _name, holds, why in check_termination(state, None) if holds)
    elif loop.limits.rounds is not None and len(state.rounds) - before >= loop.limits.rounds:
        loop.why = f"{count(loop.limits.rounds, 'round')} {'was' if loop.limits.rounds == 1 else 'were'} asked for"
    elif not loop.has_time():
        loop.why = f"the budget of {loop.limits.budget_s:.0f} s leaves no time for another round"
    elif loop.streak >= DECLINES:
        loop.why = f"{loop.streak} answers in a row contained no usable proposal"
    return not loop.why


def _find_duplicate(state: State, proposed: Proposed) -> str | None:
    """Why a proposal was measured before, comments and spacing aside; None if it is new."""
    best = {file.path: file.data for file in state.kernel(state.best.kernel).files}
    for item in find_near_duplicates(state, {**best, **proposed.files}):
        return f"the proposal is round {item.number}'s kernel except for comments and spacing"
    return None


def _decline(loop: Loop, proposer: Proposer, answer: Declined) -> None:
    """Write down that there was no proposal; the loop goes on unless asking again is pointless."""
    with write_campaign(loop.chosen, now=loop.now) as campaign:
        number = len(campaign.state.rounds) + 1
        campaign.record("declined", round=number, proposer=proposer.name, reason=answer.reason)
    loop.declined.append((number, answer.reason))
    loop.streak += 1
    if answer.is_final:
        loop.why = f"{proposer.name} has nothing more to propose: {answer.reason}"


def _validate(loop: Loop, proposer: Proposer, proposed: Proposed, brief: Brief) -> None:
    with write_campaign(loop.chosen, now=loop.now) as campaign:
        _pay_duties(campaign, proposed, brief)
        campaign.record(
            "proposed", round=len(campaign.state.rounds) + 1, proposer=proposer.name, remarks=list(proposed.remarks)
        )
        for path, data in proposed.files.items():
            (campaign.kernel_root / path).write_bytes(data)
    said = Proposal(
        hypothesis=proposed.hypothesis,
        change=proposed.change,
        bucket=proposed.bucket,
        expect=proposed.expect,
        proposer=proposer.name,
        level=Level.QUICK,
    )
    try:
        loop.steps.round(
            said, loop.chosen, stop_by=loop.stop_by, now=loop.now, progress=loop.progress, executor=loop.executor
        )
    except ConfigError as error:
        _put_back(loop)
        _decline(loop, proposer, Declined(reason=error.message))
        return
    except BenchError:
        # a control failed or the machine was busy: the round is open, once more is fair, then it is the user's turn
        _resume(loop)
    loop.streak = 0


def _put_back(loop: Loop) -> None:
    with write_campaign(loop.chosen, now=loop.now) as campaign:
        state = campaign.state
        write_kernel_files(campaign.kernel_root, state.kernel(state.best.kernel), state.manifest.kernel_files)


def _pay_duties(campaign: Campaign, proposed: Proposed, brief: Brief) -> None:
    """What the last round demands, written from what is known; a note says that nobody looked where nobody did."""
    bounds = "; ".join(f"{row.shape}: {row.reading}" for row in brief.bounds) or "no figures"
    texts = {
        "diagnosis": proposed.diagnosis,
        "profile": f"Figures of the best kernel: {bounds}.",
        "inspection": "Nobody read the machine code.",
        "comparison": "No other kernel was compared.",
        "next": proposed.change,
    }
    while duties := list(find_duties(campaign.state)):
        duty, last = duties[0], campaign.state.rounds[-1]
        reason = last.verdict.reason if last.verdict else "it was not measured"
        written = len({text for item in campaign.state.streak for text in item.texts("direction")})
        if duty.note == "direction":
            text = f"Direction {written + 1}: {proposed.change}"
        elif duty.note == "attribution":
            text = _attribute(last)
        else:
            text = texts[duty.note] or reason
        campaign.record("noted", round=last.number, kind=duty.note, text=f"Unattended: {text}")


def _close(loop: Loop) -> None:
    """The last round, if it was accepted, says why it helped and where to go on, like every other."""
    state = loop.state()
    due = [duty.note for duty in find_duties(state) if duty.note in ("attribution", "next")]
    if not due:
        return
    with write_campaign(loop.chosen, now=loop.now) as campaign:
        last = campaign.state.rounds[-1]
        texts = {"attribution": _attribute(last), "next": f"Go on from here: the run ended because {loop.why}."}
        for kind in due:
            campaign.record("noted", round=last.number, kind=kind, text=f"Unattended: {texts[kind]}")


def _attribute(item: Round) -> str:
    """Why a round helped, as far as figures tell: the hypothesis that was not refuted, and where the gain is."""
    rows = sorted(item.verdict.shapes, key=lambda row: -row.gain.estimate) if item.verdict else []
    where = (
        f"; most on {rows[0].shape} ({rows[0].gain.estimate:+.1%}), least on {rows[-1].shape} "
        f"({rows[-1].gain.estimate:+.1%})"
        if rows
        else ""
    )
    return f"{item.hypothesis.rstrip('.')}: not refuted{where}. Nobody looked for other causes."


def _build_answer(loop: Loop, before: int) -> Answer:
    campaign = read_campaign(loop.chosen)
    state = campaign.state
    made = state.rounds[before:]
    accepted = [item for item in made if item.settled is Settled.ACCEPTED]
    rows = tuple(
        (
            str(item.number),
            item.change,
            item.settled.value if item.settled else "open",
            item.verdict.reason if item.verdict else "",
        )
        for item in made
    )
    summary = (
        f"{count(len(made), 'round')}, {len(accepted)} accepted, {count(len(loop.declined), 'answer')} without a usable proposal; "
        f"ended because {loop.why}."
    )
    declined = tuple((str(number), reason) for number, reason in loop.declined)
    sections = [
        Section(
            title="", blocks=(Paragraph(summary), Table(columns=("round", "change", "became", "reason"), rows=rows))
        )
    ]
    if declined:
        sections.append(Section(title="No proposal", blocks=(Table(columns=("before round", "why"), rows=declined),)))
    data: answers.Run = {
        "schema": "layline.campaign-run/1",
        "campaign": state.manifest.name,
        "rounds": [
            {"round": int(number), "change": change, "became": became, "reason": reason}
            for number, change, became, reason in rows
        ],
        "declined": [{"round": number, "reason": reason} for number, reason in loop.declined],
        "ended": loop.why,
    }
    return Answer(report=Report(title=f"Campaign {state.manifest.name}", sections=tuple(sections)), data=data)
