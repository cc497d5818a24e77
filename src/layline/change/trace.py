"""Follows definitions through the history between pin and tip: who moved it, who removed it, since when does it differ.

tracer = Tracer(upstream, pin, tip)
tracer.follow("megatron/training/training.py", "train_step")          # → Trail: hops, where it ends, who lost it
tracer.find_first("a.py", "f", lambda definition: definition is None)  # first commit since which the claim holds
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from layline import codec
from layline.change.file_trace import TESTS, FileTracer, Version
from layline.change.signatures import compare_signatures
from layline.change.similarity import (
    SMALL,
    Shingles,
    compare_counts,
    compare_names,
    compare_shingles,
    count_shared,
    read_shingles,
    share_count,
    share_kept,
)
from layline.core.evidence import Skipped
from layline.core.weak import weakly
from layline.git import Repository
from layline.history.timeline import BlobChange, TimelineCommit
from layline.source.definitions import Definition, DefinitionKind
from layline.source.parsing import parse_tree
from layline.source.slices import read_definition, slice_definition
from layline.source.versions import Versions
from layline.source.walking import walk

_MANY_FILES = 400
"""A commit that touches more files than this (a mass reformatting, an import of a tree) is not searched for renames."""
_KEPT = 0.3
"""In the very commit that moves it, a definition of the same name stays at least this alike."""
_RENAMED = 0.6
_LEFT = 0.9
_MERGED = 0.7
"""This much of a definition is found in what it was merged into."""
_SIBLING = 0.5
"""Definitions that were merged were at least this alike."""


@dataclass(frozen=True, slots=True)
class TracedDefinition:
    """A definition in a tree that the context names."""

    path: str
    qualname: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One commit that moved or renamed the definition."""

    commit: str
    origin: TracedDefinition
    arrival: TracedDefinition
    similarity: float
    """How alike the bodies are; of a merger, how much of the old body is found in the new one."""
    is_merger: bool = False
    """Several near copies of the name became one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What history did to one definition of the pin."""

    hops: tuple[Hop, ...] = ()
    end: TracedDefinition | None = None
    """Where it is at the tip; None: it was removed."""
    lost_in: str | None = None
    """The commit that removed it."""
    last: Shingles | None = None
    """Its body as it was just before it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrived:
    """What one commit made of a definition that it took out of a file."""

    hop: Hop | None = None


@dataclass(frozen=True, slots=True)
class _Arrival:
    """Something a commit added, held against what it took out."""

    place: TracedDefinition
    alike: float
    kept: float
    """How much of the old body is found in it."""
    same_name: bool
    size: int
    left: float = 0.0
    """How much of it was in the old body: 1 where it is what an edit left over."""
    traits: float = 0.0
    """How alike the parameter names are."""

    def find_order(self, origin: TracedDefinition) -> tuple[float, bool, bool, str]:
        """The likeliest first: of equal bodies the one that kept its name, then the one in the same file."""
        return -self.alike, not self.same_name, self.place.path != origin.path, self.place.path


class Tracer(FileTracer):
    """Answers about definitions between one pair of commits; reads the history once and blobs as they are needed."""

    def __init__(self, repository: Repository, pin: str, tip: str, versions: Versions | None = None) -> None:
        super().__init__(repository, pin, tip, versions)
        self._tree = lru_cache(maxsize=6)(weakly(self._parse_tree))
        self._shingles = lru_cache(maxsize=8192)(weakly(self._read_shingles))
        self._definition = lru_cache(maxsize=8192)(weakly(self._read_definition))

    def follow(self, path: str, qualname: str) -> Trail:
        """Where the definition went, commit by commit. Members are followed with their class."""
        place, start = TracedDefinition(path, qualname), 0
        hops: list[Hop] = []
        while True:
            lost = self._find_loss(place, start)
            if lost is None:
                return Trail(hops=tuple(hops), end=place)
            number, change = lost
            hop = self._find_arrival(number, change, place)
            if hop is None or len(hops) > 50:
                commit = self.timeline.steps[number].commit
                return Trail(hops=tuple(hops), lost_in=commit, last=self._shingles(change.before, place.qualname))
            hops.append(hop)
            place, start = hop.arrival, number + 1

    def find_versions(self, path: str, qualname: str) -> Iterator[tuple[str, Version, str]]:
        """Every version on the way of a definition, wherever it stands then: the commit, its file, its name there. A
        member goes with its class.
        """
        owner, _, member = qualname.rpartition(".")
        with self.seen.within(set()):  # the class is there where its member is: that is noted
            trail, start = self.follow(path, owner or member), 0
        numbers = {step.commit: number for number, step in enumerate(self.timeline.steps)}
        legs = [(hop.origin, numbers[hop.commit]) for hop in trail.hops]
        last = numbers[trail.lost_in] + 1 if trail.lost_in else len(numbers)
        place = trail.hops[-1].arrival if trail.hops else TracedDefinition(path, owner or member)
        for there, end in (*legs, (place, last)):
            name = f"{there.qualname}.{member}" if owner else there.qualname
            for number, change in self._versions_of(there.path, name):
                if start <= number < end:
                    yield self.timeline.steps[number].commit, Version(self, there.path, change.after), name
            start = end

    def find_reshaping(self, path: str, qualname: str, pin: Definition) -> Iterator[str]:
        """The commits after which a call that was right before them may be wrong, one after the other."""
        before = pin
        for commit, version, name in self.find_versions(path, qualname):
            now = version.read_signature(name)
            if now is not None:
                if any(one.may_break for one in compare_signatures(before, now)):
                    yield commit
                before = now

    def find_since(self, path: str, qualname: str, holds: Callable[[Version, str], bool]) -> str | None:
        """The first commit from which on a claim about the definition (its file, its name there) holds
        without a break, wherever it stands by then; None where it held before the first of them.
        """
        culprit: str | None = None
        held = self.diverges and holds(self.find_base(path), qualname)
        for commit, version, name in self.find_versions(path, qualname):
            if not holds(version, name):
                culprit, held = None, False
            elif not held:
                culprit = culprit or commit
        return culprit

    def find_first(self, path: str, qualname: str, holds: Callable[[Definition | None], bool]) -> str | None:
        """The first commit from which on the claim about the definition at `path` holds without a break up to the
        tip.
        """
        return self.find_first_version(path, lambda version: holds(read_definition(version.text, qualname)))

    def find_first_change(self, path: str, qualname: str, pin: Definition) -> str | None:
        """The first commit since whose version the body has never again been written as it was at the pin."""
        changes = self._versions_of(path, qualname)
        if not changes:
            return None
        origin = slice_definition(self.read_text(changes[0][1].before), qualname)
        cuts = [slice_definition(self.read_text(change.after), qualname) for _, change in changes]
        start = max((number for number, cut in enumerate(cuts) if cut == origin), default=-1) + 1
        for number, change in changes[start:]:
            now = read_definition(self.read_text(change.after), qualname)
            if now is None or (now.fingerprint, now.bases) != (pin.fingerprint, pin.bases):
                return self.timeline.steps[number].commit
        return None

    def _find_loss(self, place: TracedDefinition, start: int) -> tuple[int, BlobChange] | None:
        """The last time, from step `start` on, that a commit took the definition out of its file."""
        changes = [one for one in self._changes(place.path) if one[0] >= start]
        blobs = [change.after for _, change in changes]
        if not blobs:
            return None
        key = self.memos.key("loss", place.qualname, blobs)
        found = self.memos.find(
            f"loss of {place.qualname}", key, lambda: {"at": self._find_gone(blobs, place.qualname)}
        )
        return changes[found["at"]] if found["at"] is not None else None

    def _find_gone(self, blobs: list[str | None], qualname: str) -> int | None:
        """Since which of these versions of a file it has no such name."""
        gone: int | None = None
        for number, blob in enumerate(blobs):
            if self._has(blob, qualname):
                gone = None  # it came back: a revert is not a removal
            elif gone is None:
                gone = number
        return gone

    def _has(self, blob: str | None, qualname: str) -> bool:
        text = self.read_text(blob)
        if slice_definition(text, qualname) is not None:
            return True
        module = self._module(blob) if qualname.rpartition(".")[2] in text else None
        return module is not None and bool(module.find(qualname))  # the text knows the word: ask the parser

    def _find_arrival(self, number: int, change: BlobChange, place: TracedDefinition) -> Hop | None:
        """Where the commit that took it out put it, if it did: whatever follows, that stays so."""
        step = self.timeline.steps[number]
        told = [[one.path, one.before, one.after] for one in step.changes]
        key = self.memos.key("arrival", told, place.path, place.qualname)
        found = codec.decode_kept(
            _Arrived,
            self.memos.find(
                f"arrival of {place.qualname}",
                key,
                lambda: codec.encode(_Arrived(hop=self._search_arrival(step, change, place))),
            ),
        )
        hop = found.hop if found is not None else self._search_arrival(step, change, place)
        return replace(hop, commit=step.commit) if hop is not None else None

    def _search_arrival(self, step: TimelineCommit, change: BlobChange, place: TracedDefinition) -> Hop | None:
        gone = read_definition(self.read_text(change.before), place.qualname)
        body = self._shingles(change.before, place.qualname)
        if gone is None or body is None or len(step.changes) > _MANY_FILES:
            return None
        self._versions.read(_find_blobs(step))
        ranked = sorted(self._rank(step, gone, place, body), key=lambda item: item.find_order(place))
        for rank, item in enumerate(ranked[:3]):
            runner_up = max((other.alike for other in ranked[rank + 1 :]), default=0.0)
            if _is_move(item, place, runner_up) and not self._has_rival(step.changes, place, item):
                return Hop(commit=step.commit, origin=place, arrival=item.place, similarity=round(item.alike, 3))
        merged = self._find_merger(step, place, body, ranked)
        if merged is not None:
            return Hop(
                commit=step.commit, origin=place, arrival=merged.place, similarity=round(merged.kept, 3), is_merger=True
            )
        return None

    def _find_merger(
        self, step: TimelineCommit, place: TracedDefinition, body: Shingles, ranked: list[_Arrival]
    ) -> _Arrival | None:
        """Several near copies of one name made into one of another name: a sibling moved there, most of ours is there
        too.
        """
        renamed = (item for item in ranked if not item.same_name)
        best = max(renamed, key=lambda item: (item.kept, item.place.path), default=None)
        if best is None or best.kept < _MERGED or best.size < 2 * SMALL or "." in place.qualname:
            return None
        arrival = next(
            (self._shingles(one.after, best.place.qualname) for one in step.changes if one.path == best.place.path),
            None,
        )
        for other in step.changes if arrival is not None else ():
            if other.path == place.path or slice_definition(self.read_text(other.before), place.qualname) is None:
                continue
            sibling = self._shingles(other.before, place.qualname)
            is_gone = slice_definition(self.read_text(other.after), place.qualname) is None
            if sibling is None or arrival is None or not is_gone or compare_shingles(body, sibling) < _SIBLING:
                continue
            there = _Arrival(
                best.place, compare_shingles(sibling, arrival), share_kept(sibling, arrival), False, sibling.total()
            )
            if _is_move(there, TracedDefinition(other.path, place.qualname), 0.0):
                return best
        return None

    def _rank(
        self, step: TimelineCommit, gone: Definition, place: TracedDefinition, body: Shingles
    ) -> Iterator[_Arrival]:
        """Everything the commit adds that could be what it took out."""
        for other in step.changes:
            for there in self._find_new(other, gone):
                arrival = self._shingles(other.after, there)
                if arrival is not None:
                    same = there.rpartition(".")[2] == gone.name and ("." in there) == ("." in place.qualname)
                    size, shared = min(body.total(), arrival.total()), count_shared(body, arrival)
                    yield _Arrival(
                        TracedDefinition(other.path, there),
                        compare_counts(shared, body, arrival),
                        share_count(shared, body),
                        same,
                        size,
                        share_count(shared, arrival),
                        _compare_parameters(gone, self._definition(other.after, there)),
                    )

    def _find_new(self, change: BlobChange, gone: Definition) -> Iterator[str]:
        """Qualified names that the change adds to its file and that could be `gone`."""
        if not self.read_text(change.after) or change.path.startswith(TESTS):
            return
        here, before = self._module(change.after), self._module(change.before)
        for qualname in here.names() if here is not None else ():
            if before is not None and before.has(qualname):
                continue
            found = here.best(qualname) if here is not None else None
            if found is None or found.kind is not gone.kind:
                continue
            if _is_plausible(found, gone):
                yield qualname

    def _has_rival(self, changes: tuple[BlobChange, ...], place: TracedDefinition, best: _Arrival) -> bool:
        """True if another definition that the commit removes is more like the arrival than ours."""
        name = best.place.qualname
        arrival_change = next((item for item in changes if item.path == best.place.path), None)
        arrival = self._shingles(arrival_change.after, name) if arrival_change is not None else None
        last = name.rpartition(".")[2]
        word = re.compile(rf"\b{re.escape(last)}\b")
        for other in changes:
            if other.path == place.path or other.before is None or arrival is None:
                continue
            text = self.read_text(other.before)
            if (
                last not in text
                or not word.search(text)
                or slice_definition(self.read_text(other.after), name) is not None
            ):
                continue
            theirs = self._shingles(other.before, name)
            if theirs is not None and compare_shingles(theirs, arrival) > best.alike + 0.02:
                return True
        return False

    def _read_definition(self, blob: str | None, qualname: str) -> Definition | None:
        return read_definition(self.read_text(blob), qualname)

    def _read_shingles(self, blob: str | None, qualname: str) -> Shingles | None:
        module = self._module(blob)
        found = module.best(qualname) if module is not None else None
        tree = self._tree(blob) if found is not None else None
        if found is None or tree is None:
            return None
        for node in walk(tree):
            if (
                isinstance(node, ast.stmt)
                and node.lineno == found.line
                and getattr(node, "name", found.name) == found.name
            ):
                return read_shingles(node)
        return None

    def _parse_tree(self, blob: str | None) -> ast.Module | None:
        if blob is None:
            return None
        found = parse_tree("", self.read_text(blob).encode("utf-8", "surrogatepass"))
        return None if isinstance(found, Skipped) else found


def _find_blobs(step: TimelineCommit) -> Iterator[str]:
    """Versions of the files that a commit may have put something into."""
    for change in step.changes:
        if change.after is not None and not change.path.startswith(TESTS):
            yield from (blob for blob in (change.before, change.after) if blob is not None)


def _is_move(item: _Arrival, place: TracedDefinition, runner_up: float) -> bool:
    """Whether the arrival is what the commit took out; members share their names with strangers, so theirs count for
    less.
    """
    if item.same_name and "." not in place.qualname:
        return item.alike >= _KEPT or item.size < SMALL
    if item.size < SMALL:
        return item.alike == 1.0 and item.place.path == place.path
    # under another name: much alike, or most of it kept in something larger with nothing else near
    grown = item.alike >= 0.45 and item.kept >= 0.7 and item.size >= 2 * SMALL and item.alike - runner_up >= 0.1
    # what is left in the same file after most of it was cut: nothing new in it, and called in the same way
    shrunk = item.left >= _LEFT and item.traits >= _RENAMED and item.place.path == place.path
    # in the same file: most of it kept in something larger, and everything else far from it
    inside = item.kept >= 0.7 and item.alike >= _KEPT and item.alike - runner_up >= 0.2 and item.size >= 2 * SMALL
    return item.alike >= _RENAMED or grown or shrunk or (inside and item.place.path == place.path)


def _is_plausible(found: Definition, gone: Definition) -> bool:
    """Another name is worth a closer look only where the signature says that it may be the same thing."""
    if found.name == gone.name or found.fingerprint == gone.fingerprint or gone.parameters is None:
        return True
    return _compare_parameters(gone, found) >= 0.4


def _compare_parameters(one: Definition, two: Definition | None) -> float:
    if one.parameters is None or two is None or two.parameters is None:
        return 0.0
    return compare_names((item.name for item in one.parameters), (item.name for item in two.parameters))


def is_followable(definition: Definition) -> bool:
    """Functions and classes have bodies to recognise them by; assignments only their name."""
    return definition.kind in {DefinitionKind.FUNCTION, DefinitionKind.CLASS}
