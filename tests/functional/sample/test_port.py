"""Every active patch of the sample can be ported: beside a vanilla upstream its bundle rebinds and restores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from layline.app.patches_read import patches_port, patches_show
from layline.render.markdown import render_markdown
from layline.sample import Sample
from layline.sample import expected as truth
from layline.workspace.open import open_workspace

RUN_ALL = """
import runpy, sys
from pathlib import Path
for folder in sorted(Path(sys.argv.pop()).iterdir()):
    sys.path.insert(0, str(folder))
    (script,) = folder.glob("*_smoke_test.py")
    print(folder.name, end=" ")
    runpy.run_path(str(script), run_name="__main__")
"""


def test_bundles_rebind_and_restore(sample: Sample, tmp_path: Path) -> None:
    workspace = open_workspace(sample.config)
    ids = sorted({patch.id for patch in truth.PATCHES if patch.active})
    for patch_id in ids:
        patches_port(workspace, patch_id, to=tmp_path / "ports" / patch_id)
    for name, gap in truth.GAPS.items():
        sample.export(name, gap.pin, tmp_path / name)
    path = os.pathsep.join(str(tmp_path / part) for part in ("keel", "spar/src", "rivet"))

    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN_ALL, str(tmp_path / "ports")],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ids
    assert all("rebound and restored" in line for line in done.stdout.splitlines())


def test_the_plan_adds_no_key_that_upstream_has_and_the_readme_says_how_to_run(sample: Sample, tmp_path: Path) -> None:
    patches_port(open_workspace(sample.config), "keel.checkpoint.in_one_piece", to=tmp_path / "port")
    readme = (tmp_path / "port/README.md").read_text()
    assert "Config key save: upstream has it (keel/training/arguments.py:" in readme
    assert "New config key: plain\\_checkpoints, default false" in readme
    assert "code that registers the patch.\n" in readme  # nothing is stubbed here, so nothing is said about it
    assert "The tests around the calls of the installer were not copied" in readme
    assert "PYTHONPATH=/path/to/upstream python ported_keel_checkpoint_in_one_piece_smoke_test.py" in readme


def test_a_patch_names_the_allow_list_of_its_engine(sample: Sample) -> None:
    page = render_markdown(patches_show(open_workspace(sample.config), "keel.checkpoint.in_one_piece").report)
    assert "Allow-list: HARBOR\\_PATCHES = all" in page


def test_the_standard_library_is_nothing_to_install(sample: Sample) -> None:
    answer = patches_port(open_workspace(sample.config), "keel.checkpoint.in_one_piece")
    assert answer.data["needs"] == ["keel"]
