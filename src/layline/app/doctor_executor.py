"""`doctor --executor`: which machines answer, what they are, and what cannot be compared."""

from __future__ import annotations

import dataclasses

from layline.core.prose import count
from layline.core.report import Answer, Paragraph, Report, Section, Table
from layline.executors import digest_code, open_executor

SCHEMA = "layline.doctor-executor/1"
_TRIAL = "layline.executors.trial:greet"


def doctor_executor(words: str) -> Answer:
    """Ask every machine what it is, then let one of them do a small job."""
    with open_executor(words) as executor:
        machines = executor.machines()
        other = [one for one in machines if one.code != digest_code()]
        if not other:
            executor.map(_TRIAL, [{"number": 0}])
        name = executor.name
    kinds = sorted({one.kind for one in machines})
    answer = "answers" if len(machines) == 1 else "answer"
    said = f"{count(len(machines), 'machine')} {answer} ({name}): {count(len(kinds), 'kind')}."
    notes = [Paragraph(f"Times of {' and '.join(kinds)} are never compared.")] if len(kinds) > 1 else []
    if other:
        hosts = ", ".join(sorted({one.host for one in other}))
        notes.append(Paragraph(f"Another version of Layline runs on {hosts}: install the same everywhere."))
    rows = tuple(
        (
            one.host,
            one.node[:12] or "–",
            one.kind,
            str(one.cores),
            "; ".join(one.accelerators) or "–",
            one.python,
            "this" if one not in other else f"other ({one.code[:8]})",
        )
        for one in machines
    )
    columns = ("host", "node", "kind", "cores", "accelerators", "Python", "Layline")
    table = Table(columns=columns, rows=rows, numeric=frozenset({3}))
    data = {
        "schema": SCHEMA,
        "executor": words,
        "machines": [{**dataclasses.asdict(one), "kind": one.kind, "same_code": one not in other} for one in machines],
        "kinds": kinds,
    }
    report = Report(title=said, sections=(Section(title="", blocks=(*notes, table)),))
    return Answer(report=report, data=data, needs_person=bool(other) or not machines)
