"""Any program as a proposer: it gets a clean folder with the brief and the kernel, and answers with an edit.

The folder holds the allowed files at their best, `brief.md`, `brief.json`, and nothing of the campaign: no ledger, no
inputs, no git history. What the program does elsewhere is its own affair; only the allowed files are read back.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layline import codec
from layline.campaign.proposers.answer import Declined, Proposed
from layline.campaign.proposers.brief import Brief
from layline.campaign.values.measurement import Bucket
from layline.errors import RecordError

OURS = ("brief.md", "brief.json", "proposal.json")
MAX_FILE_BYTES = 1 << 20
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "USER", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class Command:
    """Runs `command` once per round."""

    command: str
    describe: Callable[[Brief], Mapping[str, str]]
    """The brief as files: `brief.md` for readers of prose, `brief.json` for programs."""
    passed: tuple[str, ...] = ()
    """Names of environment variables the program needs (an agent's own key, say)."""

    @property
    def name(self) -> str:
        return f"command:{self.command}"

    def propose(self, brief: Brief) -> Proposed | Declined:
        """Run the program in a clean folder and read its answer."""
        with tempfile.TemporaryDirectory(prefix="layline-propose-") as place:
            folder = Path(place)
            _lay_out(folder, {**dict(brief.kernel), **self.describe(brief)})
            failure = _run(self.command, folder, brief.time_limit_s, self.passed)
            if failure is not None:
                return Declined(reason=failure)
            return _read_answer(folder, brief)


def _lay_out(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _run(command: str, folder: Path, limit_s: float, passed: tuple[str, ...]) -> str | None:
    """Why the program gave no answer; None if it ended well."""
    environment = {name: os.environ[name] for name in (*_KEPT, *passed) if name in os.environ}
    log = folder.parent / f"{folder.name}.log"
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"the command cannot be read: {error}"
    try:
        with log.open("wb") as output, _started(words, folder, environment, output) as process:
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                return f"the proposer did not answer within {limit_s:.0f} s"
        said = log.read_bytes()[-300:].decode("utf-8", "replace").strip()
    except OSError as error:
        return f"the proposer could not be started: {error.strerror}"
    finally:
        log.unlink(missing_ok=True)
    return None if code == 0 else f"the proposer ended with {code}" + (f": {said.splitlines()[-1]}" if said else "")


@contextmanager
def _started(
    words: list[str], folder: Path, environment: dict[str, str], output: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """The program in a session of its own; whatever it left running ends with it."""
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read_answer(folder: Path, brief: Brief) -> Proposed | Declined:
    answer = folder / "proposal.json"
    if not answer.is_file() or answer.is_symlink():
        return Declined(reason="the proposer left no proposal.json")
    try:
        said = codec.parse_json(answer.read_bytes()[:MAX_FILE_BYTES], where="proposal.json")
        hypothesis, change, bucket = _read_said(said)
    except (RecordError, ValueError) as error:
        return Declined(reason=f"the proposal cannot be read: {error}")
    files, dropped = _read_files(folder, brief)
    if not files:
        extra = f" (dropped: {', '.join(dropped[:3])})" if dropped else ""
        return Declined(reason=f"the proposal changes nothing that it may change{extra}")
    remarks = (f"dropped, not among the allowed files or not plain ones: {', '.join(dropped[:10])}",) if dropped else ()
    texts = {name: str(said[name]) for name in ("expect", "diagnosis") if said.get(name)}
    return Proposed(files=files, hypothesis=hypothesis, change=change, bucket=bucket, remarks=remarks, **texts)


def _read_said(said: Any) -> tuple[str, str, Bucket]:
    if not isinstance(said, dict):
        raise ValueError("it is not an object")
    texts = [str(said.get(name, "")).strip() for name in ("hypothesis", "change")]
    if not all(texts):
        raise ValueError("it states no hypothesis or no change")
    return texts[0], texts[1], Bucket(said.get("bucket", "K1"))


def _read_files(folder: Path, brief: Brief) -> tuple[dict[str, bytes], list[str]]:
    """Allowed files that changed, and whatever else was left behind (dropped, not punished)."""
    before = dict(brief.kernel)
    files: dict[str, bytes] = {}
    dropped = []
    for place in sorted(path for path in folder.rglob("*") if path.is_file() or path.is_symlink()):
        name = place.relative_to(folder).as_posix()
        if name in OURS:
            continue
        if name not in brief.allowed_files:
            dropped.append(name)
        elif place.is_symlink():
            dropped.append(f"{name} (a link)")
        elif place.stat().st_size > MAX_FILE_BYTES:
            dropped.append(f"{name} (too large)")
        elif (data := place.read_bytes()) != before.get(name, "").encode():
            files[name] = data
    return files, dropped
