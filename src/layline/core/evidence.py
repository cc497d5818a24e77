"""Facts and where they were read. A fact without evidence cannot be built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from layline.core import answers

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a fact was read, exactly enough to read it again."""

    repo: str
    """The https address where one is known, else a name such as `downstream`."""
    commit: str
    """Full hash; short ones grow ambiguous."""
    path: str | None = None
    lines: tuple[int, int] | None = None
    """First and last line, counted from 1."""
    command: str | None = None
    """A command that prints the fact when run inside a clone of `repo`."""

    def __str__(self) -> str:
        place = f"{self.repo}@{self.commit[:12]}"
        if self.path:
            place += f":{self.path}"
        if self.lines:
            place += f":{self.lines[0]}" if self.lines[0] == self.lines[1] else f":{self.lines[0]}-{self.lines[1]}"
        return place

    @property
    def permalink(self) -> str | None:
        """The https address of this place, where the repository has a web address we know how to form."""
        if not self.repo.startswith("https://"):
            return None
        base = self.repo.removesuffix("/").removesuffix(".git")
        if self.path is None:
            return f"{base}/commit/{self.commit}"
        link = f"{base}/blob/{self.commit}/{quote_path(self.path)}"
        if self.lines:
            first, last = self.lines
            link += f"#L{first}" if first == last else f"#L{first}-L{last}"
        return link


def quote_path(path: str) -> str:
    """Percent-encode a repository path for use in a link (RFC 3986 unreserved characters and `/` stay)."""
    keep = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in path.encode("utf-8", "surrogateescape"))


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file in a tree that the context names."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Generic[Value]):
    """One claim with its evidence; never without."""

    name: str
    value: Value
    evidence: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"the fact {self.name!r} has no evidence")


class Severity(StrEnum):
    """How soon a person must look."""

    BREAKS = "breaks"
    LOOK = "look"
    OK = "ok"

    @property
    def word(self) -> str:
        """As people read it; programs get the value."""
        return {"breaks": "error", "look": "warning", "ok": "note"}[self.value]

    @classmethod
    def named(cls, text: str) -> Severity:
        """By either word: `error` or `breaks`."""
        return next(one for one in cls if text in {one.value, one.word})


SEVERITY_WORDS = (*(one.word for one in Severity), *(one.value for one in Severity))
"""What a user may write: the words of the terminal, and those of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A fact that asks someone to act."""

    severity: Severity
    message: str
    evidence: tuple[Evidence, ...] = field(default=())


class SkippedKind(StrEnum):
    """What a thing that was left out is, for whoever counts; the reason is for people."""

    OTHER = "other"
    SOURCE_EDIT = "source-edit"
    """A function that edits upstream's source as text at run time."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read, and why; it is part of the answer."""

    what: str
    why: str
    path: str | None = field(default=None, compare=False)
    """The file, where it is one of a tree that the context names."""
    line: int | None = field(default=None, compare=False)
    evidence: Evidence | None = field(default=None, compare=False)
    """The same place once its tree is known."""
    kind: SkippedKind = field(default=SkippedKind.OTHER, compare=False)

    @classmethod
    def at(cls, path: str, line: int | None, why: str) -> Skipped:
        """A file, or a line of it."""
        return cls(path if line is None else f"{path}:{line}", why, path, line)

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


def locate_skipped(items: Iterable[Skipped], repo: str, commit: str) -> tuple[Skipped, ...]:
    """With the tree that their paths belong to, so that a report can link them."""

    def locate(item: Skipped) -> Skipped:
        if item.path is None:
            return item
        lines = None if item.line is None else (item.line, item.line)
        return replace(item, evidence=Evidence(repo=repo, commit=commit, path=item.path, lines=lines))

    return tuple(locate(item) for item in items)


def encode_skipped(items: Iterable[Skipped]) -> list[answers.Skipped]:
    """As every JSON answer tells them."""
    return [{"what": item.what, "why": item.why} for item in items]
