"""`doctor --executor`: which machines answer, what they are, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from layline.core.prose import count
from layline.core.report import Answer, Paragraph, Report, Section, Table
from layline.executors import Executor, Lost, Machine, Silent, digest_code, open_executor
from layline.executors.machine import name_product

if TYPE_CHECKING:
    from layline.project import answers

SCHEMA: Literal["layline.doctor-executor/1"] = "layline.doctor-executor/1"
_TRIAL = "layline.executors.trial:greet"
_LIMIT_S = 60.0
_SHOWN = 8
"""Digits of a digest."""
_COLUMNS = ("host", "node", "kind", "cores", "accelerators", "Python", "Layline")


def doctor_executor(words: str) -> Answer:
    """Ask every machine what it is, then let one of each kind do a small job as a measuring run does: alone, once."""
    with open_executor(words) as executor:
        found = executor.look()
        machines = [one for one in found if isinstance(one, Machine)]
        silent = [one for one in found if isinstance(one, Silent)]
        is_well = bool(machines) and not silent and all(one.code == digest_code() for one in machines)
        lost = list(_try_kinds(executor, machines)) if is_well else []
        name = executor.name
    kinds = sorted({one.kind for one in machines})
    notes = [Paragraph(note) for note in (*lost, *_find_notes(machines, silent, kinds))]
    table = Table(columns=_COLUMNS, rows=tuple(map(_show, machines)), numeric=frozenset({3}))
    title = f"{_say_machines(machines, silent)} ({name}): {count(len(kinds), 'kind')}."
    data: answers.DoctorExecutor = {
        "schema": SCHEMA,
        "executor": words,
        "code": digest_code(),
        "machines": [_encode(one) for one in machines],
        "silent": [{"host": one.host, "node": one.node, "why": one.why, "hint": one.hint} for one in silent],
        "kinds": kinds,
    }
    report = Report(title=title, sections=(Section(title="", blocks=(*notes, table)),))
    return Answer(report=report, data=data, needs_person=not is_well or bool(lost))


def _try_kinds(executor: Executor, machines: Sequence[Machine]) -> Iterator[str]:
    """What became of the small job where it was lost."""
    executor.map(_TRIAL, [{"number": 0}])
    for kind, one in {one.kind: one for one in reversed(machines)}.items():
        try:
            executor.measure(_TRIAL, {"number": 0}, one, _LIMIT_S)
        except Lost as lost:
            yield f"A small job on {one.host} ({kind}) was lost: {lost.why}."


def _say_machines(machines: Sequence[Machine], silent: Sequence[Silent]) -> str:
    if silent:
        return f"{len(machines)} of {count(len(machines) + len(silent), 'machine')} answer"
    return f"{count(len(machines), 'machine')} {'answers' if len(machines) == 1 else 'answer'}"


def _find_notes(machines: Sequence[Machine], silent: Sequence[Silent], kinds: Sequence[str]) -> Iterator[str]:
    """What a person should know before measuring there, the worst first."""
    for one in silent:
        yield f"{one.host} cannot be used: {one.why}. {one.hint}"
    other = sorted({one.host for one in machines if one.code != digest_code()})
    if other:
        yield f"Another version of Layline runs on {', '.join(other)}: install the same version everywhere."
    if len(kinds) > 1:
        yield f"Times measured on {' and '.join(kinds)} are never compared."
    for kind in kinds:
        have = sorted({", ".join(one.libraries) or "none" for one in machines if one.kind == kind})
        if len(have) > 1:
            yield f"Machines with {kind} have different libraries ({'; '.join(have)}): this alone can make times differ."
    states: dict[str, set[str]] = {}
    for line in (line for one in machines for line in one.accelerators):
        states.setdefault(name_product(line), set()).add(line.partition(", ")[2].partition(", ")[2])
    for product, seen in sorted(states.items()):
        if len(seen) > 1:
            listed = "; ".join(sorted(seen))
            yield f"{product} runs with different drivers or power limits ({listed}): a kernel may be fast on only one of them."


def _show(one: Machine) -> tuple[str, ...]:
    same = "this" if one.code == digest_code() else "other"
    accelerators = "; ".join(one.accelerators) or "–"
    layline = f"{same} ({one.code[:_SHOWN]})"
    return (one.host, one.node[:12] or "–", one.kind, str(one.cores), accelerators, one.python, layline)


def _encode(one: Machine) -> answers.Machine:
    return {
        "host": one.host,
        "node": one.node,
        "kind": one.kind,
        "processor": one.processor,
        "cores": one.cores,
        "accelerators": list(one.accelerators),
        "python": one.python,
        "libraries": list(one.libraries),
        "code": one.code,
        "same_code": one.code == digest_code(),
    }
