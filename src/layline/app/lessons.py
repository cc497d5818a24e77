"""`layline lessons …`: list, show, add, correct."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.ledger.lessons import (
    ANTI_PATTERN,
    find_id,
    render_correction,
    render_lesson,
)
from layline.campaign.session.lessons import append_entry, encode_lesson, find_file, find_lesson, read_all_lessons
from layline.campaign.session.places import LESSONS, clock
from layline.core.report import Answer, Bullets, Cell, Paragraph, Report, Section, Table
from layline.git.write import open_work_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.campaign import answers


def lessons_list(root: Path | None = None, *, withdrawn: bool = False) -> Answer:
    """Every lesson of the project, newest file order kept; withdrawn ones only on request."""
    base = root or open_work_tree(Path.cwd()).root
    rows, data = [], []
    for file, lesson in read_all_lessons(base):
        if lesson.withdrawn and not withdrawn:
            continue
        place = file.relative_to(base).as_posix()
        rows.append(
            (
                lesson.id,
                place.removeprefix(f"{LESSONS}/").removesuffix("/tips.md"),
                lesson.takeaway,
                lesson.withdrawn or "",
            )
        )
        data.append(encode_lesson(lesson, place))
    block = (
        Table(columns=("id", "hardware / operator / language", "lesson", "withdrawn because"), rows=tuple(rows))
        if rows
        else Paragraph("No lesson yet.")
    )
    report = Report(title="Lessons", sections=(Section(title="", blocks=(block,)),))
    told: answers.Lessons = {"schema": "layline.lessons/1", "lessons": data}
    return Answer(report=report, data=told)


def lessons_show(lesson_id: str, root: Path | None = None) -> Answer:
    file, lesson = find_lesson(root or open_work_tree(Path.cwd()).root, lesson_id)
    lines = [f"{name}: {text}" for name, text in lesson.fields.items()]
    if lesson.withdrawn:
        lines.append(f"Withdrawn: {lesson.withdrawn}")
    section = Section(
        title=lesson.origin, blocks=(Bullets(tuple(lines)), Paragraph(Cell(f"{file}:{lesson.line}", code=True)))
    )
    told: answers.Lessons = {"schema": "layline.lessons/1", "lessons": [encode_lesson(lesson, str(file))]}
    return Answer(report=Report(title=f"Lesson {lesson.id}", sections=(section,)), data=told)


def lessons_add(
    place: tuple[str, str, str],
    fields: dict[str, str],
    *,
    anti_pattern: bool = False,
    origin: str = "added by hand",
    root: Path | None = None,
    now: Callable[[], str] = clock,
) -> Answer:
    """Append a lesson to its file."""
    base = root or open_work_tree(Path.cwd()).root
    file = find_file(base, *place)
    if anti_pattern:
        fields = {**fields, "Takeaway": ANTI_PATTERN + fields.get("Takeaway", "")}
    entry = render_lesson(now(), origin, fields)
    append_entry(file, entry, place)
    return lessons_show(find_id(entry), base)


def lessons_correct(
    lesson_id: str,
    reason: str,
    takeaway: str | None = None,
    *,
    root: Path | None = None,
    now: Callable[[], str] = clock,
) -> Answer:
    """Withdraw a lesson with a tombstone; what it said stays readable."""
    base = root or open_work_tree(Path.cwd()).root
    file, lesson = find_lesson(base, lesson_id)
    append_entry(file, render_correction(now(), lesson, reason, takeaway), ("", "", ""))
    return lessons_show(lesson_id, base)
