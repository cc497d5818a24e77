"""`patches diff` and `patches retarget` on the sample."""

from __future__ import annotations

import subprocess
from pathlib import Path

from commands import layline
from layline.sample import Sample


def git(folder: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], input=stdin.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_retarget_is_a_diff_that_git_applies(sample: Sample, tmp_path: Path) -> None:
    for backend, expected in (
        ("keel", "+    from keel.core.layers import harmonic"),
        ("spar", "spar.models.drift.model"),
    ):
        result = layline("patches", "retarget", backend, cwd=sample.harbor)
        assert result.code == 0, result.err
        assert expected in result.out
        if backend == "keel":
            assert result.out.count('"clip_by_norm"') == 3, "a row of a literal table for each module"
        clone = tmp_path / backend
        git(tmp_path, "clone", "-q", str(sample.harbor), str(clone))
        git(clone, "apply", "--check", stdin=result.out)
        git(clone, "apply", stdin=result.out)
        assert git(clone, "diff", "--name-only")


def test_retargeted_patches_no_longer_drift(sample: Sample, tmp_path: Path) -> None:
    told = layline("patches", "retarget", "spar", "--format", "json", cwd=sample.harbor).json
    assert told["done"]
    assert all("→" in line for line in told["done"])


def test_diff_shows_three_sides(sample: Sample) -> None:
    result = layline("patches", "diff", "keel.training.step_timer", "--format", "json", cwd=sample.harbor)
    assert result.code == 0, result.err
    (effect,) = result.json["effects"]
    assert effect["row"]["kind"] == "signature-changed"
    assert effect["then"].startswith("def train_step")
    assert effect["now"].startswith("def train_step")
    assert effect["then"] != effect["now"]
    assert effect["ours"]
    assert effect["hunks"]
    text = layline("patches", "diff", "keel.training.step_timer", cwd=sample.harbor).out
    assert "+++ upstream at the tip" in text


def test_an_unknown_patch_names_the_nearest(sample: Sample) -> None:
    result = layline("patches", "diff", "keel.training.step_timr", cwd=sample.harbor)
    assert result.code == 2
    assert "Did you mean 'keel.training.step_timer'?" in result.err
