"""Submodules as backends, with the clone that has the pinned commit where the user named one."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.config import Backend
from layline.errors import Error
from layline.git import open_repository
from layline.git.repository import find_git_dir
from layline.project.settings_file import Draft, relative
from layline.source import survey
from layline.source.home_address import read_home_address
from layline.source.tree import Tree

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from layline.core.evidence import Location
    from layline.source.survey import Submodule


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The downstream as its submodules are looked at."""

    tree: Tree
    place: Path
    folder: Path
    """Where layline.toml will stand: clones are written as it sees them."""
    clones: tuple[Path, ...]
    """Those that the user named."""
    imported: Counter[str]

    def find_clone(self, submodule: Submodule) -> Path | None:
        """The named clone that has the pinned commit: a mirror may have no address, but a commit is in one history."""
        pin = self.tree.entries[submodule.path].oid
        return next((clone for clone in self.clones if open_repository(clone).has(f"{pin}^{{commit}}")), None)

    def read_pinned(self, submodule: Submodule) -> Tree | None:
        """Its tree at the pin; None without its objects."""
        named = self.find_clone(submodule)
        inner = (self.place / submodule.path, self.tree.repository.common_dir / "modules" / submodule.path)
        for candidate in inner if named is None else (named,):
            if find_git_dir(candidate) is None:
                continue
            try:
                upstream = open_repository(candidate)
                return Tree(upstream, upstream.resolve(self.tree.entries[submodule.path].oid))
            except Error:
                return None
        return None

    def find_packages(self, submodule: Submodule) -> tuple[str, ...]:
        """What its tree at the pin offers and the downstream imports; empty without its objects."""
        pinned = self.read_pinned(submodule)
        try:
            names = survey.find_packages(pinned) if pinned is not None else []
        except Error:
            return ()
        return tuple(name for name in names if name.split(".")[0] in self.imported) or tuple(names)

    def find_address(self, submodule: Submodule) -> tuple[str | None, Location | None]:
        """The address in .gitmodules; where that is local or relative, the one that its tree at the pin names."""
        address = survey.to_https(submodule.url)
        pinned = self.read_pinned(submodule) if address is None else None
        home = read_home_address(pinned, posixpath.basename(submodule.path)) if pinned is not None else None
        return (home.url, home.location) if home is not None else (address, None)


def find_submodules(tree: Tree) -> tuple[Submodule, ...]:
    """Those of .gitmodules that the tree has a commit of."""
    modules = tree.read_text(".gitmodules")
    written = survey.parse_gitmodules(modules) if isinstance(modules, str) else ()
    return tuple(one for one in written if (entry := tree.entries.get(one.path)) is not None and entry.is_gitlink)


def draft_submodules(on: Survey, submodules: tuple[Submodule, ...]) -> Iterator[Draft]:
    folders = survey.match_integration(on.tree, [posixpath.basename(item.path) for item in submodules])
    for submodule in submodules:
        if on.find_clone(submodule) is not None or _is_used(on, submodule, folders):
            yield _draft_submodule(on, submodule, folders)


def _is_used(on: Survey, submodule: Submodule, folders: dict[str, str]) -> bool:
    """A folder of ours has its name, or we import a package of it; recipes and data in a submodule are no upstream."""
    name = survey.normalise(posixpath.basename(submodule.path))
    offered = {one.partition(".")[0] for one in on.find_packages(submodule)}
    if posixpath.basename(submodule.path) in folders or offered & on.imported.keys():
        return True
    longer = any(survey.normalise(one).startswith(name) for one in on.imported) if len(name) > 3 else False
    return longer or find_package(name, on.imported) is not None


def _draft_submodule(on: Survey, submodule: Submodule, folders: dict[str, str]) -> Draft:
    name = posixpath.basename(submodule.path)
    folder = folders.get(name)
    key = posixpath.basename(folder) if folder else re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    clone = on.find_clone(submodule)
    branch = submodule.branch or (open_repository(clone).branch if clone is not None else None) or "main"
    remarks = [] if folder else ["no folder has its name: add `integration` if there is one"]
    if submodule.branch is None:
        said = "is assumed" if clone is None else "is the branch of the clone"
        remarks.append(f".gitmodules names no branch: `ref` {said}")
    address, named_in = on.find_address(submodule)
    backend = Backend(
        label=name,
        path=submodule.path,
        upstream=address,
        ref=branch,
        objects=relative(clone, on.folder) if clone is not None else None,
        packages=on.find_packages(submodule),
        integration=(folder,) if folder else (),
        patches=tuple(survey.find_patch_folders(on.tree, folder)) if folder else (),
        configs=tuple(survey.find_config_folders(on.tree, key)),
    )
    return Draft(key=key, backend=backend, remarks=tuple(remarks), named_in=named_in)


def find_package(repository: str, imported: Counter[str]) -> str | None:
    """The imported package a repository is named after: `megatron` of Megatron-LM."""
    fitting = [
        name
        for name in imported
        if survey.normalise(name) == repository or (len(name) > 3 and repository.startswith(survey.normalise(name)))
    ]
    return max(fitting, key=lambda name: (len(name), name)) if fitting else None
