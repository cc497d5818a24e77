"""Writing what the ledger derives: the campaign folder and the lessons noted in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.folder.derive import APPEND_ONLY, derive_folder
from layline.campaign.ledger.crash_points import crash_point
from layline.campaign.session.lessons import publish_lessons
from layline.errors import BenchError
from layline.files import write_atomically

if TYPE_CHECKING:
    from layline.campaign.rounds import Campaign


def publish(campaign: Campaign) -> None:
    """Write every derived file that differs; logs only ever grow."""
    for stale in campaign.folder.rglob(".*.tmp"):  # a crash while a file was being replaced
        stale.unlink()
    for name, content in derive_folder(campaign.ledger.read().entries, campaign.place).items():
        place = campaign.folder / name
        current = place.read_bytes() if place.is_file() else None
        if current == content:
            continue
        if name in APPEND_ONLY and current is not None and not content.startswith(current):
            write_atomically(place.with_suffix(".edited.md"), current)  # somebody wrote into it: keep their words
        try:
            write_atomically(place, content)
        except OSError as error:
            raise BenchError(
                f"{place} cannot be written: {error.strerror}.",
                hint="The ledger is complete; `layline campaign resume` writes the folder once there is space.",
            ) from None
        crash_point()
    publish_lessons(campaign)
