"""Which commit of upstream's took away a name that a later commit does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from layline.core.why import Reason, Why
from layline.errors import GitError
from layline.git import Blob, Repository
from layline.history.commits import count_commits, read_commits
from layline.history.timeline import Timeline, read_timeline
from layline.source.names import absolute_name, find_files, find_module_files, parents
from layline.source.parsing import find_bound_names
from layline.source.resolve import Resolver
from layline.source.slices import slice_definition
from layline.workspace.past import Past

Places: TypeAlias = tuple[tuple[str, str], ...]
"""Paths with the name that would stand there."""
_AT_ONCE = 32
"""So many versions of a file are read in one exchange with git."""


def tell_removal(name: str, pin: Resolver, tip: Resolver) -> tuple[Why, ...]:
    """Who took a name away before the pin; nothing where no version up to the pin had it."""
    holder = next((one for one in parents(name) if one in pin.index.entries), None)
    part = pin.index.entries[holder].part if holder is not None else 0
    tree, places = pin.index.parts[part].tree, tuple(guess_places(name, pin, part))
    lost = find_losses(tree.repository, tree.commit, tip.index.parts[part].tree.commit, [places])
    return tuple(name_removal(Reason.HAD_UNTIL, commit, tree.repository) for commit in lost.values())


def find_losses(upstream: Repository, pin: str, tip: str, asked: Iterable[Places]) -> dict[Places, str]:
    """Of each name that the pin does not have the commit that took it away: of what a branch of the pin's own repeats,
    the one on the line of the tip.
    """
    found = _look_back(upstream, pin, asked)
    try:
        aside = [places for places, commit in found.items() if count_commits(upstream, commit, tip)[0]]
    except GitError:  # a clone that lacks objects in between
        aside = []
    return found | (_look_back(upstream, tip, aside) if aside else {})


def _look_back(upstream: Repository, commit: str, asked: Iterable[Places]) -> dict[Places, str]:
    past = Past(upstream, commit)
    return past.find_losses(asked, lambda base, asked: find_removals(upstream, base, commit, asked))


def name_removal(reason: Reason, commit: str, upstream: Repository) -> Why:
    found = next(read_commits(upstream, [_find_merged(upstream, commit) or commit]))
    return Why(reason, found.hash[:10], found.date, found.subject)


def _find_merged(upstream: Repository, commit: str) -> str | None:
    """Of a merge that brought one commit: that one, which says what it did, and which `patches list` names."""
    try:
        brought = upstream.git("rev-list", "--no-merges", "--max-count=2", f"{commit}^1..{commit}").split()
    except GitError:  # the first commit has none before it
        return None
    return brought[0].decode("ascii") if len(brought) == 1 else None


def guess_places(target: str, pin: Resolver, part: int) -> Iterator[tuple[str, str]]:
    """Where a target would be defined: paths for every way to split it into module and attributes. Of a member whose
    class the pin does not have either, where the class would be: it may have inherited what it no longer wrote itself.
    """
    roots = pin.index.parts[part].source_roots
    lacking = [name for name in (target, *parents(target)) if not pin.resolve(name).exists]
    for module in parents(target):
        entry = pin.index.entries.get(module)
        outermost = next((name for name in reversed(lacking) if name.startswith(f"{module}.")), target)
        rest = outermost[len(module) + 1 :]
        if entry is not None:
            yield from ((path, rest) for path in find_files(entry.path))
            yield from _follow_owner(module, rest, pin)
            return
        yield from ((path, rest) for path in find_module_files(module, roots))


def _follow_owner(module: str, rest: str, pin: Resolver) -> Iterator[tuple[str, str]]:
    """Of a member whose class the pin has: the files that hand the class on, and the one that defines it."""
    owner, _, member = rest.rpartition(".")
    index, seen = pin.index, {module}
    while owner and "." not in owner and (holder := index.module(module)) is not None:
        item = next((one for one in holder.bound_imports.get(owner, ()) if one.name), None)
        if item is None:
            break
        package = index.entries[module].is_package
        module = absolute_name(module, package=package, level=item.level, name=item.module) or ""
        owner = item.name or ""
        if module in seen or module not in index.entries:
            break
        seen.add(module)
        yield index.entries[module].path, f"{owner}.{member}"
    home = pin.resolve(f"{module}.{owner}") if owner else None
    if home is not None and home.definition is not None and home.module in index.entries:
        yield index.entries[home.module].path, f"{home.definition.qualname}.{member}"


def find_removals(upstream: Repository, base: str | None, tip: str, asked: list[Places]) -> dict[Places, str]:
    """Of each name the commit on a stretch of history that took it away; the stretch is walked once for all."""
    paths = tuple(sorted({path for places in asked for path, _ in places}))
    timeline = read_timeline(upstream, base, tip, paths) if paths else None
    return find_last(timeline, asked, upstream) if timeline is not None else {}


def find_last(timeline: Timeline, asked: list[Places], upstream: Repository) -> dict[Places, str]:
    """Of each name the last commit whose parent still had it in one of its places; nothing of those that no version had."""
    wanted: dict[str, set[str]] = {}
    for path, qualname in (place for places in asked for place in places):
        wanted.setdefault(path, set()).add(qualname)
    had = {
        (path, name): number
        for path, names in wanted.items()
        for name, number in _search(timeline, path, names, upstream)
    }
    numbers = {places: [had[place] for place in places if place in had] for places in asked}
    return {places: timeline.steps[max(found)].commit for places, found in numbers.items() if found}


def _search(timeline: Timeline, path: str, names: set[str], upstream: Repository) -> Iterator[tuple[str, int]]:
    """Names with the last change of a file before which it had them; each version is read once for all of them."""
    changes, left = timeline.by_path.get(path, ())[::-1], set(names)
    for start in range(0, len(changes), _AT_ONCE):
        some = [(number, change.before) for number, change in changes[start : start + _AT_ONCE] if change.before]
        texts = {
            one.oid: one.data for one in upstream.stream_blobs([blob for _, blob in some]) if isinstance(one, Blob)
        }
        for number, blob in some if left else ():
            data = texts[blob] if blob in texts else upstream.read_blob(blob)
            found = {name for name in left if name.rpartition(".")[2].encode() in data and _has(data, name)}
            yield from ((name, number) for name in sorted(found))
            left -= found
        if not left:
            return


def _has(data: bytes, name: str) -> bool:
    """A class that became an import is still there; whether with this member, its own file tells."""
    text = data.decode("utf-8", "replace")
    return slice_definition(text, name) is not None or ("." not in name and _binds_import(text, name))


def _binds_import(text: str, name: str) -> bool:
    return name in text and name in find_bound_names(text.encode("utf-8", "surrogatepass"))
