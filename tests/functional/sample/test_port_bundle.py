"""`patches port --to` on the sample: the bundle really installs into a vanilla upstream, and leaves it as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from commands import layline
from layline.sample import Sample

PATCHES: dict[str, dict[str, object]] = {
    "keel.layers.remember": {},
    "keel.training.step_timer": {},
    "keel.optimizer.weight_decay": {},
}


@pytest.mark.parametrize("patch", sorted(PATCHES))
def test_bundle_rebinds_and_restores(sample: Sample, tmp_path: Path, patch: str) -> None:
    told = layline("patches", "port", patch, "--to", str(tmp_path / "port"), "--format", "json", cwd=sample.harbor)
    assert told.code == 0, told.err
    pin = told.json["pin"]
    sample.export("keel", pin, tmp_path / "vanilla")
    done = _run(tmp_path, f"{told.json['package']}_smoke_test.py", json.dumps(PATCHES[patch]))
    assert done.returncode == 0, done.stderr
    assert "rebound and restored" in done.stdout


def test_the_smoke_test_calls_what_was_put_in_place(sample: Sample, tmp_path: Path) -> None:
    words = ("patches", "port", "keel.training.memory_report", "--to", str(tmp_path / "port"), "--format", "json")
    told = layline(*words, cwd=sample.harbor).json
    sample.export("keel", told["pin"], tmp_path / "vanilla")
    script, target = f"{told['package']}_smoke_test.py", told["targets"][0]
    assert f"{target} (not called, takes name)" in _run(tmp_path, script).stdout
    assert f"{target} (called)" in _run(tmp_path, script, "{}", json.dumps({target: ["a"]})).stdout
    wrong = _run(tmp_path, script, "{}", json.dumps({target: ["a", "b"]}))
    assert wrong.returncode == 1
    assert "TypeError" in wrong.stderr


def test_vanilla_upstream_is_the_one_rebound(sample: Sample, tmp_path: Path) -> None:
    told = layline(
        "patches",
        "port",
        "keel.training.step_timer",
        "--to",
        str(tmp_path / "port"),
        "--format",
        "json",
        cwd=sample.harbor,
    )
    sample.export("keel", told.json["pin"], tmp_path / "vanilla")
    target = told.json["targets"][0]
    module, _, name = target.rpartition(".")
    program = (
        f"import {module} as m\nfrom {told.json['package']} import apply, remove, is_applied\n"
        f"before = m.{name}\napply({{}})\nassert m.{name} is not before and is_applied()\n"
        f"remove()\nassert m.{name} is before and not is_applied()\nprint(m.__file__)\n"
    )
    done = _run(tmp_path, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(tmp_path / "vanilla"))


def test_a_foreign_folder_is_not_overwritten(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    told = layline("patches", "port", "keel.layers.remember", "--to", str(tmp_path), cwd=sample.harbor)
    assert told.code == 2
    assert "was not written by Layline" in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join(str(folder / name) for name in ("vanilla", "port"))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder / "port", env=environment, capture_output=True, text=True, check=False
    )
