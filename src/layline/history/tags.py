"""Tags: the nearest before a commit, and the releases between two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from layline.history.commits import find_merge_base

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from layline.git import Repository


_MOST_BRANCHES = 8
"""Of so many branches the version is read, the newest first."""


def nearest_tag(repository: Repository, commit: str, wanted: Callable[[str], bool] = bool) -> tuple[str, int] | None:
    """The tag on the fewest commits before `commit` and how many there are; ties go to the later name."""
    by_commit: dict[str, list[str]] = {}
    for name, oid in repository.refs("refs/tags").items():
        if wanted(bare := name.removeprefix("refs/tags/")):
            by_commit.setdefault(oid, []).append(bare)
    if not by_commit:
        return None
    if commit in by_commit:
        return max(by_commit[commit]), 0
    reachable = _reachable(repository, commit, set(by_commit))
    best: tuple[int, str] | None = None
    for oid in reachable:
        count = int(repository.git("rev-list", "--count", f"{oid}..{commit}"))
        name = max(by_commit[oid])
        if best is None or count < best[0] or (count == best[0] and name > best[1]):
            best = (count, name)
    return (best[1], best[0]) if best else None


def find_releases(repository: Repository, base: str, tip: str) -> tuple[tuple[str, str], ...]:
    """Tags on commits that `tip` has and `base` has not: (name, commit), oldest commit first."""
    tags = repository.refs("refs/tags")
    order = repository.git("rev-list", "--topo-order", "--reverse", f"{base}..{tip}").decode("ascii").split()
    position = {commit: number for number, commit in enumerate(order)}
    found = [(position[oid], name.removeprefix("refs/tags/"), oid) for name, oid in tags.items() if oid in position]
    return tuple((name, oid) for _, name, oid in sorted(found))


def find_carrier(repository: Repository, commit: str) -> str | None:
    """A tag or branch of upstream's own that has this commit: the release first made of it, else any."""
    found = [name for name in repository.refs(*repository.upstream_refs, holding=commit) if not name.endswith("/HEAD")]
    names = [name.split("/", 2 if name.startswith(("refs/tags/", "refs/heads/")) else 3)[-1] for name in found]
    return next((name for name in names if is_version(name)), names[0] if names else None)


def is_version(name: str) -> bool:
    """`v2`, `core_v0.16.1`, `2026.1`, `release/1.2`; not `nightly-x`, `loss-v1`, `ciflow/8gpu/4160`,
    `ciflow/h100.8/4224`.
    """
    folder, _, last = name.rpartition("/")
    if folder and re.fullmatch(r"\d+", last):
        return False  # a number that counts something: runs, pull requests
    return bool(re.fullmatch(r"v?\d[\w.+-]*", last) or re.search(r"\d+\.\d+", last))


def is_final(name: str) -> bool:
    """A version that is meant for users: not `1.2rc1`, `26.04-alpha.rc2`, `v2.0.dev0`."""
    return is_version(name) and not re.search(
        r"(?i)(?<![a-z])(a|b|c|rc|alpha|beta|dev|pre|preview)[.\-_]?\d*(?![a-z])", name
    )


def read_minor(name: str) -> tuple[str, str]:
    """What stands before the number, and its first two parts: `core_v0.16` of `core_v0.16.1`."""
    found = re.search(r"\d+(?:\.\d+)?", name)
    return _read_family(name), found[0] if found is not None else name


