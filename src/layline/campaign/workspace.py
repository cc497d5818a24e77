"""Workspace mode: a minimal copy to iterate in, and the way back into the real tree.

A round is first held against the local gate in the copy. Only the kernel files of a round that passes are synced back,
and only the integration gate in the real tree makes it accepted; the scaffolding never leaves the campaign folder.
"""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.campaign.ledger.crash_points import crash_point
from layline.campaign.ledger.snapshot import write_kernel_files
from layline.campaign.values.manifest import ExecutionMode
from layline.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from layline.campaign.ledger.snapshot import KernelFiles
    from layline.campaign.values.manifest import Manifest
    from layline.git.write import WorkTree

PARTS = ("src", "tests", "bench")


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """What the real tree said of a round that passed locally."""

    passed: bool
    reason: str


def is_workspace(manifest: Manifest) -> bool:
    return manifest.execution_mode is ExecutionMode.WORKSPACE


def find_kernel_root(manifest: Manifest, folder: Path, root: Path) -> Path:
    """Where the kernel is edited: the copy's `src` in workspace mode, the repository otherwise."""
    return folder / "src" if is_workspace(manifest) else root


def copy_files(manifest: Manifest, tree: WorkTree, commit: str, folder: Path) -> dict[str, str]:
    """Extract the named files of a commit into the campaign folder; their hashes, for the record. Safe to repeat."""
    copied: dict[str, str] = {}
    for part, paths in manifest.workspace_files.items():
        if part not in PARTS:
            raise ConfigError(f"workspace_files.{part} is not one of {', '.join(PARTS)}.")
        for path in paths:
            found = tree.read_blob(commit, path)
            if found is None or ".." in path.split("/") or path.startswith("/"):
                raise ConfigError(f"{path} (workspace_files.{part}) is not a file of {commit[:12]}.")
            place = folder / part / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(found[1])
            place.chmod(0o755 if found[0] == "100755" else 0o644)
            copied[f"{part}/{path}"] = hashlib.sha256(found[1]).hexdigest()
            crash_point()
    missing = [path for path in manifest.kernel_files if path not in manifest.workspace_files.get("src", ())]
    if missing:
        raise ConfigError(f"workspace_files.src does not hold the kernel {missing[0]}.")
    return copied


def integrate(manifest: Manifest, root: Path, candidate: KernelFiles) -> Integration:
    """SYNC_BACK: put the kernel into the real tree, rebuild, run the focused test and benchmark there."""
    write_kernel_files(root, candidate, manifest.kernel_files)
    crash_point()
    gates = (
        ("rebuild", manifest.rebuild_command),
        ("test", manifest.test_command),
        ("benchmark", manifest.benchmark_command),
    )
    ran = []
    for name, command in gates:
        if not command:
            continue
        failure = _run(command, root, manifest.time_limit_s)
        if failure is not None:
            return Integration(passed=False, reason=f"integration gate, {name}: {failure}")
        ran.append(name)
    if "test" not in ran:
        return Integration(
            passed=False, reason="integration gate: the manifest names no test_command for the real tree"
        )
    return Integration(passed=True, reason=f"integration gate passed: {', '.join(ran)}")


def _run(command: str, root: Path, limit_s: float) -> str | None:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=root,
            capture_output=True,
            check=False,
            timeout=limit_s,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"did not end within {limit_s:.0f} s"
    if done.returncode == 0:
        return None
    lines = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
    return f"failed ({done.returncode}): {lines[-1][:300] if lines else 'it printed nothing'}"
