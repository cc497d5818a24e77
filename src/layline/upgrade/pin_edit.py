"""The edit that moves a pin: a gitlink, a commit in a file, a requirement's version, the revision in our settings."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.git.worktree import is_ignored
from layline.git.write import GITLINK
from layline.history.pins import read_pin

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.git import Repository
    from layline.workspace.open import Workspace


@dataclass(frozen=True, slots=True)
class PinEdit:
    """One entry of the downstream's tree as the new pin needs it."""

    path: str
    mode: str
    data: bytes
    """Of a gitlink the commit, of a file its bytes."""


def build_pin_edit(workspace: Workspace, commit: str, key: str, new: tuple[str, frozenset[str]]) -> PinEdit | str:
    """The edit at one downstream commit, or why there is none; `new`: the upstream commit and the tags that name it."""
    target, tags = new
    downstream, backend = workspace.downstream, workspace.settings.backend(key)
    if backend.pin is None:
        return PinEdit(backend.path or "", GITLINK, target.encode())
    pin = backend.pin
    if pin.file is None:
        return _edit_settings(workspace, commit, key, new)
    if pin.branch is not None:
        return f"{pin.file} holds the pin and is on the branch {pin.branch}: move it there by hand"
    value: str | None = target
    if pin.requirement is not None:
        head, _, tail = pin.tag.partition("{version}")
        versions = (
            tag[len(head) : len(tag) - len(tail)] for tag in sorted(tags) if tag.startswith(head) and tag.endswith(tail)
        )
        value = next(iter(versions), None)
        if value is None:
            return f"{pin.file} pins a version, and no release tag points to {target[:12]}"
    written = read_pin(downstream, commit, key, backend)
    entry = downstream.read_entry(commit, pin.file)
    text = (downstream.read_file(commit, pin.file) or b"").decode("utf-8", "surrogateescape")
    if entry is None or not entry.is_file or written.evidence.lines is None:
        return f"{pin.file} is not a plain file"
    return _replace(
        text, written.evidence.lines[0], _written(written.revision, backend), value or "", (pin.file, entry.mode)
    )


def find_tags(upstream: Repository) -> dict[str, frozenset[str]]:
    """Each tagged commit with the tags that name it."""
    found: dict[str, set[str]] = {}
    for ref, commit in upstream.refs("refs/tags").items():
        found.setdefault(commit, set()).add(ref.removeprefix("refs/tags/"))
    return {commit: frozenset(names) for commit, names in found.items()}


def find_pin_refusal(workspace: Workspace, key: str, to: str) -> str | None:
    """Why `upgrade apply` could not write this upstream commit as the pin."""
    tags = find_tags(workspace.open_backend(key)).get(to, frozenset())
    edit = build_pin_edit(workspace, workspace.commit, key, (to, tags))
    return edit if isinstance(edit, str) else None


def _edit_settings(workspace: Workspace, commit: str, key: str, new: tuple[str, frozenset[str]]) -> PinEdit | str:
    """The settings file with another revision; refused where it is no file of the commit."""
    path, name = workspace.settings_path, workspace.downstream.name
    if path is None:
        return f"{workspace.file} holds the pin and is outside {name}: set backends.{key}.pin.revision there by hand"
    entry = workspace.downstream.read_entry(commit, path)
    if entry is None and is_ignored(workspace.downstream, path):
        return f"{path} holds the pin and git ignores it: add it with `git add -f`, or set the pin there by hand"
    if entry is None:
        return f"{path} holds the pin and is not committed: commit that file first"
    data = workspace.downstream.read_file(commit, path)
    if not entry.is_file or entry.is_symlink or data is None:
        return f"{path} is not a plain file"
    edited = move_revision(data.decode("utf-8", "surrogateescape"), key, *new)
    if edited is None:
        return f"no single edit of {path} moves backends.{key}.pin.revision"
    return PinEdit(path, entry.mode, edited.encode("utf-8", "surrogateescape"))


def move_revision(text: str, key: str, target: str, tags: frozenset[str] = frozenset()) -> str | None:
    """The text of the settings with one quoted word exchanged; None where that is not one edit.

    Which word is meant, the TOML reader decides: the result must read as the old settings with just this pin moved.
    A pin that was a tag stays one where upstream has such a tag.
    """
    try:
        wanted = tomllib.loads(text)
        pin = wanted["backends"][key]["pin"]
        old = str(pin["revision"])
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        return None
    shape = re.sub(r"\d+", "0", old)
    value = next((tag for tag in sorted(tags) if re.sub(r"\d+", "0", tag) == shape), target)
    pin["revision"] = value
    quoted = re.finditer(f"([\"']){re.escape(old)}\\1", text)
    edited = [f"{text[: at.start() + 1]}{value}{text[at.end() - 1 :]}" for at in quoted]
    fitting = [one for one in edited if _reads_as(one, wanted)]
    return fitting[0] if len(fitting) == 1 else None


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _written(revision: str, backend: Backend) -> str:
    """What the file says: of a requirement the version, which a tag is made of."""
    if backend.pin is None or backend.pin.requirement is None:
        return revision
    head, _, tail = backend.pin.tag.partition("{version}")
    return revision[len(head) : len(revision) - len(tail)]


def _replace(text: str, line: int, old: str, new: str, entry: tuple[str, str]) -> PinEdit | str:
    path, mode = entry
    lines = text.split("\n")
    if lines[line - 1].count(old) != 1:
        return f"{path}:{line} does not name {old} exactly once"
    lines[line - 1] = lines[line - 1].replace(old, new)
    return PinEdit(path, mode, "\n".join(lines).encode("utf-8", "surrogateescape"))
