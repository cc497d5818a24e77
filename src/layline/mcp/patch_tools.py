"""The tool about patches: what they replace, when they are on, whether they still fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from layline.core.evidence import SEVERITY_WORDS, Severity
from layline.core.progress import Progress
from layline.core.prose import shorten, shorten_clauses
from layline.core.report import Answer
from layline.core.word import Word
from layline.mcp.inputs import AT, BACKEND, FULL, TO
from layline.mcp.paging import shorten_around
from layline.mcp.tool import READS, Asked, Input, Session, Tool
from layline.patches.drift.kinds import DRIFT_KINDS
from layline.patches.wanted import NEVER_ACTIVE, Wanted

_WHY = 240
"""Characters of a reason or a condition in a row."""
_PATCH = "Its id, the upstream name it replaces, or file:line of ours, as ask=list prints them."


def _list(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches import patches_list
    from layline.patches.listed import Filter

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    found = patches_list(workspace, key, Filter(phase=asked["phase"], wanted=_wanted(asked)), progress=progress)
    data = {name: value for name, value in found.data.items() if name not in {"patches", "unregistered", "engine"}}
    data["effects"] = list(_find_effects(found.data, full=asked["full"]))
    data["engine"] = found.data["engine"]
    return _retitle(found, data)


def _drift(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_drift import patches_drift
    from layline.patches.drift.ask import DriftOptions

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    options = DriftOptions(to=asked["to"], culprits=bool(asked["culprits"]), today=session.day(), wanted=_wanted(asked))
    found = patches_drift(workspace, key, options, progress=progress)
    rows = [*found.data["rows"], *found.data["elsewhere"]]
    shown = [row for row in rows if asked["severity"] or row["severity"] != Severity.OK.value]
    data = {name: value for name, value in found.data.items() if name not in {"rows", "elsewhere"}}
    data["still_fit"] = sum(row["severity"] == Severity.OK.value for row in rows)
    data["rows"] = shown if asked["full"] else [_as_drift_row(row) for row in shown]
    return _retitle(found, data)


def _show(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_show

    return patches_show(
        session.workspace(asked["at"]), asked.need("patch", _PATCH), asked["backend"], progress=progress
    )


def _diff(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_diff

    return patches_diff(session.workspace(asked["at"]), asked.need("patch", _PATCH), to=asked["to"], progress=progress)


def _port(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_port

    return patches_port(
        session.workspace(asked["at"]), asked.need("patch", _PATCH), backend=asked["backend"], progress=progress
    )


def _find(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_find

    word = asked.need("word", "A feature, flag, class or file name.")
    found = patches_find(session.workspace(asked["at"]), word, asked["backend"], progress=progress)
    hits = [{**hit, "text": shorten_around(hit["text"], Word(word), _WHY)} for hit in found.data["hits"]]
    return _retitle(found, {**found.data, "hits": hits})


def _retarget(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_retarget

    workspace = session.workspace(asked["at"])
    return patches_retarget(workspace, workspace.settings.choose(asked["backend"]), to=asked["to"], progress=progress)[
        0
    ]


def _notes(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_notes

    file = asked.need("file", "A Markdown file with tables of patches.")
    return patches_notes(session.workspace(asked["at"]), Path(file))


_KINDS = (*DRIFT_KINDS, NEVER_ACTIVE)
PATCHES = Tool(
    name="patches",
    says=(
        "Monkey patches of a backend. ask=list: what each replaces or wraps, where, when it is on. "
        "drift: which break at an upstream ref. show, diff, port: one patch in depth, upstream at pin "
        "and tip beside our code, a plan to bring it elsewhere. find: a word in ids, targets, conditions, config "
        "keys. retarget: "
        "the "
        "edit for moved and renamed targets. notes: hand-written notes compared with the code."
    ),
    does=READS,
    questions={
        "list": _list,
        "drift": _drift,
        "show": _show,
        "find": _find,
        "diff": _diff,
        "port": _port,
        "retarget": _retarget,
        "notes": _notes,
    },
    inputs=(
        BACKEND,
        Input(name="patch", says=f"For show, diff, port. {_PATCH}"),
        Input(name="word", says="For find."),
        Input(name="file", says="For notes: a Markdown file."),
        Input(name="severity", says="list, drift: only these.", choices=SEVERITY_WORDS),
        Input(name="path", says="list, drift: only our files with this in their path; * matches."),
        Input(name="target", says="list, drift: only targets with this in their name; * matches."),
        Input(name="kind", says="list, drift: only this kind.", choices=_KINDS),
        Input(name="certain", says="list, drift: only what is certain, or not.", kind="boolean"),
        Input(name="phase", says="list: only this phase."),
        Input(name="culprits", says="drift: name the upstream commit of each row.", kind="boolean", default=False),
        TO,
        AT,
        FULL,
    ),
    limit=100,
    of={"retarget": "done"},
)
TOOLS = (PATCHES,)


def _wanted(asked: Asked) -> Wanted:
    return Wanted(
        severities=(Severity.named(asked["severity"]),) if asked["severity"] else (),
        path=asked["path"],
        target=asked["target"],
        kinds=(asked["kind"],) if asked["kind"] else (),
        certain=asked["certain"],
    )


def _retitle(found: Answer, data: dict[str, Any]) -> Answer:
    """The first line of the terminal's answer is the agent's, too."""
    return Answer(report=found.report, data=data, needs_person=found.needs_person, listing=found.listing)


def _find_effects(data: Any, *, full: bool) -> list[dict[str, Any]]:
    rows = [
        {**effect, "patch": patch["id"], "guard": patch["guard"]["expression"], **_never(patch)}
        for patch in data["patches"]
        for effect in patch["effects"] or [_without_effect(patch)]
    ]
    rows += [dict(item) for item in data["unregistered"]]
    return rows if full else [as_effect_row(row) for row in rows]


def _without_effect(patch: dict[str, Any]) -> dict[str, Any]:
    place = f"{patch['file']}:{patch['line']}"
    return {"id": patch["id"], "style": "none", "target": None, "location": place, "certain": True, "when": None}


def _never(patch: dict[str, Any]) -> dict[str, Any]:
    return {} if patch["active"] else {"never_active": patch["active_reason"]}


def as_effect_row(row: dict[str, Any]) -> dict[str, Any]:
    """What tells an effect from others; a patch's own row has more."""
    conditions = [row[name] for name in ("guard", "when") if row.get(name) and row[name] != "always"]
    said = {
        "id": row["id"],
        "patch": row.get("patch"),
        "does": row["style"],
        "target": row["target"] or ", ".join(row.get("mutates", ())) or None,
        "code": row["location"],
        "when": shorten(" and ".join(conditions), _WHY) if conditions else None,
        "uncertain": None if row["certain"] else row.get("reason") or "not certain",
        "absent_at_the_pin": True if row.get("target_kind") == "absent" else None,
        "did_you_mean": row.get("suggestion"),
        "never_active": row.get("never_active"),
    }
    return {name: value for name, value in said.items() if value is not None}


def _as_drift_row(row: dict[str, Any]) -> dict[str, Any]:
    """What decides about a row; its evidence is in `full`."""
    suggestion, culprit = row.get("suggestion"), row["culprit"]
    said: dict[str, Any] = {
        "id": row.get("effect") or row["id"],
        "patch": row.get("patch"),
        "target": row["target"],
        "kind": row.get("kind") or row["touch"],
        "severity": row["severity"],
        "dead_today": row.get("dead_today") or None,
        "code": row["location"],
        "why": shorten_clauses(row["detail"], _WHY) if row["detail"] and row["severity"] != Severity.OK.value else None,
        "suggestion": f"{suggestion['target']} ({suggestion['score']:.2f})" if suggestion else row.get("new_target"),
        "culprit": culprit,
    }
    if isinstance(culprit, dict):
        said["culprit"] = " ".join(str(culprit[key]) for key in ("commit", "date", "subject") if culprit.get(key))
    return {name: value for name, value in said.items() if value is not None}
