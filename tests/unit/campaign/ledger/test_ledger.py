"""The ledger: whole entries only, one chain, nothing changed unseen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layline.campaign.ledger.ledger import Ledger, parse_ledger
from layline.errors import BenchError, RecordError

AT = "2026-11-15 02:20"


def filled(folder: Path) -> Ledger:
    ledger = Ledger(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(4):
        ledger.append(AT, "noted", {"round": number, "text": f"größer {number}"})
    return ledger


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    filled(tmp_path)
    entries = Ledger(tmp_path).read().entries
    assert [(entry.n, entry.data["text"]) for entry in entries] == [(number, f"größer {number}") for number in range(4)]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return filled(tmp_path_factory.mktemp("ledger")).path.read_bytes()


@given(st.data())
def test_any_changed_byte_is_seen(content: bytes, data: st.DataObject) -> None:
    """Flip one byte anywhere: the chain breaks, or the last entry is torn; it is never silently another truth."""
    place = data.draw(st.integers(0, len(content) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[place]))
    changed = content[:place] + bytes([other]) + content[place + 1 :]
    try:
        chain = parse_ledger(changed, where="ledger")
    except RecordError:
        return
    assert place == len(content) - 1  # only the very last line end can go, and then that entry is torn
    assert len(chain.entries) == 3
    assert chain.torn


def test_a_removed_line_breaks_the_chain(tmp_path: Path) -> None:
    ledger = filled(tmp_path)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    for kept in (lines[1:], lines[:1] + lines[2:], [*lines[:2], lines[3], lines[2]]):
        with pytest.raises(RecordError, match="does not follow"):
            parse_ledger(b"".join(kept), where="ledger")


@settings(max_examples=25)
@given(st.integers(1, 200))
def test_a_cut_anywhere_loses_the_last_entry_alone(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int
) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger"))
    last = len(content) - content[:-1].rfind(b"\n") - 1
    if cut >= last:
        return
    ledger.path.write_bytes(content[:-cut])
    fresh = Ledger(ledger.folder)
    assert len(fresh.read().entries) == 3
    assert fresh.recover() == last - cut
    fresh.append(AT, "noted", {"round": 9})
    assert [entry.data["round"] for entry in Ledger(ledger.folder).read().entries] == [0, 1, 2, 9]


def test_a_second_writer_waits_outside(tmp_path: Path) -> None:
    with Ledger(tmp_path).lock(), pytest.raises(BenchError, match="Another process"), Ledger(tmp_path).lock():
        pass


def test_numbers_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Ledger(tmp_path).append(AT, "measured", {"time": float("nan")})
    assert not Ledger(tmp_path).path.exists()
