"""Findings → GitHub workflow commands. GitHub shows ten of a kind per step, so the worst come first."""

from __future__ import annotations

from collections.abc import Sequence

from layline.core.evidence import Severity
from layline.core.report import Annotation

_WORDS = {Severity.BREAKS: "error", Severity.LOOK: "warning"}


def render_annotations(findings: Sequence[Annotation], notices: Sequence[str] = ()) -> str:
    """One `::error` or `::warning` line per finding that is neither fine nor accepted, `::notice` for what has no line."""
    lines = [f"::notice::{_data(notice)}" for notice in notices]
    lines += [_line(finding) for finding in findings if finding.severity in _WORDS and finding.accepted is None]
    return "".join(f"{line}\n" for line in lines)


def _line(finding: Annotation) -> str:
    link = finding.upstream.permalink if finding.upstream is not None else None
    message = f"{finding.message} {link}" if link else finding.message
    place = f"file={_property(finding.path)},line={finding.line},title={_property(finding.rule.title)}"
    return f"::{_WORDS[finding.severity]} {place}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
