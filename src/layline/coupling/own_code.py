"""Our own code beside one upstream commit: what we import, subclass, override and call, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.progress import Progress, silent
from layline.coupling.judge import Judge
from layline.coupling.model import breaks_first
from layline.coupling.own_uses import find_roots, read_uses
from layline.coupling.reading import Finder
from layline.coupling.uses import ANALYSER
from layline.source import Index, Part, build_indexes, open_cache
from layline.source.declared_version import read_tagged, read_version

if TYPE_CHECKING:
    from collections.abc import Container

    from layline.core.evidence import Skipped
    from layline.coupling.model import Coupling
    from layline.git import Repository
    from layline.source.declared_version import Version
    from layline.source.seen import Read
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class JudgedPlaces:
    """What becomes of places of ours, and for each file what was read of the tip to say it."""

    couplings: tuple[Coupling, ...]
    reads: dict[str, set[Read]]


def read_ours(
    workspace: Workspace, theirs: Part, paths: Container[str] | None = None, beside: Index | None = None
) -> tuple[Finder, tuple[Skipped, ...]]:
    """The places of ours that touch what `theirs` holds, and files that could not be read; uses are read of all files,
    or of these. `beside`: an index that holds theirs already.
    """
    ours = Part(tree=workspace.tree, source_roots=workspace.settings.project.source_roots)
    (both,) = read_indexes([ours, theirs], beside=beside)
    roots = find_roots(both, theirs.packages)
    uses, skipped = read_uses(both, roots, open_cache(analyser=ANALYSER), paths)
    return Finder(index=both, packages=roots, uses=uses), skipped


def judge_ours(finder: Finder, judge: Judge, paths: Container[str] | None = None) -> JudgedPlaces:
    """What becomes of every such place between the two commits; of all files, or of these."""
    return JudgedPlaces(tuple(sorted(judge.find_couplings(finder.find_places(paths)), key=breaks_first)), judge.reads)


def find_version(upstream: Repository, commit: str, packages: tuple[str, ...]) -> str | None:
    """What upstream calls itself at a commit; how many commits after a tag it is decides nothing, and changes daily."""
    return _forget_count(read_version(upstream, commit, packages))


def find_running(upstream: Repository, commit: str, packages: tuple[str, ...]) -> str | None:
    """The version that code at a commit runs as: the declared one; of a project that declares none, by its tags."""
    return _forget_count(read_version(upstream, commit, packages) or read_tagged(upstream, commit))


def _forget_count(version: Version | None) -> str | None:
    return re.sub(r"\.dev\d+$", ".dev0", version.text) if version is not None else None


def read_indexes(*wanted: list[Part], progress: Progress = silent, beside: Index | None = None) -> list[Index]:
    """Every list of parts as one index, read through the cache."""
    cache = open_cache()
    indexes = build_indexes(wanted, cache, progress=progress, beside=beside)
    cache.close()
    return indexes
