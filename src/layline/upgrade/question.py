"""Everything that a plan is made from, read and judged: what breaks on the way, and where names went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.change.compare import Comparer
from layline.core.progress import Progress, count, silent, tell_result, within
from layline.core.prose import count as count_of
from layline.core.prose import verb
from layline.core.revision import Relation
from layline.errors import ConfigError
from layline.history.commits import compare_commits
from layline.upgrade.absolute import Judged, Standing
from layline.upgrade.changes import Change
from layline.upgrade.find_changes import find_changes
from layline.upgrade.importers import follow_importers
from layline.upgrade.judging import Between, judge_as_drift, judge_at, pin_of
from layline.upgrade.moves import NameMove, find_move, follow_siblings
from layline.upgrade.plan import count_as_drift
from layline.upgrade.safe import SafePin, Verdict, find_safe_pin
from layline.upgrade.values import Break
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.workspace.open import Workspace


PARTS = 5
"""Of the work on a plan, as progress tells them: three here, two where the edits are made."""
_FIRST = 3
"""Places that are named before the plan is made."""


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


def find_safe(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> SafePin:
    """The newest first-parent commit up to `to` at which nothing of ours breaks that does not break today; kept."""
    known = know_packages(workspace)
    upstream, pin = pin_of(known, key)
    inputs = key, pin, to, upstream.is_shallow, *find_inputs(known)
    return find_kept(SafePin, "safe", lambda: _search_safe(workspace, key, to, progress), *inputs)


def _search_safe(workspace: Workspace, key: str, to: str, progress: Progress) -> SafePin:
    upstream, pin = pin_of(workspace, key)
    order = find_order(upstream, pin, to, to)
    known: dict[str, Verdict] = {}

    def find_new(commit: str) -> Iterator[Judged]:
        today = {one.key for one in judge_at(workspace, key, pin, progress).misfits}
        then = judge_at(workspace, key, commit, progress)
        return (one for one in then.misfits if one.key not in today)

    def judge(commit: str) -> Verdict:
        if commit not in known:
            progress(f"judging {commit[:12]}", order.index(commit) + 1, len(order))
            between = judge_as_drift(workspace, key, commit, progress)
            # what a comparison shows to break is enough: the commit by itself is judged where it shows nothing
            breaks = list(between.find_breaks()) or list(between.find_breaks(find_new(commit)))
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
    if relation is Relation.UNRELATED and upstream.is_shallow:
        raise ConfigError(
            f"The clone of {upstream.name} is shallow and does not hold the history from {pin[:12]} to {to[:12]}.",
            hint="Fetch it: git fetch --unshallow.",
        )
    if relation is Relation.UNRELATED:
        raise ConfigError(
            f"{name} ({to[:12]}) and the pin {pin[:12]} share no history.",
            hint="Check that this is the right upstream.",
        )
    out = upstream.git("rev-list", "--first-parent", "--reverse", f"{pin}..{to}")
    return tuple(out.decode("ascii").split())


def ask(workspace: Workspace, key: str, to: str, progress: Progress = silent) -> Question:
    """Read and judge everything that a plan needs."""
    upstream, pin = pin_of(workspace, key)
    commit = upstream.resolve_upstream(to)
    order = find_order(upstream, pin, commit, to)
    # first what `patches drift` has kept: who waits for the rest knows already what breaks
    between = judge_as_drift(
        workspace, key, commit, within(progress, f"part 1 of {PARTS}, from the pin to {commit[:8]}")
    )
    tell_result(progress, _name_broken(between, commit))
    now = judge_at(workspace, key, pin, within(progress, f"part 2 of {PARTS}, our places at the pin"))
    then = judge_at(workspace, key, commit, within(progress, f"part 3 of {PARTS}, our places at {commit[:8]}"))
    progress = within(progress, f"part 3 of {PARTS}")
    today = {one.key for one in now.misfits}
    found_breaks = between.find_breaks(one for one in then.misfits if one.key not in today)
    breaks = count_as_drift(found_breaks, between.drift_lines)
    comparer = between.opened.sides.comparer
    lost = sorted({one.target for one in breaks})
    asked = count(lost, "looking for where names went", len(lost), progress, lambda name: name)
    found = {name: _find_move(name, comparer, upstream) for name in asked}
    moves = {name: move for name, move in found.items() if move is not None}
    rest = [name for name in found if name not in moves or not moves[name].sure]
    moves |= {move.old: move for move in follow_siblings(sorted(rest), moves, comparer)}
    changes = find_changes(breaks, between.rows, between.opened.sides)
    return Question(workspace, key, upstream, between, now, then, order, breaks, moves, changes)


def _name_broken(between: Between, commit: str) -> str:
    """What drift counts as broken, in the words of `patches drift`."""
    broken = len(between.drift_lines)
    if not broken:
        return f"`patches drift` finds no place of ours that breaks at {commit[:8]}"
    return f"{count_of(broken, 'place')} of ours {verb(broken, 'breaks')} at {commit[:8]}{_name_first(between.find_breaks())}"


def _name_first(rows: Iterable[Break]) -> str:
    """The first places, for who waits for the rest."""
    named = dict.fromkeys(f"{one.location} ({one.target})" for one in rows)
    return f": {', '.join(list(named)[:_FIRST])}{', …' if len(named) > _FIRST else ''}" if named else ""


def _find_move(name: str, comparer: Comparer, upstream: Repository) -> NameMove | None:
    """By what the thing itself is like; where that is not sure, by what upstream's own importers did."""
    move = find_move(name, comparer)
    if move is not None and move.sure:
        return move
    return follow_importers(name, comparer, upstream) or move
