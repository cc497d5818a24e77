"""The steps of an upgrade: what Layline can mend in each, proven by judging again, and what is left for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent, within
from layline.coupling.drift_model import Drift
from layline.history.commits import count_own, read_commits
from layline.upgrade.circles import find_new_circles
from layline.upgrade.edits import render_patch
from layline.upgrade.gates import retire_gates
from layline.upgrade.judging import Stops, edit_to, find_break, find_lines, judge_as_drift, judge_at, pin_of
from layline.upgrade.plan import (
    Again,
    Job,
    find_changing_jobs,
    find_compared,
    find_healed,
    find_jobs,
    find_unproven,
    group_breaks,
    mend_of,
    split_carried,
    unsure,
)
from layline.upgrade.proposals import propose
from layline.upgrade.question import PARTS, Question, ask, find_order
from layline.upgrade.settings import find_settings
from layline.upgrade.values import Break, FileEdit, Mend, Plan, Step, digest_text
from layline.upgrade.workshop import Workshop
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.workspace.open import Workspace

_ROUNDS = 4
"""So often what judging again refutes is taken out and the rest judged anew."""


def find_plan(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> Plan:
    """The plan from the pin to a ref; kept, so that `apply` need not find again what `plan` has found."""
    known = know_packages(workspace)
    upstream, pin = pin_of(known, key)
    commit = upstream.resolve_upstream(to)
    find_order(upstream, pin, commit, to)
    inputs = key, workspace.commit, pin, commit, upstream.is_shallow, *find_inputs(known)
    return find_kept(Plan, "plan", lambda: make_plan(ask(workspace, key, to, progress), progress), *inputs)


def make_plan(question: Question, progress: Progress = silent) -> Plan:
    """Schedule the sure moves, carry them out in memory, judge the result, keep what that confirms."""
    groups = group_breaks(question.breaks, question.order)
    ends = [commit for commit, _ in groups if commit is not None]
    commits = ends if ends and ends[-1] == question.to else [*ends, question.to]
    stops = Stops(question.upstream, tuple(commits), question.between.opened)
    jobs, carried = split_carried(find_jobs(groups, question.moves, stops.has, len(commits)))
    workshop, edited = Workshop(question), f"part 4 of {PARTS}, the edited files again"
    jobs += filter(workshop.has_edit, find_changing_jobs(groups, question.changes, len(commits)))
    refuted: dict[Break, str] = {}
    again, texts = Again(question.then), list[dict[str, str]]()
    for number in range(_ROUNDS):
        texts = workshop.carry_out(jobs, len(commits))
        final = {path: text for changed in texts for path, text in changed.items()}
        again = _judge_again(question, final, within(progress, edited)) if final else Again(question.then)
        wrong = find_unproven([*jobs, *carried], question.then.places, again)
        if not wrong:
            break
        refuted |= {job.broken: why for job, why in wrong}
        paths = {job.path for job, _ in wrong} if number else set[str]()  # a second time: not one edit of that file
        jobs = [job for job in jobs if job.broken not in refuted and job.path not in paths]
        carried = [job for job in carried if job.broken not in refuted and job.path not in paths]
    progress = within(progress, f"part 5 of {PARTS}")
    progress("looking at requirements and configuration keys", 0, 0)
    settings = find_settings(question, workshop)
    texts[-1] |= settings.texts
    progress("looking at version tests", 0, 0)
    gates = retire_gates(question, workshop, {path: text for made in texts for path, text in made.items()}, progress)
    texts[-1] |= gates.texts
    plan = _assemble(workshop, question, _Course(groups, commits, [*jobs, *carried], texts, again, refuted))
    last = replace(plan.steps[-1], mends=(*plan.steps[-1].mends, *settings.mends, *gates.mends))
    return replace(plan, steps=(*plan.steps[:-1], last))


def _judge_again(question: Question, files: dict[str, str], progress: Progress) -> Again:
    """The edited files at the end of the upgrade and, where a break shows only there, between the pin and the end."""
    edited = edit_to(question.workspace, files)
    after = judge_at(edited, question.key, question.to, progress)
    circles = find_new_circles(question, edited, files)
    if not find_compared(question.breaks, question.then.places):
        return Again(after, circles=circles)
    between = judge_as_drift(edited, question.key, question.to, progress, culprits=False)
    # an edited file may not fit the pin any more: what is dead there is not judged, so it is not mended either
    dead = ((row.location.path, row.target or "") for row in between.rows if row.dead_today)
    broken = ((one.location.path, one.target) for one in between.find_breaks())
    return Again(after, frozenset((*broken, *dead)), circles)


@dataclass(frozen=True, slots=True)
class _Course:
    """What the steps of a plan are made of."""

    groups: list[tuple[str | None, list[Break]]]
    commits: list[str]
    jobs: list[Job]
    texts: list[dict[str, str]]
    again: Again
    refuted: dict[Break, str]

    def find_mine(self, commit: str, to: str) -> list[Break]:
        """The breaks of one step; those nobody is known to have caused belong to the last."""
        return [one for name, breaks in self.groups if (name or to) == commit for one in breaks]


def _assemble(workshop: Workshop, question: Question, course: _Course) -> Plan:
    mended = {job.broken for job in course.jobs}
    healed = find_healed(question.breaks, mended, question.then.places, course.again)
    steps = tuple(_build_steps(workshop, question, course, healed))
    after = course.again.standing
    known = {one.key for one in question.breaks} | {one.key for one in question.now.misfits}
    revealed = [find_break(question.between.opened, one) for one in after.misfits if one.key not in known]
    steps = (*steps[:-1], _reveal(question, steps[-1], revealed))
    first = next((name for name, _ in course.groups), None)
    good = _find_before(question, first) if not any(name is None for name, _ in course.groups) else None
    lines, told = find_lines(question.breaks), question.between.drift_lines
    return Plan(
        backend=question.key,
        commit=question.workspace.commit,
        start=question.now.commit,
        to=question.to,
        steps=steps,
        last_good=next(iter(read_commits(question.upstream, [good])), None) if good is not None else None,
        left=(*(one for one in question.breaks if one not in mended and one not in healed), *revealed),
        idle=len({one.counted for one in question.breaks if one.idle}),
        before=len(question.then.bad_lines),
        after=len(after.bad_lines),
        today=len(question.now.bad_lines),
        in_drift=len(lines & told),
        behind=len((find_lines(question.between.find_behind()) & told) - lines),
        compared=len(lines - question.then.bad_lines),
        lacks=count_own(question.upstream, question.now.commit, question.to),
    )


def _find_before(question: Question, culprit: str | None) -> str | None:
    """The commit that comes before another on the way; before the first comes the pin."""
    if culprit is None:
        return None
    return (question.now.commit, *question.order)[question.order.index(culprit)]


def _reveal(question: Question, last: Step, revealed: list[Break]) -> Step:
    """The last step with what only the mechanical mends bring to light: a moved function that takes something else."""
    found = (propose(one, None, question.between.opened.sides, question.upstream) for one in revealed)
    return replace(last, mends=(*last.mends, *(replace(mend, revealed=True) for mend in found)))


def _build_steps(
    workshop: Workshop, question: Question, course: _Course, healed: Mapping[Break, Mend]
) -> Iterator[Step]:
    known = {one.hash: one for one in read_commits(question.upstream, course.commits)}
    mended = {job.broken for job in course.jobs} | healed.keys()
    left = 0
    before: dict[str, str] = {}
    for number, commit in enumerate(course.commits):
        mine = course.find_mine(commit, question.to)
        proposals = [
            _propose(
                question, replace(one, why=one.say_why(commit)), workshop.find_row(one), course.refuted.get(one, "")
            )
            for one in mine
            if one not in mended
        ]
        left += len(proposals)
        changed = dict(sorted(course.texts[number].items())) if course.texts else {}
        before |= {path: text for path in changed if path not in before and (text := workshop.read(path)) is not None}
        edits = tuple(
            FileEdit(path=path, before=digest_text(before[path].encode("utf-8", "surrogatepass")), after=text)
            for path, text in changed.items()
        )
        done = _find_mends([job for job in course.jobs if job.step == number], edits, before)
        done += [healed[one] for one in mine if one in healed]
        before |= changed
        culprit = known[commit] if any(name == commit for name, _ in course.groups) else None
        mends = (*done, *proposals)
        before_it = _find_before(question, commit) if culprit is not None else None
        yield Step(
            to=commit,
            date=known[commit].date,
            culprit=culprit,
            before=before_it,
            mends=mends,
            edits=edits,
            left=left,
        )


def _propose(question: Question, one: Break, row: Drift | None, refuted: str) -> Mend:
    mend = propose(one, row, question.between.opened.sides, question.upstream)
    return unsure(mend, question.moves.get(one.target), refuted)


def _find_mends(jobs: list[Job], edits: tuple[FileEdit, ...], before: dict[str, str]) -> list[Mend]:
    """Each mend; the first of a file shows the edit of the whole file."""
    diffs = {edit.path: render_patch(edit.path, before[edit.path], edit.after) for edit in edits}
    ordered = sorted(jobs, key=lambda job: (job.path, job.broken.location.line, job.move.old))
    return [mend_of(job, diffs.pop(job.path, "")) for job in ordered]
