"""Commits, logs and the distance between two commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.revision import Commit, Relation, relate
from layline.errors import GitError, SilentGitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from layline.git import Repository

_FIELDS = ("%H", "%cI", "%aI", "%an", "%P", "%s")
_FORMAT = "--format=" + "%x00".join(_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """How two commits relate; `behind` counts what the tip has and the pin has not."""

    pin: str
    tip: str
    behind: int
    ahead: int
    merge_base: str | None
    relation: Relation


def read_commit(repository: Repository, commit: str) -> Commit:
    """One commit by full hash."""
    return next(_parse(repository.git("log", "-z", "-1", _FORMAT, commit)))


def read_bodies(repository: Repository, base: str | None, tip: str) -> dict[str, str]:
    """First-parent commit → its message below the subject; a merge made on a forge has the title and number there."""
    span = tip if base is None else f"{base}..{tip}"
    out = repository.git("log", "--first-parent", "-z", "--format=%H%x00%b", span)
    words = out.decode("utf-8", "replace").removesuffix("\0").split("\0")
    return {hash_.strip(): body for hash_, body in zip(words[::2], words[1::2], strict=False)}


def read_commits(repository: Repository, commits: Iterable[str]) -> Iterator[Commit]:
    """Many commits by full hash in one call, in the order given."""
    wanted = list(commits)
    if wanted:
        stdin = "".join(f"{commit}\n" for commit in wanted).encode()
        yield from _parse(repository.git("log", "-z", "--no-walk=unsorted", "--stdin", _FORMAT, stdin=stdin))


def read_log(
    repository: Repository, base: str | None, tip: str, *, paths: tuple[str, ...] = (), first_parent: bool = False
) -> Iterator[Commit]:
    """Commits reachable from `tip` and not from `base`, newest first; with `paths`, those that touched them."""
    options = ("--first-parent",) if first_parent else ()
    within = ("--", *paths) if paths else ("--",)
    span = tip if base is None else f"{base}..{tip}"
    yield from _parse(repository.git("--literal-pathspecs", "log", "-z", _FORMAT, *options, span, *within))


def read_line_log(repository: Repository, tip: str, path: str, lines: tuple[int, int]) -> Iterator[Commit]:
    """Commits up to `tip` that changed these lines of a file as it stands there, newest first."""
    span = f"-L{lines[0]},{lines[1]}:{path}"
    yield from _parse(repository.git("log", "-z", _FORMAT, "--no-patch", "--no-ext-diff", "--no-textconv", span, tip))


def find_merge_base(repository: Repository, one: str, other: str) -> str | None:
    """The best common ancestor; None where the histories share nothing."""
    try:
        return repository.git("merge-base", one, other).decode("ascii").strip()
    except SilentGitError:  # there is no common ancestor
        return None


def compare_commits(repository: Repository, pin: str, tip: str) -> Distance:
    ahead, behind = count_commits(repository, pin, tip)
    base = find_merge_base(repository, pin, tip)
    return Distance(pin=pin, tip=tip, behind=behind, ahead=ahead, merge_base=base, relation=relate(pin, tip, base))


def count_commits(repository: Repository, one: str, other: str) -> tuple[int, int]:
    """How many commits only the first has, and only the second."""
    first, second = repository.git("rev-list", "--left-right", "--count", f"{one}...{other}", "--").split()
    return int(first), int(second)


def count_own(repository: Repository, one: str, other: str) -> int:
    """How many commits only the first has and whose change the other does not have under another hash; all of them
    where texts in between are not here to compare.
    """
    try:
        return int(repository.git("rev-list", "--count", "--left-only", "--cherry-pick", f"{one}...{other}", "--"))
    except GitError:  # a clone without all texts
        return count_commits(repository, one, other)[0]


def find_copied(repository: Repository, one: str, other: str) -> frozenset[str]:
    """Commits of the second whose change the first has under another hash; none where texts are not here to compare."""
    options = ("--right-only", "--cherry-mark", "--no-merges")
    try:
        listed = repository.git("rev-list", *options, f"{one}...{other}", "--").decode("ascii").split()
    except GitError:  # a clone without all texts
        return frozenset()
    return frozenset(line[1:] for line in listed if line.startswith("="))


def say_own(one: str, other: str) -> str:
    """The command by which anybody can count what `count_own` does."""
    return f"git rev-list --count --left-only --cherry-pick {one}...{other}"


def say_count(base: str, tip: str) -> str:
    """The command by which anybody can count the commits that `tip` has and `base` has not."""
    return f"git rev-list --count {base}..{tip}"


def find_tip_at(repository: Repository, tip: str, moment: datetime) -> str | None:
    """The last first-parent ancestor of `tip` committed up to `moment`; None where history begins later."""
    out = repository.git("rev-list", "-1", "--first-parent", f"--min-age={int(moment.timestamp())}", tip)
    return out.decode("ascii").strip() or None


def _parse(out: bytes) -> Iterator[Commit]:
    words = out.decode("utf-8", "replace").removesuffix("\0").split("\0")
    for start in range(0, len(words) - len(_FIELDS) + 1, len(_FIELDS)):
        hash_, committed, authored, author, parents, subject = words[start : start + len(_FIELDS)]
        yield Commit(
            hash=hash_.strip(),
            committed=committed,
            authored=authored,
            author=author,
            subject=subject,
            parents=tuple(parents.split()),
        )
