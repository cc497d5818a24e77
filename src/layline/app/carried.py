"""Repositories that travel with questions: each as one bundle, once to each machine that does not see the original."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from layline.errors import ConfigError, Error, GitError, say_error
from layline.executors import Parcel, Plain
from layline.executors.parcels import FILE, LACKS, PARCELS
from layline.git import Repository, open_repository
from layline.git.bundle import digest_refs, read_bundle, read_head, write_bundle
from layline.git.repository import uses_sha256
from layline.project.cache import CARRIED
from layline.source.cache import cache_directory
from layline.workspace.open import Workspace

RECEIVE = f"{__name__}:receive"
_UNUSED_S = 7 * 24 * 3600
"""What nobody asked for in a week is deleted when something new comes."""


def name_repositories(workspace: Workspace) -> dict[str, Plain]:
    """The downstream (by the empty key) and each backend that is here: place, name, and the commits asked for."""
    found = {"": _name(workspace.downstream, workspace.commit)}
    for key in workspace.settings.backends:
        with suppress(Error):  # what is not here is said by the command itself
            pinned = workspace.find_pinned(key)
            found[key] = _name(pinned.repository, pinned.commit)
    return found


def _name(repository: Repository, commit: str) -> Plain:
    return {"place": str(repository.git_dir.absolute()), "name": repository.name, "commit": commit}


class Load:
    """What all questions of a command need; each repository once."""

    def __init__(self, named: Iterable[Plain]) -> None:
        self._repositories: dict[str, Repository] = {}
        self._commits: dict[str, set[str]] = {}
        for one in named:
            place = one["place"]
            if place not in self._repositories:
                self._repositories[place] = open_repository(Path(place), one["name"])
            self._commits.setdefault(place, set()).add(one["commit"])

    def describe(self) -> dict[str, Plain]:
        """By the place here: what another machine needs to know of each."""
        return {place: self._describe(place, repository) for place, repository in self._repositories.items()}

    def _describe(self, place: str, repository: Repository) -> Plain:
        digest = digest_refs(repository)
        named = "\n".join((digest, *sorted(self._commits[place])))
        return {
            "place": place,
            "refs": digest,
            "id": hashlib.sha256(named.encode()).hexdigest()[:32],
            "head": read_head(repository),
            "bare": repository.is_bare,
            "sha256": uses_sha256(repository.common_dir),
        }

    @contextmanager
    def pack(self) -> Iterator[tuple[Parcel, ...]]:
        """The bundles, each made when somebody lacks it."""
        with tempfile.TemporaryDirectory(prefix="layline-bundles-") as folder:
            yield tuple(self._pack(about, Path(folder)) for about in self.describe().values())

    def _pack(self, about: Plain, folder: Path) -> Parcel:
        def make() -> Path:
            file = folder / str(about["id"])
            if not file.exists():
                write_bundle(self._repositories[about["place"]], file, self._commits[about["place"]])
            return file

        return Parcel(about, make)


def receive(job: Plain) -> Plain:
    """On another machine: which repositories it lacks, or unpack one that was sent."""
    if FILE not in job:
        return {LACKS: [number for number, about in enumerate(job[PARCELS]) if _look_up(about) is None]}
    folder = cache_directory() / CARRIED
    try:
        _forget_old(folder)
        with _alone(folder / f"{job['id']}.lock"):  # nodes of one machine share it
            if not (folder / job["id"]).is_dir():
                file = Path(job[FILE])
                head, is_bare, sha256 = job["head"], job["bare"], job["sha256"]
                read_bundle(file, folder / job["id"], head=head, is_bare=is_bare, sha256=sha256)
    except OSError as error:
        raise ConfigError(
            f"A repository cannot be kept in {folder}: {say_error(error)}.",
            hint="LAYLINE_CACHE moves it; set it for Ray's nodes.",
        ) from None
    return {}


def find_place(about: Plain) -> Path:
    """Where a repository that a question is about lies on this machine."""
    found = _look_up(about)
    if found is None:
        raise ConfigError(f"{about['place']} is not on this machine.", hint="Run the same command again.")
    return found


def _look_up(about: Plain) -> Path | None:
    sent = cache_directory() / CARRIED / str(about["id"])
    if sent.is_dir():
        with suppress(OSError):
            sent.touch()
        return sent
    place = Path(about["place"])
    return place if _has_refs(place, about["refs"]) else None


@lru_cache(maxsize=64)
def _has_refs(place: Path, digest: str) -> bool:
    """Whether this is the repository that was meant, as it was when the command began."""
    try:
        return digest_refs(open_repository(place)) == digest
    except GitError:
        return False


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _forget_old(folder: Path) -> None:
    if not folder.is_dir():
        return
    for one in folder.iterdir():
        with suppress(OSError):
            if one.is_dir() and time.time() - one.stat().st_mtime > _UNUSED_S:
                shutil.rmtree(one, ignore_errors=True)
