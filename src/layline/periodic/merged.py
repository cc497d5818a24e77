"""What was merged into the downstream in a window: pull requests, direct commits, pins that moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from layline.config import Backend, Category
from layline.core.checks import clean_line
from layline.core.patterns import Classes
from layline.core.revision import Commit
from layline.history.commits import read_bodies, read_commit, read_log
from layline.history.pins import find_pin_moves as read_pin_moves
from layline.history.touched import read_touched_files
from layline.periodic.categories import judge_category
from layline.periodic.model import Merged, PinMove, PullRequest, Window

if TYPE_CHECKING:
    from layline.git import Repository

PIN_FILES = Classes(
    {
        "pins": (
            ".github/workflows/*.yml",
            ".github/workflows/*.yaml",
            ".gitlab-ci.yml",
            "**/Dockerfile*",
            "**/*.Dockerfile",
            "**/*.dockerfile",
        )
    },
    rest="",
)
_COMMIT_VARIABLE = re.compile(
    r"""^\s*(?:-\s+)?(?:ARG\s+|ENV\s+|export\s+)?["']?([A-Za-z_]\w*)["']?\s*[:=]\s*["']?(?:\$\{\w+:-)?([0-9a-f]{7,64})\b["'}]*\s*(?:\#.*)?\\?$"""
)
_SOUNDS_LIKE_A_COMMIT = re.compile(r"commit|sha|rev|hash|ref", re.IGNORECASE)
_MERGE = re.compile(r"Merge (?:pull request #\d+|branch) ")
_MERGE_REQUEST = re.compile(r"^See merge request:? \S*!(\d+)\s*$", re.MULTILINE)  # GitLab, GitCode
_NUMBER = re.compile(r"(?:\s*\(#\d+\))+(?:\s*\[[^\]]*\])*\s*$")

_HASHED = (
    ".py",
    ".pyi",
    ".sh",
    ".yaml",
    ".yml",
    ".toml",
    ".cfg",
    ".ini",
    ".txt",
    ".md",
    ".cmake",
    "Dockerfile",
    "Makefile",
)
"""Files in which `#` begins a comment, or a heading."""


def read_merged(downstream: Repository, before: str | None, tip: str) -> tuple[Merged, ...]:
    """First-parent commits of a window, newest first, with the paths each brought in."""
    touched = read_touched_files(downstream, before, tip, first_parent=True)
    log = tuple(read_log(downstream, before, tip, first_parent=True))
    bodies = read_bodies(downstream, before, tip)
    return tuple(
        _read_one(downstream, commit, touched.get(commit.hash, ()), bodies.get(commit.hash, "")) for commit in log
    )


def _read_one(downstream: Repository, commit: Commit, paths: tuple[str, ...], body: str) -> Merged:
    """A merge commit names only the branch: the title stands in its body, the author at the branch's tip."""
    request = _MERGE_REQUEST.search(body)
    number = commit.pull_request or (int(request[1]) if request else None)
    title, author = commit.subject, commit.author
    if len(commit.parents) > 1 and _MERGE.match(commit.subject):
        title = next((line.strip() for line in body.splitlines() if line.strip()), commit.subject)
        author = read_commit(downstream, commit.parents[1]).author
    return Merged(
        commit=commit,
        paths=paths,
        number=number,
        title=clean_line(_NUMBER.sub("", title)) or commit.hash[:12],
        author=clean_line(author, 80),
    )


def build_pull_requests(
    downstream: Repository,
    merged: tuple[Merged, ...],
    moving: Set[str],
    window: Window,
    categories: tuple[Category, ...],
) -> Iterator[PullRequest]:
    """One per pull request, newest first; `moving` are the commits that moved a pin."""
    told: set[int] = set()
    for item in merged:
        if item.number is None or item.number in told:
            continue
        told.add(item.number)
        moves_pins = item.commit.hash in moving
        category, reason = judge_category(
            item.title,
            item.paths,
            categories,
            moves_pins=moves_pins,
            changes_comments=partial(changes_comments, downstream, item.commit),
        )
        yield PullRequest(
            number=item.number,
            title=item.title,
            author=item.author,
            merged=datetime.fromisoformat(item.commit.committed).astimezone(window.start.tzinfo),
            commit=item.commit,
            category=category,
            reason=reason,
            files=len(item.paths),
        )


def changes_comments(downstream: Repository, commit: Commit) -> bool:
    """Whether every line that a commit adds or takes away is a comment (`#`) or empty; in C `#` is none."""
    if not commit.parents:
        return False
    diff = downstream.git("diff", "--unified=0", "--no-ext-diff", "--no-textconv", commit.parents[0], commit.hash)
    told = [line for line in diff.decode("utf-8", "replace").splitlines() if line[:1] in {"+", "-"}]
    names = [line for line in told if line.startswith(("+++ ", "--- ")) and not line.endswith(" /dev/null")]
    lines = [line[1:].strip() for line in told if not line.startswith(("+++ ", "--- "))]
    is_known = all(name.endswith(_HASHED) for name in names)
    return is_known and bool(lines) and all(not line or line.startswith("#") for line in lines)


def find_moves(downstream: Repository, merged: tuple[Merged, ...], submodules: Set[str]) -> Iterator[PinMove]:
    """Yields every submodule and commit variable that a commit of the window moved."""
    for item in merged:
        commit = item.commit
        parent = commit.parents[0] if commit.parents else None
        for path in item.paths:
            if path in submodules:
                after, before = read_gitlink(downstream, commit.hash, path), read_gitlink(downstream, parent, path)
                yield PinMove(
                    kind="submodule", name=path, file=path, line=None, before=before, after=after, commit=commit
                )
            elif PIN_FILES.of(path):
                yield from _find_variable_moves(downstream, commit, parent, path)


def find_backend_moves(
    downstream: Repository, before: str | None, tip: str, key: str, backend: Backend
) -> Iterator[PinMove]:
    """Yields the moves of a backend's own pin that `find_moves` does not see: commit files, requirements, other
    scripts.
    """
    pin = backend.pin
    if pin is None or pin.file is None or (pin.variable is not None and PIN_FILES.of(pin.file)):
        return
    for commit, old, new in read_pin_moves(downstream, before, tip, key, backend):
        lines = new.evidence.lines if new else None
        yield PinMove(
            kind="variable",
            name=pin.variable or pin.requirement or key,
            file=pin.file,
            line=lines[0] if lines else None,
            before=old.revision if old else None,
            after=new.revision if new else None,
            commit=commit,
        )


def find_submodules(downstream: Repository, commit: str | None) -> frozenset[str]:
    entries = downstream.read_tree(commit) if commit else ()
    return frozenset(entry.path for entry in entries if entry.is_gitlink)


def read_gitlink(downstream: Repository, commit: str | None, path: str) -> str | None:
    entry = downstream.read_entry(commit, path) if commit else None
    return entry.oid if entry is not None and entry.is_gitlink else None


def _find_variable_moves(downstream: Repository, commit: Commit, parent: str | None, path: str) -> Iterator[PinMove]:
    after, before = read_variables(downstream, commit.hash, path), read_variables(downstream, parent, path)
    for name in sorted(after.keys() | before.keys()):
        now, then = after.get(name, (None, None)), before.get(name, (None, None))
        if now[1] != then[1]:
            yield PinMove(
                kind="variable", name=name, file=path, line=now[0], before=then[1], after=now[1], commit=commit
            )


def read_variables(downstream: Repository, commit: str | None, path: str) -> Mapping[str, tuple[int, str]]:
    """Variable → line and commit, for one workflow or Dockerfile; the first place in the file counts."""
    data = downstream.read_file(commit, path) if commit else None
    found: dict[str, tuple[int, str]] = {}
    for line, name, value in find_variables((data or b"").decode("utf-8", "replace")):
        found.setdefault(name, (line, value))
    return found


def find_variables(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields line, name and value of every variable that holds a commit."""
    for number, line in enumerate(text.splitlines(), 1):
        found = _COMMIT_VARIABLE.match(line)
        if found and (len(found[2]) >= 40 or _SOUNDS_LIKE_A_COMMIT.search(found[1])):
            yield number, found[1], found[2]
