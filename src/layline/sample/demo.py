"""The embedded sample in a directory of its own, and the commands run on it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.errors import Error
from layline.files import write_atomically
from layline.sample import CHRONICLES, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from layline.sample.tour import TourStep

    Start = Callable[[tuple[str, ...], Path, Mapping[str, str]], Callable[[], "Said"]]


MARKER = ".layline-demo"
TRANSCRIPT = "transcript.md"
_CACHE = "cache"
_OURS = (
    *(f"{name}.git" for name in (*CHRONICLES, "workshop")),
    *("harbor", "workshop", "candidates", "fresh", "port", "site", "keel-summary.pdf", _CACHE, TRANSCRIPT),
)
"""What a demo may leave behind; an interrupted one, too."""
STEP_LIMIT_S = 1200
TIMED_OUT = 124
"""As `timeout` says it."""

Said = tuple[int, bytes, bytes]
"""Exit code, standard output, standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step of the walk said."""

    step: TourStep
    exit_code: int
    output: str
    complaint: str

    @property
    def is_expected(self) -> bool:
        return self.is_excused or self.exit_code in self.step.exit_codes

    @property
    def is_excused(self) -> bool:
        return self.step.excuse is not None and self.step.excuse in self.complaint


def clear_directory(directory: Path) -> None:
    """Remove what an earlier demo left, and nothing else."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise Error(f"{directory} is not a plain directory.", hint="Choose a new one.")
    if not directory.exists() or not any(directory.iterdir()):
        return
    marker = directory / MARKER
    if marker.is_symlink() or not marker.is_file():
        raise Error(f"{directory} is not empty, and `layline demo` did not make it.", hint="Choose a new directory.")
    for name in _OURS:
        _remove(directory / name)


def _remove(path: Path) -> None:
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise Error(f"{path} cannot be removed: {error.strerror}.") from None


def start_step(sample: Sample, step: TourStep, start: Start | None = None) -> Callable[[], Outcome]:
    """Start one command as its own process, with a cache that stays inside the demo; call the answer to wait for it."""
    folder = sample.root / step.folder
    if step.copies is not None:
        shutil.copyfile(folder / step.copies[0], folder / step.copies[1])
    settings = {"LAYLINE_CACHE": str(sample.root / _CACHE), "COLUMNS": "100", "NO_COLOR": "1"}
    wait = (start or start_anew)(step.command, folder, settings)

    def outcome() -> Outcome:
        code, output, complaint = wait()
        if code == TIMED_OUT:
            complaint += f"not done after {STEP_LIMIT_S} s\n".encode()
        said = (output.decode("utf-8", "replace"), complaint.decode("utf-8", "replace"))
        return Outcome(step=step, exit_code=code, output=said[0], complaint=said[1])

    return outcome


def start_anew(words: tuple[str, ...], folder: Path, settings: Mapping[str, str]) -> Callable[[], Said]:
    """`layline WORDS` from an interpreter of its own."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH"))))
    pipe = subprocess.PIPE
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "layline", *words],  # -P: nothing is imported from the folder
        cwd=folder,
        env=os.environ | dict(settings) | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
    )

    def wait() -> Said:
        with running:
            try:
                output, complaint = running.communicate(timeout=STEP_LIMIT_S)
            except subprocess.TimeoutExpired:
                running.kill()
                return TIMED_OUT, b"", b""
            return running.returncode, output, complaint

    return wait


def write_transcript(sample: Sample, outcomes: Iterable[Outcome]) -> Path:
    """Everything the commands said, as one Markdown file."""
    parts = ["# A walk through Layline on the embedded sample\n"]
    for outcome in outcomes:
        parts.append(f"\n## {outcome.step.asks}\n")
        said = (outcome.output + outcome.complaint).rstrip("\n")
        parts.append(f"\n~~~~console\n$ {show_step(outcome.step)}\n{said}\n~~~~\n")
        parts.append(f"\nExit code {outcome.exit_code}.\n")
    path = sample.root / TRANSCRIPT
    write_atomically(path, "".join(parts))
    return path


def show_step(step: TourStep) -> str:
    """The command line as a person types it."""
    return shlex.join(("layline", *step.command))
