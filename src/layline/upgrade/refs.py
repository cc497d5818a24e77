"""Which upstream commits a matrix asks about: releases, one a week, a span, or a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from layline.errors import ConfigError
from layline.history.commits import count_commits, find_merge_base, read_commits
from layline.history.tags import is_final, is_version, read_minor

if TYPE_CHECKING:
    from layline.git import Repository

MOST = 12
"""Commits that are judged where nobody says how many: each takes up to a minute the first time."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Ref:
    """One upstream commit under the name it was asked by."""

    name: str
    commit: str
    date: str


def find_tags(upstream: Repository) -> list[tuple[str, str]]:
    """Release tags with their commits, also on branches that left the main line."""
    found = upstream.refs("refs/tags")
    names = ((name.removeprefix("refs/tags/"), commit) for name, commit in found.items())
    return [(name, commit) for name, commit in names if is_version(name)]


def keep_since(refs: Sequence[Ref], pinned: str) -> list[Ref]:
    """Releases that the pin's side could use: the newest one up to the day of the pin, and all after it.

    `refs`: by date. Where the pin is older than every release, all of them.
    """
    before = [number for number, ref in enumerate(refs) if ref.date <= pinned]
    return list(refs[before[-1] :]) if before else list(refs)


def find_position(upstream: Repository, ends: tuple[str, str], commit: str) -> tuple[int, int] | None:
    """How far after the pin a commit comes, along the line of the tip first; None where it does not come after it.

    A pin may stand on a release branch, whose own commits no later release has: what has all that the main line had
    where that branch left it, and is not the branch's own past, comes after the pin. `ends`: pin and tip.
    """
    pin, tip = ends
    base = find_merge_base(upstream, pin, tip) or pin
    lost, ahead = count_commits(upstream, base, commit)
    if lost or (commit != pin and not count_commits(upstream, pin, commit)[1]):
        return None
    joint = find_merge_base(upstream, commit, tip) or commit
    return max(0, count_commits(upstream, base, joint)[1]), ahead


def find_weekly(upstream: Repository, pin: str, tip: str) -> list[tuple[str, str]]:
    """The last first-parent commit of each ISO week (UTC) after the pin."""
    out = upstream.git("log", "--first-parent", "--reverse", "--format=%H %ct", f"{pin}..{tip}", "--")
    weeks: dict[str, str] = {}
    for line in out.decode("ascii").splitlines():
        commit, seconds = line.split()
        year, week, _ = datetime.fromtimestamp(int(seconds), UTC).isocalendar()
        weeks[f"{year}-W{week:02}"] = commit
    return sorted(weeks.items())


def find_span(upstream: Repository, span: str) -> list[tuple[str, str]]:
    """First-parent commits of `A..B`, oldest first, B and A's successor included."""
    start, _, end = span.partition("..")
    if not start or not end or end.startswith("."):
        raise ConfigError(f"{span!r} is not a range of commits.", hint="Write A..B with two upstream refs.")
    first, last = upstream.resolve_upstream(start), upstream.resolve_upstream(end)
    out = upstream.git("rev-list", "--first-parent", "--reverse", f"{first}..{last}", "--")
    commits = out.decode("ascii").split()
    if not commits:
        raise ConfigError(f"{span} holds no commits: {end} does not come after {start}.")
    return [(commit[:10], commit) for commit in commits]


def find_listed(upstream: Repository, text: str) -> list[tuple[str, str]]:
    """One ref on each line; blank lines and what follows # do not count."""
    names = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [(name, upstream.resolve_upstream(name)) for name in names if name]


def date_refs(upstream: Repository, named: Iterable[tuple[str, str]]) -> list[Ref]:
    """By date, then by name; what is no commit is left out."""
    listed = list(named)
    dates = {one.hash: one.date for one in read_commits(upstream, dict.fromkeys(commit for _, commit in listed))}
    found = [Ref(name, commit, dates[commit]) for name, commit in listed if commit in dates]
    return sorted(found, key=lambda ref: (ref.date, ref.name))


def thin(refs: Sequence[Item], every: int | None, *, most: int = MOST) -> list[Item]:
    """Each N-th and the last one; without N at most so many, spread evenly, the first and the last among them."""
    if every is not None:
        return [ref for number, ref in enumerate(refs, 1) if number % every == 0 or number == len(refs)]
    if len(refs) <= most:
        return list(refs)
    return [refs[round(number * (len(refs) - 1) / (most - 1))] for number in range(most)]


def choose_releases(refs: Sequence[Ref], pin: str, *, most: int = MOST) -> list[Ref]:
    """At most so many: where there are more, releases before candidates, of each minor version the newest, then spread
    evenly; what stands on the pin stays.
    """
    if len(refs) <= most:
        return list(refs)
    kept = _halve(refs, {ref.commit: ref for ref in refs}, most)  # a commit may have several tags
    kept = _halve(kept, {ref.commit: ref for ref in kept if is_final(ref.name)}, most)
    kept = _halve(kept, {read_minor(ref.name): ref for ref in kept}, most)
    pinned = next((ref for ref in refs if ref.commit == pin), None)
    chosen = thin(kept, None, most=most)
    if pinned is not None and all(ref.commit != pin for ref in chosen):
        nearest = min(range(len(chosen)), key=lambda at: abs(refs.index(chosen[at]) - refs.index(pinned)))
        chosen[nearest] = pinned
    return chosen


def _halve(refs: Sequence[Ref], fewer: Mapping[object, Ref], most: int) -> list[Ref]:
    """The fewer, where there are too many and not all would go."""
    return [ref for ref in refs if ref in set(fewer.values())] if len(refs) > most and len(fewer) > 1 else list(refs)
