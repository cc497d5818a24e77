"""Which commit broke an import: the one that took this name away, not another name of the statement."""

from __future__ import annotations

import pytest

from layline.core.evidence import Location
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.roots import find_since

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
