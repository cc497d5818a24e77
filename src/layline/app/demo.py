"""Writes the embedded sample into a directory of its own and runs the commands on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.progress import silent
from layline.files import write_atomically
from layline.sample import Sample, write_sample
from layline.sample.demo import MARKER, clear_directory

if TYPE_CHECKING:
    from layline.core.progress import Progress


def demo(directory: Path, progress: Progress = silent) -> Sample:
    """Write the sample into `directory`, in the place of an earlier demo; refuse a directory that is not ours."""
    clear_directory(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / MARKER, "Made by `layline demo`; the next one replaces what this one wrote.\n")
    return write_sample(directory, progress)
