"""A folder that follows the rules passes the audit; each way of breaking one is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import real_repository
from histories import History
from layline.app.campaign_audit import campaign_audit
from layline.campaign.audit import find_violations, read_directory, read_revision
from layline.campaign.values.bench_csv import HEADER_LINE
from layline.errors import ConfigError
from layline.git import open_repository

LABELS = ("small", "middle", "large")
MANIFEST = """\
target_op: gemm
target_backend: TRITON
target_lang: TRITON
target_gpu: gfx950
execution_mode: repo
project_skill: null
performance_target: null
primary_metric: Combined Step TFLOPS
target_shapes:
- {label: small, M: 64, N: 64, K: 64}
- {label: middle, M: 64, N: 64, K: 64}
- {label: large, M: 64, N: 64, K: 64}
kernel_source: kernel.py
test_command: pytest
benchmark_command: bench
quick_command: quick
representative_shapes:
- {label: small, M: 64, N: 64, K: 64}
- {label: middle, M: 64, N: 64, K: 64}
- {label: large, M: 64, N: 64, K: 64}
git_commit: true
git_branch: auto
max_iterations: null
created: 2026-05-21 06:38
"""
ROW = "1,64,64,64,PASS,2.0,0.01,1.0,0.01,0.000262144,0.001048576,40,41,42"
CSV = "\n".join((HEADER_LINE, *(f"{label},{ROW}" for label in LABELS), ""))
SUMMARY = """\
## Hypothesis
h
## Single change
c
## Results
r
## Decision
`{decision}`
## Attribution
a
## Next direction
n
## Real-training transfer check
- Bucket: K1
"""
TREND = """\
| Round | Status | Description | Fwd Avg TFLOPS | Fwd Peak TFLOPS | Bwd Avg TFLOPS | Bwd Peak TFLOPS | Combined Step TFLOPS | vs Baseline | Key Finding |
|---|---|---|---|---|---|---|---|---|---|
| 1 | BASELINE | start | 2.0 | 2.0 | 1.0 | 1.0 | 1.2 | — | x |
| 2 | ACCEPTED | tiles | 2.0 | 2.0 | 1.0 | 1.0 | 1.2 | — | x |
"""
GOOD = {
    "manifest.yaml": MANIFEST,
    "quick_test_bench.py": "SHAPES = []\n",
    "logs/optimize.md": "# Log\n## Baseline\n### round-2 — tiles\n### Termination Check\n- T4: yes\n",
    "logs/performance_trend.md": TREND,
    "rounds/round-1/summary.md": SUMMARY.format(decision="BASELINE"),
    "rounds/round-1/kernel_snapshot/kernel.py": "x = 1\n",
    "rounds/round-1/artifacts/benchmark.csv": CSV,
    "rounds/round-2/summary.md": SUMMARY.format(decision="ACCEPTED"),
    "rounds/round-2/kernel_snapshot/kernel.py": "x = 2\n",
    "rounds/round-2/artifacts/benchmark.csv": CSV,
}
TIPS = "# Tips\n### 2026-05-21 06:38 round-2 — ACCEPTED\n- Takeaway: x\n"


def write(root: Path, changes: dict[str, str | None]) -> Path:
    folder = root / "agent" / "workspace" / "gemm"
    for name, text in (GOOD | changes).items():
        if text is not None:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, newline="")
    tips = root / "agent/historical_experience/gfx950/gemm/triton/tips.md"
    tips.parent.mkdir(parents=True)
    tips.write_text(TIPS)
    return folder


def test_a_folder_that_follows_the_rules_is_clean(tmp_path: Path) -> None:
    assert list(find_violations(read_directory(write(tmp_path, {})))) == []


def moved(number: int, name: str) -> dict[str, str | None]:
    old, new = f"rounds/round-{number}/", f"rounds/{name}/"
    return {key: None for key in GOOD if key.startswith(old)} | {
        key.replace(old, new): text for key, text in GOOD.items() if key.startswith(old)
    }


R2 = "rounds/round-2"
BROKEN: list[tuple[dict[str, str | None], str]] = [
    ({"manifest.yaml": None}, "no readable manifest"),
    ({"manifest.yaml": MANIFEST.replace("git_branch: auto\n", "")}, "does not say `git_branch`"),
    ({"manifest.yaml": MANIFEST.replace("max_iterations: null", "max_iterations: 200")}, "not below 120"),
    ({"manifest.yaml": MANIFEST.replace("06:38", "")}, "not YYYY-MM-DD HH:MM"),
    (
        {"manifest.yaml": MANIFEST.replace("primary_metric: Combined Step TFLOPS", "primary_metric: ratio = a/b")},
        "formula of its own",
    ),
    (
        {"manifest.yaml": MANIFEST.replace("- {label: large, M: 64, N: 64, K: 64}\nkernel", "kernel")},
        "no longer in target_shapes: large",
    ),
    (
        {"manifest.yaml": MANIFEST.replace("- {label: large, M: 64, N: 64, K: 64}\ngit", "git")},
        "2 representative shapes, not 3–5",
    ),
    ({"manifest.yaml": MANIFEST.replace("target_op: gemm", "target_op: grouped_gemm")}, "without one skewed"),
    (moved(2, "round-2-tiles"), "not `round-2`"),
    (moved(2, "round-4"), "rounds 2–3 of 4 have no folder"),
    ({f"{R2}/summary.md": None}, "has no summary.md"),
    ({f"{R2}/kernel_snapshot/kernel.py": None}, "no kernel_snapshot"),
    ({f"{R2}/artifacts/benchmark.csv": None}, "no artifacts/benchmark.csv"),
    (
        {f"{R2}/summary.md": SUMMARY.format(decision="ACCEPTED").replace("## Attribution", "")},
        "no section `Attribution`",
    ),
    (
        {f"{R2}/summary.md": SUMMARY.format(decision="ACCEPTED").replace("## Real-training transfer check", "")},
        "transfer check",
    ),
    ({f"{R2}/summary.md": SUMMARY.format(decision="fine")}, "neither ACCEPTED nor ROLLED BACK"),
    ({f"{R2}/summary.md": SUMMARY.format(decision="ROLLED BACK")}, "without a `Rollback Analysis`"),
    ({f"{R2}/summary.md": "# Another baseline\n" + SUMMARY.format(decision="ACCEPTED")}, "round 2 is another baseline"),
    (
        {f"{R2}/summary.md": SUMMARY.format(decision="ACCEPTED").replace("r\n", "score 1.0 → 1.01 (+1.0%)\n", 1)},
        "not re-measured three times",
    ),
    ({"quick_test_bench_b.py": ""}, "a second harness"),
    ({"logs/optimize.md": "### round-2\n(append rounds here in order)\n"}, "placeholder was never filled"),
    ({"logs/optimize.md": "# Log\n"}, "no entry for round 2"),
    ({"logs/performance_trend.md": TREND.replace("| 2 |", "| x |")}, "1 of 2 rounds has a trend row"),
    ({"logs/performance_trend.md": TREND.replace("Bwd Peak TFLOPS", "Worst")}, "without `Bwd Peak TFLOPS`"),
    (
        {f"{R2}/artifacts/benchmark.csv": CSV.replace("label,B", "label,model,B").replace(",1,64", ",x,1,64")},
        "not the one frozen at the baseline",
    ),
    ({f"{R2}/artifacts/benchmark.csv": CSV.replace("PASS", "FAIL", 1)}, "did not pass and the round was kept: small"),
    ({f"{R2}/artifacts/benchmark.csv": CSV.replace(",0.01,", ",0.0,")}, "noise was never measured"),
    ({f"{R2}/artifacts/benchmark.csv": CSV[:-30]}, "cut short"),
    ({f"{R2}/kernel_snapshot/kernel.py": "def f(a):\n    return CACHE[id(a)]\n"}, "`id(a)`"),
    ({f"{R2}/notes.md": "The kernel has a data race.\n"}, "varies inside the SNR gate"),
]


@pytest.mark.parametrize(("changes", "said"), BROKEN, ids=[said for _, said in BROKEN])
def test_each_broken_rule_is_named(tmp_path: Path, changes: dict[str, str | None], said: str) -> None:
    found = list(find_violations(read_directory(write(tmp_path, changes))))
    assert any(said in item.message for item in found), [item.message for item in found]


def test_history_shows_rewritten_logs_and_missing_commits(tmp_path: Path) -> None:
    history = History.start(tmp_path / "project")
    folder = "agent/workspace/gemm"
    history.commit("Start", {f"{folder}/{name}": text for name, text in GOOD.items()})
    history.commit("R7 tweak", {f"{folder}/logs/performance_trend.md": TREND.replace("tiles", "other")})
    repository = open_repository(history.path)
    found = [item.message for item in find_violations(read_revision(repository, history.commits[-1], folder))]
    for said in ("append-only log was rewritten", "no commit has the prescribed form", "name rounds up to R7"):
        assert any(said in message for message in found), found


def test_the_answer_needs_a_person(tmp_path: Path) -> None:
    answer = campaign_audit(str(write(tmp_path, {f"{R2}/summary.md": None})))
    assert answer.needs_person
    assert answer.data["violations"] == [
        {
            "rule": "rule 4",
            "severity": "breaks",
            "message": "round 2 has no summary.md",
            "path": "rounds/round-2",
            "line": None,
        }
    ]


@pytest.mark.real
def test_the_public_campaign_breaks_the_rules_it_is_known_to_break() -> None:
    place = real_repository("LAYLINE_REAL_PRIMUS_TURBO")
    folder = "agent/workspace/grouped_gemm_fp8_rrr_hk_gfx950_20260521"
    answer = campaign_audit(folder, repo=place, at="dev/kyle_hipkitten_gemm_groupedgemm")
    said = "\n".join(str(item["message"]) for item in answer.data["violations"])
    for pattern in (
        r"4–7, 9–13 of 15 have no folder",
        r"10 of 30 shapes of the baseline",
        r"header drifted",
        r"data race",
        r"1 of 15 rounds",
    ):
        assert re.search(pattern, said), pattern


def test_a_folder_of_campaigns_is_not_audited_as_one(tmp_path: Path) -> None:
    (tmp_path / "workspace/one/rounds/round-1").mkdir(parents=True)
    (tmp_path / "workspace/one/rounds/round-1/summary.md").write_text("## Hypothesis\n")
    with pytest.raises(ConfigError, match="holds campaigns"):
        campaign_audit(str(tmp_path / "workspace"))
