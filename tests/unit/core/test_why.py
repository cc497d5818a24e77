"""Some parts of a sum told alone: with the subject of the sum, whole, and once."""

from __future__ import annotations

import pytest

from layline.core.evidence import Location
from layline.core.why import Reason, Why, say_parts

ONE, OTHER = Why(Reason.REFUSES_KEYWORD, "mask"), Why(Reason.RETURNS_OLD, counts=(3, 5))
AT = (Location("up/model.py", 7),)
FIELD = Why(Reason.FIELD_REFUSES, "forward", "rope", places=AT, parts=(ONE,))
PASSED = Why(Reason.MISFITS_PASSED, places=AT, parts=(ONE, OTHER))
REFUSED = (
    "forward of our class does not take the keyword mask; upstream passes that to what rope holds at up/model.py:7"
)
TOLD = [
    ((FIELD,), (FIELD,), REFUSED),
    ((ONE,), (FIELD,), REFUSED),
    ((PASSED,), (PASSED,), str(PASSED)),
    ((ONE,), (PASSED,), "our replacement does not take the keyword mask"),
    ((ONE,), (), "does not take the keyword mask"),
    ((Why(Reason.ADDS_MISSING), ONE), (PASSED,), f"{Why(Reason.ADDS_MISSING)}; our replacement {ONE}"),
]


@pytest.mark.parametrize(("parts", "sums", "told"), TOLD)
def test_parts_with_the_subject_of_their_sum(parts: tuple[Why, ...], sums: tuple[Why, ...], told: str) -> None:
    assert say_parts(parts, sums) == told
