"""Which files of a tree tell what it needs, and reading them all."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.ours import is_vendored
from layline.gap.dependencies.containers import CONTAINER_FILE, find_container_declarations
from layline.gap.dependencies.documents import find_document_declarations
from layline.gap.dependencies.locks import LOCK_FILES, read_lock
from layline.gap.dependencies.model import (
    BY,
    METADATA_FILES,
    SETUP_FILES,
    Declaration,
    LockedSet,
    Rank,
    Unread,
    leave_unread,
)
from layline.gap.dependencies.pyproject import dynamic_requirement_files, find_dynamic, find_pyproject_declarations
from layline.gap.dependencies.requirement_files import REQUIREMENT_FILE, find_requirement_declarations
from layline.gap.dependencies.setup_files import (
    find_setup_cfg_declarations,
    find_setup_py_declarations,
    find_setup_py_files,
)
from layline.gap.dependencies.shell import find_shell_declarations
from layline.gap.dependencies.workflows import find_commented, find_workflow_declarations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.source.tree import Tree

_WORKFLOW = re.compile(
    r"^\.github/(?:workflows|actions)/.*\.ya?ml$|^\.gitlab(?:-ci)?(?:/.*)?\.ya?ml$|^\.gitlab-ci\.ya?ml$"
    r"|^\.circleci/.*\.ya?ml$"
)
_CI_SCRIPT = re.compile(r"^(?:\.ci|\.github|\.gitlab|docker|ci)/.*\.sh$")
_DOCUMENT = re.compile(
    r"^(?:docs?|documentation)/.*\.(?:md|rst)$|^(?:CHANGELOG|CHANGES|RELEASE|INSTALL)[\w.-]*\.(?:md|rst|txt)$",
    re.IGNORECASE,
)
_README = re.compile(r"(?:^|/)README(?:\.(?:md|rst|txt))?$", re.IGNORECASE)
_FOR_AGENTS = re.compile(r"(?:^|/)(?:\.claude|\.agents|skills)/")


@dataclass(frozen=True, slots=True)
class Declarations:
    """All that one commit declares, with what could not be read."""

    items: tuple[Declaration, ...]
    locks: tuple[LockedSet, ...]
    files: tuple[tuple[Rank, str], ...]
    skipped: tuple[Skipped, ...]
    commented: tuple[Declaration, ...] = ()
    """What workflows hold in comments only."""
    running: frozenset[tuple[str, str]] = frozenset()
    """File and name of every job that is not switched off."""

    @property
    def unread(self) -> tuple[Unread, ...]:
        """Parts that may declare what `items` lack."""
        return tuple(one for one in self.skipped if isinstance(one, Unread))


def read_declarations(tree: Tree, only: tuple[str, ...] = (), last: Rank = Rank.README) -> Declarations:
    """Everything the commit says about what it needs; `only` (path patterns) replaces the well-known places.

    `last`: files of weaker ranks are not read.
    """
    items: list[Declaration] = []
    locks: list[LockedSet] = []
    skipped: list[Skipped] = []
    files: list[tuple[Rank, str]] = []
    for rank, path in find_dependency_files(tree, only):
        if rank > last:
            continue
        files.append((rank, path))
        if posixpath.basename(path) in LOCK_FILES:
            text = tree.read_text(path)
            locks.extend([] if isinstance(text, Skipped) else [read_lock(path, text)])
            skipped.extend([text] if isinstance(text, Skipped) else [])
            continue
        for found in find_declarations(tree, rank, path):
            (skipped if isinstance(found, Skipped) else items).append(found)  # type: ignore[arg-type]
    commented = [one for _, path in files if _WORKFLOW.match(path) for one in _find_commented(tree, path)]
    return Declarations(
        _without_repeats([one for one in items if not one.is_running]),
        tuple(locks),
        tuple(files),
        tuple(dict.fromkeys(skipped)),
        _without_repeats(commented),
        frozenset((one.scope, one.name) for one in items if one.is_running),
    )


def _find_commented(tree: Tree, path: str) -> Iterator[Declaration]:
    text = tree.read_text(path)
    if isinstance(text, str):
        yield from find_commented(path, text)


def find_dependency_files(tree: Tree, only: tuple[str, ...] = ()) -> Iterator[tuple[Rank, str]]:
    """Files by rank; a symlink stands for the file it leads to, so that nothing counts twice."""
    for path, entry in tree.entries.items():
        if entry.is_symlink or not entry.is_file or is_vendored(path) or _FOR_AGENTS.search(path):
            continue
        if only and not any(fnmatch.fnmatchcase(path, pattern) for pattern in only):
            continue
        rank = rank_of(path)
        if rank is not None:
            yield rank, path


def rank_of(path: str) -> Rank | None:
    name = posixpath.basename(path)
    if name in METADATA_FILES and not path.startswith("tests/"):
        return Rank.METADATA
    if name in LOCK_FILES or REQUIREMENT_FILE.search(path):
        return Rank.REQUIREMENTS
    if _WORKFLOW.match(path) or CONTAINER_FILE.search(path) or _CI_SCRIPT.match(path):
        return Rank.COMMANDS
    if _README.search(path):
        return Rank.README
    return Rank.DOCS if _DOCUMENT.match(path) else None


def find_declarations(tree: Tree, rank: Rank, path: str) -> Iterator[Declaration | Skipped]:
    """The declarations of one file, by the reader that its name asks for."""
    if rank is Rank.REQUIREMENTS:
        yield from find_requirement_declarations(tree, path)
        return
    text = tree.read_text(path)
    if isinstance(text, Skipped):
        yield leave_unread(path, None, text.why)
        return
    name = posixpath.basename(path)
    if name == "pyproject.toml":
        yield from find_pyproject_declarations(path, text)
        folder = posixpath.dirname(path)
        if not any(posixpath.join(folder, script) in tree.entries for script in SETUP_FILES):
            yield from find_dynamic(path, text)
        for scope, listed in dynamic_requirement_files(text).items():
            for one in listed:
                inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), one))
                yield from find_requirement_declarations(tree, inner, rank=Rank.METADATA, scope=scope)
    elif name == "setup.py":
        yield from _find_setup_py(tree, path, text)
    elif name == "setup.cfg":
        yield from find_setup_cfg_declarations(path, text)
    elif CONTAINER_FILE.search(path):
        yield from find_container_declarations(path, text)
    elif rank is Rank.COMMANDS and path.endswith(".sh"):
        yield from find_shell_declarations(path, enumerate(text.splitlines(), 1))
    elif rank is Rank.COMMANDS:
        yield from find_workflow_declarations(path, text)
    else:
        yield from find_document_declarations(path, text, rank)


def _find_setup_py(tree: Tree, path: str, text: str) -> Iterator[Declaration | Skipped]:
    """What it declares itself, and the requirement files that it reads for what it does not."""
    folder = posixpath.dirname(path)
    known = [one for one in tree.entries if one.startswith(folder) and REQUIREMENT_FILE.search(one)]
    files = find_setup_py_files(text, known)
    yield from find_setup_py_declarations(path, text, elsewhere=files.keys())
    for scope, paths in files.items():
        yield from _find_read(tree, scope, paths)


def _find_read(tree: Tree, scope: str, paths: tuple[str, ...]) -> Iterator[Declaration | Skipped]:
    """The needs of several files: what all of them ask for, and what each asks for alone (a platform, mostly)."""
    found = {path: list(find_requirement_declarations(tree, path, rank=Rank.METADATA, scope=scope)) for path in paths}
    places = [{one.place for one in items if isinstance(one, Declaration)} for items in found.values()]
    shared = set.intersection(*places)
    for path, items in found.items():
        alone = f"{scope}{BY}{posixpath.basename(path)}"
        for one in items:
            yield replace(one, scope=alone) if isinstance(one, Declaration) and one.place not in shared else one


def _without_repeats(items: list[Declaration]) -> tuple[Declaration, ...]:
    """The first place of each thing that a file says more than once."""
    first: dict[tuple[object, ...], Declaration] = {}
    for item in items:
        key = (item.rank, item.place.path, item.scope, item.kind, item.name, item.spec, item.extras, item.marker)
        first.setdefault(key, item)
    return tuple(first.values())
