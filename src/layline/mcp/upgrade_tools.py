"""The tool about upgrades: what moving a pin takes, the edits that are proven, and whether everything fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.errors import Error
from layline.mcp.inputs import AT, BACKEND, FULL, TO
from layline.mcp.tool import READS, Asked, Input, Session, Tool


def _plan(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.upgrade import upgrade_plan

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    found = upgrade_plan(workspace, key, to=asked["to"], safe=bool(asked["safe"]), progress=progress)
    if asked["full"]:
        return found
    data = {name: value for name, value in found.data.items() if name != "left"}  # each stands in its step, too
    return replace(found, data={**data, "steps": [_as_step(step) for step in found.data["steps"]]})


def _left(session: Session, progress: Progress, asked: Asked) -> Answer:
    """What the plan leaves for a person, without its steps."""
    found = _plan(session, progress, Asked(asked.tool, {**asked.values, "full": True}))
    data = {name: value for name, value in found.data.items() if name != "steps"}
    left = found.data["left"] if asked["full"] else [_as_place(one) for one in found.data["left"]]
    return replace(found, data={**data, "left": left})


def _as_step(step: dict[str, Any]) -> dict[str, Any]:
    """Where it leads, who made it a step, and what has to be edited; upstream's own diffs are in `full`."""
    culprit = step["culprit"]
    return {
        "to": step["to"],
        "date": step["date"],
        "culprit": culprit["subject"] if culprit else None,
        "lines": step["lines"],
        "left": step["left"],
        "mends": [_as_mend(mend) for mend in step["mends"]],
    }


def _as_mend(mend: dict[str, Any]) -> dict[str, Any]:
    said = {
        "code": f"{mend['file']}:{mend['lines'][0]}",
        "target": mend["target"],
        "kind": mend["kind"],
        "mechanical": mend["mechanical"],
        "why": mend["why"],
        "diff": mend["diff"] if mend["mechanical"] else None,
        "example": mend["example"],
        "ours": mend["ours"],
        "revealed": mend["revealed"],
    }
    return {name: value for name, value in said.items() if value or name == "mechanical"}


def _as_place(one: dict[str, Any]) -> dict[str, Any]:
    said = {"code": f"{one['file']}:{one['line']}", "target": one["target"], "way": one["way"], "why": one["why"]}
    return said | ({"misfit_today": True} if one.get("misfit_today") else {})


def _check(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.upgrade_check import upgrade_check

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    found = upgrade_check(workspace, key, pin=asked["to"], progress=progress)
    misfits = [one for one in found.data["places"] if not one["fits"]]
    return replace(
        found, data={**found.data, "places": misfits if asked["full"] else [_as_place(one) for one in misfits]}
    )


def _matrix(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.over_time import patches_matrix

    workspace = session.workspace(asked["at"])
    return patches_matrix(workspace, workspace.settings.choose(asked["backend"]), refs=asked["refs"], progress=progress)


def _trend(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.over_time import gap_trend

    workspace = session.workspace(asked["at"])
    return gap_trend(workspace, workspace.settings.choose(asked["backend"]), progress=progress)


def _news(session: Session, progress: Progress, asked: Asked) -> Answer:
    """Compared with what `watch` last remembered, and not remembered: asking again tells the same."""
    from layline.app.over_time import watch

    return watch(session.workspace(asked["at"]), today=session.day(), remember=False, progress=progress)


def _impact(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.fleet import impact

    if not asked["to"] or not asked["fleet"]:
        raise Error("impact asks what one upstream commit breaks in a fleet.", hint="Give `to` and `fleet`.")
    return impact(asked["to"], session.workspace().root / asked["fleet"], progress=progress)


TOOLS = (
    Tool(
        name="upgrade",
        says="ask=plan: steps, proven edits, the rest. left: that rest alone. check: what does not fit the pin, or `to`. "
        "matrix: at many commits. trend: by month. news: as watch. impact: what `to` breaks.",
        does=READS,
        questions={
            "plan": _plan,
            "left": _left,
            "check": _check,
            "matrix": _matrix,
            "trend": _trend,
            "news": _news,
            "impact": _impact,
        },
        inputs=(
            BACKEND,
            Input(name="safe", says="plan: until something breaks.", kind="boolean", default=False),
            Input(name="fleet", says="impact's file."),
            Input(name="refs", says="matrix: tags, all-tags, weekly, A..B, A,B."),
            TO,
            AT,
            FULL,
        ),
        of={
            "plan": "steps",
            "left": "left",
            "check": "places",
            "matrix": "rows",
            "trend": "points",
            "news": "events",
            "impact": "projects",
        },
    ),
)
