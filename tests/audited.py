"""A small layered project, and records about it, for `gap audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from histories import History
from layline.app.gap_audit import gap_audit
from layline.core.report import Answer
from layline.workspace.open import open_workspace

CONFIG = """\
[project]
name = "harbour"
git = "downstream"

[backends.keel]
label = "Keel"
path = "third_party/keel"
upstream = "https://example.org/keel"
objects = "upstream"
packages = ["keel"]
integration = ["harbour/keel"]
"""
PYPROJECT = '[project]\nname = "keel"\nversion = "{version}"\ndependencies = [{needs}]\n'


def make_project(root: Path) -> tuple[str, str]:
    """An upstream that raises a floor and adds a dependency; the pin and the tip."""
    upstream = History.start(root / "upstream")
    pin = upstream.commit(
        "Begin (#1)",
        {
            "pyproject.toml": PYPROJECT.format(version="1.0.0", needs='"torch>=2"'),
            "keel/run.py": "def run(): ...\n",
            "requirements.txt": "einops\n",
        },
    )
    upstream.commit("Raise (#2)", {"pyproject.toml": PYPROJECT.format(version="1.1.0", needs='"torch>=3", "av"')})
    tip = upstream.commit("More (#3)", {"keel/more.py": "x = 1\n"})
    downstream = History.start(root / "downstream")
    downstream.gitlink("third_party/keel", pin)
    downstream.commit(
        "Layer (#7)", {"harbour/keel/__init__.py": "", "harbour/keel/trainer.py": "from keel.run import run\n"}
    )
    (root / "layline.toml").write_text(CONFIG)
    return pin, tip


def gap_record(pin: str, tip: str, **changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "id": "keel-upstream-main",
        "title": "Keel",
        "backend": {"key": "keel", "label": "Keel"},
        "generated_at": "2026-01-01",
        "status": "verified",
        "scope": "all",
        "local": {
            "source_path": "third_party/keel",
            "version": "1.0.0",
            "commit": pin[:8],
            "commit_date": "2026-01-01",
        },
        "upstream": {
            "repo": "https://example.org/keel",
            "ref": "origin/main",
            "version": "1.1.0",
            "commit": tip[:8],
            "commit_date": "2026-01-03",
        },
        "stats": {"commit_gap": 2, "diff_files": 2, "insertions": 3, "deletions": 2},
        "integration": {"backend_files": 1, "tracked_files": 9},
        "highlights": ["Upstream main is 2 commits ahead."],
        "artifacts": [
            {
                "label": "Report",
                "path": "./reports/keel/upstream-main/report.pdf",
                "format": "pdf",
                "language": "en",
                "kind": "detail",
            }
        ],
    }
    return record | changes


def audit(root: Path, *records: dict[str, Any]) -> Answer:
    paths = []
    for number, record in enumerate(records):
        path = root / f"record-{number}.json"
        path.write_text(json.dumps(record))
        paths.append(path)
    return gap_audit(open_workspace(root / "layline.toml"), tuple(paths))


def verdicts(answer: Answer) -> dict[str, str]:
    return {field["field"]: field["verdict"] for field in answer.data["records"][0]["fields"]}
