"""Findings → SARIF 2.1.0 (OASIS), anchored to our lines, the upstream place in the message and as a related
location.
"""

from __future__ import annotations

import json
from typing import Any

from layline.core.evidence import Evidence, Severity, quote_path
from layline.core.report import Annotation, Answer, Rule, Subject

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.BREAKS: "error", Severity.LOOK: "warning", Severity.OK: "note"}
_ROOT = "SRCROOT"


def render_sarif(answer: Answer, *, version: str) -> str:
    """The same bytes for the same answer; findings that are fine are left out, what was skipped becomes
    notifications.
    """
    shown = [finding for finding in answer.findings if finding.severity is not Severity.OK]
    rules = sorted({finding.rule for finding in shown}, key=lambda rule: rule.id)
    driver: dict[str, Any] = {"name": "Layline", "version": version}
    if rules:
        driver["rules"] = [_rule(rule) for rule in rules]
    run: dict[str, Any] = {"tool": {"driver": driver}, **_origin(answer.subject)}
    run |= {
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the downstream."}}},
        "invocations": [_invocation(answer)],
        "results": [_result(finding, rules.index(finding.rule)) for finding in shown],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    first = rule.text.partition(". ")[0].rstrip(".")
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": f"{first}."},
        "fullDescription": {"text": rule.text},
        "help": {"text": f"{rule.text} Kinds and severities: docs/drift.md of Layline."},
        "properties": {"tags": [rule.title]},
    }


def _origin(subject: Subject | None) -> dict[str, Any]:
    """Which version was looked at; an address that is not on the web says nothing to others and is left out."""
    if subject is None:
        return {}
    found: dict[str, Any] = {"automationDetails": {"id": f"layline/{subject.question}/"}}
    if subject.repo.startswith("https://"):
        place = {"repositoryUri": subject.repo, "revisionId": subject.commit, "mappedTo": {"uriBaseId": _ROOT}}
        found["versionControlProvenance"] = [place]
    return found


def _invocation(answer: Answer) -> dict[str, Any]:
    notes = [
        {"level": "warning", "message": {"text": _plain(f"Skipped {item.what}: {item.why}")}}
        for item in answer.report.skipped
    ]
    return {"executionSuccessful": True} | ({"toolExecutionNotifications": notes} if notes else {})


def _result(finding: Annotation, rule: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote_path(finding.path), "uriBaseId": _ROOT},
        "region": {"startLine": finding.line},
    }
    link = finding.upstream.permalink if finding.upstream is not None else None
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(f"{finding.message} Upstream: {link}" if link else finding.message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"layline/v1": finding.id},
    }
    related = _related(finding.upstream)
    if related is not None:
        result["relatedLocations"] = [related]
    if finding.accepted is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.accepted}]
    return result


def _related(upstream: Evidence | None) -> dict[str, Any] | None:
    link = upstream.permalink if upstream is not None else None
    if upstream is None or link is None:
        return None
    place: dict[str, Any] = {"artifactLocation": {"uri": link.partition("#")[0]}}
    if upstream.lines:
        place["region"] = {"startLine": upstream.lines[0], "endLine": upstream.lines[1]}
    return {"physicalLocation": place, "message": {"text": f"Upstream at {upstream.commit[:12]}."}}


def _plain(text: str) -> str:
    """A message without anything that reads as an embedded link, `[text](target)`."""
    return text.replace("](", "] (")
