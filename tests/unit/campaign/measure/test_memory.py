"""What a kernel keeps for every shape it meets is bounded, too."""

from __future__ import annotations

import pytest

from layline.campaign.devices.device import ACCELERATOR, PROCESSOR
from layline.campaign.devices.faults import Fault
from layline.campaign.measure.probes.endurance import refuse_slow_growth
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


@pytest.mark.parametrize(
    ("held", "made", "is_refused"),
    [
        ([100, 120, 140, 160, 180, 200, 220, 240, 260], 2048, True),  # 80 bytes a call
        ([100, 104, 104, 104, 104, 124, 144, 164, 184], 2048, True),  # the first ones from what was free
        ([100, 400, 700, 700, 700, 700, 700, 700, 700], 2048, False),  # a pool
        ([100, 104, 104, 108, 108, 112, 112, 116, 116], 2048, False),  # a page now and then
        ([100, 100, 100, 100, 100, 100, 100, 100, 400], 2048, False),  # once
        ([100, 200, 300], 512, False),  # a slow kernel makes too few calls to tell
    ],
)
def test_a_little_for_every_call_is_refused(held: list[int], made: int, *, is_refused: bool) -> None:
    if not is_refused:
        refuse_slow_growth(held, made, "here")
        return
    with pytest.raises(Fault, match="a little memory"):
        refuse_slow_growth(held, made, "here")
