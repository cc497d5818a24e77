"""Findings → SARIF 2.1.0 (OASIS), anchored to our lines, the upstream place as a related location."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from layline.core.evidence import Evidence, Severity, quote_path
from layline.core.report import Finding

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.BREAKS: "error", Severity.LOOK: "warning", Severity.OK: "note"}


def render_sarif(findings: Sequence[Finding], *, version: str) -> str:
    """The same bytes for the same findings; fine ones are left out."""
    shown = [finding for finding in findings if finding.severity is not Severity.OK]
    rules = sorted({finding.rule for finding in shown})
    driver = {"name": "layline", "version": version, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"description": {"text": "The root of the downstream."}}},
        "results": [_result(finding, rules.index(finding.rule)) for finding in shown],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    return {"id": name, "shortDescription": {"text": f"Patch target: {name.rpartition('/')[2].replace('-', ' ')}"}}


def _result(finding: Finding, rule: int) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": quote_path(finding.path), "uriBaseId": "SRCROOT"}, "region": {"startLine": finding.line}}  # fmt: skip
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
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
    return {"physicalLocation": place, "message": {"text": "upstream"}}
