"""What every app function starts from: settings, the downstream at a commit, each backend's objects."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.config import FILE_NAME, Pin, find_settings_file, load_settings
from layline.core.evidence import Evidence
from layline.errors import ConfigError, Error, GitError, MissingObject
from layline.git import Repository, open_repository
from layline.git.mirror import fetch_mirror
from layline.git.overlay import Overlay
from layline.git.repository import find_git_dir
from layline.git.worktree import find_edits, find_work_tree
from layline.history.pins import read_pin
from layline.source import Part, Tree
from layline.source.cache import cache_directory

if TYPE_CHECKING:
    from collections import Counter

    from layline.config import Backend, Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """One backend with its upstream's objects, at the commit the downstream uses."""

    key: str
    backend: Backend
    repository: Repository
    commit: str
    evidence: Evidence
    """Where the downstream writes the pin."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A configured downstream, looked at as it was at `commit`."""

    settings: Settings
    root: Path
    downstream: Repository
    commit: str
    worktree: bool = False
    """The downstream is looked at as it lies on disk, uncommitted edits and all, over `commit`."""
    places: Mapping[str, Path] = field(default_factory=dict, compare=False, repr=False)
    """Where backends' objects lie, if not where the settings say: on a machine that they were sent to."""
    file: Path | None = field(default=None, compare=False, repr=False)
    """Where the settings were read."""
    _pinned: dict[str, Pinned] = field(default_factory=dict, init=False, compare=False, repr=False)
    trees: dict[tuple[Repository, str], Tree] = field(default_factory=dict, compare=False, repr=False)
    """What was listed, shared with the same project under other settings and at other commits."""

    @property
    def tree(self) -> Tree:
        """The downstream's files as they are looked at; listed once."""
        key = self.downstream, self.commit
        if key not in self.trees:
            self.trees[key] = Tree(*key)
        return self.trees[key]

    @property
    def here(self) -> Evidence:
        """The commit looked at, as a report names it."""
        return Evidence(repo=self.downstream.name, commit=self.commit)

    @property
    def settings_path(self) -> str | None:
        """The settings file as a path of the downstream; None where it lies outside."""
        top = find_work_tree(self.downstream) if self.file is not None else None
        place = self.file.parent.resolve() / self.file.name if self.file is not None else None
        inside = top is not None and place is not None and place.is_relative_to(top.resolve())
        return place.relative_to(top.resolve()).as_posix() if inside and place and top else None

    def look_at(self, commit: str) -> Workspace:
        """The same project at another commit, with the pins that its settings file gives there."""
        found, path = replace(self, commit=commit), self.settings_path
        data = self.downstream.read_file(commit, path) if path is not None else None
        return replace(found, settings=_take_pins(self.settings, data)) if data is not None else found

    def label(self, key: str) -> str:
        """What people call a backend."""
        return self.settings.backend(key).label or key

    def choose(self, key: str | None) -> tuple[str, ...]:
        """The backend named, or all."""
        return (key,) if key else tuple(self.settings.backends)

    def read_pinned_part(self, key: str) -> Part:
        """A backend's upstream at its pin, as a part of an index."""
        pinned = self.find_pinned(key)
        tree = Tree(pinned.repository, pinned.commit)
        return Part(tree=tree, source_roots=pinned.backend.source_roots, packages=pinned.backend.packages)

    def find_pinned(self, key: str) -> Pinned:
        """The backend at its pin; looked up once."""
        if key not in self._pinned:
            repository, backend = self.open_backend(key), self.settings.backend(key)
            written = read_pin(self.downstream, self.commit, key, backend)
            try:
                commit = repository.resolve(written.revision)
            except MissingObject as error:
                raise MissingObject(
                    f"{written.revision[:12]}, the pin of {key!r}", repository.name, hint=error.hint
                ) from None
            except GitError as error:
                raise GitError(f"The pin of {key!r} in {FILE_NAME}: {error.message}", hint=error.hint) from None
            self._pinned[key] = Pinned(
                key=key, backend=backend, repository=repository, commit=commit, evidence=written.evidence
            )
        return self._pinned[key]

    def open_backend(self, key: str) -> Repository:
        """The repository that holds the backend's upstream objects."""
        backend = self.settings.backend(key)
        sent = self.places.get(key)
        for place in [sent] if sent else objects_candidates(self.root, self.downstream, key, backend):
            if find_git_dir(place) is not None:
                return open_repository(place, backend.upstream or key)
        read_pin(self.downstream, self.commit, key, backend)  # an undecided pin is the first thing to mend
        ways = [f"set `backends.{key}.objects` to a clone or bare mirror"]
        ways += ["run `git submodule update --init`"] if backend.path is not None else []
        ways += [f"let `layline gap show {key} --fetch` download them"] if backend.upstream else []
        hint = ", or ".join(ways)
        raise ConfigError(
            f"The upstream objects of {key!r} are not on this machine.", hint=f"{hint[0].upper()}{hint[1:]}."
        )


