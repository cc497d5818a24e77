"""The lessons of a project on disk: append-only files by hardware, operator and language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.campaign.folder.transfer_check import bucket_of
from layline.campaign.ledger.lessons import (
    ANTI_PATTERN,
    Lesson,
    find_id,
    parse_lessons,
    render_lesson,
)
from layline.campaign.ledger.state import Settled
from layline.campaign.session.places import LESSONS
from layline.campaign.values.markdown import one_line
from layline.campaign.values.measurement import Bucket
from layline.errors import ConfigError
from layline.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.ledger.state import Round, State
    from layline.campaign.rounds import Campaign


_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")


def find_file(root: Path, gpu: str, operator: str, language: str) -> Path:
    for part in (gpu, operator, language):
        if not _PART.match(part):
            raise ConfigError(
                f"{part!r} is not a plain name.", hint="Use letters, digits, dots, dashes and underscores."
            )
    return root / LESSONS / gpu / operator / language.lower() / "tips.md"


def read_lessons(campaign: Campaign) -> tuple[Lesson, ...]:
    """The lessons that exist for this campaign's hardware, operator and language."""
    return parse_lessons(_text(_own_file(campaign)))


def _own_file(campaign: Campaign) -> Path:
    manifest = campaign.state.manifest
    return find_file(campaign.tree.root, manifest.target_gpu, manifest.target_op, manifest.target_backend)


def publish_lessons(campaign: Campaign) -> None:
    """Append the lessons noted in a campaign; safe to repeat, each is appended once."""
    state, manifest, file = campaign.state, campaign.state.manifest, _own_file(campaign)
    known = {lesson.id for lesson in parse_lessons(_text(file))}
    for item in state.rounds:
        for note in item.notes:
            if note.kind == "lesson":
                entry = render_lesson(
                    note.at,
                    f"round-{item.number} — {item.settled or 'OPEN'} (campaign {manifest.name})",
                    _fields(state, item, note.text),
                )
                if find_id(entry) not in known:
                    append_entry(file, entry, (manifest.target_gpu, manifest.target_op, manifest.target_backend))


def _fields(state: State, item: Round, text: str) -> dict[str, str]:
    bucket = bucket_of(item)
    refused = bucket is not None and bucket.is_refused
    bound = state.manifest.weight_share
    takeaway = f"{ANTI_PATTERN}{text}" if refused else text
    if bucket is Bucket.W1 and bound is not None:
        takeaway += f" (real-training gain at most {bound:.2%} per step)"
    seen = item.verdict.reason if item.verdict else "not judged"
    return {
        "Context": f"{state.manifest.target_op}, {one_line(item.change)}",
        "Signal": seen,
        "Takeaway": takeaway,
        "Applicability": f"{state.manifest.target_gpu}, {state.manifest.target_lang}; "
        f"{'a direction to avoid' if item.settled is Settled.ROLLED_BACK else 'where the same bottleneck shows'}",
    }


def append_entry(file: Path, entry: str, place: tuple[str, str, str]) -> None:
    current = _text(file)
    head = current or f"# Lessons: {' / '.join(place)}\n\nAppend-only; a correction withdraws a lesson by its id.\n"
    write_atomically(file, f"{head.rstrip()}\n\n{entry}")


def read_all_lessons(root: Path) -> Iterator[tuple[Path, Lesson]]:
    for file in sorted((root / LESSONS).glob("*/*/*/tips.md")):
        for lesson in parse_lessons(_text(file)):
            yield file, lesson


def find_lesson(root: Path, lesson_id: str) -> tuple[Path, Lesson]:
    found = (
        [(file, lesson) for file, lesson in read_all_lessons(root) if lesson.id.startswith(lesson_id)]
        if lesson_id
        else []
    )
    if len(found) != 1:
        raise ConfigError(
            f"{'No' if not found else 'More than one'} lesson is called {lesson_id!r}.",
            hint="`layline lessons list` shows the ids.",
        )
    return found[0]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def encode_lesson(lesson: Lesson, place: str) -> dict[str, Any]:
    return {
        "id": lesson.id,
        "file": place,
        "line": lesson.line,
        "at": lesson.at,
        "origin": lesson.origin,
        **{name.lower(): text for name, text in lesson.fields.items()},
        "withdrawn": lesson.withdrawn,
    }
