"""Primus 2026-W18 and 2026-W19 made again from public histories, beside the records that were published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import real_repository
from layline.cli.main import main
from record_samples import write

pytestmark = pytest.mark.real

SETTINGS = """
[project]
name = "Primus"
repository = "https://github.com/AMD-AGI/Primus"
git = "{primus}"

[periodic]
preset = "primus"
ref = "main"

[backends.megatron]
label = "Megatron-LM"
path = "third_party/Megatron-LM"
upstream = "https://github.com/NVIDIA/Megatron-LM"
objects = "{megatron}"

[backends.torchtitan]
path = "third_party/torchtitan"
upstream = "https://github.com/pytorch/torchtitan"
objects = "{torchtitan}"

[backends.primus_turbo]
label = "Primus-Turbo"
pin = {{ file = ".github/workflows/ci.yaml", variable = "PRIMUS_TURBO_COMMIT" }}
upstream = "https://github.com/AMD-AGI/Primus-Turbo"
objects = "{turbo}"
"""
REPOSITORIES = {"primus": "PRIMUS", "megatron": "MEGATRON", "torchtitan": "TORCHTITAN", "turbo": "TURBO"}

# field → why ours differs; every other published field but the findings, which are prose, must be the same
DIFFERS = {
    "2026-W18": {},
    "2026-W19": {"primus_turbo_status.month_start_ts": "published says April for a window that lies in May"},
}


@pytest.mark.parametrize(("week", "until"), [("2026-W18", "2026-05-01T09:10"), ("2026-W19", "2026-05-08T09:01")])
def test_published_weeks_are_made_again(tmp_path: Path, week: str, until: str) -> None:
    published = real_repository("LAYLINE_REAL_COMPAT") / "docs/weekly_reports/dashboard-data/reports" / f"{week}.json"
    places = {name: real_repository(f"LAYLINE_REAL_{variable}") for name, variable in REPOSITORIES.items()}
    write(tmp_path / "layline.toml", SETTINGS.format(**places))
    with pytest.raises(SystemExit) as stopped:
        main(["periodic", "weekly", "--until", until, "-c", str(tmp_path / "layline.toml")])
    assert not stopped.value.code
    made = tmp_path / "docs/weekly_reports/dashboard-data/reports" / f"{week}.json"
    ours, theirs = flatten(json.loads(made.read_text())), flatten(json.loads(published.read_text()))
    differing = {field for field, value in theirs.items() if field != "key_findings" and ours.get(field) != value}
    assert differing == set(DIFFERS[week])


def flatten(plain: dict[str, Any], place: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in plain.items():
        found |= flatten(value, f"{place}{key}.") if isinstance(value, dict) else {f"{place}{key}": value}
    return found
