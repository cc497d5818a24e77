"""Areas: named parts of the upstream tree, what changed in each, and which packages came and went."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from layline.core.patterns import Classes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

    from layline.core.revision import Commit
    from layline.history.changes import Diff, FileChange

OTHER = "other"
DEFAULT_AREAS: Mapping[str, tuple[str, ...]] = {
    "tests": ("tests/**", "test/**", "**/tests/**", "**/test_*.py", "**/*_test.py"),
    "workflows": (".github/**", ".gitlab/**", ".gitlab-ci.yml", ".ci/**", "ci/**", "docker/**", "**/Dockerfile*"),
    "docs": ("docs/**", "doc/**", "**/*.md", "**/*.rst"),
    "experiments": ("**/experiments/**", "**/experimental/**", "experimental/**"),
    "examples and tools": ("examples/**", "tools/**", "scripts/**", "tasks/**", "benchmarks/**", "benchmark/**"),
    "inference": ("**/inference/**", "**/inference*.py"),
    "checkpointing": ("**/dist_checkpointing/**", "**/checkpoint*/**", "**/*checkpoint*.py"),
    "optimizer": ("**/optimizer/**", "**/optimizers/**", "**/optim/**", "**/*optimizer*.py"),
    "distributed runtime": (
        "**/distributed/**",
        "**/tensor_parallel/**",
        "**/pipeline_parallel/**",
        "**/context_parallel/**",
        "**/parallel/**",
        "**/fsdp/**",
        "**/parallel*.py",
        "**/resharding/**",
    ),
    "models": (
        "**/models/**",
        "**/model/**",
        "**/transformer/**",
        "**/ssm/**",
        "**/modules/**",
        "**/layers/**",
        "**/moe/**",
    ),
    "data": (
        "**/data/**",
        "**/dataset/**",
        "**/datasets/**",
        "**/tokenizers/**",
        "**/tokenizer/**",
        "**/hf_datasets/**",
    ),
    "reinforcement learning": ("**/rl/**",),
    "training": ("**/training/**", "**/train*.py", "pretrain_*.py"),
    "components": ("**/components/**", "**/config/**", "**/core/**"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaChange:
    """What happened in one area."""

    name: str
    added: int
    removed: int
    renamed: int
    modified: int
    insertions: int
    deletions: int
    commits: int

    @property
    def files(self) -> int:
        return self.added + self.removed + self.renamed + self.modified


def measure_areas(
    diff: Diff, touched: Mapping[str, tuple[str, ...]], patterns: Mapping[str, tuple[str, ...]]
) -> tuple[AreaChange, ...]:
    """Every area that changed, in the order configured; a commit counts once in each area it touched."""
    classes = area_classes(patterns)
    commits: Counter[str] = Counter()
    for paths in touched.values():
        commits.update({classes.of(path) for path in paths})
    counts = {name: Counter[str]() for name in classes.names}
    for change in diff.files:
        count = counts[classes.of(change.path)]
        count[change.status] += 1
        count["insertions"] += change.insertions
        count["deletions"] += change.deletions
    return tuple(
        AreaChange(
            name=name,
            added=count["A"],
            removed=count["D"],
            renamed=count["R"],
            modified=count["M"] + count["T"],
            insertions=count["insertions"],
            deletions=count["deletions"],
            commits=commits[name],
        )
        for name, count in counts.items()
        if count or commits[name]
    )


def area_classes(patterns: Mapping[str, tuple[str, ...]]) -> Classes:
    return Classes(patterns or DEFAULT_AREAS, rest=OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageChange:
    """A folder of Python files that came, went or moved; folders below it go without saying."""

    path: str
    kind: str
    """added, removed or renamed."""
    files: int
    old_path: str | None = None
    is_module: bool = False
    """The folder went, and the tip has a module of its name in its place."""
    by: Commit | None = None
    """The commit that deleted the last file of a folder that is gone, or brought the first of one made of older code."""
    origins: tuple[str, ...] = ()
    """Of a new folder: the older folders that most of its first files were taken from."""


def find_package_changes(pin: Iterable[str], tip: Iterable[str], diff: Diff) -> Iterator[PackageChange]:
    """Folders with Python files that only one side has; a rename is where most of its files came from."""
    old_paths, new_paths = list(pin), list(tip)
    before, after = _packages(old_paths), _packages(new_paths)
    gone, new = before.keys() - _folders(new_paths), after.keys() - _folders(old_paths)
    renamed: set[str] = set()
    modules = frozenset(new_paths)
    inside, left = _find_inside(diff), _find_left(diff, gone)
    for path in _outermost(new):
        old = _find_origin(path, inside[path], left)
        renamed |= {old} if old else set()
        yield PackageChange(path=path, kind="renamed" if old else "added", files=_below(path, after), old_path=old)
    for path in _outermost(gone):
        if path not in renamed:
            module = f"{path}.py" in modules
            yield PackageChange(path=path, kind="removed", files=_below(path, before), is_module=module)


def name_deletions(
    packages: Iterable[PackageChange], log: Iterable[Commit], touched: Mapping[str, tuple[str, ...]]
) -> Iterator[PackageChange]:
    """The same packages; those that are gone with the newest commit (the log's first) that touched them."""
    newest = _find_first(log, touched)
    for one in packages:
        yield replace(one, by=newest.get(one.path)) if one.kind == "removed" else one


def name_origins(
    packages: Iterable[PackageChange],
    log: Iterable[Commit],
    touched: Mapping[str, tuple[str, ...]],
    read: Callable[[str], Diff],
    pin: Iterable[str],
) -> Iterator[PackageChange]:
    """The same packages; new ones with where the commit that brought them (the log's last) took their files from.

    `read` gives what one commit changed, copies told; `pin`: the paths of the pin, where an origin has to be. A name
    that moved away may leave a forwarding file behind, so that pin and tip show a new folder and no rename.
    """
    oldest, older = _find_first(list(log)[::-1], touched), _folders(pin)
    for one in packages:
        by = oldest.get(one.path) if one.kind == "added" else None
        origins = _find_sources(f"{one.path}/", read(by.hash), older) if by is not None else ()
        yield replace(one, by=by, origins=origins) if origins else one


def _find_sources(inside: str, diff: Diff, older: Set[str]) -> tuple[str, ...]:
    """Older folders that gave more than half of the files a commit put below `inside`; the most first."""
    files = [
        one
        for one in diff.files
        if one.path.startswith(inside) and one.path.endswith(".py") and not one.path.endswith("/__init__.py")
    ]
    shrunk = {one.path for one in diff.files if one.deletions > one.insertions}
    shrunk |= {one.old_path for one in diff.files if one.status == "R" and one.old_path is not None}
    taken = [
        one.old_path
        for one in files
        if one.old_path is not None
        and not one.old_path.startswith(inside)
        and _folder(one.old_path) in older
        and one.old_path in shrunk  # a copy that leaves its model whole is new
    ]
    gave = Counter(_folder(path) for path in taken)
    return tuple(folder for folder, _ in gave.most_common()) if 2 * len(taken) > len(files) else ()


def _find_origin(path: str, inside: Collection[FileChange], left: Mapping[str, Sequence[FileChange]]) -> str | None:
    """The vanished folder that gave more than half of the files of `path` (small `__init__` files look all alike), or
    most of whose own files are there now under the names they had.

    `inside`: what changed in the folder itself; `left`: vanished folders with what went from below them.
    """
    gave = Counter(_folder(change.old_path) for change in inside if change.old_path).most_common(1)
    if gave and gave[0][0] in left and gave[0][1] * 2 > len(inside):
        return gave[0][0]
    return next((old for old in _outermost(left) if _went(old, path, left[old])), None)


def _went(old: str, path: str, left: Sequence[FileChange]) -> bool:
    """Whether most files that were below one folder are below the other."""
    moved = [
        one
        for one in left
        if one.old_path is not None
        and one.path.startswith(f"{path}/")
        and one.path[len(path) :] == one.old_path[len(old) :]
    ]
    return len(moved) > 1 and 2 * len(moved) > len(left)


def _find_inside(diff: Diff) -> dict[str, list[FileChange]]:
    """Folder → what changed in it, its `__init__.py` apart."""
    found: dict[str, list[FileChange]] = defaultdict(list)
    for change in diff.files:
        if not change.path.endswith("/__init__.py"):
            found[_folder(change.path)].append(change)
    return found


def _find_left(diff: Diff, gone: Iterable[str]) -> dict[str, list[FileChange]]:
    """Each vanished folder with the Python files that were below it."""
    found: dict[str, list[FileChange]] = {folder: [] for folder in gone}
    for change in diff.files:
        if change.path.endswith(".py"):
            for folder in _above(change.old_path or change.path):
                if folder in found:
                    found[folder].append(change)
    return found


def _find_first(commits: Iterable[Commit], touched: Mapping[str, tuple[str, ...]]) -> dict[str, Commit]:
    """Folder → the first of these commits that touched something below it."""
    found: dict[str, Commit] = {}
    for commit in commits:
        for path in touched.get(commit.hash, ()):
            for folder in _above(path):
                found.setdefault(folder, commit)
    return found


def _above(path: str) -> Iterator[str]:
    """The folders that hold a path, the innermost first."""
    while path := _folder(path):
        yield path


def _below(path: str, packages: Mapping[str, int]) -> int:
    return sum(count for folder, count in packages.items() if folder == path or folder.startswith(f"{path}/"))


def _folders(paths: Iterable[str]) -> set[str]:
    """Every folder that holds something, at any depth."""
    found: set[str] = set()
    for path in paths:
        folder = _folder(path)
        while folder and folder not in found:
            found.add(folder)
            folder = _folder(folder)
    return found


def _packages(paths: Iterable[str]) -> Counter[str]:
    return Counter(_folder(path) for path in paths if path.endswith(".py") and "/" in path)


def _outermost(folders: Iterable[str]) -> Iterator[str]:
    """Folders of which no parent is listed, in order."""
    listed = set(folders)
    for folder in sorted(listed):
        parts = folder.split("/")
        if not any("/".join(parts[:depth]) in listed for depth in range(1, len(parts))):
            yield folder


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
