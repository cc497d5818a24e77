"""`gap verify`: what holds, what was tampered with, what cannot be reached."""

from __future__ import annotations

import json
from pathlib import Path

from commands import Result, layline
from layered import make_layered

RECORD = "docs/backend-gap/dashboard-data/reports/keel-upstream-main.json"
EVIDENCE = "docs/backend-gap/dashboard-data/evidence/keel-upstream-main.json"
REPORT = "docs/backend-gap/reports/keel/upstream-main/report.md"


def make_report(root: Path) -> None:
    make_layered(root)
    assert layline("gap", "report", "keel", "--date", "2026-01-05", cwd=root).code == 0


def verify(root: Path, *arguments: str) -> Result:
    return layline("gap", "verify", "--format", "json", *arguments, cwd=root)


def findings(result: Result) -> list[tuple[str, str]]:
    return [(one["what"], one["verdict"]) for one in result.json["records"][0]["findings"]]


def test_an_untouched_report_holds_even_after_upstream_moved_on(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    assert layline("gap", "report", "keel", "--date", "2026-01-05", cwd=tmp_path).code == 0
    layered.upstream.commit("Later (#5)", {"keel/later.py": "x = 1\n"})
    result = verify(tmp_path)
    assert (result.code, findings(result)) == (0, [])


def test_a_changed_figure_an_edited_record_and_an_edited_text_are_named(tmp_path: Path) -> None:
    make_report(tmp_path)
    evidence = json.loads((tmp_path / EVIDENCE).read_text())
    for fact in evidence["facts"]:
        fact["value"] = 999 if fact["name"] == "behind" else fact["value"]
    evidence["facts"].append({"name": "invented", "value": 1, "evidence": []})
    (tmp_path / EVIDENCE).write_text(json.dumps(evidence))
    record = json.loads((tmp_path / RECORD).read_text())
    record["stats"]["commit_gap"] = 3
    (tmp_path / RECORD).write_text(json.dumps(record))
    report = tmp_path / REPORT
    report.write_text(report.read_text().replace("2 commits", "3 commits"))
    result = verify(tmp_path, RECORD)
    assert result.code == 1
    assert findings(result) == [
        ("behind", "changed"),
        ("invented", "gone"),
        ("keel-upstream-main.json: stats.commit_gap", "edited"),
        ("report.md", "edited"),
    ]


def test_a_commit_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    make_report(tmp_path)
    evidence = json.loads((tmp_path / EVIDENCE).read_text())
    evidence["tip"] = "f" * 40
    (tmp_path / EVIDENCE).write_text(json.dumps(evidence))
    result = verify(tmp_path)
    assert result.code == 1
    assert [verdict for _, verdict in findings(result)] == ["unreachable"]


def test_a_foreign_record_is_sent_to_audit(tmp_path: Path) -> None:
    make_report(tmp_path)
    (tmp_path / EVIDENCE).unlink()
    result = verify(tmp_path, RECORD)
    assert result.code == 2
    assert "gap audit" in result.err
