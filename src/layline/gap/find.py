"""What upstream did about a word since the pin: changes whose title or files name it, or that add or remove uses of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
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
from layline.workspace.kept import Results, find_kept, result_key

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
class InCode:
    """What a change does to a name: files of code that use it more often since, and less often."""

    adds: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """What several commits do to a name, as it is kept."""

    commits: Mapping[str, InCode]


NOWHERE = InCode()
_NO_CODE: Mapping[str, InCode] = {}
_WORDS = re.compile(r"\w{3,}")
_HASH = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One change that names the word."""

    change: UpstreamChange
    in_title: bool
    paths: tuple[str, ...]
    """Files it touched whose path names the word."""
    code: InCode = NOWHERE
    is_asked: bool = False
    """The word is its number or the beginning of its hash."""

    @property
    def is_new(self) -> bool:
        """Its title says that it brings something, and the pin does not have it."""
        kept = not self.change.is_lost and not self.change.is_known
        return self.in_title and kept and is_novelty(self.change)


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


def find_matches(changes: Iterable[Touching], word: str, code: Mapping[str, InCode] = _NO_CODE) -> list[Match]:
    """Those that name the word, as `patches find` reads it: titles that spell a name of code as it is asked for, then
    what brings something, then titles, files and code, and last what the tip no longer has. `code`: commits with what
    they do to the name.
    """
    wanted, spelled = Word(word), is_name(word)
    found = []
    for one in changes:
        paths = tuple(path for path in one.paths if wanted.stands_in(path))
        in_title = wanted.stands_in(one.change.title)
        done = [code[commit] for commit in one.change.commits if commit in code]
        inside = InCode(
            adds=tuple(sorted({path for each in done for path in each.adds})),
            removes=tuple(sorted({path for each in done for path in each.removes})),
        )
        is_asked = _is_called(one.change, word)
        if is_asked or in_title or paths or done:
            found.append(Match(change=one.change, in_title=in_title, paths=paths, code=inside, is_asked=is_asked))
    found.sort(key=lambda match: match.change.date, reverse=True)
    found.sort(
        key=lambda match: (
            not match.is_asked,
            match.change.is_lost,
            not (spelled and word in match.change.title),
            not match.is_new,
            not match.in_title,
            not match.paths,
            -match.change.brings,
        )
    )
    return found


def _is_called(change: UpstreamChange, word: str) -> bool:
    """`#3496`, `3496`, or at least seven digits of a commit's hash."""
    if change.number is not None and word.removeprefix("#") == str(change.number):
        return True
    return _HASH.fullmatch(word) is not None and any(commit.startswith(word) for commit in change.commits)


def find_near_word(changes: Iterable[Touching], word: str) -> str | None:
    """The word of a title or a path that comes closest to one that nothing matches."""
    texts = (text for one in changes for text in (one.change.title, *one.paths))
    known = {part for text in texts for part in _WORDS.findall(text) if part.lower() != word.lower()}
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.75)
    return near[0] if near else None


def is_name(word: str) -> bool:
    """Spelled as only code spells it: with an underscore or a capital inside."""
    return word.isidentifier() and len(word) > 2 and ("_" in word.strip("_") or not word[1:].islower())


def find_in_code(upstream: Repository, ends: Endpoints, name: str) -> Mapping[str, InCode]:
    """Commits between pin and tip after which a file of code uses a name more often or less often; they stay as they
    are, so what was found once is kept.
    """
    inputs = upstream.name, upstream.is_shallow, ends.pin, ends.tip, name
    return find_kept(_Found, "gap-uses", lambda: _Found(_search(upstream, ends, name)), *inputs).commits


def _search(upstream: Repository, ends: Endpoints, name: str) -> dict[str, InCode]:
    out = upstream.git(
        "log", "-z", "--no-renames", "--name-only", "--format=%x01%H", f"-S{name}", f"{ends.pin}..{ends.tip}"
    )
    word, classes = re.compile(rb"\b%s\b" % re.escape(name.encode())), Classes(DEFAULT_CHURN_CLASSES, rest=CODE)

    def number(commit: str, path: str) -> int:
        return len(word.findall(upstream.read_file(commit, path) or b""))

    found: dict[str, InCode] = {}
    for block in out.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        commit, _, rest = block.partition("\0")
        paths = [path for path in rest.lstrip("\n").split("\0") if path and classes.of(path) == CODE]
        sides = [(path, number(f"{commit}^", path), number(commit, path)) for path in paths]
        adds = tuple(path for path, before, after in sides if after > before)
        removes = tuple(path for path, before, after in sides if before > after)
        if adds or removes:
            found[commit] = InCode(adds=adds, removes=removes)
    return found
