"""The tool about upgrades: what moving a pin takes, the edits that are proven, and whether everything fits."""

from __future__ import annotations

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.errors import Error
from layline.mcp.inputs import AT, BACKEND, TO
from layline.mcp.tool import READS, Asked, Input, Session, Tool


def _plan(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.upgrade import upgrade_plan

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    return upgrade_plan(workspace, key, to=asked["to"], safe=bool(asked["safe"]), progress=progress)


def _check(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.upgrade_check import upgrade_check

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    found = upgrade_check(workspace, key, pin=asked["to"], progress=progress)
    data = {**found.data, "places": [one for one in found.data["places"] if not one["fits"]]}
    return Answer(report=found.report, data=data, needs_person=found.needs_person, listing=found.listing)


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
        says="ask=plan: steps, proven edits, the rest. check: what does not fit the pin, or `to`. matrix: at many "
        "commits. trend: by month. news: as watch. impact: what `to` breaks.",
        does=READS,
        questions={
            "plan": _plan,
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
        ),
        of={
            "plan": "steps",
            "check": "places",
            "matrix": "rows",
            "trend": "points",
            "news": "events",
            "impact": "projects",
        },
    ),
)