def open_workspace(config: Path | None = None, *, at: str = "HEAD", worktree: bool = False) -> Workspace:
    """The downstream of a layline.toml (default: the nearest one here or above) as it was at a commit, or lies on
    disk.
    """
    loaded = load_settings(config or find_settings_file(Path.cwd()))
    project = loaded.settings.project
    downstream = open_repository(loaded.root / project.git, project.repository or project.name)
    found = Workspace(loaded.settings, loaded.root, downstream, downstream.resolve(at), file=loaded.file)
    if worktree:
        return _open_on_disk(found, at)
    return found if at == "HEAD" else found.look_at(found.commit)


def _take_pins(settings: Settings, data: bytes) -> Settings:
    """Our settings with the revisions that the text of another settings file pins."""
    try:
        written = tomllib.loads(data.decode("utf-8")).get("backends", {})
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return settings
    backends = dict(settings.backends)
    for key, backend in settings.backends.items():
        match written.get(key):
            case {"pin": {"revision": str(revision)}} if backend.pin is not None and backend.pin.revision is not None:
                backends[key] = replace(backend, pin=replace(backend.pin, revision=revision))
    return replace(settings, backends=backends)


def _open_on_disk(workspace: Workspace, at: str) -> Workspace:
    if at != "HEAD":
        raise ConfigError("--worktree reads the files on disk, --at reads a commit.", hint="Leave one of them out.")
    edits = find_edits(workspace.downstream, workspace.commit, lambda _: True)
    if edits is None:
        raise ConfigError(
            f"{workspace.downstream.name} has no work tree here.",
            hint="Check its files out, or read a commit with --at.",
        )
    over = Overlay(workspace.downstream, workspace.commit, edits.files, edits.links)
    return replace(workspace, downstream=over, worktree=True)


def objects_candidates(root: Path, downstream: Repository, key: str, backend: Backend) -> list[Path]:
    """Where a backend's objects may be, in the order they are looked for."""
    if backend.objects is not None:
        return [root / Path(backend.objects).expanduser()]
    # the mirror first: it exists only because the user asked for newer commits than the submodule has
    places = [mirror_path(key, backend)]
    if backend.path is not None:
        places += [root / backend.path, downstream.common_dir / "modules" / backend.path]
    return places


def mirror_path(key: str, backend: Backend) -> Path:
    """Layline's own mirror of an upstream, made by --fetch."""
    name = (backend.upstream or key).removeprefix("https://").removesuffix(".git").replace("/", "+")
    return cache_directory() / "mirrors" / f"{name}.git"


def fetch_backend(workspace: Workspace, key: str) -> Path:
    """Bring the newest commits of a backend's upstream into Layline's own mirror; the user's clones stay as they
    are.
    """
    backend = workspace.settings.backend(key)
    if backend.upstream is None:
        raise ConfigError(f"backends.{key} has no `upstream` address to fetch from.", hint="Add its https address.")
    if backend.objects is not None:
        raise ConfigError(
            f"backends.{key}.objects names a repository of yours; --fetch only writes Layline's own mirror.",
            hint=f"Run `git -C {backend.objects} fetch`, or remove `objects`.",
        )
    mirror = mirror_path(key, backend)
    fetch_mirror(backend.upstream, mirror)
    return mirror


def pin_to(workspace: Workspace, key: str, commit: str) -> Workspace:
    """The same downstream, as if it pinned this upstream commit."""
    backend = replace(workspace.settings.backend(key), pin=Pin(revision=commit))
    settings = replace(workspace.settings, backends={**workspace.settings.backends, key: backend})
    return replace(workspace, settings=settings)


def know_packages(workspace: Workspace) -> Workspace:
    """The workspace with `packages` filled in where none are configured: those the upstream tree offers at the pin.

    Of these only what the downstream imports from counts, if it imports any: an upstream's tools are not its surface.
    """
    unknown = {key: backend for key, backend in workspace.settings.backends.items() if not backend.packages}
    if not unknown:
        return workspace
    from layline.source import survey  # most answers need none, and each module costs a start its share

    imported: Counter[str] | None = None
    backends = dict(workspace.settings.backends)
    for key, backend in unknown.items():
        try:
            pinned = workspace.find_pinned(key)
            offered = survey.find_packages(Tree(pinned.repository, pinned.commit), backend.source_roots)
        except Error:
            continue  # without its objects nothing can be said; the command that needs them says so
        if imported is None:
            imported = survey.find_imported_packages(workspace.tree)
        used = tuple(name for name in offered if name.partition(".")[0] in imported)
        backends[key] = replace(backend, packages=used or tuple(offered))
    return replace(workspace, settings=replace(workspace.settings, backends=backends))
