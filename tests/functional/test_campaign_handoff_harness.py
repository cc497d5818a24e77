"""The harness of a hand-off writes the errors that the benchmark computes, and measures groups that are not even."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from campaign_project import inside
from histories import History
from layline.campaign.values.manifest import parse_manifest, shape_list
from layline.cli.main import layline

BENCH = """\
from tables import CASES, CHOSEN, clock, compute_snr, draw_groups


def check(sizes):
    out_snr = compute_snr(sizes, 1)
    da_snr = compute_snr(sizes, 2)
    db_snr = compute_snr(sizes, 3)
    return min(out_snr, da_snr, db_snr) > 25


def profile_grouped_gemm(B, M, N, K):
    sizes = draw_groups(B, M, balance=True)
    ms = clock(sizes)
    return ms, 1 / ms, ms, 1 / ms, check(sizes)


def main():
    for B, M, N, K in CASES:
        ms, rate, back, back_rate, correct = profile_grouped_gemm(B, M, N, K)
        print({
            "Check": "PASS" if correct else "FAIL",
            "Forward Time (ms)": ms,
            "Forward TFLOPS": rate,
            "Backward Time (ms)": back,
            "Backward TFLOPS": back_rate,
        })


if __name__ == "__main__":
    CHOSEN.append("turbo")
    main()
"""
TABLES = """\
import random

CHOSEN = []
CASES = [(b, 8, 4, 4) for b in (2, 3, 4, 5)]


def draw_groups(b, m, balance=True):
    return [m] * b if balance else [m + 1, m - 1, *[m] * (b - 2)]


def clock(sizes):
    assert CHOSEN == ["turbo"]  # what the program does before it measures is part of it
    return 1.0 + random.random()


def compute_snr(sizes, number):
    return 30.0 + number + 10 * (len(set(sizes)) > 1)
"""
FILES: dict[str, str | bytes | None] = {
    "turbo/triton/grouped_gemm_kernel.py": "",
    "tests/test_grouped_gemm.py": "",
    "benchmark/bench_grouped_gemm_turbo.py": BENCH,
    "benchmark/tables.py": TABLES,
}


def test_errors_are_written_and_uneven_groups_are_measured(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    history.commit("Start", FILES)
    arguments = ["campaign", "handoff", "--op", "grouped_gemm", "--backend", "TRITON", "--gpu", "gfx950"]
    with inside(history.path):
        CliRunner().invoke(layline, [*arguments, "--draft", "draft.yaml"], catch_exceptions=False)
        manifest = parse_manifest(Path("draft.yaml").read_text(), where="draft")
    shapes = [dict(one) for one in shape_list(manifest)]
    assert len(shapes) == 7
    assert [one["label"] for one in shapes[4:]] == [f"B{b}-M8-N4-K4-balance_False" if b else "" for b in (2, 4, 5)]
    asked, out = tmp_path / "shapes.json", tmp_path / "out.csv"
    asked.write_text(json.dumps([shapes[0], shapes[4]]))
    words = [sys.executable, str(manifest.quick_command).split()[1], "--summary-csv", str(out)]
    done = subprocess.run(words, cwd=history.path, env={"LAYLINE_SHAPES": str(asked)}, check=False)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert done.returncode == 0
    found = [(row["label"], row["Check"], row["out_snr"], row["db_snr"]) for row in rows]
    assert found == [
        (shapes[0]["label"], "PASS", "31.0", "33.0"),
        (shapes[4]["label"], "PASS", "41.0", "43.0"),
    ]
