"""A campaign folder as plain text: from a directory, or from a commit of a repository. Nothing in it is run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Skipped
from layline.errors import ConfigError, GitError
from layline.yaml_text import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from layline.git import Repository

MAX_FILES = 20_000
MAX_TEXT = 4 << 20
_ROUND = re.compile(r"round-(\d+)(.*)\Z")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\Z")


@dataclass(frozen=True, slots=True)
class RoundFolder:
    """One folder under `rounds/`."""

    name: str
    number: int
    suffix: str
    files: tuple[str, ...]
    """Paths relative to the campaign folder."""

    @property
    def path(self) -> str:
        return f"rounds/{self.name}"

    def holds(self, under: str) -> bool:
        return any(file == f"{self.path}/{under}" or file.startswith(f"{self.path}/{under}/") for file in self.files)


@dataclass(frozen=True, slots=True)
class Line:
    path: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class PastCommit:
    """One commit of the branch the folder lives on, oldest first."""

    hash: str
    date: str
    subject: str
    texts: Mapping[str, str]
    """The append-only files and the manifest as this commit left them; empty where it did not touch the folder."""


@dataclass(frozen=True, slots=True)
class CampaignFolder:
    """Everything the rules look at."""

    name: str
    files: tuple[str, ...]
    texts: Mapping[str, str]
    tips: str | None = None
    tips_path: str = ""
    history: tuple[PastCommit, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def text(self, path: str) -> str | None:
        return self.texts.get(path)

    @property
    def rounds(self) -> tuple[RoundFolder, ...]:
        names = sorted(
            {file.split("/")[1] for file in self.files if file.startswith("rounds/") and file.count("/") >= 2}
        )
        found = [(match, name) for name in names if (match := _ROUND.match(name))]
        folders = [
            RoundFolder(
                name, int(match[1]), match[2], tuple(file for file in self.files if file.startswith(f"rounds/{name}/"))
            )
            for match, name in found
        ]
        return tuple(sorted(folders, key=lambda item: (item.number, item.name)))


def lines_of(folder: CampaignFolder, path: str) -> list[Line]:
    text = folder.text(path) or ""
    return [Line(path, number, line) for number, line in enumerate(text.splitlines(), 1)]


def headings_of(folder: CampaignFolder, path: str) -> list[tuple[int, str]]:
    """Markdown headings with their lines; lines inside fences are not headings."""
    found: list[tuple[int, str]] = []
    fenced = False
    for line in lines_of(folder, path):
        if line.text.lstrip().startswith("```"):
            fenced = not fenced
        match = None if fenced else _HEADING.match(line.text)
        if match:
            found.append((line.number, match[1]))
    return found


def read_directory(path: Path) -> CampaignFolder:
    """Read a folder on disk; symlinks are listed, never followed."""
    if not path.is_dir():
        raise ConfigError(
            f"{path} is not a folder.", hint="Give the campaign folder that holds manifest.yaml and rounds/."
        )
    files: list[str] = []
    texts: dict[str, str] = {}
    skipped: list[Skipped] = []
    for base, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            place = path.__class__(base) / name
            relative = place.relative_to(path).as_posix()
            files.append(relative)
            if len(files) > MAX_FILES:
                raise ConfigError(f"{path} holds more than {MAX_FILES} files.", hint="Give the campaign folder itself.")
            if place.is_symlink() or not place.is_file():
                skipped.append(Skipped(relative, "is not a plain file"))
            elif place.stat().st_size <= MAX_TEXT:
                _add_text(texts, skipped, relative, place.read_bytes())
    tips_path, tips = _find_tips_on_disk(path, texts)
    return _build(path.resolve().name, files, texts, skipped, tips=tips, tips_path=tips_path)


def read_revision(repository: Repository, commit: str, under: str) -> CampaignFolder:
    """Read a folder of a commit, with the history of the branch that led there."""
    under = under.strip("/")
    entries = [entry for entry in repository.read_tree(commit, under, sizes=True) if entry.is_file][:MAX_FILES]
    if not entries:
        raise GitError(f"{repository.name} has no folder {under!r} at {commit[:12]}.")
    texts: dict[str, str] = {}
    skipped: list[Skipped] = []
    for entry in entries:
        if (entry.size or 0) <= MAX_TEXT:
            _add_text(texts, skipped, entry.path.removeprefix(f"{under}/"), repository.read_blob(entry.oid))
    files = [entry.path.removeprefix(f"{under}/") for entry in entries]
    manifest = _manifest_of(texts)
    tips_path = _tips_path(manifest)
    tips = repository.read_file(commit, tips_path) if tips_path else None
    decoded = tips.decode("utf-8", "replace") if tips is not None else None
    history = tuple(_read_history(repository, commit, under))
    return _build(under.rsplit("/", 1)[-1], files, texts, skipped, tips=decoded, tips_path=tips_path, history=history)


def _build(
    name: str, files: Iterable[str], texts: dict[str, str], skipped: list[Skipped], **rest: Any
) -> CampaignFolder:
    return CampaignFolder(
        name=name, files=tuple(files), texts=texts, skipped=tuple(skipped), manifest=_manifest_of(texts), **rest
    )


def _add_text(texts: dict[str, str], skipped: list[Skipped], path: str, data: bytes) -> None:
    if b"\0" in data[:8192]:
        return
    try:
        texts[path] = data.decode("utf-8")
    except UnicodeDecodeError as error:
        skipped.append(Skipped(path, f"byte {error.start} is not UTF-8"))


def _manifest_of(texts: Mapping[str, str]) -> Mapping[str, Any]:
    """The manifest as far as it can be read; the rules say what is wrong with it."""
    try:
        plain = parse_yaml(texts.get("manifest.yaml", ""), where="manifest.yaml")
    except ConfigError:
        return {}
    return plain if isinstance(plain, dict) else {}


def _tips_path(manifest: Mapping[str, Any]) -> str:
    gpu, operator, backend = (str(manifest.get(key, "")) for key in ("target_gpu", "target_op", "target_backend"))
    return (
        f"agent/historical_experience/{gpu}/{operator}/{backend.lower()}/tips.md"
        if gpu and operator and backend
        else ""
    )


def _find_tips_on_disk(path: Path, texts: Mapping[str, str]) -> tuple[str, str | None]:
    """The lessons file beside `agent/workspace/<campaign>`, where the folder lies in such a tree."""
    relative = _tips_path(_manifest_of(texts))
    place = path.resolve().parent.parent / relative.removeprefix("agent/") if relative else None
    if place is None or not place.is_file() or place.stat().st_size > MAX_TEXT:
        return relative, None
    return relative, place.read_text(encoding="utf-8", errors="replace")


def _read_history(repository: Repository, commit: str, under: str) -> Iterable[PastCommit]:
    """First-parent history since the folder was born, with the watched files of each commit that touched it."""
    born = repository.git("log", "--format=%H", "--reverse", "--first-parent", commit, "--", under).decode().split()
    if not born:
        return
    span = f"{born[0]}~1..{commit}" if _has_parent(repository, born[0]) else commit
    out = repository.git("log", "--first-parent", "--reverse", "--format=%H%x00%cs%x00%s", span).decode(
        "utf-8", "replace"
    )
    touching = set(born)
    watched = ("manifest.yaml", "logs/optimize.md", "logs/performance_trend.md")
    for row in out.splitlines():
        hash_, date, subject = row.split("\0", 2)
        texts: dict[str, str] = {}
        if hash_ in touching:
            for name in watched:
                data = repository.read_file(hash_, f"{under}/{name}")
                if data is not None:
                    texts[name] = data.decode("utf-8", "replace")
        yield PastCommit(hash_, date, subject, texts)


def _has_parent(repository: Repository, commit: str) -> bool:
    return len(repository.git("rev-list", "--parents", "-n", "1", commit).split()) > 1
