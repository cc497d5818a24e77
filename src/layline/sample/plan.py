"""Entries of a chronicle → planned commits: keeps the tree of every branch and applies each step to it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.git.create import FILE, GITLINK, LINK, Change, PlannedCommit, PlannedTag, Signature
from layline.sample.chronicle import ChronicleError, Edit, Operation, Write
from layline.sample.golden import build_golden, build_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from layline.sample.chronicle import Entry, Step

_REFERENCE = re.compile(r"\{\{(\w+[#@][^}]+)\}\}")
_PULL_REQUEST = re.compile(r"\(#(\d+)\)\Z|\AMerge pull request #(\d+) ")

Tree = dict[str, tuple[str, bytes]]
"""path → mode and content."""


@dataclass(slots=True)
class Plan:
    """A repository in the making."""

    commits: list[PlannedCommit] = field(default_factory=list)
    tags: list[PlannedTag] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    """`#12`, `@v0.9.0`, `@main` → number of the commit."""
    _trees: dict[int, Tree] = field(default_factory=dict)
    _forks: dict[str, int] = field(default_factory=dict)

    def add(self, entry: Entry, hashes: Mapping[str, str]) -> None:
        number = len(self.commits) + 1
        directives = {step.verb: step.path for step in entry.steps if isinstance(step, Operation)}
        branch = directives.get("on", "main")
        parents = self._find_parents(branch, directives.get("merge"), directives.get("from"))
        before = self._trees[parents[0]] if parents else {}
        tree = dict(before)
        if "merge" in directives:
            self._merge(tree, directives["merge"])
        for step in entry.steps:
            _apply(tree, step, lambda text: expand(text, hashes))
        signature = _sign(entry.author, entry.authored)
        self.commits.append(
            PlannedCommit(
                number=number,
                ref=f"refs/{branch}/head" if branch.startswith("pull/") else f"refs/heads/{branch}",
                message=f"{entry.subject}\n\n{entry.body}\n" if entry.body else f"{entry.subject}\n",
                author=signature,
                committer=_sign(entry.author, entry.committed),
                parents=parents,
                changes=tuple(_compare_trees(before, tree)),
            )
        )
        self._trees[number] = tree
        self._name(number, branch, entry.subject)
        for step in entry.steps:
            if isinstance(step, Operation) and step.verb == "tag":
                self._tag(step.path, number, signature)

    def _find_parents(self, branch: str, merged: str | None, start: str | None) -> tuple[int, ...]:
        tip = self.names.get(f"@{branch}") or self.names.get(start or "@main")
        if tip is None:
            return ()
        self._forks.setdefault(branch, tip)
        return (tip, self.names[f"@{merged}"]) if merged else (tip,)

    def _merge(self, tree: Tree, branch: str) -> None:
        """Take what the branch changed since it left; both sides changing one file is a mistake in the chronicle."""
        base, theirs = self._trees[self._forks[branch]], self._trees[self.names[f"@{branch}"]]
        for change in _compare_trees(base, theirs):
            if tree.get(change.path) != base.get(change.path):
                raise ChronicleError(f"{change.path} changed on main and on {branch}")
            if change.data is None:
                del tree[change.path]
            else:
                tree[change.path] = (change.mode, change.data)

    def _name(self, number: int, branch: str, subject: str) -> None:
        self.names[f"@{branch}"] = number
        found = _PULL_REQUEST.search(subject)
        if found and branch == "main":
            self.names[f"#{found[1] or found[2]}"] = number

    def _tag(self, name: str, number: int, signature: Signature) -> None:
        self.names[f"@{name}"] = number
        self.tags.append(PlannedTag(name=name, commit=number, tagger=signature, message=f"{name}\n"))


def plan_history(entries: Iterable[Entry], hashes: Mapping[str, str]) -> Plan:
    """`hashes` holds what other repositories' commits are called: `keel#12`, `keel@v0.9.0`."""
    plan = Plan()
    for entry in entries:
        try:
            plan.add(entry, hashes)
        except (ChronicleError, KeyError) as error:
            raise ChronicleError(f"{entry.subject}: {error}") from error
    return plan


def expand(text: str, hashes: Mapping[str, str]) -> str:
    """Replace `{{rivet#3}}` by the hash of that commit."""
    return _REFERENCE.sub(lambda found: hashes[found[1]], text)


def _sign(name: str, when: datetime) -> Signature:
    slug = re.sub(r"[^a-z]+", ".", name.lower()).strip(".")
    return Signature(name, f"{slug}@example.org", f"{int(when.timestamp())} {when:%z}")


def _apply(tree: Tree, step: Step, fill: Callable[[str], str]) -> None:
    match step:
        case Write(path, text):
            tree[path] = (FILE, fill(text).encode())
        case Edit(path, hunks):
            mode, data = tree[path]
            lines = data.decode().splitlines()
            for before, after in hunks:
                lines = _replace(path, lines, before, tuple(fill(line) for line in after), fill)
            tree[path] = (mode, "".join(f"{line}\n" for line in lines).encode())
        case Operation():
            _operate(tree, step, fill)


def _operate(tree: Tree, operation: Operation, fill: Callable[[str], str]) -> None:
    match operation:
        case Operation("move", path, other):
            _move(tree, path, other)
        case Operation("remove", path):
            for found in [item for item in tree if item == path or item.startswith(f"{path}/")] or [path]:
                del tree[found]
        case Operation("link", path, other):
            tree[path] = (LINK, other.encode())
        case Operation("pin", path, other):
            tree[path] = (GITLINK, fill("{{" + other + "}}").encode())
        case Operation("golden", path, other):
            station = posixpath.basename(path).removesuffix(".json")
            tree[path] = (FILE, build_golden(station, int(other)).encode())
        case Operation("lock", path, other):
            tree[path] = (FILE, build_lock(int(other)).encode())
        case Operation("on" | "from" | "merge" | "tag"):
            pass
        case Operation(verb):
            raise ChronicleError(f"nobody knows how to {verb}")


def _move(tree: Tree, path: str, other: str) -> None:
    moved = {item: value for item, value in tree.items() if item == path or item.startswith(f"{path}/")}
    if not moved:
        raise ChronicleError(f"there is no {path} to move")
    for item, value in moved.items():
        del tree[item]
        tree[other + item.removeprefix(path)] = value


def _replace(
    path: str, lines: list[str], before: tuple[str, ...], after: tuple[str, ...], fill: Callable[[str], str]
) -> list[str]:
    if not before:
        return [*lines, *after]
    wanted = [fill(line) for line in before]
    places = [index for index in range(len(lines)) if lines[index : index + len(wanted)] == wanted]
    if len(places) != 1:
        raise ChronicleError(f"{path} holds {len(places)} times: {wanted}")
    return [*lines[: places[0]], *after, *lines[places[0] + len(wanted) :]]


def _compare_trees(before: Tree, after: Tree) -> list[Change]:
    """What leads from one tree to the other; removals first, so that a file may take a folder's place."""
    removed = [Change(path, None) for path in sorted(before.keys() - after.keys())]
    written = [
        Change(path, data, mode) for path, (mode, data) in sorted(after.items()) if before.get(path) != (mode, data)
    ]
    return removed + written
