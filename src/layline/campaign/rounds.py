"""The round: open → measure → judge → settle, each step one durable entry of the ledger.

Whatever the moment a process dies, the next one reads the ledger, finds the last finished step and takes the next; no
round is lost and none happens twice. Every step that touches the repository can be repeated without harm.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from layline import codec
from layline.campaign.bench import Trial
from layline.campaign.folder.messages import build_commit_message
from layline.campaign.ledger.crash_points import crash_point
from layline.campaign.ledger.replay import fold
from layline.campaign.ledger.representative import choose_representative
from layline.campaign.ledger.snapshot import encode_content, encode_kernel_files, read_kernel_files, write_kernel_files
from layline.campaign.ledger.state import Level, Phase, Settled, State
from layline.campaign.values.judge import needs_full_validation
from layline.campaign.values.measurement import Status
from layline.campaign.values.statistics import spend_campaign
from layline.campaign.workspace import copy_files, find_kernel_root, integrate, is_workspace
from layline.errors import BenchError, ConfigError
from layline.executors import Lost
from layline.git.write import Identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from layline.campaign.bench import Bench, Measured
    from layline.campaign.ledger.ledger import Ledger
    from layline.campaign.ledger.proposal import Proposal
    from layline.campaign.ledger.snapshot import KernelFiles
    from layline.campaign.ledger.state import Round
    from layline.git.write import WorkTree


class Campaign:
    """An open campaign: where it lives, its record, how it measures."""

    def __init__(self, folder: Path, tree: WorkTree, ledger: Ledger, bench: Bench, now: Callable[[], str]) -> None:
        self.folder = folder
        self.tree = tree
        self.ledger = ledger
        self.bench = bench
        self.now = now
        self.stop_by: float | None = None
        """Moment of the monotonic clock by which measuring should end: see `Trial.stop_by`."""
        self._folded: tuple[int, State | None] = (-1, None)

    @property
    def state(self) -> State:
        entries = self.ledger.read().entries
        if self._folded[0] != len(entries):
            self._folded = (len(entries), fold(entries))
        if self._folded[1] is None:
            raise BenchError(f"{self.folder} holds no campaign.", hint="`layline campaign new` begins one.")
        return self._folded[1]

    @property
    def place(self) -> str:
        """The folder as the repository names it."""
        return self.folder.relative_to(self.tree.root).as_posix()

    def record(self, kind: str, /, **data: Any) -> None:
        self.ledger.append(self.now(), kind, data)

    @property
    def kernel_root(self) -> Path:
        """Where the kernel is edited."""
        return find_kernel_root(self.state.manifest, self.folder, self.tree.root)

    def read_kernel(self) -> KernelFiles:
        """The kernel files as they stand where they are edited."""
        return read_kernel_files(self.kernel_root, self.state.manifest.kernel_files)


def prepare(campaign: Campaign) -> None:
    """Stand on the campaign's branch; done once, safe to repeat."""
    state = campaign.state
    if state.is_prepared:
        return
    branch = state.manifest.branch
    if branch is not None and campaign.tree.branch() != branch:
        campaign.tree.create_branch(branch, state.origin["commit"])
        crash_point()
    copied = (
        copy_files(state.manifest, campaign.tree, state.origin["commit"], campaign.folder)
        if is_workspace(state.manifest)
        else {}
    )
    campaign.record("prepared", branch=campaign.tree.branch(), upstream=state.origin["commit"], copied=copied)


def check_branch(campaign: Campaign) -> None:
    """Rounds happen on the campaign's branch: elsewhere the kernel and its parent commit are other ones."""
    state = campaign.state
    wanted, now = state.manifest.branch or state.origin["branch"], campaign.tree.branch()
    if wanted is not None and now != wanted:
        raise ConfigError(
            f"The campaign works on {wanted}, you are on {now or 'no branch'}.", hint=f"`git switch {wanted}` first."
        )


def check_frozen(campaign: Campaign) -> None:
    """The harness, the operator and the tolerances are those the campaign began with."""
    changed = find_thawed(campaign)
    if changed:
        raise BenchError(
            f"{changed[0]} changed since the campaign began.",
            hint="Figures of two harnesses are never compared: restore it (an open round then goes on by `layline "
            "campaign resume`), or begin a new campaign.",
        )


def find_thawed(campaign: Campaign) -> list[str]:
    """What was edited since the campaign began, and must not have been."""
    frozen, now = campaign.state.origin["frozen"], campaign.bench.frozen()
    return sorted(name for name in {*frozen, *now} if frozen.get(name) != now.get(name))


