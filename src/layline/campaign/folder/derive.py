"""The familiar campaign folder, derived from the ledger alone: the same ledger gives the same bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.campaign.folder.log import build_logs
from layline.campaign.folder.summary import build_summary
from layline.campaign.folder.validation_log import build_validation_log
from layline.campaign.ledger.replay import replay
from layline.campaign.values.manifest import Manifest, render_manifest, shape_list
from layline.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from layline.campaign.ledger.ledger import Entry
    from layline.campaign.ledger.state import Round, State

QUICK = """\
\"\"\"Measure the kernel as it stands on the representative shapes: `python quick_test_bench.py [--full] [--summary-csv FILE]`.

A look, not a verdict: `layline campaign round` measures best and candidate together.
\"\"\"

import subprocess
import sys

sys.exit(subprocess.call([sys.executable, "-m", "layline", "campaign", "measure", "--campaign", {name!r}, *sys.argv[1:]]))
"""
LOG = {True: "quick_baseline.log", False: "quick_validation.log"}
"""The specification's names: the baseline's log is what later ones are held against when figures look off."""
APPEND_ONLY = ("logs/optimize.md", "logs/performance_trend.md")


def derive_folder(entries: Sequence[Entry], place: str) -> dict[str, bytes]:
    """Every derived file by its path in the campaign folder."""
    states = list(replay(entries))
    if not states:
        raise BenchError("The ledger is empty: there is nothing to derive.")
    state = states[-1]
    log, trend = build_logs(entries, states, place)
    files: dict[str, bytes] = {
        ".gitignore": b"*\n",  # the folder stays out of the user's commits without touching their files
        "quick_test_bench.py": QUICK.format(name=state.manifest.name).encode(),
        "manifest.yaml": render_manifest(with_representative(state)).encode(),
        "logs/optimize.md": log.encode(),
    }
    if trend:
        files["logs/performance_trend.md"] = trend.encode()
    for item in state.rounds:
        if item.settled is not None:
            files.update(_round_files(state, item))
    return files


def with_representative(state: State) -> Manifest:
    """The manifest with the shapes the baseline chose."""
    if state.manifest.representative_shapes or not state.representative:
        return state.manifest
    known = {str(shape["label"]): shape for shape in shape_list(state.manifest)}
    chosen = tuple(known.get(label, {"label": label}) for label in state.representative)
    return replace(state.manifest, representative_shapes=chosen)


def _round_files(state: State, item: Round) -> Iterator[tuple[str, bytes]]:
    base = f"rounds/round-{item.number}"
    yield f"{base}/summary.md", build_summary(state, item).encode()
    for file in state.kernel(item.kernel).files:
        yield f"{base}/kernel_snapshot/{file.path}", file.data
    run = item.last_run
    if run is not None:
        yield f"{base}/artifacts/{LOG[item.number == 1]}", build_validation_log(run, state.representative).encode()
    if run is not None and run.csv:
        yield f"{base}/artifacts/benchmark.csv", run.csv.encode()
    if run is not None and run.best_csv:
        yield f"{base}/artifacts/best.csv", run.best_csv.encode()
    for index, earlier in enumerate(item.runs[:-1], 1):
        if earlier.csv:
            yield f"{base}/artifacts/quick-{index}.csv", earlier.csv.encode()
