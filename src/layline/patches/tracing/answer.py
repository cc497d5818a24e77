"""What a traced command did beside the static list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from layline.core.prose import count
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table

if TYPE_CHECKING:
    from layline.core.report import Block
    from layline.patches import answers
    from layline.patches.tracing.compare import Traced

_LIMITS = (
    "Watched: names of upstream modules with the line that writes them, and class attributes as they are when a "
    "process "
    "ends. Not watched: single objects, classes changed and put back, processes that start Python with -S, -E or -I."
)


def build_traced(traced: Traced, commit: str, words: tuple[str, ...], code: int) -> Answer:
    """What was seen, what was listed, and what only one of the two has."""
    return Answer(
        report=_build_report(traced, words, code),
        data=_encode(traced, commit, words, code),
        needs_person=code != 0 or bool(traced.only_seen),
    )


def _say_share(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"


def _build_report(traced: Traced, words: tuple[str, ...], code: int) -> Report:
    seen, listed = len(traced.both) + len(traced.only_seen), len(traced.both)
    title = (
        f"{listed} of {count(seen, 'rebinding')} seen are in the static list (recall {_say_share(traced.recall)}); "
        f"{_say_share(traced.precision)} of the listed targets were seen"
    )
    if not seen:
        title = "no rebinding was seen" if traced.processes else "no Python process could be watched"
    both = [
        (Cell(one.target, code=True), one.value, Cell(one.at or "–", code=True), Cell(effect.id, code=True))
        for one, effect in traced.both
    ]
    alone = [(Cell(one.target, code=True), one.value, Cell(one.at or "–", code=True)) for one in traced.only_seen]
    missed = [
        (Cell(row.effect.target or "–", code=True), row.why, Cell(str(row.effect.location), code=True))
        for row in traced.unseen
    ]
    watched = f"{len(traced.processes)} Python process{'' if len(traced.processes) == 1 else 'es'} watched"
    ran = f"`{' '.join(words)}` ran with your rights and ended with {code}; {watched}."
    return Report(
        title=title,
        sections=(
            Section(title="", blocks=(Paragraph(ran), Paragraph(_LIMITS))),
            Section(title=f"Seen but not listed ({len(alone)})", blocks=_tables(("Target", "Set to", "At"), alone)),
            Section(title=f"Seen and listed ({len(both)})", blocks=_tables(("Target", "Set to", "At", "Id"), both)),
            Section(title=f"Listed but not seen ({len(missed)})", blocks=_tables(("Target", "Why", "At"), missed)),
        ),
    )


def _tables(columns: tuple[str, ...], rows: list[Any]) -> tuple[Block, ...]:
    return (Table(columns=columns, rows=tuple(rows)),) if rows else (Paragraph("None."),)


def _encode(traced: Traced, commit: str, words: tuple[str, ...], code: int) -> answers.Trace:
    return {
        "schema": "layline.patches-trace/1",
        "command": list(words),
        "exit": code,
        "commit": commit,
        "processes": list(traced.processes),
        "recall": traced.recall,
        "precision": traced.precision,
        "seen_and_listed": [
            {"target": one.target, "how": one.how, "value": one.value, "at": one.at, "effect": effect.id}
            for one, effect in traced.both
        ],
        "seen_only": [
            {"target": one.target, "how": one.how, "value": one.value, "at": one.at} for one in traced.only_seen
        ],
        "listed_only": [
            {
                "target": row.effect.target,
                "effect": row.effect.id,
                "patch": row.patch,
                "at": str(row.effect.location),
                "why": row.why,
            }
            for row in traced.unseen
        ],
    }
