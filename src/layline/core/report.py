"""A report: facts in reading order, plus what was skipped. Renderers turn it into text, Markdown, HTML, PDF."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layline.core.evidence import Alert, Evidence, Severity, Skipped
from layline.core.listing import Listing


@dataclass(frozen=True, slots=True)
class Cell:
    """One piece of text with an optional place it comes from; `code` asks for a monospaced face."""

    text: str
    evidence: Evidence | None = None
    code: bool = False
    link: str | None = None
    """An https address or a path relative to the report; only used when there is no evidence permalink."""


Inline: TypeAlias = str | Cell | tuple[str | Cell, ...]
"""Text as it stands in a sentence or a table cell. Plain strings are literal text, never markup."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: Inline


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[Inline, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """A block shown as it is; `language` only selects highlighting."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]
    numeric: frozenset[int] = frozenset()
    """Columns aligned to the right."""
    caption: str | None = None
    more: int = 0
    """Rows left out; the renderer says so and where they are."""
    more_where: str = "the evidence file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A small vector drawing; the renderer of `render.charts` knows each kind."""

    kind: str
    title: str
    series: tuple[tuple[str, tuple[tuple[float | str, float], ...]], ...]
    unit: str = ""


Block: TypeAlias = Paragraph | Bullets | Code | Table | Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    blocks: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    folded: bool = False
    """Shown by its title alone until a reader opens it; on paper it stands open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Facts in reading order; pure data, the same for every renderer."""

    title: str
    sections: tuple[Section, ...]
    alerts: tuple[Alert, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    meta: tuple[tuple[str, str], ...] = field(default=())
    """Header lines such as project, commit, date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of finding, for machines that group findings by it."""

    id: str
    """Stable and opaque: capitals and digits, such as `DRIFT104`."""
    name: str
    """In PascalCase, for people."""
    title: str
    """A few words, such as `drift/removed`."""
    text: str
    """What it means, in whole sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What findings are about: the commit whose lines they name, and which question was asked of it."""

    repo: str
    commit: str
    question: str
    """Such as `patches-drift/megatron`; uploads of different questions do not replace one another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One thing about one line of *ours*, for machines that annotate code."""

    id: str
    """Stable while the finding is the same; lines may move."""
    rule: Rule
    severity: Severity
    message: str
    path: str
    line: int
    upstream: Evidence | None = None
    """The upstream place it is about."""
    accepted: str | None = None
    """The reason why it was accepted, where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What every function returns: one report for people, the same facts as data for programs."""

    report: Report
    data: Mapping[str, Any]
    """Plain JSON values; the first key is `schema`."""
    needs_person: bool = False
    """Makes drift, verify, audit and check exit with 1."""
    findings: tuple[Annotation, ...] = ()
    """For `--format sarif|github`; worst first."""
    notices: tuple[str, ...] = ()
    """For `--format github`: what belongs to no line of ours."""
    subject: Subject | None = None
    """What the findings are about."""
    listing: Listing | None = None
    """What a terminal shows instead of the report, where the rows are places of ours."""
