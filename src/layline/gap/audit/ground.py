"""What git says about the pair of commits a record talks of."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from layline.gap.dependencies import compare_declarations, read_declarations
from layline.git import DIFF_SETTINGS
from layline.history.changes import read_diff
from layline.history.commits import compare_commits, read_commit
from layline.source.declared_version import read_version
from layline.source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.config import Backend
    from layline.core.revision import Commit
    from layline.gap.dependencies import Declaration, Declarations, Difference
    from layline.git import Repository
    from layline.history.changes import Diff
    from layline.history.commits import Distance
    from layline.source.declared_version import Version


@dataclass(eq=False)
class MeasuredPair:
    """Lazily computed: an audit pays for what its record claims."""

    backend: Backend
    upstream: Repository
    pin: str
    tip: str
    downstream: Repository
    downstream_commit: str
    """As of the day the record was made."""
    _texts: dict[str, str] = field(default_factory=dict)

    @cached_property
    def distance(self) -> Distance:
        return compare_commits(self.upstream, self.pin, self.tip)

    @cached_property
    def diff(self) -> Diff:
        return read_diff(self.upstream, self.pin, self.tip)

    @cached_property
    def commits(self) -> tuple[Commit, Commit]:
        return read_commit(self.upstream, self.pin), read_commit(self.upstream, self.tip)

    @cached_property
    def versions(self) -> tuple[Version | None, Version | None]:
        packages = self.backend.packages
        return read_version(self.upstream, self.pin, packages), read_version(self.upstream, self.tip, packages)

    @cached_property
    def trees(self) -> tuple[Tree, Tree]:
        return Tree(self.upstream, self.pin), Tree(self.upstream, self.tip)

    def has_name(self, dotted: str) -> bool:
        """True if upstream spells such a name on either side: a module, or a word in the module it would stand in."""
        return any(_has_name(tree, dotted, root) for tree in self.trees for root in self.backend.source_roots)

    @cached_property
    def declarations(self) -> tuple[Declarations, Declarations]:
        only = self.backend.dependencies
        before, after = self.trees
        return read_declarations(before, only), read_declarations(after, only)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        return compare_declarations(*self.declarations)

    def declared(self, name: str, *, at_tip: bool) -> list[Declaration]:
        """Every declaration of a distribution on one side, strongest rank first."""
        items = self.declarations[1 if at_tip else 0].items
        return sorted((item for item in items if item.name == name), key=lambda item: (item.rank, item.place.path))

    @cached_property
    def integration_texts(self) -> dict[str, str]:
        """Path → text of the Python files of our integration on that day."""
        tree = Tree(self.downstream, self.downstream_commit)
        found: dict[str, str] = {}
        for folder in (*self.backend.integration, *self.backend.patches):
            for path in tree.paths(folder, ".py"):
                text = tree.read_text(path)
                if isinstance(text, str):
                    found[path] = text
        return found

    def shortstat(self) -> str:
        return f"git diff --shortstat {' '.join(DIFF_SETTINGS)} {self.pin} {self.tip}"

    def places(self, items: list[Declaration]) -> Iterator[str]:
        for item in items:
            yield f"{item.place} {item.spec}".strip()


def holds_code(repository: Repository, commit: str) -> bool:
    """False for a branch that only publishes: no Python file, no submodule."""
    return any(entry.is_gitlink or entry.path.endswith(".py") for entry in repository.read_tree(commit))


def _has_name(tree: Tree, dotted: str, root: str) -> bool:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        stem = posixpath.normpath(posixpath.join(root, *parts[:cut]))
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            text = tree.read_text(path)
            if isinstance(text, str) and (cut == len(parts) or re.search(rf"\b{parts[cut]}\b", text)):
                return True
    return any(tree.paths(posixpath.normpath(posixpath.join(root, *parts)), ".py"))
