"""Areas: named parts of the upstream tree, what changed in each, and which packages came and went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.patterns import Classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.history.changes import Diff

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


def find_package_changes(pin: Iterable[str], tip: Iterable[str], diff: Diff) -> Iterator[PackageChange]:
    """Folders with Python files that only one side has; a rename is where most of its files came from."""
    old_paths, new_paths = list(pin), list(tip)
    before, after = _packages(old_paths), _packages(new_paths)
    gone, new = before.keys() - _folders(new_paths), after.keys() - _folders(old_paths)
    renamed: set[str] = set()
    modules = frozenset(new_paths)
    for path in _outermost(new):
        old = _find_origin(path, diff, gone)
        renamed |= {old} if old else set()
        yield PackageChange(path=path, kind="renamed" if old else "added", files=_below(path, after), old_path=old)
    for path in _outermost(gone):
        if path not in renamed:
            module = f"{path}.py" in modules
            yield PackageChange(path=path, kind="removed", files=_below(path, before), is_module=module)


def _find_origin(path: str, diff: Diff, gone: Set[str]) -> str | None:
    """The vanished folder that gave more than half of the files of `path`; small `__init__` files look all alike."""
    inside = [
        change for change in diff.files if _folder(change.path) == path and not change.path.endswith("/__init__.py")
    ]
    gave = Counter(_folder(change.old_path) for change in inside if change.old_path).most_common(1)
    return gave[0][0] if gave and gave[0][0] in gone and gave[0][1] * 2 > len(inside) else None


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
