"""SARIF logs keep the rules we promise; the checker of the rules itself is tried on logs that break each of them."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from layline.core.evidence import Evidence, Severity, Skipped
from layline.core.report import Annotation, Answer, Report, Rule, Subject
from layline.render.sarif import render_sarif
from sarif_rules import RULES, find_violations

COMMIT = "0123456789" * 4
REMOVED = Rule(id="DRIFT105", name="TargetRemoved", title="drift/removed", text="Nothing is it. It does nothing.")
CALLS = Rule(id="DRIFT121", name="CallMisfits", title="drift/calls", text="A call does not bind.")


def build_answer(*findings: Annotation, repo: str = "https://example.org/harbour") -> Answer:
    report = Report(title="t", sections=(), skipped=(Skipped("keel/odd.py", "not UTF-8"),))
    subject = Subject(repo=repo, commit=COMMIT, question="patches-drift/keel")
    return Answer(report=report, data={}, findings=findings, subject=subject)


def finding(rule: Rule, severity: Severity, path: str = "harbour/a b.py", accepted: str | None = None) -> Annotation:
    upstream = Evidence(repo="https://example.org/keel", commit=COMMIT, path="keel/run.py", lines=(3, 9))
    return Annotation(
        id="drift-1",
        rule=rule,
        severity=severity,
        message="keel.TABLE[x](y) is gone.",
        path=path,
        line=7,
        upstream=upstream,
        accepted=accepted,
    )


FINDINGS = (
    finding(CALLS, Severity.BREAKS),
    finding(REMOVED, Severity.LOOK, path="harbour/ümlaut%.py"),
    finding(REMOVED, Severity.BREAKS, accepted="ported soon (until 2026-12-31)"),
)


def read_log(*findings: Annotation) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(render_sarif(build_answer(*findings), version="0.1.0"))
    return log


@pytest.mark.parametrize("findings", [(), FINDINGS[:1], FINDINGS], ids=["none", "one", "all"])
def test_the_promised_rules_hold(findings: tuple[Annotation, ...]) -> None:
    assert list(find_violations(read_log(*findings))) == []


def test_a_result_names_our_line_and_links_upstream() -> None:
    first, _, accepted = read_log(*FINDINGS)["runs"][0]["results"]

    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "harbour/a%20b.py", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 7},
    }
    link = f"https://example.org/keel/blob/{COMMIT}/keel/run.py#L3-L9"
    assert first["message"]["text"] == f"keel.TABLE[x] (y) is gone. Upstream: {link}"  # no embedded link by accident
    assert accepted["suppressions"] == [{"kind": "external", "justification": "ported soon (until 2026-12-31)"}]


def test_what_was_skipped_is_told() -> None:
    (invocation,) = read_log()["runs"][0]["invocations"]
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "Skipped keel/odd.py: not UTF-8"
    ]


def test_a_repository_without_web_address_is_not_published() -> None:
    run = json.loads(render_sarif(build_answer(*FINDINGS, repo="downstream"), version="0.1.0"))["runs"][0]
    assert "versionControlProvenance" not in run


def _set(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(log: Any) -> None:
        for key in path[:-1]:
            log = log[key]
        log[path[-1]] = value

    return change


_RESULT = ("runs", 0, "results", 0)
_PLACE = (*_RESULT, "locations", 0, "physicalLocation")
_DRIVER = ("runs", 0, "tool", "driver")
BREAKS = {
    "SARIF1001": _set(*_DRIVER, "rules", 0, "name", value="DRIFT105"),
    "SARIF1002": _set(*_PLACE, "artifactLocation", "uri", value="a b.py"),
    "SARIF1004": _set(*_PLACE, "artifactLocation", "uri", value="https://example.org/a.py"),
    "SARIF1005": _set(*_DRIVER, "informationUri", value="docs/drift.md"),
    "SARIF1007": _set(*_PLACE, "region", value={"startLine": 0}),
    "SARIF1009": _set(*_RESULT, "ruleIndex", value=7),
    "SARIF1010": _set(*_RESULT, "ruleId", value=""),
    "SARIF1011": _set("$schema", value="https://example.org/sarif-2.0.0.json"),
    "SARIF2001": _set(*_DRIVER, "rules", 0, "fullDescription", value={"text": "No period"}),
    "SARIF2003": _set("runs", 0, "versionControlProvenance", value=[{"revisionId": "main"}]),
    "SARIF2004": _set(*_DRIVER, "rules", value=[{"id": "DRIFT105"}, {"id": "DRIFT121"}]),
    "SARIF2005": _set(*_DRIVER, "version", value="dev"),
    "SARIF2007": _set(*_PLACE, "artifactLocation", "uriBaseId", value="ELSEWHERE"),
    "SARIF2008": lambda log: log.pop("$schema"),
    "SARIF2009": _set(*_DRIVER, "rules", 0, "id", value="drift/removed"),
    "SARIF2012": _set(*_DRIVER, "rules", 0, "name", value="target removed"),
    "SARIF2016": _set(*_PLACE, "artifactLocation", "uri", value="harbour\\a.py"),
    "SARIF2017": lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"].pop("region"),
    "GH1001": _set(*_RESULT, "locations", value=[]),
    "GH1004": _set("runs", value=[{"tool": {"driver": {"name": "x", "version": "1"}}}] * 6),
    "GH1007": _set(*_RESULT, "message", value={"id": "default"}),
    "NEVER_WRITTEN": _set(*_RESULT, "codeFlows", value=[]),
}


@pytest.mark.parametrize("rule", sorted(BREAKS))
def test_the_checker_sees_a_broken_rule(rule: str) -> None:
    log = copy.deepcopy(read_log(*FINDINGS))
    BREAKS[rule](log)

    (check,) = (item for item in RULES if item.__name__.upper() == rule)
    assert list(check(log))


def test_every_rule_has_a_log_that_breaks_it() -> None:
    assert {rule.__name__.upper() for rule in RULES} == set(BREAKS)


@pytest.mark.real
def test_logs_are_valid_by_the_official_schema() -> None:
    schema = os.environ.get("LAYLINE_REAL_SARIF_SCHEMA")
    if not schema:
        pytest.skip("LAYLINE_REAL_SARIF_SCHEMA is not set")
    import jsonschema

    validator = jsonschema.Draft4Validator(json.loads(Path(schema).read_text(encoding="utf-8")))
    for findings in ((), FINDINGS):
        assert [error.message for error in validator.iter_errors(read_log(*findings))] == []
