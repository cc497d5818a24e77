"""A command as a process forked from this one, which has imported what commands import.

Importing takes longer than most commands do; a walk of dozens pays for it once.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import signal
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, NoReturn, TextIO

import layline
from layline import codec
from layline.cli.main import main
from layline.files import has_input
from layline.sample.demo import STEP_LIMIT_S, TIMED_OUT, start_anew
from layline.workspace.kept import result_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import IO

    from layline.sample.demo import Said

_ROOMS = ("layline.app.", "layline.cli.", "layline.render.")
_KEPT = {
    "layline.config": ("Settings",),
    "layline.core.patch": ("Inventory", "Patch", "Effect"),
    "layline.patches.inventory.registering": ("FoundRegistrations", "ReadPatches"),
    "layline.patches.inventory.read": ("ReadEngine",),
    "layline.patches.inventory.strays": ("ReadStrays",),
    "layline.coupling.pair": ("Unread",),
    "layline.patches.drift.rows": ("KeptRow",),
    "layline.coupling.places": ("KeptPlaces",),
    "layline.patches.drift.kept": ("KeptDrift",),
    "layline.change.kept": ("Lost",),
    "layline.gap.impact": ("Impact",),
    "layline.campaign.values.manifest": ("Manifest",),
    "layline.campaign.values.measurement": ("Measurement",),
    "layline.campaign.values.verdict": ("Verdict",),
}
"""What most commands read from settings, caches and ledgers."""


def import_commands() -> None:
    """What the commands import, and what they make first; where a package is missing, the command itself meets that
    again and says so.
    """
    for found in pkgutil.walk_packages(layline.__path__, "layline."):
        if found.name.startswith(_ROOMS):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    result_key()  # reads all of our own source
    for name, kinds in _KEPT.items():
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
            for kind in kinds:
                codec.prepare(getattr(module, kind))


def start_forked(words: tuple[str, ...], folder: Path, settings: Mapping[str, str]) -> Callable[[], Said]:
    """Start `layline WORDS` in `folder`; call what comes back to wait for it."""
    if sys.platform != "linux" or threading.active_count() > 1:  # elsewhere, a fork may find a lock that nobody opens
        return start_anew(words, folder, settings)
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  closed by who waits
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        _be(words, folder, settings, (out, err))

    def wait() -> Said:
        with out, err:
            code = _wait(process)
            return code, _read(out), _read(err)

    return wait


def _wait(process: int) -> int:
    handle = os.pidfd_open(process)
    ended = has_input(handle, STEP_LIMIT_S)
    os.close(handle)
    if not ended:
        os.kill(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return status if ended else TIMED_OUT


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _be(
    words: tuple[str, ...], folder: Path, settings: Mapping[str, str], files: tuple[IO[bytes], IO[bytes]]
) -> NoReturn:
    """Be that command: its folder, its environment, its three files, its exit code."""
    code = 1
    try:
        os.chdir(folder)
        os.environ.update(settings)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, file in enumerate(files, 1):
            os.dup2(file.fileno(), number)
        sys.stdout, sys.stderr = _open(1), _open(2)
        sys.argv = ["layline", *words]
        main(list(words))
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _open(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
