"""Which upstreams `init` writes as blocks that work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.project.upstreams import Proposal, Version, choose, propose_upstreams
from layline.source.tree import Tree

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


def test_of_two_packages_of_a_clone_the_one_that_is_imported_most_is_meant(tmp_path: Path) -> None:
    """Which one it was depended on the order of a set: `utils` was a folder of our own, and the clone has one, too."""
    ours, clone = History.start(tmp_path / "ours"), History.start(tmp_path / "clone")
    ours.commit("Begin", {"deck.py": "import keel\n"})
    clone.commit("Begin", {"keel/__init__.py": "", "utils/__init__.py": ""})
    repository = open_repository(ours.path)
    tree = Tree(repository, repository.resolve("HEAD"))
    found = propose_upstreams(tree, Counter({"utils": 1, "keel": 5}), tmp_path / "none", (clone.path,))
    assert [one.package for one in found if one.clone] == ["keel"]
