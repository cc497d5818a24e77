"""What upstream did about a word since the pin: changes whose title or files name it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline import codec
from layline.core.patterns import Classes
from layline.core.word import Word
from layline.gap.already import mark_known
from layline.gap.areas import area_classes
from layline.gap.changes import UpstreamChange, build_changes, mark_lost
from layline.gap.churn import CODE, DEFAULT_CHURN_CLASSES
from layline.gap.novelty import is_novelty
from layline.history.commits import read_commit, read_log
from layline.history.touched import read_touched_files
from layline.source.tree import Tree
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.gap.endpoints import Endpoints
    from layline.git import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Touching:
    """One change with the code files it touched."""

    change: UpstreamChange
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """All that can match, and how many commits cannot."""

    changes: tuple[Touching, ...]
    reverted: int
    housekeeping: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One change that names the word."""

    change: UpstreamChange
    in_title: bool
    paths: tuple[str, ...]
    """Files it touched whose path names the word."""

    @property
    def is_new(self) -> bool:
        """Its title says that it brings something, and the pin does not have it."""
        return self.in_title and not self.change.is_known and is_novelty(self.change)


def read_searched(upstream: Repository, backend: Backend, ends: Endpoints) -> Searched:
    """Every change between pin and tip; the two stay as they are, so what was read once is kept."""
    results = Results("gap-find")
    key = result_key(upstream.name, codec.encode(ends), codec.encode(dict(backend.areas)))
    found = results.load(key, lambda plain: codec.decode(Searched, plain, where="cache"))
    if found is None:
        found = _read(upstream, backend, ends)
        results.store(key, codec.encode(found))
    return found


def _read(upstream: Repository, backend: Backend, ends: Endpoints) -> Searched:
    touched = read_touched_files(upstream, ends.pin, ends.tip)
    log = read_log(upstream, ends.pin, ends.tip)
    sides = (frozenset(Tree(upstream, commit).entries) for commit in (ends.pin, ends.tip))
    lost = mark_lost(build_changes(log, touched, area_classes(backend.areas), frozenset()), touched, *sides)
    found = mark_known(lost, touched, read_commit(upstream, ends.pin), upstream.read_file)
    classes = Classes(DEFAULT_CHURN_CLASSES, rest=CODE)
    changes = []
    for change in found.kept:
        paths = {path for commit in change.commits for path in touched.get(commit, ()) if classes.of(path) == CODE}
        changes.append(Touching(change=change, paths=tuple(sorted(paths))))
    return Searched(changes=tuple(changes), reverted=found.reverted, housekeeping=found.housekeeping)


def find_matches(changes: Iterable[Touching], word: str) -> list[Match]:
    """Those that name the word, as `patches find` reads it: what brings something first, then titles, then files."""
    wanted = Word(word)
    found = []
    for one in changes:
        paths = tuple(path for path in one.paths if wanted.stands_in(path))
        in_title = wanted.stands_in(one.change.title)
        if not one.change.is_lost and (in_title or paths):
            found.append(Match(change=one.change, in_title=in_title, paths=paths))
    found.sort(key=lambda match: match.change.date, reverse=True)
    found.sort(key=lambda match: (not match.is_new, not match.in_title, -match.change.brings))
    return found
