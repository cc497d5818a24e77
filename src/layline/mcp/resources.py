"""Resources: what an agent may read without asking a question. Markdown, a page at a time, each page naming the
next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from layline.campaign.ledger.ledger import FILE_NAME as LEDGER
from layline.campaign.session.places import WORKSPACE
from layline.config import find_settings_file, load_settings
from layline.core.period import Cadence
from layline.core.progress import silent
from layline.core.records import GapRecord
from layline.core.report import Answer
from layline.errors import Error
from layline.mcp.tool import Session
from layline.mcp.tools import find_tool
from layline.workspace.records import GAP_FOLDER, Records, find_path_problem, load_records

PAGE = 16_000
"""Characters of one page; about four thousand tokens."""


def read(session: Session, name: str, arguments: dict[str, Any], offset: int = 0) -> str:
    """The page of resource `name` that begins at `offset`."""
    return cut(READERS[name](session, **arguments), offset, name_of(name, arguments))


def name_of(name: str, arguments: dict[str, Any]) -> str:
    """The address of a resource without its offset."""
    from urllib.parse import quote

    return "/".join((f"layline://{name}", *(quote(str(value), safe=".") for value in arguments.values())))


def cut(text: str, offset: int, address: str) -> str:
    """At most a page of whole lines from `offset` on; the last line says where the next one is."""
    rest = text[max(offset, 0) :]
    if len(rest) <= PAGE:
        return rest
    end = rest.rfind("\n", 0, PAGE) + 1 or PAGE
    return (
        f"{rest[:end]}\n… {len(rest) - end} of {len(text)} characters follow: {address}?offset={max(offset, 0) + end}\n"
    )


def _read_project(session: Session) -> str:
    answer = find_tool("doctor").answer(session, silent, {})
    return _render(answer) + "\n## More\n\n" + "".join(f"- `{line}`\n" for line in ADDRESSES)


def _read_inventory(session: Session, backend: str) -> str:
    answer = find_tool("patches").answer(session, silent, {"ask": "list", "backend": backend})
    lines = [f"# Patches of {backend} at {answer.data['commit']}", ""]
    lines += [answer.listing.title, ""] if answer.listing is not None else []
    lines += [f"{alert.severity.word}: {alert.message}" for alert in answer.report.alerts]
    lines += [_describe_row(row) for row in answer.data["effects"]]
    return "\n".join(lines) + "\n"


def _describe_row(row: dict[str, Any]) -> str:
    name = row.get("patch") or row["id"]
    never = f" Never active: {row['never_active']}." if "never_active" in row else ""
    when = f" When: {row['when']}." if "when" in row else ""
    return (
        f"- **{name}** ({row['code']}): {row['does']} {row.get('target', '')}.{when}{never} "
        f"More: `layline://patch/{name}`"
    )


def _read_patch(session: Session, patch: str) -> str:
    return _render(find_tool("patches").answer(session, silent, {"ask": "show", "patch": patch}))


def _read_reports(session: Session) -> str:
    _, _, records = _load(session)
    lines = ["# Reports", ""]
    lines += [
        f"- {gap.record.generated_at} {gap.record.title} ({gap.record.status.value}): "
        + ", ".join(f"`layline://report/{gap.record.id}/{kind}`" for kind in _kinds(gap.record))
        for gap in records.gap
    ]
    lines += [
        f"- {item.record.generated_at[:10]} {item.record.title}: "
        f"`layline://report/{item.record.report_id}/{item.record.cadence.value}`"
        for item in records.periodic
    ]
    lines += [f"- not valid: {problem}" for problem in records.problems]
    return "\n".join(lines if len(lines) > 2 else [*lines, "None yet: the tool `write` writes them."]) + "\n"


def _kinds(record: GapRecord) -> list[str]:
    return sorted({artifact.kind for artifact in record.artifacts})


def _read_report(session: Session, report: str, part: str) -> str:
    root, docs, records = _load(session)
    path = next(_find_files(records, docs, report, part), None)
    if path is None:
        raise Error(f"There is no report {report!r} with a part {part!r}.", hint="layline://reports lists them all.")
    problem = find_path_problem(root, path)
    if problem is not None:
        raise Error(f"The report cannot be read: {problem}.")
    return (root / path).read_text(encoding="utf-8", errors="replace")


def _find_files(records: Records, docs: str, report: str, part: str) -> Iterator[str]:
    """Yields the Markdown behind a part of a report, the primary language first."""
    for gap in records.gap:
        if gap.record.id == report:
            fitting = [one for one in gap.record.artifacts if one.kind == part]
            for one in sorted(fitting, key=lambda one: one.primary is not True):
                yield f"{docs}/{GAP_FOLDER}/{one.source}"
    for item in records.periodic:
        if item.record.report_id == report and item.record.cadence is _cadence(part):
            yield item.record.report_path


def _cadence(part: str) -> Cadence | None:
    return next((cadence for cadence in Cadence if cadence.value == part), None)


def _load(session: Session) -> tuple[Path, str, Records]:
    """Records of the project; an invalid one is listed, it does not hide the others."""
    from layline.periodic.presets import fill_preset

    loaded = load_settings(session.config or find_settings_file(Path.cwd()))
    docs = loaded.settings.project.docs
    return (
        loaded.root,
        docs,
        load_records(loaded.root, docs=docs, required=fill_preset(loaded.settings.periodic).required),
    )


def _read_campaigns(session: Session) -> str:
    from layline.git.write import open_work_tree

    base = open_work_tree(Path.cwd()).root / WORKSPACE
    lines = ["# Campaigns", ""]
    for name in sorted(path.parent.name for path in base.glob(f"*/{LEDGER}")):
        answer = find_tool("campaign").answer(session, silent, {"ask": "status", "campaign": name})
        lines.append(f"- {answer.report.title}: `layline://campaign/{name}`")
    return "\n".join(lines if len(lines) > 2 else [*lines, "None in this folder's repository."]) + "\n"


def _read_campaign(session: Session, campaign: str) -> str:
    """Where it stands and the story so far; nothing is measured and nothing written."""
    from layline.campaign.folder.report import build_report
    from layline.campaign.session.open import read_campaign
    from layline.render.markdown import render_markdown

    status = find_tool("campaign").answer(session, silent, {"ask": "status", "campaign": campaign})
    return _render(status) + "\n" + render_markdown(build_report(read_campaign(campaign).state))


def _render(answer: Answer) -> str:
    from layline.render.markdown import render_markdown

    return render_markdown(answer.report)


READERS: dict[str, Callable[..., str]] = {
    "project": _read_project,
    "inventory": _read_inventory,
    "patch": _read_patch,
    "reports": _read_reports,
    "report": _read_report,
    "campaigns": _read_campaigns,
    "campaign": _read_campaign,
}
ADDRESSES = (
    "layline://inventory/BACKEND",
    "layline://patch/ID",
    "layline://reports",
    "layline://report/ID/PART",
    "layline://campaigns",
    "layline://campaign/NAME",
)
