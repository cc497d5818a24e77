"""`upgrade plan`: the steps of an upgrade, what Layline can mend in each and what is left for a person."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.app.upgrade_answer import build_answer
from layline.app.upgrade_followers import follow_importers
from layline.app.upgrade_judging import (
    Between,
    Stops,
    edit_to,
    find_break,
    find_lines,
    judge_at,
    judge_between,
    pin_of,
)
from layline.change.compare import Comparer
from layline.core.progress import Progress, silent
from layline.core.report import Answer
from layline.core.revision import Relation
from layline.coupling.drift_model import Drift
from layline.errors import ConfigError
from layline.history import read_commits
from layline.history.commits import compare_commits
from layline.source import Tree
from layline.upgrade.absolute import Standing
from layline.upgrade.changes import Change, carry_out, map_line
from layline.upgrade.find_changes import find_changes
from layline.upgrade.imports import follow_names
from layline.upgrade.moves import NameMove, find_move, follow_siblings
from layline.upgrade.plan import (
    PATCHES,
    Again,
    Job,
    find_changing_jobs,
    find_compared,
    find_healed,
    find_jobs,
    find_unproven,
    group_breaks,
    is_generated,
    mend_of,
    split_carried,
    unsure,
)
from layline.upgrade.proposals import propose
from layline.upgrade.retarget import build_retarget, render_patch
from layline.upgrade.safe import SafePin, Verdict, find_safe_pin
from layline.upgrade.values import Break, FileEdit, Mend, Plan, Step, digest_text
from layline.workspace.uncommitted import tell_uncommitted

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.workspace.open import Workspace

_ROUNDS = 4
"""So often what judging again refutes is taken out and the rest judged anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """An upgrade with everything read that a plan is made from."""

    workspace: Workspace
    key: str
    upstream: Repository
    between: Between
    now: Standing
    then: Standing
    order: tuple[str, ...]
    """First-parent commits after the pin, oldest first; the last one is where the upgrade ends."""
    breaks: tuple[Break, ...]
    moves: dict[str, NameMove]
    changes: dict[Break, tuple[Change, ...]]

    @property
    def to(self) -> str:
        return self.then.commit


def upgrade_plan(
    workspace: Workspace, key: str, *, to: str | None = None, safe: bool = False, progress: Progress = silent
) -> Answer:
    """The steps from the pin to a ref, or to the newest commit that breaks nothing."""
    settings = workspace.settings.backend(key)
    end = to or settings.ref
    label = settings.label or key
    if not safe:
        plan = make_plan(ask(workspace, key, end, progress), progress)
        return tell_uncommitted(workspace, build_answer(plan, label), [key])
    upstream, pin = pin_of(workspace, key)
    found = find_safe(workspace, key, upstream.resolve_upstream(end), progress)
    if found.commit == pin:
        stays = Plan(backend=key, commit=workspace.commit, start=pin, to=pin, steps=(), safe_pin=pin)
        return tell_uncommitted(workspace, build_answer(stays, label), [key])
    plan = make_plan(ask(workspace, key, found.commit, progress), progress)
    return tell_uncommitted(workspace, build_answer(replace(plan, safe_pin=found.commit), label), [key])


