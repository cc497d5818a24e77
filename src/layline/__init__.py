"""Layline charts the course of a framework that is layered over upstream projects.

    import layline

    workspace = layline.open_workspace()                 # the nearest layline.toml
    answer = layline.gap_show(workspace, "megatron", today=date.today())
    answer.data["behind"], answer.data["evidence"]["behind"]
    print(layline.render_markdown(answer.report))

Every function is the command of the same name; all return an `Answer`: a report for people, data for programs.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# name → where it lives; imported when first asked for, so that `import layline` costs nothing
_HOMES = {
    "Answer": "layline.core.report",
    "DriftOptions": "layline.patches.drift.ask",
    "Error": "layline.errors",
    "Evidence": "layline.core.evidence",
    "Fact": "layline.core.evidence",
    "Report": "layline.core.report",
    "Skipped": "layline.core.evidence",
    "Span": "layline.periodic.run",
    "Workspace": "layline.workspace.open",
    "bench_csv": "layline.app.bench",
    "campaign_audit": "layline.app.campaign_audit",
    "campaign_log": "layline.app.campaign_end",
    "campaign_status": "layline.app.campaign",
    "dashboard_build": "layline.app.dashboard_build",
    "dashboard_check": "layline.app.dashboard_check",
    "dashboard_index": "layline.app.dashboard_index",
    "doctor": "layline.app.doctor",
    "gap_audit": "layline.app.gap_audit",
    "gap_find": "layline.app.gap_find",
    "gap_report": "layline.app.gap_report",
    "gap_show": "layline.app.gap",
    "gap_verify": "layline.app.gap_verify",
    "lessons_list": "layline.app.lessons",
    "open_workspace": "layline.workspace.open",
    "patches_drift": "layline.app.patches_drift",
    "patches_find": "layline.app.patches_read",
    "patches_list": "layline.app.patches",
    "patches_notes": "layline.app.patches_read",
    "patches_port": "layline.app.patches_read",
    "patches_show": "layline.app.patches_read",
    "periodic_monthly": "layline.app.periodic",
    "periodic_weekly": "layline.app.periodic",
    "render_markdown": "layline.render.markdown",
    "render_text": "layline.render.text",
}

__all__ = [
    "Answer",
    "DriftOptions",
    "Error",
    "Evidence",
    "Fact",
    "Report",
    "Skipped",
    "Span",
    "Workspace",
    "bench_csv",
    "campaign_audit",
    "campaign_log",
    "campaign_status",
    "dashboard_build",
    "dashboard_check",
    "dashboard_index",
    "doctor",
    "gap_audit",
    "gap_find",
    "gap_report",
    "gap_show",
    "gap_verify",
    "lessons_list",
    "open_workspace",
    "patches_drift",
    "patches_find",
    "patches_list",
    "patches_notes",
    "patches_port",
    "patches_show",
    "periodic_monthly",
    "periodic_weekly",
    "render_markdown",
    "render_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'layline' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
