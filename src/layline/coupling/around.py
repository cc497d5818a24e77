"""Writes in a method of ours that fails whenever upstream calls it, today already: they are never reached."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.model import Coupling, State, Touch
from layline.interpreter.line_tests import find_chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.coupling.drift_model import Drift
    from layline.interpreter.modules import Modules


def mark_unreached(rows: Iterable[Drift], couplings: Iterable[Coupling], modules: Modules) -> Iterator[Drift]:
    """The same rows; one whose line stands in an override that fits neither ref says so."""
    failing = {
        Location(one.location.path, line)
        for one in couplings
        if one.touch is Touch.OVERRIDE and one.state is State.NEVER_FITTED
        for line in (one.location.line, *one.lines)
    }
    paths = {one.path for one in failing}
    for row in rows:
        found = _find_around(row.location, failing, modules) if row.location.path in paths else None
        why = Why(Reason.AROUND_FAILS, places=(found,)) if found is not None else None
        yield row if why is None else replace(row, findings=(*row.findings, Finding(severity=Severity.BREAKS, why=why)))


def _find_around(at: Location, failing: set[Location], modules: Modules) -> Location | None:
    """The first line of the failing method around a line."""
    module = modules.find(modules.names_by_path.get(at.path, ""))
    chain = find_chain(module.body, at.line) if module is not None else []
    places = (Location(at.path, node.lineno) for node in chain)
    return next((place for place in places if place in failing), None)