def find_safe(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> SafePin:
    """The newest first-parent commit up to `to` at which nothing of ours breaks that does not break today."""
    upstream, pin = pin_of(workspace, key)
    order = find_order(upstream, pin, to, to)
    today = {one.key for one in judge_at(workspace, key, pin, progress).misfits}
    known: dict[str, Verdict] = {}

    def judge(commit: str) -> Verdict:
        if commit not in known:
            progress(f"judging {commit[:12]}", order.index(commit) + 1, len(order))
            then = judge_at(workspace, key, commit, progress)
            between = judge_between(workspace, key, commit, progress)
            breaks = list(between.find_breaks(one for one in then.misfits if one.key not in today))
            culprits = frozenset(one.culprit for one in breaks if one.culprit is not None)
            known[commit] = Verdict(broken=frozenset(" ".join(one.key) for one in breaks), culprits=culprits)
        return known[commit]

    return find_safe_pin(pin, order, judge)


def find_order(upstream: Repository, pin: str, to: str, name: str) -> tuple[str, ...]:
    """First-parent commits from the pin to where the upgrade ends; refused where that is no way forward."""
    relation = compare_commits(upstream, pin, to).relation
    if relation in {Relation.SAME, Relation.AHEAD}:
        where = "the pin itself" if relation is Relation.SAME else "behind the pin"
        raise ConfigError(f"{name} ({to[:12]}) is {where} ({pin[:12]}).", hint="Name a newer upstream ref with --to.")
    if relation is Relation.UNRELATED:
        raise ConfigError(
            f"{name} ({to[:12]}) and the pin {pin[:12]} share no history.", hint="Is it the right upstream?"
        )
    out = upstream.git("rev-list", "--first-parent", "--reverse", f"{pin}..{to}")
    return tuple(out.decode("ascii").split())


def ask(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> Question:
    """Read and judge everything that a plan needs."""
    upstream, pin = pin_of(workspace, key)
    commit = upstream.resolve_upstream(to)
    order = find_order(upstream, pin, commit, to)
    progress("judging our places at the pin", 0, 0)
    now = judge_at(workspace, key, pin, progress)
    progress("judging our places where the upgrade ends", 0, 0)
    then = judge_at(workspace, key, commit, progress)
    between = judge_between(workspace, key, commit, progress)
    today = {one.key for one in now.misfits}
    breaks = tuple(between.find_breaks(one for one in then.misfits if one.key not in today))
    comparer = between.opened.sides.comparer
    progress("looking for where names went", 0, 0)
    found = {name: _find_move(name, comparer, upstream) for name in {one.target for one in breaks}}
    moves = {name: move for name, move in found.items() if move is not None}
    rest = [name for name in found if name not in moves or not moves[name].sure]
    moves |= {move.old: move for move in follow_siblings(sorted(rest), moves, comparer)}
    changes = find_changes(breaks, between.rows, between.opened.sides)
    return Question(workspace, key, upstream, between, now, then, order, breaks, moves, changes)


def _find_move(name: str, comparer: Comparer, upstream: Repository) -> NameMove | None:
    """By what the thing itself is like; where that is not sure, by what upstream's own importers did."""
    move = find_move(name, comparer)
    if move is not None and move.sure:
        return move
    return follow_importers(name, comparer, upstream) or move


class Workshop:
    """Our files as they are, and as the steps leave them."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._tree = Tree(question.workspace.downstream, question.workspace.commit)
        self._rows = {(row.location.path, row.location.line, row.target): row for row in question.between.rows}

    def find_row(self, broken: Break) -> Drift | None:
        return self._rows.get((broken.location.path, broken.location.line, broken.target))

    def read(self, path: str) -> str | None:
        """The text of a file that may be edited; None of a link, of what cannot be read, of what a program writes."""
        entry = self._tree.entries.get(path)
        text = self._tree.read_text(path) if entry is not None and entry.is_file and not entry.is_symlink else None
        return text if isinstance(text, str) and not is_generated(text) else None

    def carry_out(self, jobs: list[Job], steps: int) -> list[dict[str, str]]:
        """The files that each step changes, as it leaves them."""
        done: list[dict[str, str]] = []
        texts: dict[str, str] = {}
        for number in range(steps):
            by_path: dict[str, list[Job]] = defaultdict(list)
            for job in jobs:
                if job.step == number:
                    by_path[job.path].append(job)
            changed = {path: text for path, mine in by_path.items() if (text := self._edit(path, mine, texts))}
            texts |= changed
            done.append(changed)
        return done

    def _edit(self, path: str, jobs: list[Job], texts: dict[str, str]) -> str | None:
        original = self.read(path)
        if original is None:
            return None
        current = texts.get(path, original)
        rows = [
            row
            for job in jobs
            if job.broken.way == PATCHES and not job.changes and (row := self.find_row(job.broken)) is not None
        ]
        edited = self._retarget(path, (original, current), rows, texts) if rows else current
        names = {job.move.old: job.move.new for job in jobs if job.broken.way != PATCHES and not job.changes}
        followed = follow_names(edited, names) if names else None
        edited = followed.text if followed is not None else edited
        for change in dict.fromkeys(change for job in jobs for change in job.changes):
            edited = carry_out(change, original, edited)
        return edited if edited != current else None

    def _retarget(self, path: str, versions: tuple[str, str], rows: list[Drift], texts: dict[str, str]) -> str:
        original, current = versions
        moved = [
            replace(row, location=replace(row.location, line=map_line(original, current, row.location.line)))
            for row in rows
        ]
        sides = self._question.between.opened.sides
        over = edit_to(self._question.workspace, {**texts, path: current})
        found = build_retarget(moved, Tree(over.downstream, over.commit), sides.pin, sides.tip)
        return next((one.after for one in found.files if one.path == path), current)


def make_plan(question: Question, progress: Progress = silent) -> Plan:
    """Schedule the sure moves, carry them out in memory, judge the result, keep what that confirms."""
    groups = group_breaks(question.breaks, question.order)
    ends = [commit for commit, _ in groups if commit is not None]
    commits = ends if ends and ends[-1] == question.to else [*ends, question.to]
    stops = Stops(question.upstream, tuple(commits), question.between.opened)
    jobs, carried = split_carried(find_jobs(groups, question.moves, stops.has, len(commits)))
    jobs += find_changing_jobs(groups, question.changes, len(commits))
    workshop = Workshop(question)
    refuted: dict[Break, str] = {}
    again, texts = Again(question.then), list[dict[str, str]]()
    for number in range(_ROUNDS):
        texts = workshop.carry_out(jobs, len(commits))
        final = {path: text for changed in texts for path, text in changed.items()}
        progress("judging the edited files again", 0, 0)
        again = _judge_again(question, final, progress) if final else Again(question.then)
        wrong = find_unproven([*jobs, *carried], question.then.places, again)
        if not wrong:
            break
        refuted |= {job.broken: why for job, why in wrong}
        paths = {job.path for job, _ in wrong} if number else set[str]()  # a second time: not one edit of that file
        jobs = [job for job in jobs if job.broken not in refuted and job.path not in paths]
        carried = [job for job in carried if job.broken not in refuted and job.path not in paths]
    return _assemble(workshop, question, (groups, commits), [*jobs, *carried], texts, (again, refuted))


def _judge_again(question: Question, files: dict[str, str], progress: Progress) -> Again:
    """The edited files at the end of the upgrade and, where a break shows only there, between the pin and the end."""
    edited = edit_to(question.workspace, files)
    after = judge_at(edited, question.key, question.to, progress)
    if not find_compared(question.breaks, question.then.places):
        return Again(after)
    broken = judge_between(edited, question.key, question.to, progress).find_breaks()
    return Again(after, frozenset((one.location.path, one.target) for one in broken))


def _assemble(
    workshop: Workshop,
    question: Question,
    course: tuple[list[tuple[str | None, list[Break]]], list[str]],
    jobs: list[Job],
    texts: list[dict[str, str]],
    outcome: tuple[Again, dict[Break, str]],
) -> Plan:
    groups, commits = course
    again, refuted = outcome
    after = again.standing
    known = {one.hash: one for one in read_commits(question.upstream, commits)}
    mended = {job.broken for job in jobs}
    healed = find_healed(question.breaks, mended, question.then.places, again)
    mended |= healed.keys()
    steps: list[Step] = []
    left = 0
    before: dict[str, str] = {}
    for number, commit in enumerate(commits):
        mine = [one for name, breaks in groups if (name or question.to) == commit for one in breaks]
        proposals = [_propose(question, one, workshop.find_row(one), refuted) for one in mine if one not in mended]
        left += len(proposals)
        changed = dict(sorted(texts[number].items())) if texts else {}
        before |= {path: text for path in changed if path not in before and (text := workshop.read(path)) is not None}
        edits = tuple(
            FileEdit(path=path, before=digest_text(before[path].encode("utf-8", "surrogatepass")), after=text)
            for path, text in changed.items()
        )
        done = _find_mends([job for job in jobs if job.step == number], edits, before)
        done += [healed[one] for one in mine if one in healed]
        before |= changed
        culprit = known[commit] if any(name == commit for name, _ in groups) else None
        steps.append(
            Step(
                to=commit,
                date=known[commit].date,
                culprit=culprit,
                mends=(*done, *proposals),
                edits=edits,
                left=left,
            )
        )
    today = {one.key for one in question.now.misfits}
    known_keys = {one.key for one in question.breaks} | today
    revealed = (find_break(question.between.opened, one) for one in after.misfits if one.key not in known_keys)
    rest = (*(one for one in question.breaks if one not in mended), *revealed)
    lines = find_lines(question.breaks)
    return Plan(
        backend=question.key,
        commit=question.workspace.commit,
        start=question.now.commit,
        to=question.to,
        steps=tuple(steps),
        left=rest,
        idle=len({(one.location.path, one.location.line) for one in question.breaks if one.idle}),
        before=len(question.then.bad_lines),
        after=len(after.bad_lines),
        today=len(question.now.bad_lines),
        in_drift=len(lines & question.between.drift_lines),
        compared=len(lines - question.then.bad_lines),
    )


def _propose(question: Question, one: Break, row: Drift | None, refuted: dict[Break, str]) -> Mend:
    mend = propose(one, row, question.between.opened.sides, question.upstream)
    return unsure(mend, question.moves.get(one.target), refuted.get(one, ""))


def _find_mends(jobs: list[Job], edits: tuple[FileEdit, ...], before: dict[str, str]) -> list[Mend]:
    """Each mend; the first of a file shows the edit of the whole file."""
    diffs = {edit.path: render_patch(edit.path, before[edit.path], edit.after) for edit in edits}
    ordered = sorted(jobs, key=lambda job: (job.path, job.broken.location.line, job.move.old))
    return [mend_of(job, diffs.pop(job.path, "")) for job in ordered]
