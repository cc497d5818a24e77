"""Which upstreams `init` writes as blocks that work."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.project.upstreams import Proposal, choose, propose_upstreams
from layline.project.versions import Version
from layline.project.writes import count_writes
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


MEANT = [
    # (our file, our requirements, how many of our files import each)
    ("import keel\n", "", {"utils": 1, "keel": 5}),
    ("import keel\nkeel.a = 1\n", "", {"utils": 5, "keel": 1}),
    ("import keel\n", "keel==1.0\n", {"utils": 5, "keel": 1}),
]


@pytest.mark.parametrize(("source", "required", "imported"), MEANT)
def test_of_two_packages_of_a_clone_the_one_that_is_required_patched_or_imported_most_is_meant(
    tmp_path: Path, source: str, required: str, imported: dict[str, int]
) -> None:
    """`utils` is a folder of our own, and the clone has one, too."""
    ours, clone = History.start(tmp_path / "ours"), History.start(tmp_path / "clone")
    ours.commit("Begin", {"deck.py": source, "requirements.txt": required})
    clone.commit("Begin", {"keel/__init__.py": "", "utils/__init__.py": ""})
    repository = open_repository(ours.path)
    tree = Tree(repository, repository.resolve("HEAD"))
    found, _ = propose_upstreams(tree, Counter(imported), tmp_path / "none", (clone.path,))
    assert [one.package for one in found if one.clone] == ["keel"]


WRITES = [
    # what our file does, how many of its lines assign to names of hull
    ("import hull\nhull.a = hull.b = 1\nhull.c.d = 2\n", 2),
    ("import hull\nsetattr(hull.mast, name, f)\n", 1),
    ("try:\n    import mast as it\nexcept ImportError:\n    import hull as it\nit.a = 1\n", 0),
    ("import hull\nhull.run()\n", 0),
]


@pytest.mark.parametrize(("source", "lines"), WRITES)
def test_lines_that_assign_are_counted(tmp_path: Path, source: str, lines: int) -> None:
    """One name for two packages was taken for the one that is imported last."""
    ours = History.start(tmp_path / "ours")
    ours.commit("Begin", {"deck.py": source})
    repository = open_repository(ours.path)
    assert count_writes(Tree(repository, repository.resolve("HEAD")), ["hull", "mast"])["hull"] == lines


@pytest.mark.parametrize(("jobs", "pin"), [(1, None), (2, "1.20.0")])
def test_what_one_job_installs_is_not_what_the_metadata_ask_for(tmp_path: Path, jobs: int, pin: str | None) -> None:
    ours = History.start(tmp_path / "ours")
    run = "RUN pip install git+https://github.com/fork/hull.git@1.20.0\n"
    files: dict[str, str | bytes | None] = {f"docker/Dockerfile.{number}": run for number in range(jobs)}
    metadata = '[project]\nname = "deck"\noptional-dependencies.all = ["hull"]\n'
    ours.commit("Begin", {"deck.py": "import hull\nhull.a = 1\nimport hull.b\n", "pyproject.toml": metadata, **files})
    repository = open_repository(ours.path)
    tree = Tree(repository, repository.resolve("HEAD"))
    ((found,), _) = propose_upstreams(tree, Counter({"hull": 3}), tmp_path / "none", ())
    assert (found.version.text if found.version is not None else None) == pin
