"""Was this kernel measured before, comments and spacing aside? Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.proposers.knobs import fingerprint_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from layline.campaign.ledger.state import Round, State


def find_near_duplicates(state: State, files: Mapping[str, bytes]) -> Iterator[Round]:
    """Earlier rounds whose kernel differs only in comments and spacing."""
    wanted = _fingerprint(files)
    for item in state.rounds:
        if _fingerprint({file.path: file.data for file in state.kernel(item.kernel).files}) == wanted:
            yield item


def _fingerprint(files: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (path, fingerprint_source(path, data.decode("utf-8", "replace"))) for path, data in sorted(files.items())
    )
