"""The edit that `patches retarget` proposes applies, and the patches then take hold at the tip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from commands import layline
from layline.sample import write_sample

MENDED = "keel.layers.remember,keel.optimizer.announce_clip,keel.core.small_phases,keel.schedule.tacks"
AT_THE_TIP = """
from types import SimpleNamespace as N
import keel.training.training
import harbor.backends.keel.patches
from harbor.core.patches import run_patches
params = N(cache_levels=True, announce_clip=True, pipeline_legs=2)
print(*run_patches("keel", "before_train", module_config=N(params=params)))
from keel.core.layers import harmonic
from keel.core.optimizer import clip, sgd
from keel.core.pipeline import schedules
print(harmonic.HarmonicLayer.forward.__wrapped__.__name__, harmonic.phase.__name__)
print(clip.clip_by_norm.__name__, sgd.clip_by_norm.__name__)
print(schedules.get_schedule_func(None).__name__)
"""


def run(folder: Path, *command: str, stdin: str = "", **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_moved_and_renamed_targets_are_mended(tmp_path: Path) -> None:
    world = write_sample(tmp_path / "world")
    world.export("keel", "keel@main", tmp_path / "tip")

    edit = layline("patches", "retarget", "keel", "--to", "main", cwd=world.harbor)
    assert edit.code == 0, edit.err
    run(world.harbor, "git", "apply", "-", stdin=edit.out)
    path = f"{world.harbor}{os.pathsep}{tmp_path / 'tip'}"
    told = run(world.harbor, sys.executable, "-B", "-c", AT_THE_TIP, PYTHONPATH=path, HARBOR_PATCHES=MENDED)

    assert told.splitlines() == [
        "keel.core.small_phases keel.optimizer.announce_clip keel.schedule.tacks keel.layers.remember",
        "forward small_phase",
        "announced announced",
        "forward_backward_in_tacks",
    ]
