"""The sample is the same on every machine, sound, and what `truth` says it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from layline.git import DIFF_SETTINGS
from layline.sample import Sample, write_sample
from layline.sample import expected as truth

REPOSITORIES = ("harbor", "keel", "spar", "rivet")


def git(directory: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def directory_of(sample: Sample, name: str) -> Path:
    return sample.harbor if name == "harbor" else sample.mirror(name)


def test_hashes_are_stable(sample: Sample) -> None:
    found = {name: git(directory_of(sample, name), "rev-parse", "main") for name in REPOSITORIES}

    assert found == {"harbor": truth.HARBOR, **{name: gap.tip for name, gap in truth.GAPS.items()}}


def test_two_writings_are_equal(sample: Sample, tmp_path: Path) -> None:
    assert write_sample(tmp_path / "again").hashes == sample.hashes


@pytest.mark.parametrize("name", REPOSITORIES)
def test_repositories_are_sound(sample: Sample, name: str) -> None:
    assert git(directory_of(sample, name), "fsck", "--strict", "--full") == ""


def test_work_tree_is_clean_but_for_what_layline_needs(sample: Sample) -> None:
    assert git(sample.harbor, "status", "--porcelain").splitlines() == ["?? bench/", "?? layline.toml"]


@pytest.mark.parametrize("backend", ["keel", "spar"])
def test_submodules_are_checked_out_at_the_pin(sample: Sample, backend: str) -> None:
    path = f"third_party/{backend}"

    assert git(sample.harbor, "rev-parse", f"HEAD:{path}") == truth.GAPS[backend].pin
    assert git(sample.harbor, "submodule", "status", path).split()[0] == truth.GAPS[backend].pin
    assert git(sample.harbor / path, "rev-parse", "origin/main") == truth.GAPS[backend].tip
    assert git(sample.harbor / path, "status", "--porcelain") == ""


def test_harbor_runs_from_its_work_tree(sample: Sample) -> None:
    path = (sample.harbor, sample.harbor / "third_party" / "keel", sample.harbor / "third_party" / "spar" / "src")

    assert "loss: 0.0000 m² |" in run_python(sample.harbor, "-m", "harbor.cli", "configs/brest.yaml", path=path)


def test_the_image_lags_behind_the_workflow(sample: Sample) -> None:
    assert f"RIVET_COMMIT: {truth.GAPS['rivet'].pin}" in (sample.harbor / ".github/workflows/ci.yaml").read_text()
    assert f"RIVET_COMMIT={sample.hashes['rivet#6']}" in (sample.harbor / "Dockerfile").read_text()


@pytest.mark.parametrize("backend", list(truth.GAPS))
def test_gap_figures_hold(sample: Sample, backend: str) -> None:
    gap, mirror = truth.GAPS[backend], sample.mirror(backend)
    rows = git(mirror, "diff", "--numstat", *DIFF_SETTINGS, gap.pin, gap.tip).splitlines()
    figures = [(int(row.split("\t")[0]), int(row.split("\t")[1])) for row in rows]

    assert git(mirror, "rev-list", "--count", f"{gap.pin}..{gap.tip}") == str(gap.behind)
    assert len(rows) == gap.files
    assert tuple(map(sum, zip(*figures, strict=True))) == (gap.insertions, gap.deletions)


def test_golden_data_dominate_the_churn_of_keel(sample: Sample) -> None:
    gap, mirror = truth.GAPS["keel"], sample.mirror("keel")
    rows = git(mirror, "diff", "--numstat", *DIFF_SETTINGS, gap.pin, gap.tip, "--", "tests/golden").splitlines()

    assert sum(int(row.split("\t")[0]) for row in rows) > 0.8 * gap.insertions


def run_python(directory: Path, *arguments: str, path: tuple[Path, ...]) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run(
        [sys.executable, "-B", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("commit", ["keel#55", "keel@main", "spar#17", "spar@main"])
def test_upstreams_pass_their_own_tests(sample: Sample, tmp_path: Path, commit: str) -> None:
    sample.export(commit[:4], commit, tmp_path)
    tests = sorted(str(path) for path in tmp_path.rglob("test_*.py"))

    assert len(tests) >= 2
    run_python(
        tmp_path,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--disable-plugin-autoload",
        "--import-mode=importlib",
        *tests,
        path=(tmp_path, tmp_path / "src"),
    )


EVERYTHING_ON = """
import logging, sys
from types import SimpleNamespace as N
logging.basicConfig(level="INFO", stream=sys.stdout)
from harbor.backends.keel import adapter as keel
keel.run(N(params=N(chart_datum=True, cache_levels=True, enable_rivet=True, decoupled_decay=0.001, announce_clip=True,
    crew_size=4, pipeline_legs=2, timers=N(enable=True), save=sys.argv[1], short_batches=5, train_iters=50)))
from harbor.backends.spar import adapter as spar
spar.run(N(params=N(enable_rivet=True, model=N(sheltered=True), training=N(steps=20))))
"""


def test_every_active_patch_applies_at_the_pins(sample: Sample, tmp_path: Path) -> None:
    for name, gap in truth.GAPS.items():
        sample.export(name, gap.pin, tmp_path / name)
    path = (sample.harbor, tmp_path / "keel", tmp_path / "spar" / "src", tmp_path / "rivet")

    output = run_python(tmp_path, "-c", EVERYTHING_ON, str(tmp_path / "saved"), path=path)

    applied = {line.split()[-1] for line in output.splitlines() if ":applied " in line}
    assert applied == {patch.id for patch in truth.PATCHES if patch.active}
    assert "loss: 0" not in output
    assert " m² |" in output


def test_every_planted_patch_is_where_truth_says(sample: Sample) -> None:
    for patch in truth.PATCHES:
        assert f'"{patch.id}"' in (sample.harbor / patch.path).read_text(encoding="utf-8")


def test_every_culprit_is_an_upstream_pull_request(sample: Sample) -> None:
    for patch in truth.PATCHES:
        for effect in patch.effects:
            assert effect.culprit is None or f"{patch.backend}#{effect.culprit}" in sample.hashes
