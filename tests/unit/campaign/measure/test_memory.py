"""What a kernel keeps for every shape it meets is bounded, too."""

from __future__ import annotations

import pytest

from layline.campaign.devices.device import ACCELERATOR, PROCESSOR
from layline.campaign.devices.faults import Fault
from layline.campaign.measure.probes.memory import NEW, NEW_BLOCK, _refuse_kept


@pytest.mark.parametrize(
    ("counts", "is_refused"),
    [
        ((1000, 18_000, 35_000, 52_000), True),
        ((1000, 18_000, 35_000, 35_100), False),  # a pool that grew twice
        ((1000, 90_000, 90_000, 90_000), False),  # what the first few fill
        ((1000, 1010, 1020, 1030), False),  # a plan for each
        ((1000, 90_000), False),  # an operator that allows few shapes tells nothing
    ],
)
def test_growth_with_every_few_new_shapes_is_refused(counts: tuple[int, ...], *, is_refused: bool) -> None:
    least = PROCESSOR.per_shape["KiB of memory"]
    if not is_refused:
        _refuse_kept("KiB of memory", list(counts), least)
        return
    with pytest.raises(Fault, match="Every new shape"):
        _refuse_kept("KiB of memory", list(counts), least)


def test_there_are_blocks_enough_to_tell_growth_from_a_pool() -> None:
    assert len(NEW) >= 3 * NEW_BLOCK
    for pace in (PROCESSOR, ACCELERATOR):
        assert pace.per_shape.keys() == pace.growth.keys()
