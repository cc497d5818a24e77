"""How git is called: a clean environment, pinned diff semantics, one sentence per failure."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

from layline.errors import GitError, SilentGitError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DIFF_SETTINGS = ("-M50%", "-l0", "--diff-algorithm=myers", "--no-ext-diff", "--no-textconv")
"""Other settings, and libgit2, give other figures for the same pair of commits."""
DIFF_RULE = "renames on at 50 % similarity without a limit, Myers; user, system and repository configuration ignored"

# Everything a configuration could switch on that runs a program, opens a connection or changes a figure.
_SETTINGS = (
    "safe.directory=*",  # ownership is the user's affair: we run nothing the repository holds
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.quotePath=false",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Nothing of the caller's environment but the way to find git."""
    clean = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "SSH_ASKPASS": "false",
        "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would otherwise fetch what is missing
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_PROTOCOL_FROM_USER": "0",
    }
    return clean | dict(extra or {})


def argv(directory: Path, arguments: tuple[str, ...], settings: tuple[str, ...] = _SETTINGS) -> list[str]:
    options = [word for setting in settings for word in ("-c", setting)]
    return ["git", "--no-pager", f"--git-dir={directory}", *options, *arguments]


def run(
    command: list[str], *, env: Mapping[str, str] | None = None, stdin: bytes | None = None, timeout_s: float = 600
) -> bytes:
    """Run a git command; its stdout, or one sentence about why there is none."""
    if shutil.which("git") is None:
        raise GitError("git is not installed.", hint="Install git 2.30 or newer and try again.")
    try:
        done = subprocess.run(
            command,
            env=environment(env),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"`{show_command(command)}` did not end within {timeout_s:.0f} s.") from None
    if done.returncode != 0:
        kind = GitError if done.stderr.strip() else SilentGitError
        raise kind(f"`{show_command(command)}` failed: {last_complaint(done.stderr)}")
    return done.stdout


def last_complaint(stderr: bytes) -> str:
    """The line of git's complaint that says most, without its prefix: the first names the cause, `fatal` the effect."""
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    for prefix in ("error: ", "fatal: "):
        for line in lines:
            if line.startswith(prefix):
                return line.removeprefix(prefix).rstrip(".") + "."
    return (lines[-1].rstrip(".") + ".") if lines else "it printed nothing."


def show_command(command: list[str] | tuple[str, ...]) -> str:
    """A command as a person types it inside a clone: without our hardening options."""
    words = list(command)
    kept: list[str] = []
    skip = False
    for index, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-c" and index + 1 < len(words) and words[index + 1] in _SETTINGS:
            skip = True
        elif word != "--no-pager" and not word.startswith("--git-dir="):
            kept.append(word)
    return shlex.join(kept)
