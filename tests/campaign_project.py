"""A tiny project with a kernel and a benchmark command, for campaigns that run in milliseconds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from histories import History
from layline.app.campaign import campaign_new
from layline.campaign.proposers import Proposal
from layline.campaign.values.bench_csv import HEADER_LINE
from layline.campaign.values.manifest import Manifest, parse_manifest
from layline.campaign.values.measurement import Bucket

HARNESS = f"""\
# The kernel file holds its cost per unit of work; other words in it misbehave on purpose.
. "${{KERNEL:-./kernel.sh}}"
while [ $# -gt 0 ]; do case "$1" in --summary-csv) out="$2"; shift 2;; *) shift;; esac; done
echo "seen by the harness"
[ -n "$HANG" ] && sleep 60
[ -n "$CRASH" ] && kill -SEGV $$
awk -v cost="$COST" -v check="${{CHECK:-PASS}}" -v out="$out" -v cut="$CUT" 'BEGIN {{
  if ((getline run < ".runs") < 1) run = 0; close(".runs"); print run + 1 > ".runs";
  while ((getline line < ENVIRON["LAYLINE_SHAPES"]) > 0) text = text line;
  rows = "{HEADER_LINE}\\n";
  while (match(text, /"label": "[a-z]+"/)) {{
    label = substr(text, RSTART + 10, RLENGTH - 11); text = substr(text, RSTART + RLENGTH);
    m = label == "small" ? 64 : label == "middle" ? 128 : 256; work = m * m * m;
    noise = 1 + 0.002 * sin(run * 12.9898 + m); t = work / 1e9 * cost * noise;
    rows = rows sprintf("%s,1,%d,%d,%d,%s,%.9g,0.001,%.9g,0.001,%.12g,%.12g,40,40,40\\n", label, m, m, m, check, 2 * work / t / 1e9, 2 * work / t / 1e9, t, 2 * t) }}
  printf "%s", (cut ? substr(rows, 1, 300) : rows) > out }}'
"""
MANIFEST = """\
name: demo
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
- {label: middle, M: 128, N: 128, K: 128}
- {label: large, M: 256, N: 256, K: 256}
kernel_source: kernel.sh
test_command: sh -n kernel.sh
benchmark_command: null
quick_command: sh bench.sh
representative_shapes: []
git_commit: true
git_branch: auto
max_iterations: null
created: 2026-11-15 02:20
measuring: command
time_limit_s: 60
"""


def now() -> str:
    return "2026-11-15 02:20"


def start_project(path: Path, **changes: str) -> History:
    """A repository with a kernel, a harness and an identity."""
    history = History.start(path)
    history.commit("Start", {"kernel.sh": "COST=1.00\n", "bench.sh": HARNESS, ".gitignore": ".runs\n", **changes})
    history.git("config", "user.name", "Ada")
    history.git("config", "user.email", "ada@example.org")
    return history


def read_manifest(text: str = MANIFEST) -> Manifest:
    return parse_manifest(text, where="draft")


@contextmanager
def inside(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def propose(change: str = "cheaper", bucket: Bucket = Bucket.K1) -> Proposal:
    return Proposal(hypothesis="less work is faster", change=change, bucket=bucket, expect="+10 %")


def copy_project(template: Path, path: Path) -> History:
    """A project that was made before, in a place of its own."""
    shutil.copytree(template, path, symlinks=True)
    return History(path, ["start"])


def begin(path: Path) -> None:
    with inside(path):
        campaign_new(read_manifest(), now=now)
