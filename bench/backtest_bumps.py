"""Back-test on Primus's own past bumps: files we would have flagged on the parent commit against files the maintainers
changed.

Needs LAYLINE_REAL_PRIMUS, LAYLINE_REAL_MEGATRON and LAYLINE_REAL_TORCHTITAN (clones or bare mirrors with full history).
Run: python -m bench.backtest_bumps
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from layline.config import Backend, Project, Settings
from layline.coupling.model import Consequence
from layline.coupling.pair import Pair
from layline.gap.impact import measure_impact
from layline.git import open_repository
from layline.history.changes import read_diff
from layline.workspace.open import Workspace

MEGATRON = Backend(
    label="Megatron",
    packages=(
        "megatron.core",
        "megatron.training",
        "megatron.legacy",
        "megatron.inference",
        "megatron.post_training",
        "pretrain_gpt",
        "pretrain_mamba",
        "gpt_builders",
        "mamba_builders",
        "model_provider",
    ),
)
TORCHTITAN = Backend(label="torchtitan", packages=("torchtitan",))
BUMPS = (
    # downstream commit, backend, pin before, pin after; the first two were used for tuning
    ("f96b1fbb", "torchtitan", "5fb7cc2e3b", "73a0e6979d"),
    ("243681cf", "megatron", "3bec9aa97d", "d3528a2130"),
    ("def6d62e", "megatron", "847781764f", "3bec9aa97d"),
    ("cf7307ec", "megatron", "5a676b3618", "847781764f"),
    ("be88d349", "torchtitan", "99c0cb28f6", "5fb7cc2e3b"),
    ("64021d80", "torchtitan", "4c4388f650", "5fb7cc2e3b"),
    ("50da9cfe", "megatron", "d61821b717", None),
)


def main() -> None:
    downstream = open_repository(Path(os.environ["LAYLINE_REAL_PRIMUS"]))
    upstreams = {
        key: open_repository(Path(os.environ[f"LAYLINE_REAL_{key.upper()}"])) for key in ("megatron", "torchtitan")
    }
    base = Workspace(Settings(project=Project(name="Primus")), Path(), downstream, "")
    print(
        "| bump | backend | touching files | changed of these (base rate) | flagged will break | hit | precision | "
        "recall | will or may: hit / flagged |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for commit, key, before, after in BUMPS:
        bump = downstream.resolve(commit)
        parent = downstream.resolve(f"{commit}^")
        backend = MEGATRON if key == "megatron" else TORCHTITAN
        tip = after or next(
            entry.oid for entry in downstream.read_tree(bump) if entry.is_gitlink and "Megatron-LM" in entry.path
        )
        held = replace(backend, objects=os.environ[f"LAYLINE_REAL_{key.upper()}"])
        settings = replace(base.settings, backends={key: held})
        pin, until = (upstreams[key].resolve(one) for one in (before, tip))
        impact = measure_impact(Pair(replace(base, settings=settings, commit=parent), key, pin, until))
        touching = {one.location.path for one in impact.couplings}
        hurt = {one.location.path for one in impact.couplings if one.consequence is Consequence.WILL_BREAK}
        may = hurt | {one.location.path for one in impact.couplings if one.consequence is Consequence.MAY_BREAK}
        diff = read_diff(downstream, parent, bump)
        changed = {change.old_path or change.path for change in diff.files if change.status in "MDR"} & touching
        hit = hurt & changed
        rate = len(changed) / len(touching) if touching else 0
        print(
            f"| {commit} | {key} {before[:8]}→{tip[:8]} | {len(touching)} | {len(changed)} ({rate:.0%}) | "
            f"{len(hurt)} | {len(hit)} "
            f"| {len(hit) / len(hurt) if hurt else 0:.0%} | {len(hit) / len(changed) if changed else 0:.0%} | "
            f"{len(may & changed)} / {len(may)} |",
            flush=True,
        )
        for one in impact.couplings:
            if one.consequence is Consequence.WILL_BREAK and os.environ.get("VERBOSE"):
                mark = "hit " if one.location.path in changed else "miss"
                print(
                    f"    {mark} {one.location} {one.touch.value} {one.target}: {one.state.value} "
                    f"{one.new_target or ''} {one.detail[:100]}"
                )
        for path in sorted(changed - hurt) if os.environ.get("VERBOSE") else ():
            print(f"    not flagged: {path}")


if __name__ == "__main__":
    main()
