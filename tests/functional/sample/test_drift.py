"""Drift of the sample's patches, held against what was planted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import layline
from layline.sample import Sample
from layline.sample.truth import PATCHES, ExpectedEffect, ExpectedPatch


@pytest.fixture(scope="module")
def rows(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    cache = {"LAYLINE_CACHE": str(tmp_path_factory.mktemp("cache"))}
    found: list[dict[str, Any]] = []
    for backend in ("keel", "spar"):
        result = layline(
            "patches", "drift", backend, "--culprits", "--format", "json", "--date", "2026-01-01", cwd=sample.harbor, env=cache
        )  # fmt: skip
        assert result.code == 1, result.err
        found += result.json["rows"]
    return found


EXPECTED = [(patch, effect) for patch in PATCHES for effect in patch.effects if effect.target]


def row_of(rows: list[dict[str, Any]], patch: ExpectedPatch, effect: ExpectedEffect) -> dict[str, Any]:
    found = [row for row in rows if row["patch"] == patch.id and row["target"] == effect.target]
    assert found, f"no row for {patch.id} {effect.target}"
    return found[0]


@pytest.mark.parametrize(("patch", "effect"), EXPECTED, ids=[f"{p.id}-{e.target}" for p, e in EXPECTED])
def test_planted_drift(rows: list[dict[str, Any]], patch: ExpectedPatch, effect: ExpectedEffect) -> None:
    row = row_of(rows, patch, effect)
    if effect.drift is not None:
        assert row["kind"] == effect.drift, row["detail"]
    if effect.new_address is not None:
        assert row["suggestion"] is not None, row["detail"]
        assert row["suggestion"]["target"] == effect.new_address, row
    if effect.culprit is not None and row["severity"] != "ok":
        assert row["culprit"] is not None, row
        assert row["culprit"]["pull_request"] == effect.culprit, row["culprit"]


def test_dead_today_is_kept_apart(rows: list[dict[str, Any]]) -> None:
    dead = [row for row in rows if row["dead_today"]]
    assert {row["target"] for row in dead} >= {"keel.core.parallel_state.get_word_size"}
    assert all(row["severity"] != "breaks" for row in dead)


def test_sarif_and_annotations_stand_on_our_lines(sample: Sample) -> None:
    asked = ("patches", "drift", "spar", "--date", "2026-01-01", "--format")
    sarif = layline(*asked, "sarif", cwd=sample.harbor)
    assert sarif.code == 1
    (run,) = sarif.json["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["results"]
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert (sample.harbor / place["artifactLocation"]["uri"]).is_file()
        assert place["region"]["startLine"] > 0
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning"}
    levels = [result["level"] for result in run["results"]]
    assert levels == sorted(levels), "worst first"
    lines = layline(*asked, "github", cwd=sample.harbor).out.splitlines()
    assert len(lines) == len(levels)
    assert all(line.startswith(("::error file=harbor/", "::warning file=harbor/")) for line in lines)


def test_accepted_findings_do_not_fail(sample: Sample, tmp_path: Path) -> None:
    asked = ("patches", "drift", "spar", "--format", "json")
    rows = layline(*asked, "--date", "2026-01-01", cwd=sample.harbor).json["rows"]
    broken = [row["id"] for row in rows if row["severity"] == "breaks"]
    assert broken
    baseline = tmp_path / "baseline.toml"
    baseline.write_text(
        "".join(f'[[accepted]]\nid = "{name}"\nreason = "known"\nuntil = 2026-02-01\n' for name in broken)
    )
    on_time = layline(*asked, "--date", "2026-02-01", "--baseline", str(baseline), cwd=sample.harbor)
    late = layline(*asked, "--date", "2026-02-02", "--baseline", str(baseline), cwd=sample.harbor)
    assert (on_time.code, late.code) == (0, 1)
    assert {row["id"] for row in on_time.json["rows"] if row["accepted"]} == set(broken)
    assert layline(*asked, "--date", "2026-02-02", "--fail-on", "none", cwd=sample.harbor).code == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = ", "is not TOML"),
        ("[[accepted]]\nid = 'a'\n", "reason must be a text"),
        ("other = 1\n", "unknown key 'other'"),
    ],
)
def test_a_bad_baseline_is_one_sentence(sample: Sample, tmp_path: Path, text: str, complaint: str) -> None:
    baseline = tmp_path / "baseline.toml"
    baseline.write_text(text)
    result = layline("patches", "drift", "spar", "--baseline", str(baseline), cwd=sample.harbor)
    assert result.code == 2
    assert complaint in result.err
    assert "Traceback" not in result.err
