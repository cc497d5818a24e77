"""Tools about patches: what they replace, when they are on, whether they still fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.mcp.tool import READS, WRITES, Session, Tool

_WHY = 240
"""Characters of a reason in a table."""
SeverityName = Literal["breaks", "look", "ok"]
StyleName = Literal["binding-replacement", "function-wrapping", "config-rewrite", "env-lifecycle", "source-rewrite"]


def patches_list(
    session: Session,
    progress: Progress,
    *,
    backend: str,
    at: str = "HEAD",
    phase: str | None = None,
    style: StyleName | None = None,
    show: Literal["table", "full", "unregistered"] = "table",
) -> Answer:
    """Every monkey patch of a backend: what it does, which upstream symbol it replaces or wraps, where, how to enable
    it.

    `show="full"` has every field of a patch, `show="unregistered"` the effects found outside any registration.
    """
    from layline.app.patches import Filter
    from layline.app.patches import patches_list as run

    found = run(session.workspace(at), backend, Filter(phase=phase, style=style))
    if show == "unregistered":
        return _count(found, "patches", list_name="unregistered")
    return _count(found, "unregistered", list_name="patches", as_table=show == "table")


def patches_find(
    session: Session, progress: Progress, *, word: str, backend: str | None = None, at: str = "HEAD"
) -> Answer:
    """Where is feature X: ids, descriptions, targets, guards, config keys and YAML files, implementation names."""
    from layline.app.patches_find import patches_find as run

    return run(session.workspace(at), word, backend)


def patches_show(
    session: Session, progress: Progress, *, patch: str, backend: str | None = None, at: str = "HEAD"
) -> Answer:
    """One patch in depth: logic, guard, code, upstream definition beside ours, other patches on the target, history."""
    from layline.app.patches_show import patches_show as run

    return run(session.workspace(at), patch, backend)


def patches_port(
    session: Session,
    progress: Progress,
    *,
    patch: str,
    to: str | None = None,
    backend: str | None = None,
    at: str = "HEAD",
) -> Answer:
    """The porting plan of a patch: files, symbol to rebind, by-value importers, constraints; with `to`, writes a bundle
    there.
    """
    from layline.app.patches_port import patches_port as run

    return run(session.workspace(at), patch, to=Path(to) if to else None, backend=backend)


def patches_notes(session: Session, progress: Progress, *, file: str, at: str = "HEAD") -> Answer:
    """Hold hand-written patch notes against the code: confirmed, contradicted, stale, missing."""
    from layline.app.patches_find import patches_notes as run

    return run(session.workspace(at), Path(file))


def patches_drift(
    session: Session,
    progress: Progress,
    *,
    backend: str,
    to: str | None = None,
    at: str = "HEAD",
    culprits: bool = False,
    severity: SeverityName | None = None,
    show: Literal["table", "full", "elsewhere"] = "table",
) -> Answer:
    """Will every patch still fit at an upstream ref? Kind per effect, worst first, with suggestion and culprit commit.

    `severity="breaks"` keeps what must be mended. `show="full"` has every field and the evidence of a row,
    `show="elsewhere"` our overrides and calls of upstream outside patches that no longer fit.
    """
    from layline.app.patches_drift import DriftOptions
    from layline.app.patches_drift import patches_drift as run

    options = DriftOptions(to=to, culprits=culprits, today=session.day())
    found = run(session.workspace(at), backend, options, progress=progress)
    kept, other = ("elsewhere", "rows") if show == "elsewhere" else ("rows", "elsewhere")
    rows = [row for row in found.data[kept] if severity in (None, row["severity"])]
    data = {key: value for key, value in found.data.items() if key not in {"rows", "elsewhere"}}
    data |= {
        f"{other}_count": len(found.data[other]),
        kept: [_as_drift_row(row) for row in rows] if show == "table" else rows,
    }
    return Answer(report=found.report, data=data, needs_person=found.needs_person)


def patches_diff(
    session: Session, progress: Progress, *, patch: str, to: str | None = None, at: str = "HEAD"
) -> Answer:
    """Three sides of one patch: upstream then, upstream now, ours; where both changed is the porting work."""
    from layline.app.patches_drift import patches_diff as run

    return run(session.workspace(at), patch, to=to)


def patches_retarget(
    session: Session, progress: Progress, *, backend: str, to: str | None = None, at: str = "HEAD"
) -> Answer:
    """The edit for moved and renamed targets as a diff ready for `git apply`; nothing is written."""
    from layline.app.patches_drift import patches_retarget as run

    return run(session.workspace(at), backend, to=to)[0]


TOOLS = (
    Tool(function=patches_list, does=READS, limit=200),
    Tool(function=patches_find, does=READS),
    Tool(function=patches_show, does=READS),
    Tool(function=patches_port, does=WRITES),
    Tool(function=patches_notes, does=READS),
    Tool(function=patches_drift, does=READS, limit=100),
    Tool(function=patches_diff, does=READS),
    Tool(function=patches_retarget, does=READS, of="done"),
)


def _count(found: Answer, other: str, *, list_name: str, as_table: bool = False) -> Answer:
    """The list asked for; the other one is only counted."""
    data = {key: value for key, value in found.data.items() if key != other}
    data[f"{other}_count"] = len(found.data[other])
    if as_table:
        data[list_name] = [_as_row(patch) for patch in data[list_name]]
    return Answer(report=found.report, data=data, needs_person=found.needs_person)


def _as_row(patch: dict[str, Any]) -> dict[str, Any]:
    """The five columns of the inventory and what asks for attention."""
    return {
        "patch": patch["id"],
        "what": patch["description"],
        "logic": [_say_effect(effect) for effect in patch["effects"]],
        "code": f"{patch['file']}:{patch['line']}",
        "enable": patch["guard"]["expression"],
        "phase": patch["phase"],
        "priority": patch["priority"],
        **({} if patch["active"] else {"never_active": patch["active_reason"]}),
    }


def _as_drift_row(row: dict[str, Any]) -> dict[str, Any]:
    """What decides about a row; its evidence is in `show="full"`."""
    suggestion, culprit = row["suggestion"], row["culprit"]
    said: dict[str, Any] = {
        "id": row["id"],
        "patch": row["patch"],
        "target": row["target"],
        "kind": row["kind"],
        "severity": row["severity"],
        "code": row["location"],
    }
    if row["detail"] and row["severity"] != "ok":
        said["why"] = row["detail"] if len(row["detail"]) <= _WHY else f"{row['detail'][:_WHY]}…"
    if suggestion:
        said["suggestion"] = f"{suggestion['target']} ({suggestion['score']:.2f})"
    if culprit:
        said["culprit"] = " ".join(str(culprit[key]) for key in ("commit", "date", "subject") if culprit.get(key))
    return said


def _say_effect(effect: dict[str, Any]) -> str:
    target = effect["target"] or ", ".join(effect["mutates"]) or "N/A"
    doubt = "" if effect["certain"] else f" (not certain: {effect['reason']})"
    absent = " [absent at the pin]" if effect["target_kind"] == "absent" else ""
    return f"{effect['style']}: {target}{absent}{doubt}"
