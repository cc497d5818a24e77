"""A real Chromium on sites that were really built."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from record_samples import write
from sites import make_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; where there is none they are skipped."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    place = os.environ.get("LAYLINE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("no Chromium: install one or set LAYLINE_CHROMIUM")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with all kinds of pages, built once."""
    from layline.app.dashboard_build import dashboard_build

    root = make_project(tmp_path_factory.mktemp("project"), weeks=20)
    folder = root / "docs/patches/dashboard-data"
    write(folder / "engine.json", json.dumps(INVENTORY))
    write(folder / "engine.drift.json", json.dumps(DRIFT))
    write(root / "docs/campaigns/dashboard-data/gemm.json", json.dumps(CAMPAIGN))
    place = tmp_path_factory.mktemp("sites") / "site"
    dashboard_build(place, root / "layline.toml", pdf=False)
    return place


def _round(number: int, settled: str, gain: float | None) -> dict[str, object]:
    bounds = None if gain is None else {"estimate": gain, "lower": gain - 0.03, "upper": gain + 0.03}
    shapes = [{"shape": name, "gain": bounds} for name in ("tiny-48 (M=48, N=48, K=48)", "deep-64x64x480") if bounds]
    verdict = {"outcome": "ACCEPT", "reason": "Because.", "interval": bounds, "shapes": shapes}
    return {"round": number, "settled": settled, "compared_with": number - 1, "verdict": verdict, "diff": "-a\n+b"}


CAMPAIGN = {
    "schema": "layline.campaign-report/1",
    "name": "gemm",
    "phase": "REPORTED",
    "best": 6,
    "ledger": "9f" * 32,
    "machine": "Some processor, 2 cores",
    "rounds": [
        {"round": 1, "settled": "BASELINE"},
        _round(2, "ROLLED BACK", None),
        *(_round(number, "ACCEPTED", 0.2 * number) for number in range(3, 7)),
    ],
    "roofline": {
        "what": "One core",
        "flops_per_s": 1.4e11,
        "bytes_per_s": 9.6e9,
        "points": [
            {"label": f"round {number} deep-64x64x480", "intensity": 6.2, "flops_per_s": number * 1.1e9}
            for number in (1, 3, 6)
        ],
    },
}


def _patch(name: str, phase: str, style: str) -> dict[str, object]:
    effect = {
        "style": style,
        "target": f"engine.{name}",
        "replacement": f"harbor.{name}",
        "mutates": [],
        "location": "harbor/p.py:9",
        "certain": True,
    }
    return {
        "id": f"engine.{name}",
        "phase": phase,
        "file": "harbor/p.py",
        "line": 3,
        "description": f"Our own {name}",
        "active": None,
        "guard": {"keys": [name], "expression": f"use_{name} and not safe_mode"},
        "effects": [effect],
    }


INVENTORY = {
    "schema": "layline.patches/1",
    "backend": "engine",
    "commit": "a" * 40,
    "patches": [
        _patch("scheduler", "setup", "binding-replacement"),
        _patch("attention", "train", "function-wrapping"),
        _patch("loader", "train", "config-rewrite"),
    ],
    "unregistered": [],
    "skipped": [{"what": "harbor/odd.py", "why": "cannot be parsed"}],
}
DRIFT = {
    "schema": "layline.drift/1",
    "backend": "engine",
    "pin": "b" * 40,
    "tip": "c" * 40,
    "rows": [
        {
            "patch": "engine.attention",
            "target": "engine.attention",
            "kind": "signature",
            "severity": "breaks",
            "location": "harbor/p.py:9",
            "detail": "a parameter was added",
        },
        {
            "patch": "engine.loader",
            "target": "engine.loader",
            "kind": "unchanged",
            "severity": "ok",
            "location": "harbor/p.py:9",
        },
    ],
}
