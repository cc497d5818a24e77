"""Modules of a large tree are values only while somebody asks for them."""

from __future__ import annotations

from layline.source.decoded import Decoded
from layline.source.parsing import encode_module

TEXTS = {name: encode_module(f"def {name}(): ...\n".encode()) for name in ("first", "second", "third")}
ROOM = sum(map(len, TEXTS.values())) - 1
"""For two of them."""


def find_held(decoded: Decoded, order: list[str]) -> set[str]:
    """Those that are the same value when they are asked for again, the newest first."""
    known = {name: decoded.find(name, TEXTS) for name in order}
    return {name for name in reversed(order) if decoded.find(name, TEXTS, hold=False) is known[name]}


def test_the_one_asked_for_longest_ago_is_let_go() -> None:
    decoded = Decoded(ROOM)
    assert find_held(decoded, ["first", "second", "first", "third"]) == {"first", "third"}


def test_who_goes_through_all_holds_none() -> None:
    decoded = Decoded(ROOM)
    held = decoded.find("first", TEXTS)
    for name in TEXTS:
        decoded.find(name, TEXTS, hold=False)
    assert decoded.find("first", TEXTS) is held
    assert decoded.find("second", TEXTS, hold=False) is not decoded.find("second", TEXTS, hold=False)