def open_round(campaign: Campaign, proposal: Proposal) -> None:
    """Write down what will be tried, with the bytes of the kernel; from here on the round has a number."""
    check_branch(campaign)
    check_frozen(campaign)
    state, kernel = campaign.state, campaign.read_kernel()
    for file in kernel.files:
        if file.sha256 not in campaign.state.contents:
            campaign.record("content", **encode_content(file))
    number = len(state.rounds) + 1
    campaign.record(
        "opened",
        round=number,
        hypothesis=proposal.hypothesis,
        change=proposal.change,
        bucket=proposal.bucket.value if proposal.bucket else None,
        expect=proposal.expect,
        kernel=encode_kernel_files(kernel),
        best=state.best.number if state.baseline else 1,
        parent=campaign.tree.head(),
        level=proposal.level.value,
        proposer=proposal.proposer,
        manifest_sha256=state.manifest_sha256,
    )


def finish_round(campaign: Campaign) -> Round:
    """Take the steps the open round still needs; the settled round."""
    check_branch(campaign)
    _rescue(campaign)
    while (item := campaign.state.open_round) is not None:
        level = next_level(campaign, item)
        if level is not None:
            _measure(campaign, item, level)
        elif item.verdict is None and item.number > 1:
            _judge(campaign, item)
        elif _awaits_integration(campaign, item):
            _integrate(campaign, item)
        else:
            _settle(campaign, item)
    return campaign.state.rounds[-1]


def next_level(campaign: Campaign, item: Round) -> Level | None:
    """The level still to be measured: the round's own first, then full where a quick gain is small."""
    if not item.runs:
        return item.level
    last = item.runs[-1]
    if (
        item.verdict is not None
        or last.level is Level.FULL
        or set(campaign.state.representative) == set(campaign.bench.labels)
    ):
        return None
    return Level.FULL if needs_full_validation(campaign.bench.judge(last.measurement, item.bucket)) else None


def check_machine(campaign: Campaign) -> None:
    """Times of two kinds of machine are never compared."""
    was, now = campaign.state.machine, campaign.bench.machine()
    if was is not None and was != now:
        raise ConfigError(
            f"This campaign was measured on {was}; this machine is {now}.",
            hint="`layline campaign move` measures the best kernel here first; after that, rounds go on here.",
        )


def move(campaign: Campaign) -> None:
    """Go on with another kind of machine: the best is measured there, in full, before any candidate is."""
    check_branch(campaign)
    check_frozen(campaign)
    state, now = campaign.state, campaign.bench.machine()
    if state.phase not in (Phase.ANALYZE, Phase.VALIDATE) or state.machine is None:
        raise ConfigError(f"The campaign is in {state.phase}: it cannot be moved now.")
    if state.machine == now:
        raise ConfigError(f"The campaign already runs on {now}.", hint="Rounds can continue here.")
    trial = Trial(
        best=state.kernel(state.best.kernel),
        candidate=None,
        start=state.kernel(state.rounds[0].kernel),
        labels=campaign.bench.labels,
        alpha=spend_campaign(0) / 2,
        stop_by=campaign.stop_by,
    )
    measured = campaign.bench.measure(trial)
    problem = _find_problem(state, state.rounds[0], measured)
    if problem is not None:
        raise BenchError(f"The best kernel could not be measured here: {problem}")
    campaign.record("moved", was=state.machine, machine=now, level=Level.FULL.value, **encode_measured(measured))


def _measure(campaign: Campaign, item: Round, level: Level) -> None:
    check_frozen(campaign)
    check_machine(campaign)
    state = campaign.state
    labels = state.representative if level is Level.QUICK else campaign.bench.labels
    trial = Trial(
        best=state.kernel(state.round(item.best).kernel),
        candidate=state.kernel(item.kernel) if item.number > 1 else None,
        start=state.kernel(state.rounds[0].kernel),
        labels=labels,
        alpha=find_alpha(state, item, level),
        stop_by=campaign.stop_by,
    )
    if item.number > 1:  # on the disk before the first call: a run that is cut short has been drawn, too
        drawn = {"machine": campaign.bench.machine(), **campaign.bench.place(), "seed_commitment": trial.commitment}
        campaign.record("attempted", round=item.number, level=level.value, alpha=trial.alpha, **drawn)
    try:
        measured = campaign.bench.measure(trial)
    except Lost as lost:
        _leave_open(campaign, item, lost.message)
    problem = _find_problem(state, item, measured)
    if problem is not None:
        _leave_open(campaign, item, problem)
    campaign.record("measured", round=item.number, level=level.value, **encode_measured(measured))


def _leave_open(campaign: Campaign, item: Round, problem: str) -> NoReturn:
    campaign.record("unmeasured", round=item.number, reason=problem)
    raise BenchError(
        f"Round {item.number} could not be measured: {problem}",
        hint="The round stays open: `layline campaign resume` measures it again.",
    )


def encode_measured(measured: Measured) -> dict[str, Any]:
    return {
        "measurement": codec.encode(measured.measurement),
        "csv": measured.csv,
        "best_csv": measured.best_csv,
        "said": measured.said,
    }


