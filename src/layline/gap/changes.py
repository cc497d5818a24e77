"""Representative upstream changes: one row per pull request, by area, those that touch what we use first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.patterns import Classes
from layline.core.revision import Commit
from layline.gap.churn import CODE, DEFAULT_CHURN_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable


_BOT = re.compile(r"\bbot\b|\[bot\]|autobot|github[- ]actions|dependabot|renovate|^svc", re.IGNORECASE)
_HOUSEKEEPING = re.compile(
    r"^(?:ci|build|chore|test|tests|docs?|style|cp|beep boop)\b[^:]*[:!(]|\[skip ci\]|^\[?(?:ci|docs?|chore)\]",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"^(?P<kind>feat|fix|perf|refactor|feature|bugfix|deprecate|remove)(?:\([^)]*\))?!?:\s*", re.IGNORECASE
)
_REVERT = re.compile(r'^(?:Revert|revert)\b[:\s]*["“]?(?P<title>.*?)["”]?\s*(?:\(#\d+\))?\s*$')
_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")
_SIGNS = re.compile(r"[^a-z0-9]+")
_KINDS = {"feature": "feat", "bugfix": "fix"}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamChange:
    """One pull request, or one commit that names none."""

    number: int | None
    title: str
    kind: str
    """feat, fix, perf, refactor … by its conventional prefix; empty without one."""
    date: str
    commits: tuple[str, ...]
    area: str
    """The area where it touched most code."""
    files: int
    """Code files touched; tests, docs, locks and golden data do not count."""
    ours: tuple[str, ...] = ()
    """Files it touched that we import or patch."""
    brings: int = 0
    """Code files of the tip that it added."""
    is_lost: bool = False
    """What it brought is not at the tip: it was taken back, or became something else."""
    is_known: bool = False
    """The pin has what it added already, from a branch of its own."""


@dataclass(frozen=True, slots=True)
class Changes:
    """All commits of a gap, sorted out."""

    kept: tuple[UpstreamChange, ...]
    reverted: int
    """Commits left out because they were reverted inside the gap, with their reverts."""
    housekeeping: int
    """Commits by bots, or of CI, builds, docs and tests alone."""


def build_changes(
    log: Iterable[Commit], touched: Mapping[str, tuple[str, ...]], areas: Classes, ours: Set[str]
) -> Changes:
    """Group a log into changes; the ones that touch what we use come first, then the broadest, then the newest."""
    commits = list(log)
    reverted = find_reverted(commits)
    classes = Classes(DEFAULT_CHURN_CLASSES, rest=CODE)
    groups: dict[object, list[Commit]] = {}
    housekeeping = 0
    for commit in commits:
        if commit.hash in reverted:
            continue
        code = [path for path in touched.get(commit.hash, ()) if classes.of(path) == CODE]
        if _BOT.search(commit.author) or _HOUSEKEEPING.search(commit.subject) or not code:
            housekeeping += 1
            continue
        groups.setdefault(commit.pull_request or commit.hash, []).append(commit)
    kept = [_build_change(group, touched, classes, areas, ours) for group in groups.values()]
    kept.sort(key=lambda change: (-len(change.ours), -change.files, change.date, change.commits))
    return Changes(tuple(kept), len(reverted), housekeeping)


def mark_lost(changes: Changes, touched: Mapping[str, tuple[str, ...]], pin: Set[str], tip: Set[str]) -> Changes:
    """The same changes; of each what it brought, and whether that is still there."""
    classes = Classes(DEFAULT_CHURN_CLASSES, rest=CODE)
    new = {
        change.commits: {
            path
            for commit in change.commits
            for path in touched.get(commit, ())
            if path not in pin and classes.of(path) == CODE  # a test that went says nothing of what it tested
        }
        for change in changes.kept
    }
    brought: dict[tuple[str, ...], int] = {}
    told: set[str] = set()
    for change in sorted(changes.kept, key=lambda one: one.date):  # who touches a new file first adds it
        added = (new[change.commits] & tip) - told
        told |= added
        brought[change.commits] = len(added)
    kept = (
        replace(one, brings=brought[one.commits], is_lost=_is_lost(one.title, new[one.commits], pin, tip))
        for one in changes.kept
    )
    return replace(changes, kept=tuple(kept))


def _is_lost(title: str, new: Set[str], pin: Set[str], tip: Set[str]) -> bool:
    """None of its new files is at the tip, or none of the folder that its title names."""
    if not new:
        return False
    if not new & tip:
        return True
    bare = _SIGNS.sub("", title.lower())
    for folder in {path.rpartition("/")[0] for path in new if path.endswith("/__init__.py")}:
        below = f"{folder}/"
        named = _SIGNS.sub("", folder.rpartition("/")[2].lower())
        if named in bare and not any(path.startswith(below) for path in (*pin, *tip)):
            return True
    return False


def find_reverted(commits: list[Commit]) -> frozenset[str]:
    """Commits undone inside the gap and the commits that undid them; a revert of something older is a change."""
    by_title: dict[str, list[Commit]] = {}
    found: set[str] = set()
    for commit in reversed(commits):  # oldest first: a revert undoes what came before it
        revert = _REVERT.match(commit.subject)
        title = _plain_title(revert["title"]) if revert else ""
        if revert and by_title.get(title):
            found |= {commit.hash, by_title[title].pop().hash}
        else:
            by_title.setdefault(_plain_title(commit.subject), []).append(commit)
    return frozenset(found)


def _build_change(
    group: list[Commit], touched: Mapping[str, tuple[str, ...]], classes: Classes, areas: Classes, ours: Set[str]
) -> UpstreamChange:
    newest = group[0]
    paths = sorted({path for commit in group for path in touched.get(commit.hash, ())})
    code = [path for path in paths if classes.of(path) == CODE]
    prefix = _PREFIX.match(newest.subject)
    kind = prefix["kind"].lower() if prefix else ""
    title = _NUMBER.sub("", newest.subject[prefix.end() :] if prefix else newest.subject).strip()
    return UpstreamChange(
        number=newest.pull_request,
        title=title[:1].upper() + title[1:],
        kind=_KINDS.get(kind, kind),
        date=newest.date,
        commits=tuple(commit.hash for commit in group),
        area=_main_area(code, areas),
        files=len(code),
        ours=tuple(path for path in paths if path in ours),
    )


def _main_area(paths: list[str], areas: Classes) -> str:
    names = [areas.of(path) for path in paths]
    return max(dict.fromkeys(names), key=names.count) if names else areas.rest


def _plain_title(subject: str) -> str:
    bare = subject
    while _NUMBER.search(bare):
        bare = _NUMBER.sub("", bare)
    return " ".join(bare.strip('"“” ').lower().split())
