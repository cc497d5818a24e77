"""`patches drift` says of every planted target what became of it, where it is now and who did it."""

from __future__ import annotations

from typing import Any

import pytest

from commands import layline
from layline.sample import Sample
from layline.sample import expected as truth

Rows = dict[tuple[str, str], Any]
EFFECTS = [(patch, effect) for patch in truth.PATCHES for effect in patch.effects if effect.target]


@pytest.fixture(scope="module")
def rows(sample: Sample) -> Rows:
    """Rows of both backends, by patch and target."""
    found: Rows = {}
    for backend in ("keel", "spar"):
        result = layline("patches", "drift", backend, "--culprits", "--format", "json", cwd=sample.harbor)
        assert result.code == 1, result.err
        found |= {(row["patch"], row["target"]): row for row in result.json["rows"]}
    return found


@pytest.mark.parametrize(
    ("patch", "effect"), EFFECTS, ids=[f"{patch.file}-{effect.target}" for patch, effect in EFFECTS]
)
def test_a_target_is_followed_to_the_tip(rows: Rows, patch: truth.ExpectedPatch, effect: truth.ExpectedEffect) -> None:
    row = rows[patch.id, str(effect.target)]

    assert effect.drift in {None, row["kind"]}, row["detail"]
    if effect.new_address is not None:
        assert row["suggestion"]["target"] == effect.new_address
    if effect.culprit is not None and row["severity"] != "ok":
        assert row["culprit"]["pull_request"] == effect.culprit


def test_an_import_that_fails_is_told_with_the_change_that_broke_it(sample: Sample) -> None:
    """Not with what else happened to the patch that stands behind it."""
    told = layline("patches", "drift", "keel", "--culprits", "--format", "json", cwd=sample.harbor).json["elsewhere"]
    found = {item["location"]: item["culprit"] for item in told if item["touch"] == "imports"}
    moved = found["harbor/backends/keel/patches/core/layer_patches.py:27"]

    assert moved.startswith("ca951c60")
    assert found["harbor/backends/keel/patches/core/phase_patches.py:14"] == moved


def test_what_is_dead_today_is_kept_apart(rows: Rows) -> None:
    dead = {patch for (patch, _), row in rows.items() if row["dead_today"]}

    assert "keel.parallel.crew_size" in dead
    assert dead <= {"keel.parallel.crew_size", "spar.checkpoint.consolidate_stub"}


def test_what_upstream_has_taken_over_can_go(rows: Rows) -> None:
    assert {patch for (patch, _), row in rows.items() if row["retire"]} == set(truth.RETIRED)


def test_an_edited_copy_is_known_as_one(rows: Rows) -> None:
    assert rows["keel.optimizer.weight_decay", "keel.core.optimizer.sgd.SgdOptimizer.step"]["copied"] > 0.5


def test_every_drift_kind_of_the_plan_is_planted() -> None:
    planted = {effect.drift for _, effect in EFFECTS}

    assert planted >= {
        "unchanged",
        "body-changed",
        "signature-changed",
        "moved",
        "renamed",
        "removed",
        "dead-at-pin",
        "binding-lost",
        "anchor-lost",
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("patches", "drift", "kel"), "Did you mean 'keel'?"),
        (("patches", "drift", "spar", "--to", "nowhere"), "no ref called 'nowhere'"),
        (("patches", "drift", "spar", "--to=-x"), "is not a ref"),
        (("patches", "retarget", "spar", "--to", "0123456789"), "0123456789"),
        (("patches", "drift", "spar", "--baseline", "missing.toml"), "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(sample: Sample, words: tuple[str, ...], complaint: str) -> None:
    result = layline(*words, cwd=sample.harbor)
    assert result.code == 2, result.out
    assert complaint in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("backend", ["keel", "spar"])
def test_totals_of_list_and_drift_agree_or_say_why(sample: Sample, backend: str) -> None:
    listed = layline("patches", "list", backend, "--format", "json", cwd=sample.harbor).json
    found = layline("patches", "drift", backend, "--date", "2026-06-30", "--format", "json", cwd=sample.harbor).json
    effects = sum(len(patch["effects"]) for patch in listed["patches"]) + len(listed["unregistered"])
    left_out = sum(item["effects"] for item in found["not_compared"])
    assert found["listed"] == effects
    assert len(found["rows"]) == effects - left_out + found["read_keys"]
