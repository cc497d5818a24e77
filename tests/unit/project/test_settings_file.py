"""Upstreams that `init` leaves to the user: what its files say of them stands in the commented block."""

from __future__ import annotations

import pytest

from layline.config import Pin
from layline.project.settings_file import render_others
from layline.project.upstreams import Proposal
from layline.project.versions import Version

ASKS = Version(text="0.23.1", said="extras.txt:13 asks for trl==0.23.1", file="extras.txt")
LOWEST = Version(text="0.34.1", said="pyproject.toml:155 asks for keel>=0.34.1")
PINS = [
    # (what it shows, version, tag of a clone, pin, its line)
    (
        "a file pins it",
        ASKS,
        None,
        Pin(file="extras.txt", requirement="keel"),
        (
            '# pin = { file = "extras.txt", requirement = "keel" }  # extras.txt:13 asks for trl==0.23.1; whether upstream '
            "has the tag v0.23.1 was not checked"
        ),
    ),
    (
        "a lower bound",
        LOWEST,
        None,
        Pin(revision="v0.34.1"),
        (
            '# pin = { revision = "v0.34.1" }  # pyproject.toml:155 asks for keel>=0.34.1; whether upstream has the tag '
            "v0.34.1 was not checked"
        ),
    ),
    (
        "a clone has the tag",
        LOWEST,
        "v0.34.1",
        Pin(revision="v0.34.1"),
        '# pin = { revision = "v0.34.1" }  # pyproject.toml:155 asks for keel>=0.34.1',
    ),
    ("nothing is known", None, None, None, '# pin = { revision = "…" }  # the tag or commit it is written for'),
]


@pytest.mark.parametrize(("version", "tag", "pin", "line"), [row[1:] for row in PINS], ids=[row[0] for row in PINS])
def test_what_was_found_is_written(version: Version | None, tag: str | None, pin: Pin | None, line: str) -> None:
    proposal = Proposal(package="keel", files=3, version=version, tag=tag)
    assert line in list(render_others([(proposal, pin, ("own",))], alone=False))
