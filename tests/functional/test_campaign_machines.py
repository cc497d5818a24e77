"""A campaign that looks at kernels on many machines: every attempt is in the ledger first, and the ledger verifies."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from commands import layline

GIT = ("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")


def begin(folder: Path) -> None:
    subprocess.run([*GIT, "init", "-q", "-b", "main"], cwd=folder, check=True)
    assert layline("campaign", "operators", "gemm", "--start", "naive", "-o", "gemm.c", cwd=folder).code == 0
    subprocess.run([*GIT, "add", "-A"], cwd=folder, check=True)
    subprocess.run([*GIT, "commit", "-q", "-m", "Start"], cwd=folder, check=True)
    new = ("campaign", "new", "gemm_cpu", "--operator", "gemm", "--kernel", "gemm.c", "--shape", "tiny-48", "--yes")
    assert layline(*new, cwd=folder).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("where", ["local:2", "auto"])
def test_every_attempt_is_in_the_ledger_before_its_answer(tmp_path: Path, where: str) -> None:
    if where == "auto":
        pytest.importorskip("ray", reason="Ray is not installed: pip install './layline[ray]'")
    begin(tmp_path)
    run = ("campaign", "run", "--proposer", "search", "--rounds", "1", "--executor", where, "--format", "json")
    ran = layline(*run, cwd=tmp_path)
    assert ran.code == 0, ran.err
    (file,) = tmp_path.glob("agent/workspace/*/ledger.jsonl")
    entries = [json.loads(line) for line in file.read_text().splitlines()]
    told = [(one["kind"], one["data"]) for one in entries if one["kind"] in {"screening", "screened", "attempted"}]
    sent = [data for kind, data in told if kind == "screening"]
    ends = [data for kind, data in told if kind == "screened"]
    assert sum(data["attempts"] for data in ends) == len(sent) > 1
    assert {data["round"] for data in sent} == {2}
    assert told[-1][0] == "attempted", "the verdict's own run comes after all looking"
    assert {"machine", "host", "seed_commitment", "alpha"} <= told[-1][1].keys()
    assert layline("campaign", "verify", cwd=tmp_path).code == 0
