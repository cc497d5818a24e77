"""An attempt is on the disk before its run: with its seed, its machine and its share of the error."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from layline.campaign.ledger.ledger import Entry
from layline.campaign.verify import find_other_draws

SEED, OTHER = "aa" * 32, "bb" * 32


def promise(seed: str) -> tuple[str, dict[str, Any]]:
    return "attempted", {"round": 2, "seed_commitment": hashlib.sha256(bytes.fromhex(seed)).hexdigest()}


def measure(seed: str) -> tuple[str, dict[str, Any]]:
    return "measured", {"round": 2, "measurement": {"seed": seed}}


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([promise(SEED), measure(SEED)], 0),
        ([promise(SEED), measure(OTHER)], 1),
        ([promise(SEED), promise(OTHER), measure(OTHER)], 0),  # the first was cut short
        ([promise(SEED), promise(OTHER), measure(SEED)], 1),  # its answer came late
        ([("attempted", {"round": 2}), measure(SEED)], 0),  # written by an older version
    ],
)
def test_a_run_has_the_seed_that_was_committed_to(events: list[tuple[str, dict[str, Any]]], found: int) -> None:
    entries = [Entry(n=n, at="", kind=kind, data=data, previous="", hash="") for n, (kind, data) in enumerate(events)]
    assert len(list(find_other_draws(entries))) == found
