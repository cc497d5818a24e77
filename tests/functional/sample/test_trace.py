"""`patches trace` runs a command of the sample and holds what it really rebinds against the list."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import layline
from layline.sample import Sample

RUN = "import sys; from harbor.cli import main; main(sys.argv[1]); print('told by the command')"


@pytest.fixture(scope="module")
def traced(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("trace")
    roots = (sample.harbor, sample.harbor / "third_party/keel", sample.harbor / "third_party/spar/src")
    environment = {"PYTHONPATH": os.pathsep.join(map(str, roots)), "PYTHONDONTWRITEBYTECODE": "1"}
    settings = ("-c", str(sample.harbor / "layline.toml"), "--backend", "keel", "--format", "json")
    command = (sys.executable, "-c", RUN, str(sample.harbor / "configs/brest.yaml"))
    result = layline("patches", "trace", *settings, "--", *command, cwd=folder, env=environment)
    assert result.code == 0, result.err
    assert "told by the command" in result.err
    return dict(result.json)


def test_everything_seen_is_listed_with_the_line_that_does_it(traced: dict[str, Any]) -> None:
    assert (traced["schema"], traced["exit"], traced["recall"]) == ("layline.patches-trace/1", 0, 1.0)
    assert traced["seen_only"] == []
    seen = {row["target"]: row["at"] for row in traced["seen_and_listed"]}
    assert seen["keel.training.initialize.parse_args"].startswith("harbor/backends/keel/patches/args_patches.py:")
    assert len(traced["processes"]) == 1


def test_what_is_listed_and_not_seen_says_its_guard(traced: dict[str, Any]) -> None:
    why = {row["target"]: row["why"] for row in traced["listed_only"]}
    assert why["keel.core.model.harmonic.HarmonicLayer.forward"] == "only when cache_levels"
    assert why["keel.core.constituents.SPEEDS"].startswith("never active")


def test_a_command_that_is_not_there_is_said_in_one_sentence(sample: Sample, tmp_path: Path) -> None:
    settings = ("-c", str(sample.harbor / "layline.toml"))
    result = layline("patches", "trace", *settings, "--", "no-such-command", cwd=tmp_path)
    assert result.code == 2
    assert "There is no command 'no-such-command'" in result.err
