"""`-o` of whole commands onto things that are no regular files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from commands import layline
from layline.sample import Sample
from record_samples import write


def _make_device(path: Path, minor: int) -> Path:
    """A device node of our own: the machine's are never named here, because a defect would destroy them."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        with path.open("wb"):
            pass
    except PermissionError:
        pytest.skip("device nodes can only be made, and opened, by root outside a container")
    return path


@pytest.fixture
def device(tmp_path: Path) -> Path:
    return _make_device(tmp_path / "null", 3)


def test_an_answer_saved_to_a_device_leaves_the_device(sample: Sample, device: Path) -> None:
    done = layline("schema", "-o", str(device), cwd=sample.root)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_a_pdf_saved_to_a_device_leaves_the_device(tmp_path: Path, device: Path) -> None:
    write(tmp_path / "a.md", "# A report\n")
    done = layline("pdf", "a.md", "-o", str(device), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_a_full_disk_is_told_in_a_sentence(sample: Sample, tmp_path: Path) -> None:
    full = _make_device(tmp_path / "full", 7)
    done = layline("schema", "-o", str(full), cwd=sample.root)
    assert (done.code, done.err) == (2, f"error: {full} cannot be written: No space left on device.\n")
    assert stat.S_ISCHR(full.lstat().st_mode)


def test_a_full_disk_behind_standard_output_is_no_bug(sample: Sample) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no full device")
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "layline", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=sample.root,
            check=False,
        )
    assert done.returncode == 2
    assert b"No space left on device" in done.stderr
    assert b"bug" not in done.stderr
