"""The edit that moves a pin: a gitlink, a commit in a file, or the version of a requirement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.git.write import GITLINK
from layline.history.pins import read_pin

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.git import Repository


@dataclass(frozen=True, slots=True)
class PinEdit:
    """One entry of the downstream's tree as the new pin needs it."""

    path: str
    mode: str
    data: bytes
    """Of a gitlink the commit, of a file its bytes."""


def build_pin_edit(
    downstream: Repository, commit: str, key: str, backend: Backend, new: tuple[str, frozenset[str]]
) -> PinEdit | str:
    """The edit at one downstream commit, or why there is none; `new`: the upstream commit and the tags that name it."""
    target, tags = new
    if backend.pin is None:
        return PinEdit(backend.path or "", GITLINK, target.encode())
    pin = backend.pin
    if pin.file is None:
        return f"the pin is written in layline.toml; set backends.{key}.pin.revision there"
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
