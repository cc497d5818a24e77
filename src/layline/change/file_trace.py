"""Follows whole files through the history between pin and tip: where a file went, what is imported in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from layline import codec
from layline.change.similarity import compare_lines, compare_names
from layline.core.weak import weakly
from layline.git import Repository
from layline.history.timeline import BlobChange, follows, read_timeline
from layline.source.definitions import Definition, Module
from layline.source.memos import Answers, Memos
from layline.source.parsing import parse_module
from layline.source.seen import Asked, Seen, say_history
from layline.source.slices import read_signature, slice_definition
from layline.source.versions import Versions

T = TypeVar("T")
TESTS = "tests/"
_VERSIONS = 128
"""So many versions of files are remembered: more than one file has between two pins."""


@dataclass(frozen=True, slots=True)
class Version:
    """A file as one commit left it, read when somebody asks for its text; without a blob it is not there.

    What is read is noted: a claim about one definition depends on no commit that changes another.
    """

    tracer: FileTracer
    path: str
    blob: str | None

    @property
    def text(self) -> str:
        self.tracer.note(self.path)
        return self.tracer.read_text(self.blob)

    def ask(self, question: str, make: Callable[[str], T], *, of: str = "") -> T:
        """What follows from the text alone, or from that `of` one definition (`slices.slice_definition`), as a plain
        value: the next tip has this version, too.
        """
        self.tracer.note(self.path, of)
        return self.tracer.ask(self.blob, question, make)

    def slice_definition(self, qualname: str) -> str | None:
        """The lines of one definition."""
        self.tracer.note(self.path, qualname)
        return slice_definition(self.tracer.read_text(self.blob), qualname)

    def read_signature(self, qualname: str) -> Definition | None:
        """The definition without its body (`slices.read_signature`)."""
        self.tracer.note(self.path, qualname)
        return self.tracer.find_signature(self.blob, qualname)


class FileTracer:
    """The history of one pair of commits, read once; versions of files are read as they are needed."""

    def __init__(self, repository: Repository, pin: str, tip: str, versions: Versions | None = None) -> None:
        self.repository = repository
        self.seen = Seen()
        self.memos = Memos()
        """What single steps of the history did: the next tip has them, too."""
        self.answers = Answers()
        """What single versions of files say."""
        self._commits = pin, tip
        self._versions = versions or Versions(repository)
        self.timeline = read_timeline(repository, pin, tip)
        self._texts = lru_cache(maxsize=_VERSIONS)(weakly(self._read_blob))
        self._module = lru_cache(maxsize=256)(weakly(self._parse))
        self.find_signature = lru_cache(maxsize=4096)(weakly(self._find_signature))

    @cached_property
    def diverges(self) -> bool:
        """True of a pin on another line than the tip, as on a release branch."""
        pin, tip = self._commits
        return pin != tip and not follows(self.repository, tip, pin)

    def note(self, path: str, qualname: str = "") -> None:
        """The history of a file, or of one definition there, is read."""
        self.seen.add(Asked.HISTORY, say_history(path, qualname))

    def _changes(self, path: str) -> tuple[tuple[int, BlobChange], ...]:
        self.note(path)
        return self.timeline.by_path.get(path, ())

    def _versions_of(self, path: str, qualname: str = "") -> tuple[tuple[int, BlobChange], ...]:
        """The same for who reads of each version what it notes itself, or one definition alone."""
        found = self.timeline.by_path.get(path, ())
        if qualname or not found:  # of a file that no commit has changed yet the first that does says more
            self.note(path, qualname if found else "")
        return found

    def ask(self, blob: str | None, question: str, make: Callable[[str], T]) -> T:
        """What follows from the text of a version."""
        if blob is None:
            return make("")
        return self.answers.find(blob, question, lambda: make(self.read_text(blob)))

    def follow_file(self, path: str) -> tuple[str | None, tuple[str, ...]]:
        """Where a file went whole (most of its definitions in one new file of the commit that deleted it), hop by hop;
        and the commits that moved it, with the one that removed it where it is gone.
        """
        start = 0
        commits: list[str] = []
        while True:
            losses = [(number, change) for number, change in self._changes(path) if number >= start]
            if not losses or losses[-1][1].after is not None:
                return path, tuple(commits)
            number, change = losses[-1]
            step, gone = self.timeline.steps[number], self._module(change.before)
            commits.append(step.commit)
            added = [item for item in step.changes if item.before is None and item.after is not None]
            ranked = sorted(((self._share(gone, change, item), item.path) for item in added), reverse=True)
            if not ranked or ranked[0][0] < 0.5:
                return None, tuple(commits)
            path, start = ranked[0][1], number + 1

    def find_taken_instead(self, path: str, module: str) -> tuple[str, int, int] | None:
        """What upstream's own files import since the commit that deleted the module at `path`: the module that most of
        them import in its place, how many do, of how many.
        """
        losses = self._changes(path)
        if not losses or losses[-1][1].after is not None:
            return None
        votes: Counter[str] = Counter()
        users = 0
        for change in self.timeline.steps[losses[-1][0]].changes:
            if change.after is None or change.path.startswith(TESTS) or module not in self.read_text(change.before):
                continue
            before, after = (_find_imported(self._module(blob)) for blob in (change.before, change.after))
            if module in before - after:
                users += 1
                votes.update(name for name in after - before if name.partition(".")[0] == module.partition(".")[0])
        (best, number), (_, second) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
        return (best, number, users) if number > 1 and 2 * number > users and number >= 2 * second else None

    def _share(self, gone: Module | None, change: BlobChange, other: BlobChange) -> float:
        if change.before == other.after:
            return 1.0
        there = self._module(other.after)
        if gone is None or there is None:
            return 0.0
        # names alone miss a file that kept its code and gained definitions: git's rule for renames, code lines alone
        lines = compare_lines(self.read_text(change.before), self.read_text(other.after))
        return max(compare_names(gone.names(), there.names()), lines)

    def find_first_version(self, path: str, holds: Callable[[Version], bool]) -> str | None:
        """The same for a claim about a file (empty where it is not there); None where it held on this line before its
        first change: what only the branch of the pin has, no commit took away.
        """
        culprit: str | None = None
        for number, change in reversed(self._versions_of(path)):
            if not holds(Version(self, path, change.after)):
                return culprit
            culprit = self.timeline.steps[number].commit
        return None if self.diverges and culprit and holds(self.find_base(path)) else culprit

    def find_base(self, path: str) -> Version:
        """The file as it was where the line of the tip leaves that of the pin; empty where no commit changed it."""
        changes = self._versions_of(path)
        return Version(self, path, changes[0][1].before if changes else None)

    def _find_signature(self, blob: str | None, qualname: str) -> Definition | None:
        def make(text: str) -> object:
            found = read_signature(text, qualname)
            return codec.encode(found) if found is not None else None

        return codec.decode_kept(Definition, self.ask(blob, f"signature {qualname}", make))

    def read_text(self, blob: str | None) -> str:
        """A version of a file."""
        held = self._texts(blob) if blob is not None else ""
        return held if isinstance(held, str) else held.decode("utf-8-sig", "replace")

    def _read_blob(self, blob: str) -> str | bytes:
        """What is remembered of it: one odd character makes a text four times as large as its bytes."""
        data = self.repository.read_blob(blob)
        return data.decode("ascii") if data.isascii() else data

    def read_module(self, blob: str | None) -> Module | None:
        """What a version of a file binds; None where it is no Python."""
        return self._module(blob)

    def _parse(self, blob: str | None) -> Module | None:
        if blob is None:
            return None
        known = self._versions.find(blob)
        if known is not None:
            return known
        found = parse_module("", self.read_text(blob).encode("utf-8", "surrogatepass"))
        return found if isinstance(found, Module) else None


def _find_imported(module: Module | None) -> set[str]:
    """The modules that a file imports, or imports something from, as it writes them."""
    return {one.module for one in module.imports if one.module and not one.level} if module is not None else set()
