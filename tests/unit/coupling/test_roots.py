"""Which commit broke an import: the one that took this name away, not another name of the statement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drift_rows import drift_row
from histories import History
from layline.core.evidence import Location, Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.culprit import blame_calls
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.roots import find_since
from layline.git import open_repository

LINE = Location("own/a.py", 20)


def couple(
    target: str, culprit: str | None, consequence: Consequence = Consequence.WILL_BREAK, location: Location = LINE
) -> Coupling:
    return Coupling(
        touch=Touch.IMPORT,
        target=target,
        location=location,
        state=State.REMOVED,
        consequence=consequence,
        culprit=culprit,
    )


STATEMENT = (
    couple("keel.utils.get_batch", "first"),
    couple("keel.utils.get_rank", "second"),
    couple("keel.utils.is_first", "moved later", Consequence.OK),
)
SINCE = [
    ("keel.utils.get_batch", STATEMENT, "first"),
    ("keel.utils.get_rank", STATEMENT, "second"),
    ("keel.utils.is_first", STATEMENT, None),  # it does not break
    ("keel.utils", STATEMENT, None),  # two commits: neither alone is the answer
    ("keel.utils", STATEMENT[1:], "second"),
    ("keel.utils.get_batch", (couple("keel.utils.get_batch", None), STATEMENT[1]), None),
    ("keel.utils.get_batch", (couple("keel.utils.get_batch", "other", location=Location("own/a.py", 21)),), None),
]


@pytest.mark.parametrize(("name", "couplings", "since"), SINCE)
def test_the_commit_is_the_names_own(name: str, couplings: tuple[Coupling, ...], since: str | None) -> None:
    assert find_since(name, LINE, couplings) == since


def test_a_call_inside_a_replacement_has_one_commit_wherever_it_is_told(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "up")
    culprit = upstream.commit("drops a keyword", {"keel.py": ""})
    call = replace(couple("keel.dive", culprit), touch=Touch.CALL, lines=(25,))
    refused = Why(
        Reason.CALLS_REFUSING, "dive", parts=(Why(Reason.NOT_PASSED, "x"),), places=(Location("own/a.py", 25),)
    )
    finding = Finding(severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=(refused,)))
    row = replace(drift_row("ok", "unchanged", "own/a.py:40", "keel.run"), findings=(finding,))
    (found,) = blame_calls([row], [call], open_repository(upstream.path))
    assert found.culprit is not None
    assert found.culprit.hash == culprit