def find_alpha(state: State, item: Round, level: Level) -> float:
    """The share the next attempt has of the campaign's false-accept budget; half of it, where two levels may each
    decide.

    Every attempt that was begun has spent its share, also one that was cut short or could not be measured: nobody may
    draw again at the same level. The quick run of a round and its full one share one.
    """
    begun = Counter(state.attempts)
    before = {number for number, _level in begun if number < item.number}
    spent = sum(max(begun[number, one.value] for one in Level) for number in before)
    older = sum(bool(other.runs) for other in state.rounds[1 : item.number - 1] if other.number not in before)
    return spend_campaign(spent + older + begun[item.number, level.value]) / 2


def _find_problem(state: State, item: Round, measured: Measured) -> str | None:
    """Why a run says nothing about the candidate; a bad candidate is not a problem, it is an answer."""
    measurement = measured.measurement
    if measurement.status is Status.CONTROLS_FAILED:
        failed = [control.reason for control in measurement.controls if not control.passed]
        return f"a control failed: {' '.join(failed) or measurement.problem}"
    if item.number == 1 and (measurement.status is not Status.MEASURED or measurement.failed_gates):
        seen = [f"{gate.property}: {gate.reason}" for gate in measurement.failed_gates]
        return f"the starting kernel does not pass: {' '.join(seen) or measurement.problem}"
    header = measured.csv.split("\n", 1)[0].rstrip("\r")
    if state.csv_header and measured.csv and header != state.csv_header:
        return "the benchmark's header is not the one frozen at the baseline"
    return None


def _judge(campaign: Campaign, item: Round) -> None:
    check_frozen(campaign)  # it may have been edited while the kernels ran
    verdict = campaign.bench.judge(item.runs[-1].measurement, item.bucket)
    campaign.record("judged", round=item.number, verdict=codec.encode(verdict))


def _awaits_integration(campaign: Campaign, item: Round) -> bool:
    passed_locally = item.verdict is not None and item.verdict.outcome.is_accepted
    return is_workspace(campaign.state.manifest) and passed_locally and item.integration is None


def _integrate(campaign: Campaign, item: Round) -> None:
    state = campaign.state
    found = integrate(state.manifest, campaign.tree.root, state.kernel(item.kernel))
    campaign.record("integrated", round=item.number, passed=found.passed, reason=found.reason)


def _settle(campaign: Campaign, item: Round) -> None:
    if item.number == 1:
        check_frozen(campaign)
        chosen = choose_representative(item.runs[-1], campaign.state.manifest)
        campaign.record(
            "settled", round=1, settled=Settled.BASELINE.value, commit=item.parent, representative=list(chosen)
        )
        return
    if item.is_accepted:
        commit = _commit(campaign, item) if campaign.state.manifest.git_commit else None
        campaign.record("settled", round=item.number, settled=Settled.ACCEPTED.value, commit=commit)
    else:
        _put_in_place(campaign, campaign.state.kernel(campaign.state.round(item.best).kernel), item)
        campaign.record("settled", round=item.number, settled=Settled.ROLLED_BACK.value, commit=None)


def _commit(campaign: Campaign, item: Round) -> str:
    """Commit the accepted kernel; made again after a crash it is the same commit."""
    state, tree = campaign.state, campaign.tree
    kernel = state.kernel(item.kernel)
    _put_in_place(campaign, kernel, item)
    crash_point()
    message = build_commit_message(state, item, campaign.place)
    identity = Identity(**state.origin["identity"])
    commit = tree.build_commit(item.parent, _contents(state, kernel), message, identity, f"{item.judged_at}:00 +0000")
    crash_point()
    tree.advance(commit, item.parent)
    crash_point()
    tree.set_index(_contents(state, kernel))
    return commit


def _put_in_place(campaign: Campaign, kernel: KernelFiles, item: Round) -> None:
    """Make the kernel exactly this one, in the repository and where it is edited."""
    state, tree = campaign.state, campaign.tree
    _rescue(campaign)
    for root in dict.fromkeys((campaign.kernel_root, tree.root)):
        write_kernel_files(root, kernel, state.manifest.kernel_files)
    crash_point()
    if state.manifest.git_commit and tree.head() == item.parent:
        at_parent = {path: tree.read_blob(item.parent, path) for path in state.manifest.kernel_files}
        tree.set_index(at_parent)


def _rescue(campaign: Campaign) -> None:
    """Keep kernel files aside that nobody has recorded: edits made after a crash, before `resume`."""
    for file in campaign.read_kernel().files:
        if file.sha256 not in campaign.state.contents:
            place = campaign.folder / "rescued" / f"{file.sha256[:12]}-{file.path.rsplit('/', 1)[-1]}"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.data)


def _contents(state: State, kernel: KernelFiles) -> dict[str, tuple[str, bytes] | None]:
    found = {path: kernel.file(path) for path in state.manifest.kernel_files}
    return {path: (file.mode, file.data) if file else None for path, file in found.items()}


def find_duplicates(state: State, kernel: KernelFiles) -> Iterator[Round]:
    """Earlier rounds that measured exactly these bytes."""
    yield from (item for item in state.rounds if item.kernel == kernel.id)


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
