"""Which upstreams `init` writes as blocks that work."""

from __future__ import annotations

import pytest

from layline.project.upstreams import Proposal, Version, choose

HERE = Version(text="1.0", said="setup.py asks for it")
LIB = Proposal(package="lib", files=6, version=HERE, address="https://example.org/lib")
PATCHED = Proposal(package="hull", files=3, writes=2, version=HERE, address="https://example.org/hull")
NOWHERE = Proposal(package="mast", files=90, writes=8, version=HERE)
CHOICES = [
    # proposals, what is chosen where the project pins nothing itself
    ([LIB], ["lib"]),
    ([PATCHED, LIB], ["hull"]),
    ([NOWHERE, LIB], []),  # a block for what nobody patches would answer a question that nobody asks
    ([NOWHERE, PATCHED, LIB], ["hull"]),
]


@pytest.mark.parametrize(("proposals", "expected"), CHOICES)
def test_what_is_patched_is_chosen(proposals: list[Proposal], expected: list[str]) -> None:
    assert [one.package for one in choose(proposals, (), alone=True)] == expected
