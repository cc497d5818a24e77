"""Calls on several streams: what is held against a kernel is seen twice where a late machine could do it as well."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from layline.campaign.devices.faults import Fault
from layline.campaign.measure.probes import streams

LATE, SPOILT = Fault("keeps-contract", "No answer within 90 s."), Fault("stream-order", "Wrong.")


@pytest.mark.parametrize(
    ("seen", "refused"),
    [([None], None), ([LATE, None], None), ([LATE, LATE, None], "keeps-contract"), ([SPOILT, None], "stream-order")],
    ids=["right", "late once", "late twice", "spoilt"],
)
def test_late_once_is_not_late(monkeypatch: pytest.MonkeyPatch, seen: list[Fault | None], refused: str | None) -> None:
    answers = iter(seen)
    monkeypatch.setattr(streams, "find_spoilt", lambda _stage, _arm: next(answers))
    on: Any = SimpleNamespace(stage=None, start=object(), open_again=_open, open_start=_open)
    try:
        list(streams.show_streams(on))
        found = None
    except Fault as fault:
        found = fault.property
    assert found == refused
    assert next(answers, "all asked") == "all asked"


def _open(*_words: object) -> Any:
    @contextmanager
    def loaded() -> Any:
        yield None

    return SimpleNamespace(loaded=loaded)
