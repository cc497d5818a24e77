"""Key findings: one sentence each, the most pressing first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from layline.core.checks import clean_line
from layline.core.policy import Label, Recommendation
from layline.core.prose import shorten
from layline.core.records import recommendation_label
from layline.periodic.distance import show_distance
from layline.periodic.model import Activity, CountedMove, Drift, Notable, RepoDrift

MOST_NOTABLE = 2
MOST_FINDINGS = 7
LONGEST = 300
"""Characters of one finding."""
_PRESSING = {Label.URGENT: 3, Label.PLAN: 2, Label.MONITOR: 1}


def build_findings(activity: Activity, categories: tuple[str, ...]) -> tuple[str, ...]:
    """The merged pull requests first, then each target by urgency, then all pins that moved, then what stood still."""
    drifts = sorted(activity.drifts, key=lambda drift: (-_rank(drift), drift.key))
    told = [
        _tell_merged(activity, categories),
        *(_tell_drift(drift) for drift in drifts),
        *(_tell_repo_drift(drift) for drift in activity.repo_drifts),
    ]
    last = [*_tell_moves(tuple(group_moves(activity.moves))), *_tell_stillness(activity)]
    room = MOST_FINDINGS - len(last)
    if len(told) > room:
        left = len(told) - room + 1
        told = [
            *told[: room - 1],
            f"{show_count(left, 'further target')} {'is' if left == 1 else 'are'} listed in the report.",
        ]
    return tuple(shorten(text, LONGEST) for text in (*told, *last))


def count_categories(activity: Activity, categories: tuple[str, ...]) -> dict[str, int]:
    """Every configured category in order, then any other; they add up to the pull requests merged."""
    counts = Counter(pull.category for pull in activity.pulls)
    return {name: counts[name] for name in dict.fromkeys((*categories, *sorted(counts)))}


def group_moves(moves: tuple[CountedMove, ...]) -> Iterator[tuple[CountedMove, ...]]:
    """Moves of one name by one commit to the same value belong together: one bump in two workflows."""
    groups: dict[tuple[str, str, str | None], list[CountedMove]] = {}
    for item in moves:
        groups.setdefault((item.move.commit.hash, item.move.name, item.move.after), []).append(item)
    yield from (tuple(group) for group in groups.values())


def show_trend(drift: Drift) -> str:
    """`+45 since 2026-W18`."""
    if drift.previous is None or drift.change is None:
        return "no earlier figure"
    sign = "+" if drift.change > 0 else ("−" if drift.change < 0 else "±")
    return f"{sign}{abs(drift.change)} since {drift.previous.since.partition('T')[0]}"


def show_steadiness(drift: Drift) -> str:
    """Whether the label is the one the earlier report gave."""
    before = _find_before(drift)
    if before is None:
        return ""
    return " (unchanged)" if before == drift.recommendation.label else f" (was {before})"


def _find_before(drift: Drift) -> str | None:
    """The label of the earlier report; None where there is none."""
    return recommendation_label(drift.previous.recommendation) if drift.previous else None


def _rank(drift: Drift) -> int:
    changed = _find_before(drift) not in (None, drift.recommendation.label)
    return _PRESSING[drift.recommendation.label] + 4 * changed


def _tell_merged(activity: Activity, categories: tuple[str, ...]) -> str:
    if activity.ended:
        return (
            f"What was merged to {activity.ref} in the {activity.window.period.id} window is not known: our clone ends on "
            f"{activity.ended}."
        )
    counts = {name: count for name, count in count_categories(activity, categories).items() if count}
    listed = f" ({_list_counts(counts)})" if counts else ""
    direct = f" {show_count(len(activity.direct), 'more commit')} without a pull request." if activity.direct else ""
    return (
        f"{show_count(len(activity.pulls), 'pull request')} merged to {activity.ref} in the "
        f"{activity.window.period.id} window{listed}.{direct}"
    )


def show_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items())


def _tell_moves(groups: tuple[tuple[CountedMove, ...], ...]) -> Iterator[str]:
    """All pins that moved, in one finding; the report lists every move."""
    if len(groups) == 1:
        yield _tell_move(groups[0])
    elif groups:
        yield _fit_moves(groups, 3)


def _fit_moves(groups: tuple[tuple[CountedMove, ...], ...], most: int) -> str:
    """As many moves as fit whole: half a move tells nothing."""
    names = list(dict.fromkeys(group[0].move.name for group in groups))
    rest = [f"and {len(groups) - most} more"] if len(groups) > most else []
    shown = "; ".join([*(_tell_step(group) for group in groups[:most]), *rest])
    told = f"Pin changes: {show_count(len(groups), 'move')} of {show_count(len(names), 'pin')}: {shown}."
    return told if len(told) <= LONGEST or most == 1 else _fit_moves(groups, most - 1)


def _tell_step(group: tuple[CountedMove, ...]) -> str:
    """Without the reason why its distance was not counted: the report has it."""
    move = group[0].move
    pull = f"PR #{move.commit.pull_request}" if move.commit.pull_request else f"commit {move.commit.hash[:8]}"
    return f"{move.name} {show_step(replace(group[0], why='') if not group[0].distance else group[0])} by {pull}"


def _tell_move(group: tuple[CountedMove, ...]) -> str:
    move = group[0].move
    where = "; ".join(f"{show_step(item)}{_in_file(item)}" for item in group)
    pull = f"PR #{move.commit.pull_request}" if move.commit.pull_request else f"commit {move.commit.hash[:8]}"
    verb = "introduces" if move.before is None else ("drops" if move.after is None else "moves")
    return f"Pin change: {pull} {verb} {move.name}: {where}."


def _in_file(item: CountedMove) -> str:
    return f" in {clean_line(item.move.file)}" if item.move.kind == "variable" else ""


def show_step(item: CountedMove) -> str:
    """`333b68d7 → ef5b58ea, +32`."""
    before, after = item.move.before, item.move.after
    if before is None or after is None:
        return short(after or before)
    counted = show_distance(item.distance) if item.distance else f"not counted: {item.why}" if item.why else ""
    return f"{short(before)} → {short(after)}" + (f" ({counted})" if counted else "")


def _tell_drift(drift: Drift) -> str:
    moved = f" The pin moved in the window, from {drift.old_pin[:8]}." if drift.old_pin else ""
    ahead = f" and {drift.distance.ahead} ahead of" if drift.distance.ahead else ""
    told = (
        f"{drift.label}: pin {drift.pin.hash[:8]} ({drift.pin.date}) is "
        f"{show_count(drift.distance.behind, 'commit')} behind{ahead} "
        f"upstream {drift.ref} {drift.tip.hash[:8]} ({drift.tip.date}), {show_trend(drift)}.{moved}"
        f" Recommendation: {drift.recommendation}{show_steadiness(drift)}"
    )
    rule = f": {drift.recommendation.rule}."
    told += rule if len(told) + len(rule) <= LONGEST else "."  # whole or not at all: the report has it
    return told + _tell_notable(drift.notable[:MOST_NOTABLE], LONGEST - len(told))


def _tell_notable(notable: tuple[Notable, ...], room: int) -> str:
    """As many titles as fit whole: half a title tells nothing."""
    if not notable:
        return ""
    told = f" Upstream since then: {'; '.join(show_notable(item) for item in notable)}."
    return told if len(told) <= room else _tell_notable(notable[:-1], room)


def show_notable(item: Notable) -> str:
    return f"{item.title} (#{item.number})" if item.number else f"{item.title} ({item.commit[:8]})"


def _tell_repo_drift(drift: RepoDrift) -> str:
    since = f"since the {drift.unit} began ({drift.base.date()})"
    parts = []
    for pin in drift.pins:
        if pin.current == pin.base:
            continue
        counted = f" ({show_distance(pin.distance)})" if pin.distance else ""
        parts.append(f"{pin.name} {short(pin.base)} → {short(pin.current)}{counted}")
    moved = f"{'; '.join(parts)} {since}" if parts else f"no pin moved {since}"
    return f"{drift.label}: {moved}. {show_advice(drift.recommendation)}"


def show_advice(found: Recommendation) -> str:
    """What to do and why; where nothing was measured, that alone."""
    if found.inputs.behind is None:
        return f"No recommendation: {found.rule}."
    return f"Recommendation: {found}: {found.rule}."


def short(revision: str | None) -> str:
    """A hash by its first digits; a tag is a name and stays whole."""
    if revision is None:
        return "none"
    return revision[:8] if re.fullmatch("[0-9a-f]{9,64}", revision) else clean_line(revision, 60)


def _tell_stillness(activity: Activity) -> Iterator[str]:
    moved = sum(item.move.kind == "submodule" for item in activity.moves)
    if activity.submodules and not moved:
        yield f"No submodule moved in the window; {activity.ref} has {activity.submodules} of them."
