"""Where a pin is written and how it moved: gitlinks, commit files, variables, pinned requirements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Evidence
from layline.core.prose import listed
from layline.errors import ConfigError, MissingObject
from layline.history.commits import read_log
from layline.history.json_keys import JsonString, find_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.config import Backend, Pin
    from layline.core.revision import Commit
    from layline.git import Repository

_COMMIT = re.compile(r"\b[0-9a-f]{7,64}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedCommit:
    """A pin as the downstream writes it; `revision` is a commit or, for a requirement, a tag."""

    revision: str
    evidence: Evidence


def read_pin(downstream: Repository, commit: str, key: str, backend: Backend) -> PinnedCommit:
    """The pin of a backend at a downstream commit.

    Why there is none is part of kept answers, which other commits share: only the hint of an error names the commit.
    """
    if backend.pin is not None:
        return _read_written_pin(downstream, commit, key, backend.pin)
    if backend.path is None:
        raise ConfigError(
            f"backends.{key} has neither `path` nor `pin`.",
            hint="`path` names a submodule; `pin = { file = …, variable = … }` a file that holds the commit.",
        )
    path = backend.path
    entry = downstream.read_entry(commit, path)
    if entry is None or not entry.is_gitlink:
        kind = "nothing" if entry is None else "no submodule"
        raise ConfigError(
            f"backends.{key}: {downstream.name} has {kind} at {path!r}.",
            hint=f"Commit {commit[:12]} was read: correct `path`, or read another commit with --at.",
        )
    command = f"git ls-tree {commit} -- {path}"
    return PinnedCommit(
        revision=entry.oid, evidence=Evidence(repo=downstream.name, commit=commit, path=path, command=command)
    )


def find_pin_moves(
    downstream: Repository, base: str | None, tip: str, key: str, backend: Backend
) -> Iterator[tuple[Commit, PinnedCommit | None, PinnedCommit | None]]:
    """Downstream commits (first parent, newest first) that moved the pin, with the pin before and after."""
    path = backend.pin.file if backend.pin is not None else backend.path
    if path is None or (backend.pin is not None and backend.pin.branch is not None):
        return  # a revision of the configuration has no history, and another branch moves by itself
    for commit in read_log(downstream, base, tip, paths=(path,), first_parent=True):
        after = _pin_or_none(downstream, commit.hash, key, backend)
        before = _pin_or_none(downstream, commit.parents[0], key, backend) if commit.parents else None
        if (before and before.revision) != (after and after.revision):
            yield commit, before, after


def _pin_or_none(downstream: Repository, commit: str, key: str, backend: Backend) -> PinnedCommit | None:
    try:
        return read_pin(downstream, commit, key, backend)
    except (ConfigError, MissingObject):
        return None  # before the pin was introduced, or after it went


def _read_written_pin(downstream: Repository, commit: str, key: str, pin: Pin) -> PinnedCommit:
    if pin.file is None:
        revision = pin.revision or ""
        named = Evidence(
            repo=downstream.name, commit=commit, path=None, command=f"# backends.{key}.pin.revision in layline.toml"
        )
        return PinnedCommit(revision=revision, evidence=named)
    commit = commit if pin.branch is None else find_branch(downstream, pin.branch)
    data = downstream.read_file(commit, pin.file)
    if data is None:
        raise ConfigError(
            f"backends.{key}.pin: there is no {pin.file} in {downstream.name}.",
            hint=f"Commit {commit[:12]} was read: correct `file`, or read another commit with --at.",
        )
    text = data.decode("utf-8", "replace")
    found = list(find_pins(text, pin))
    values = {value for _, value in found}
    what = pin.variable or pin.requirement or "a commit"
    if not found:
        said = f"gives no single version of {pin.requirement}" if pin.requirement else f"does not name {what}"
        hint = 'A range has no commit: say which version you test with, `pin = { revision = "v4.57.0" }`.'
        raise ConfigError(f"backends.{key}.pin: {pin.file} {said}.", hint=hint if pin.requirement else None)
    if len(values) > 1:
        listed = ", ".join(f"line {line}: {value}" for line, value in found)
        raise ConfigError(
            f"backends.{key}.pin: {pin.file} gives {what} more than one value ({listed}).",
            hint=_say_keys(text, pin) or f'Choose one in layline.toml: `pin = {{ revision = "{found[0][1]}" }}`.',
        )
    line, value = found[0]
    command = f"git show {commit}:{pin.file} | sed -n {line}p"
    evidence = Evidence(repo=downstream.name, commit=commit, path=pin.file, lines=(line, line), command=command)
    return PinnedCommit(revision=value, evidence=evidence)


def find_branch(downstream: Repository, name: str) -> str:
    """The newest commit of a branch of ours, as the remote has it where that was fetched."""
    for ref in (f"refs/remotes/{name}", f"refs/remotes/origin/{name}", f"refs/heads/{name}"):
        found = downstream.refs(ref).get(ref)
        if found is not None:
            return found
    raise ConfigError(f"{downstream.name} has no branch {name}.", hint=f"Fetch it: git fetch origin {name}.")


def find_pins(text: str, pin: Pin) -> Iterator[tuple[int, str]]:
    """Every line that may be the pin, with its value."""
    if _has_keys(pin) and pin.variable is not None:
        yield from ((one.line, one.value) for one in _find_keys(text, pin.variable))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("#", "//")):
            continue
        value = _pin_in_line(line, pin)
        if value is not None:
            yield number, value


def _has_keys(pin: Pin) -> bool:
    return pin.file is not None and pin.file.endswith(".json") and pin.requirement is None


def _find_keys(text: str, variable: str | None) -> Iterator[JsonString]:
    """The commits of a JSON file: under this key, or one that ends in it; all of them where none is named."""
    for one in find_strings(text):
        if _COMMIT.fullmatch(one.value) and (variable is None or f".{one.key}".endswith(f".{variable}")):
            yield one


def _say_keys(text: str, pin: Pin) -> str:
    """Which whole keys could be meant."""
    keys = [f'"{one.key}"' for one in _find_keys(text, pin.variable)] if _has_keys(pin) else []
    return f"Name one of its keys as `variable`: {listed(keys)}." if keys else ""


def _pin_in_line(line: str, pin: Pin) -> str | None:
    if pin.requirement is not None:
        name = re.escape(pin.requirement).replace(r"\-", "[-_.]").replace("_", "[-_.]")
        found = re.search(rf"(?i)(?<![\w.-]){name}(?:\[[^\]]*\])?\s*(?:===?|~=)\s*([0-9][\w.!+]*)", line)
        return pin.tag.format(version=found.group(1)) if found else None
    if pin.variable is not None:
        found = re.search(
            rf"(?<![\w]){re.escape(pin.variable)}\s*[:=]\s*[\"']?(?:\$\{{[^}}]*:-)?([0-9a-f]{{7,64}})\b", line
        )
        return found.group(1) if found else None
    found = _COMMIT.search(line)
    return found.group(0) if found else None
