"""Layline's own mirrors of upstreams: the only code that touches the network, and only when asked."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from layline.errors import GitError
from layline.git.commands import argv, run

_NETWORK = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.followRedirects=initial",
)
_WAY_OUT = (
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
)
"""What of the caller's environment a fetch needs behind a proxy or a company's own certificates."""
_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


def fetch_mirror(address: str, mirror: Path, *, protocols: str = "https", timeout_s: float = 3600) -> None:
    """Make or update a bare mirror of `address`; a first fetch that fails leaves nothing behind."""
    if mirror.is_dir():
        _fetch(address, mirror, protocols, timeout_s)
        return
    mirror.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{mirror.name}.", dir=mirror.parent))
    try:
        run(["git", "init", "--quiet", "--bare", "--template=", str(building)])
        _fetch(address, building, protocols, timeout_s)
        building.rename(mirror)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _fetch(address: str, mirror: Path, protocols: str, timeout_s: float) -> None:
    options = ("fetch", "--quiet", "--prune", "--no-recurse-submodules", "--no-auto-maintenance", "--end-of-options")
    command = argv(mirror, (*options, address, *_REFSPECS), settings=_NETWORK)
    try:
        run(command, env={**_read_way_out(), "GIT_ALLOW_PROTOCOL": protocols}, timeout_s=timeout_s)
    except GitError as error:
        raise GitError(
            f"{address} could not be fetched: {error.message}", hint="Check the address and the network."
        ) from None


def _read_way_out() -> dict[str, str]:
    return {name: os.environ[name] for name in _WAY_OUT if name in os.environ}
