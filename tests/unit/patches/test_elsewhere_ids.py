"""Ids of places outside patches: whoever accepts one accepts no other."""

from __future__ import annotations

from layline.core.evidence import Location, Severity
from layline.patches.drift.elsewhere import Elsewhere
from layline.patches.drift.report import number_repeats


def _place(line: int, target: str = "up.C.__init__") -> Elsewhere:
    at = Location(path="ours/a.py", line=line)
    return Elsewhere(touch="overrides", target=target, location=at, severity=Severity.BREAKS, detail="")


def test_two_overrides_of_one_file_have_an_id_each() -> None:
    """Both were `drift-9e9f280e59a3`: one entry of a baseline accepted two breaks."""
    first, second, other = _place(215), _place(509), _place(20, "up.D.__init__")
    numbered = list(number_repeats((first, second, other)))
    assert len({one.id for one in numbered}) == 3
    assert [one.id for one in numbered[::2]] == [first.id, other.id]