def find_newest_release(repository: Repository) -> str | None:
    """The final version that was committed last; a candidate only where nothing else was ever tagged."""
    tags = {name.removeprefix("refs/tags/"): oid for name, oid in repository.refs("refs/tags").items()}
    names = [name for name in tags if is_final(name)] or [name for name in tags if is_version(name)]
    dates = _read_dates(repository, [tags[name] for name in names])
    return max(names, key=lambda name: (dates.get(tags[name], 0), name), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The newest release, seen from the pin."""

    name: str
    date: str
    lacks: int
    """Commits of it that the pin has not."""
    past: int
    """Commits of the pin that it has not."""
    is_merged: bool
    """The tip holds it; else it was cut on another branch."""


def find_release(repository: Repository, pin: str, tip: str) -> Release | None:
    """The final version that was committed last, no later than the tip."""
    tags = {name.removeprefix("refs/tags/"): oid for name, oid in repository.refs("refs/tags").items()}
    names = [name for name in tags if is_final(name)]
    dates = _read_dates(repository, [tip, *(tags[name] for name in names)])
    known = [name for name in names if dates.get(tags[name], 0) and dates[tags[name]] <= dates.get(tip, 0)]
    newest = max(known, key=lambda name: (dates[tags[name]], name), default=None)
    if newest is None:
        return None
    commit = tags[newest]
    lacks, past, off = (
        int(repository.git("rev-list", "--count", f"{base}..{end}"))
        for base, end in ((pin, commit), (commit, pin), (tip, commit))
    )
    date = repository.git("log", "-1", "--format=%cs", commit).decode("ascii").strip()
    return Release(name=newest, date=date, lacks=lacks, past=past, is_merged=off == 0)


def find_releases_around(repository: Repository, pin: str, commit: str) -> tuple[str | None, str | None]:
    """The newest final version after the pin that does not hold a commit, and the first that does; both None where none
    does. Versions go by their numbers: an old series is mended long after the next one began.
    """
    tags = {name.removeprefix("refs/tags/"): oid for name, oid in repository.refs("refs/tags").items()}
    held = {name.removeprefix("refs/tags/") for name in repository.refs("refs/tags", holding=commit)}
    dates = _read_dates(repository, [pin, *tags.values()])
    numbers = {name: number for name in tags if is_final(name) and (number := _read_number(name)) is not None}
    with_it = [name for name in numbers if name in held and tags[name] in dates]
    first = min(with_it, key=lambda name: (numbers[name], name), default=None)
    if first is None:
        return None, None
    without = [
        name
        for name in numbers
        if name not in held and dates.get(tags[name], 0) > dates.get(pin, 0) and numbers[name] < numbers[first]
    ]
    family = _read_family(first)  # a commit may be tagged twice, as `core_v1.2` and `v1.2`
    return max(without, key=lambda name: (numbers[name], _read_family(name) == family, name), default=None), first


def _read_family(name: str) -> str:
    """What stands before the number."""
    return re.split(r"\d", name, maxsplit=1)[0]


def _read_number(name: str) -> Version | None:
    found = re.search(r"\d+(?:\.\d+)*(?:\.?post\d+)?", name.rpartition("/")[2])
    return Version(found[0]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBranch:
    """A branch on which a version is being made that no tag names yet."""

    name: str
    commit: str
    date: str
    version: str
    """What its tree declares."""
    lacks: int
    """Commits of it that the pin has not."""
    without: tuple[str, ...] = ()
    """Changes of the tip that matter to the reader and that it does not have, by pull request or hash."""


def find_release_branch(
    repository: Repository, pin: str, tip: str, read_version: Callable[[str], str | None]
) -> ReleaseBranch | None:
    """The newest branch between pin and tip that is called after the version which its own tree declares, and the tip
    does not.
    """
    heads = repository.refs("refs/heads", "refs/remotes")
    names = [name for name in heads if is_version(name)]
    dates = _read_dates(repository, [pin, tip, *(heads[name] for name in names)])
    within = [name for name in names if dates.get(pin, 0) < dates.get(heads[name], 0) <= dates.get(tip, 0)]
    tags = [name.removeprefix("refs/tags/") for name in repository.refs("refs/tags")]
    for name in sorted(within, key=lambda name: (-dates[heads[name]], name))[:_MOST_BRANCHES]:
        commit, series = heads[name], re.findall(r"\d+\.\d+(?:\.\d+)*", name.rpartition("/")[2])
        version = read_version(commit) if series else None
        if version is None or not f"{version}.".startswith((f"{series[-1]}.", f"{series[-1]}rc")):
            continue
        if version == read_version(tip) or any(tag.endswith(version) for tag in tags):
            continue
        lacks, off = (int(repository.git("rev-list", "--count", f"{base}..{commit}")) for base in (pin, tip))
        if lacks and off and not _left_before(repository, commit, (pin, tip)):
            day = repository.git("log", "-1", "--format=%cs", commit).decode("ascii").strip()
            short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/").removeprefix("origin/")
            return ReleaseBranch(name=short, commit=commit, date=day, version=version, lacks=lacks)
    return None


def _left_before(repository: Repository, commit: str, ends: tuple[str, str]) -> bool:
    """Whether a branch left the tip's history before the pin did: going there would be a step back."""
    base = find_merge_base(repository, *ends)
    return base is not None and repository.git("rev-list", "--count", f"{commit}..{base}").strip() != b"0"


def find_other_tags(repository: Repository, base: str, tip: str) -> tuple[str, ...]:
    """Tags on commits that neither holds, dated after `base` and not after `tip`: releases cut on other branches."""
    tags = repository.refs("refs/tags")
    if not tags:
        return ()
    dates = _read_dates(repository, [base, tip, *tags.values()])
    if base not in dates or tip not in dates:
        return ()
    within = {oid for oid, when in dates.items() if dates[base] < when <= dates[tip]}
    held = set(repository.git("rev-list", tip, base).decode("ascii").split()) if within else set()
    found = [(dates[oid], name.removeprefix("refs/tags/")) for name, oid in tags.items() if oid in within - held]
    return tuple(name for _, name in sorted(found))


def _read_dates(repository: Repository, commits: Iterable[str]) -> dict[str, int]:
    """When each commit that is there was made."""
    ask = "\n".join(dict.fromkeys(commits)).encode("ascii")
    if not ask:
        return {}
    out = repository.git("log", "--no-walk=unsorted", "--stdin", "--ignore-missing", "--format=%H %ct", stdin=ask)
    return {oid: int(seconds) for oid, seconds in (line.split() for line in out.decode("ascii").splitlines())}


def _reachable(repository: Repository, commit: str, tagged: set[str]) -> list[str]:
    """Tagged ancestors that no other tagged ancestor contains: the only candidates for nearest."""
    ancestors = [
        oid for oid in repository.git("rev-list", "--topo-order", commit).decode("ascii").split() if oid in tagged
    ]
    # topological order puts descendants first, so a handful at the front decides
    return ancestors[:8]
