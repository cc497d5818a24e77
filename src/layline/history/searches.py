"""Which commit last deleted a file, or changed a line about a name: one walk over the history for all questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.errors import GitError

if TYPE_CHECKING:
    from layline.git import Repository

_HEAD = "--format=%x01%H%x09%cs%x09%s"
_MOST_PLACES = 3
_DEFINES = r"(?:async def|def|class)"


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """A commit, as far as a sentence about it needs."""

    commit: str
    date: str
    subject: str


def find_deletions(
    repository: Repository, tip: str, groups: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], FoundCommit]:
    """Each group of paths → the last commit up to the tip that deleted one of them, where there is one."""
    listed = list(groups)
    wanted = sorted({path for group in listed for path in group})
    if not wanted:
        return {}
    how = ("--diff-filter=D", "--no-renames", "--name-only", "-z")
    out = repository.git("--literal-pathspecs", "log", *how, _HEAD, tip, "--", *wanted)
    found: dict[tuple[str, ...], FoundCommit] = {}
    for block in out.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        head, _, rest = block.partition("\0")
        deleted = set(rest.lstrip("\n").split("\0"))
        for group in listed:
            if group not in found and not deleted.isdisjoint(group):
                found[group] = _parse_head(head)
    return found


def find_binding_changes(
    repository: Repository, tip: str, names: Mapping[str, set[str]]
) -> dict[tuple[str, str], FoundCommit]:
    """(path, name) → the last commit that added or removed a line of the file that defines, assigns or imports the
    name.

    Git finds the commits that touch a line about any of the names; which of them it is, is read from their changed
    lines.
    """
    asked = {path: set(listed) for path, listed in names.items() if listed}
    if not asked:
        return {}
    listed = sorted(set.union(*asked.values()))
    how = (
        "-G",
        _spell(listed),
        "-p",
        "-U0",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--diff-algorithm=myers",
    )
    out = repository.git("--literal-pathspecs", "log", *how, _HEAD, tip, "--", *sorted(asked))
    found: dict[tuple[str, str], FoundCommit] = {}
    for block in out.decode("utf-8", "replace").split("\x01")[1:]:
        head, _, patch = block.partition("\n")
        for path, lines in _find_changed_lines(patch):
            for name in sorted(asked.get(path, ())):
                if (path, name) not in found and _binds(name).search(lines):
                    found[path, name] = _parse_head(head)
    return found


def find_definitions(repository: Repository, commit: str, names: Iterable[str]) -> dict[str, str]:
    """Name → `path:line` where Python files of a commit define it, in order of path: the first few, and how many more."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    pattern = rf"^ *(async def|def|class) +({'|'.join(map(re.escape, wanted))})\>"
    try:
        out = repository.git("grep", "-n", "-E", "-e", pattern, commit, "--", "*.py").decode("utf-8", "replace")
    except GitError:  # git grep exits with 1 where nothing is found
        return {}
    places: dict[str, list[str]] = {}
    for line in out.splitlines():
        words = line.split(":", 3)
        if len(words) == 4 and (match := re.match(rf" *{_DEFINES} +(\w+)", words[3])) is not None:
            places.setdefault(match[1], []).append(f"{words[1]}:{words[2]}")
    return {name: _name_few(found) for name, found in places.items()}


def _name_few(places: list[str]) -> str:
    """Which of several is meant the name alone does not say."""
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return ", ".join(places[:_MOST_PLACES]) + more


def _spell(names: list[str]) -> str:
    """Lines that bind one of the names, as git's extended expressions say it; `_binds` says the same in ours."""
    name = f"({'|'.join(map(re.escape, names))})"
    return rf"(def|class) +{name}\>|^ *{name} *[:=]|import .*\<{name}\>|^ *{name},?$"


def _binds(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    return re.compile(rf"(?:def|class) +{word}\b|^ *{word} *[:=]|import .*\b{word}\b|^ *{word},?$", re.MULTILINE)


def _parse_head(head: str) -> FoundCommit:
    commit, _, rest = head.partition("\t")
    date, _, subject = rest.partition("\t")
    return FoundCommit(commit.strip(), date, subject)


def _find_changed_lines(patch: str) -> Iterator[tuple[str, str]]:
    """Each file of a patch without context, with the text of all lines it adds or removes."""
    path, in_head = "", True
    lines: list[str] = []
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            if path:
                yield path, "\n".join(lines)
            path, lines, in_head = "", [], True
        elif line.startswith("@@ "):
            in_head = False
        elif in_head:
            if line.startswith(("--- a/", "+++ b/")):
                path = line[6:].rstrip("\t")
        elif line[:1] in {"+", "-"}:
            lines.append(line[1:])
    if path:
        yield path, "\n".join(lines)
