"""Writes the sample's repositories: Keel, Spar and Rivet as bare mirrors, Harbor with a work tree and its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from layline.core.progress import silent
from layline.git import Repository, open_repository
from layline.git.create import (
    Change,
    PlannedCommit,
    Signature,
    create_repository,
    create_submodule,
    create_work_tree,
)
from layline.sample.chronicle import parse_chronicle
from layline.sample.plan import plan_history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from layline.core.progress import Progress
    from layline.sample.chronicle import Entry

DATE = "2026-06-30"
"""Today, in the sample; every command that wants a date is given this one."""
CHRONICLES = {"keel": 2, "spar": 1, "rivet": 1, "harbor": 3}
"""How many volumes the history of each repository has; upstreams come first, because Harbor pins them."""
SUBMODULES = {"keel": "keel#55", "spar": "spar#17"}
"""What is checked out below `third_party`: the pins of Harbor's newest commit."""
_REMOTE = "https://example.org/{0}/{0}.git"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Where the sample was written."""

    root: Path
    hashes: dict[str, str] = field(repr=False)
    """`keel#58`, `keel@v0.9.0`, `keel@main`, `harbor@main` … → commit."""

    @property
    def harbor(self) -> Path:
        """The downstream: a work tree with `layline.toml`."""
        return self.root / "harbor"

    @property
    def workshop(self) -> Path:
        """A small repository with one kernel, for a campaign; candidates lie beside it."""
        return self.root / "workshop"

    @property
    def fresh(self) -> Path:
        """An empty folder, for `layline init` to write into."""
        return self.root / "fresh"

    @property
    def config(self) -> Path:
        return self.harbor / "layline.toml"

    def mirror(self, name: str) -> Path:
        """The bare mirror of an upstream."""
        return self.root / f"{name}.git"

    def open(self, name: str) -> Repository:
        return open_repository(self.harbor if name == "harbor" else self.mirror(name), name)

    def export(self, name: str, commit: str, directory: Path) -> None:
        """Write the files of a commit (`keel#55`, `keel@main` or a hash) as a plain folder, for those who import
        them.
        """
        repository = self.open(name)
        for entry in repository.read_tree(self.hashes.get(commit, commit)):
            if not entry.is_file:
                continue
            target = directory / entry.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(repository.read_blob(entry.oid))


def write_sample(root: Path, progress: Progress = silent) -> Sample:
    """Write the whole sample into a new directory; the same hashes every time."""
    hashes: dict[str, str] = {}
    root.mkdir(parents=True, exist_ok=True)
    for done, name in enumerate(CHRONICLES):
        progress("writing the sample", done, len(CHRONICLES))
        plan = plan_history(find_entries(name), hashes)
        made = create_repository(root / f"{name}.git", plan.commits, plan.tags)
        hashes |= {f"{name}{label}": made[number - 1] for label, number in plan.names.items()}
    sample = Sample(root=root, hashes=hashes)
    create_work_tree(sample.mirror("harbor"), sample.harbor, remote=_REMOTE.format("harbor"))
    for name, pin in SUBMODULES.items():
        path, remote = f"third_party/{name}", _REMOTE.format(name)
        create_submodule(sample.harbor, path, sample.mirror(name), commit=hashes[pin], remote=remote)
    _write_workshop(sample)
    sample.fresh.mkdir()
    _write_files(resources.files("layline.sample") / "files", sample.harbor)
    return sample


def _write_workshop(sample: Sample) -> None:
    """The plainest correct GEMM under version control; a faster one and a wrong one as candidates."""
    kernels = resources.files("layline.campaign") / "operators" / "kernels"
    signature = Signature("Noor Haddad", "noor.haddad@example.org", "1782806400 +0800")
    start = PlannedCommit(
        number=1,
        ref="refs/heads/main",
        message="Multiply, plainly\n",
        author=signature,
        committer=signature,
        parents=(),
        changes=(Change("gemm.c", (kernels / "gemm_naive.c").read_bytes()),),
    )
    create_repository(sample.root / "workshop.git", [start])
    create_work_tree(sample.root / "workshop.git", sample.workshop, remote=_REMOTE.format("workshop"))
    for name in ("tiled", "wrong"):
        candidate = sample.root / "candidates" / f"{name}.c"
        candidate.parent.mkdir(exist_ok=True)
        candidate.write_bytes((kernels / f"gemm_{name}.c").read_bytes())


def _write_files(folder: Traversable, target: Path) -> None:
    """What Harbor's people keep beside their repository: Layline's settings and two benchmark runs."""
    target.mkdir(exist_ok=True)
    for item in folder.iterdir():
        if item.is_dir():
            _write_files(item, target / item.name)
        else:
            (target / item.name).write_bytes(item.read_bytes())


def find_entries(name: str) -> Iterator[Entry]:
    """Every commit of a repository, in the order its chronicle tells them."""
    for volume in range(1, CHRONICLES[name] + 1):
        chronicle = resources.files("layline.sample") / "chronicles" / f"{name}-{volume}.md"
        yield from parse_chronicle(chronicle.read_text(encoding="utf-8"))
