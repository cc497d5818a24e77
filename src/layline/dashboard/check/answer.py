"""What is wrong with a built site, as an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.evidence import encode_skipped
from layline.core.prose import count
from layline.core.report import Answer, Bullets, Paragraph, Report, Section
from layline.dashboard.check.site import Checked

if TYPE_CHECKING:
    from layline.dashboard import answers


def build_check_answer(folder: Path, checked: Checked) -> Answer:
    read = f"{checked.files:,} files, {checked.pages:,} pages, {checked.links:,} links, {checked.bytes:,} bytes."
    verdict = f"{count(len(checked.problems), 'problem')}." if checked.problems else "Nothing is wrong."
    blocks = (
        Paragraph(f"{read} {verdict}"),
        *((Bullets(tuple(map(str, checked.problems))),) if checked.problems else ()),
    )
    data: answers.Check = {
        "schema": "layline.dashboard-check/1",
        "files": checked.files,
        "pages": checked.pages,
        "links": checked.links,
        "bytes": checked.bytes,
        "problems": [{"file": item.file, "place": item.place, "reason": item.reason} for item in checked.problems],
        "skipped": encode_skipped(checked.skipped),
    }
    report = Report(
        title="Dashboard check",
        meta=(("Site", str(folder)),),
        sections=(Section(title="", blocks=blocks),),
        skipped=checked.skipped,
    )
    return Answer(report=report, data=data, needs_person=bool(checked.problems))
