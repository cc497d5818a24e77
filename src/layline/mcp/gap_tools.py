"""Tools about the project, the gap, and published records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.errors import Error
from layline.mcp.inputs import AT, BACKEND, TO
from layline.mcp.tool import READS, WRITES, Asked, Input, Session, Tool


def _doctor(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.doctor import doctor

    found = doctor(session.workspace(asked["at"]))
    return replace(found, data={**found.data, "findings": list(_fold_found(found.data["findings"]))})


def _fold_found(findings: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What is missing as it is, before one row for all that is in order with a backend, or with the machine."""
    found: dict[str, list[str]] = {}
    for one in findings:
        if one["state"] == "ok":
            found.setdefault(one["subject"], []).append(f"{one['what']}: {one['detail']}")
        else:
            yield {name: value for name, value in one.items() if value}
    for subject, told in found.items():
        yield {"subject": subject, "state": "ok", "detail": "; ".join(told)}


def _show(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.gap import gap_show

    workspace = session.workspace(asked["at"])
    return gap_show(workspace, workspace.settings.choose(asked["backend"]), to=asked["to"], today=session.day())


def _find(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.gap_find import gap_find

    workspace = session.workspace(asked["at"])
    word = asked.need("word", "What to look for, e.g. MoE.")
    return gap_find(workspace, workspace.settings.choose(asked["backend"]), word, to=asked["to"])


def _verify(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.gap_verify import gap_verify

    paths = tuple(Path(name).resolve() for name in asked["files"] or ())
    return gap_verify(session.workspace(), paths, progress=progress)


def _audit(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.gap_audit import gap_audit

    files = asked.need("files", "Paths of JSON records.")
    return gap_audit(session.workspace(), tuple(Path(name) for name in files))


def _check_site(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.dashboard_check import dashboard_check

    files = asked.need("files", "The folder of a built site.")
    return dashboard_check(Path(files[0]))


def _check_index(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.dashboard_index import dashboard_index

    return dashboard_index(session.config, check=True, today=session.day())


def _read_csv(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.bench import bench_csv

    first, *rest = asked.need("files", "One CSV file, or two to be compared.") or [""]
    return bench_csv(Path(first), Path(rest[0]) if rest else None, snr_db=asked["snr_db"])


def _write_gap(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.gap_report import gap_report

    workspace = session.workspace(asked["at"])
    key = workspace.settings.choose(asked["backend"])
    return gap_report(workspace, (key,), to=asked["to"], today=session.day(asked["date"]), progress=progress)


def _write_weekly(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.periodic import periodic_weekly
    from layline.periodic.run import Span

    return periodic_weekly(session.workspace(), Span(period=asked["period"], until=asked["date"]))


def _write_monthly(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.periodic import periodic_monthly
    from layline.periodic.run import Span

    return periodic_monthly(session.workspace(), Span(period=asked["period"], until=asked["date"]))


def _write_index(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.dashboard_index import dashboard_index

    return dashboard_index(session.config, today=session.day(asked["date"]))


def _write_port(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.patches_read import patches_port

    patch = asked.need("patch", "Its id, target or file:line.")
    folder = asked.need("folder", "A new or empty folder for the bundle.")
    if not folder.strip():
        raise Error("write: `folder` is empty.", hint="Name a new folder.")
    return patches_port(session.workspace(asked["at"]), patch, to=Path(folder), backend=asked["backend"])


def _write_campaign(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.campaign_end import campaign_report

    return campaign_report(asked["campaign"], progress=lambda said: progress(said, 0, 0))


def _write_upgrade(session: Session, progress: Progress, asked: Asked) -> Answer:
    from layline.app.upgrade import upgrade_apply
    from layline.upgrade.apply import ApplyOptions

    workspace = session.workspace()
    options = ApplyOptions(to=asked["to"], branch=asked["branch"])
    return upgrade_apply(workspace, workspace.settings.choose(asked["backend"]), options, progress)


TOOLS = (
    Tool(
        name="doctor",
        says="What is configured, found and missing: backends, pins, upstream objects, folders, programs. Start here.",
        does=READS,
        questions={"doctor": _doctor},
        inputs=(AT,),
        limit=200,
    ),
    Tool(
        name="gap",
        says="ask=show: how far a pinned backend is behind its upstream, each figure with its git command. "
        "find: what upstream did about a word since the pin, new things first.",
        does=READS,
        questions={"show": _show, "find": _find},
        inputs=(Input(name="word", says="find: e.g. MoE."), BACKEND, TO, AT),
    ),
    Tool(
        name="records",
        says="Check files. ask=verify: recompute every fact of our own gap records. audit: anyone's records against "
        "git. index: are the generated indexes current. site: a built dashboard. "
        "bench: a benchmark CSV, or two compared.",
        does=READS,
        questions={
            "verify": _verify,
            "audit": _audit,
            "index": _check_index,
            "site": _check_site,
            "bench": _read_csv,
        },
        inputs=(
            Input(name="files", says="Paths: records, the site's folder, or CSV files.", kind="array"),
            Input(name="snr_db", says="bench: least signal-to-noise ratio.", kind="number"),
        ),
        of={"bench": "rows"},
    ),
    Tool(
        name="write",
        says="Write files. ask=gap: report, summary, dashboard record and evidence of a backend. weekly, monthly: the "
        "engineering report of a period. index: the generated indexes. port: a bundle that installs one patch "
        "elsewhere. "
        "campaign: the report of a kernel campaign. upgrade: the proven edits of a plan, on a branch "
        "of their own. Files that Layline did not make are never replaced.",
        does=WRITES,
        questions={
            "gap": _write_gap,
            "weekly": _write_weekly,
            "monthly": _write_monthly,
            "index": _write_index,
            "port": _write_port,
            "campaign": _write_campaign,
            "upgrade": _write_upgrade,
        },
        inputs=(
            BACKEND,
            Input(name="period", says="2026-W19 or 2026-06; default: that of the newest commit."),
            Input(name="date", says="The day it is written on, or counted until, YYYY-MM-DD."),
            Input(name="patch", says="port: id, target or file:line."),
            Input(name="folder", says="port: a new folder for the bundle."),
            Input(name="branch", says="upgrade: default layline/upgrade-BACKEND."),
            Input(name="campaign", says="campaign: its name; default: the current one."),
            TO,
            AT,
        ),
        paged=False,
    ),
)
