"""Static sites of their own and plain links, mounted from a manifest: one Pages site holds more than the dashboard.

{"sections": [{"name": "projection", "title": "Projection", "source": "examples/projection/site"}],
 "links": [{"title": "Install", "path": "./simple/", "probe": true, "hint": "pip install …"}]}
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from layline import codec
from layline.core.evidence import Skipped
from layline.errors import RecordError
from layline.render.markup import safe_link
from layline.workspace.records import find_path_problem

RESERVED = frozenset(
    {
        "assets",
        "backends",
        "badges",
        "campaigns",
        "dashboard-data",
        "data",
        "monthly",
        "patches",
        "reports",
        "reports-data",
        "search",
        "weekly",
    }
)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_MOST_FILES = 5_000
_MOST_BYTES = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A folder of static files, shown at `/<name>/`."""

    name: str
    title: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionLink:
    title: str
    path: str
    probe: bool = False
    """Shown only where the address answers: its target is not part of this build."""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    sections: tuple[Section, ...] = ()
    links: tuple[SectionLink, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def index(self) -> dict[str, Any]:
        """`sections.json`, as the published site has always had it."""
        links = [
            {
                key: value
                for key, value in (
                    ("title", item.title),
                    ("path", item.path),
                    ("probe", item.probe),
                    ("hint", item.hint),
                )
                if value
            }
            for item in self.links
        ]
        return {
            "sections": [{"name": item.name, "title": item.title, "path": f"./{item.name}/"} for item in self.sections],
            "links": links,
        }


def load_sections(root: Path, manifest: str) -> Sections:
    """Read and judge the manifest; a source that is not in the checkout is skipped and told."""
    reason = find_path_problem(root, manifest)
    if reason is not None:
        raise RecordError(manifest, (reason.removeprefix(f"{manifest} "),))
    plain = codec.parse_json((root / manifest).read_bytes(), where=manifest)
    problems = tuple(find_manifest_problems(plain))
    if problems:
        raise RecordError(manifest, problems)
    sections, skipped = [], []
    for item in plain.get("sections", []):
        section = Section(name=item["name"], title=item.get("title") or item["name"], source=item["source"])
        reason = _find_source_problem(root, section)
        if reason is None:
            sections.append(section)
        elif (root / section.source).exists():
            raise RecordError(manifest, (f"section {section.name!r}: {reason}",))
        else:
            skipped.append(Skipped(f"section {section.name!r}", reason))
    links = tuple(
        SectionLink(
            title=item["title"], path=item["path"], probe=bool(item.get("probe")), hint=str(item.get("hint") or "")
        )
        for item in plain.get("links", [])
    )
    return Sections(sections=tuple(sections), links=links, skipped=tuple(skipped))


def find_manifest_problems(plain: Any) -> Iterator[str]:
    if not isinstance(plain, Mapping):
        yield "is not an object"
        return
    for key in ("sections", "links"):
        if not isinstance(plain.get(key, []), list):
            yield f"{key} is not a list"
            return
    seen: set[str] = set()
    for index, item in enumerate(plain.get("sections", [])):
        yield from (f"sections[{index}]: {reason}" for reason in _find_section_problems(item, seen))
    for index, item in enumerate(plain.get("links", [])):
        if not isinstance(item, Mapping) or not all(
            isinstance(item.get(key), str) and item[key].strip() for key in ("title", "path")
        ):
            yield f"links[{index}]: needs a title and a path"
        elif not safe_link(item["path"]) or ".." in item["path"].split("/"):
            yield f"links[{index}]: {item['path']!r} is neither https nor a path below the site"


def _find_section_problems(item: Any, seen: set[str]) -> Iterator[str]:
    if not isinstance(item, Mapping) or not all(isinstance(item.get(key), str) for key in ("name", "source")):
        yield "needs a name and a source"
        return
    name, source = item["name"], item["source"]
    if not _NAME.match(name) or name in RESERVED:
        yield f"{name!r} is not a free name: one folder of small letters, digits, - and _"
    if name in seen:
        yield f"{name!r} appears twice"
    seen.add(name)
    if source.startswith(("/", "~", "-")) or "\\" in source or not _is_plain(source):
        yield f"{source!r} is not a folder below the project, or a name in it begins with a dot"


def _is_plain(source: str) -> bool:
    """Whether a path names a folder below the project by ordinary names: not the project itself, nothing hidden."""
    parts = source.removeprefix("./").removesuffix("/").split("/")
    return not any(part.startswith(".") or not part for part in parts)


def find_hidden(root: Path, section: Section) -> Iterator[Skipped]:
    """Yields files and folders of a section that are not published: keys, histories and settings begin with a dot."""
    for folder, folders, files in os.walk(root / section.source):
        place = Path(folder).relative_to(root)
        for name in sorted(name for name in (*folders, *files) if _is_hidden(name)):
            yield Skipped((place / name).as_posix(), "begins with a dot and is not published")
        folders[:] = sorted(name for name in folders if not _is_hidden(name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and name != ".well-known"  # the one such folder that is meant for the public


def _find_source_problem(root: Path, section: Section) -> str | None:
    place = root
    for part in Path(section.source).parts:
        place /= part
        if place.is_symlink():
            return f"{section.source} is a symlink or lies behind one"
    if not place.is_dir():
        return f"{section.source} is not in the checkout"
    return None if (place / "index.html").is_file() else f"{section.source} has no index.html"


def read_section(root: Path, section: Section) -> Iterator[tuple[str, bytes]]:
    """Yields (path on the site, content) of every file; symlinks and oversized sections are refused."""
    total = count = 0
    for folder, folders, found in os.walk(root / section.source):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        files = [name for name in found if not _is_hidden(name)]
        for name in sorted([*folders, *files]):
            place = Path(folder) / name
            if place.is_symlink():
                raise RecordError(section.source, (f"{place.relative_to(root)} is a symlink",))
        for name in sorted(files):
            place = Path(folder) / name
            count, total = count + 1, total + place.stat().st_size
            if count > _MOST_FILES or total > _MOST_BYTES:
                raise RecordError(section.source, (f"has more than {_MOST_FILES} files or {_MOST_BYTES:,} bytes",))
            yield f"{section.name}/{place.relative_to(root / section.source).as_posix()}", place.read_bytes()
