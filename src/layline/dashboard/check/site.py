"""Every file of a site and how they hang together."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from layline import codec
from layline.core.checks import Problem
from layline.core.evidence import Skipped
from layline.dashboard.check.markup import Page, find_page_problems, find_style_fetches, read_page
from layline.dashboard.content import LARGEST_DATA
from layline.dashboard.publish import MARKER, list_own
from layline.errors import RecordError

BUDGETS = {
    ".html": 1_000_000,
    ".css": 60_000,
    ".js": 30_000,
    ".svg": 200_000,
    ".json": 8_000_000,
    ".csv": 8_000_000,
    ".pdf": 20_000_000,
}
"""Bytes one file may weigh."""
WIDE_HTML = 3_000_000
WIDE = ("patches/", "campaigns/", "reports/", "weekly/", "monthly/")
"""Pages that hold whole documents or tables of any length."""
DOWNLOADS = ("data/", "dashboard-data/")
"""Data for programs; a copy is never heavier than what the build reads."""
ENTRY = "index.html"
GAP_INDEX = "dashboard-data/index.json"
REPORTS_INDEX = "reports-data/index.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was read and what is wrong with it."""

    problems: tuple[Problem, ...]
    skipped: tuple[Skipped, ...]
    files: int
    pages: int
    links: int
    bytes: int


def check_site(folder: Path, read: Callable[[str], Page] = read_page) -> Checked:
    """Read a whole site; sections of other makers are only looked at for their entry page.

    `read` lets a build keep what it found in a page that has not changed.
    """
    problems: list[Problem] = []
    files = dict(_list_files(folder, problems))
    sections = _read_sections(folder, files, problems)
    made = list_own(folder)
    foreign = sorted(files.keys() - made - {MARKER}) if made is not None else []
    own = {path: size for path, size in files.items() if path.split("/")[0] not in sections and path not in foreign}
    problems += _check_sizes(own)
    pages = {path: read(_text(folder / path)) for path in own if path.endswith(".html")}
    for path, page in pages.items():
        problems += [Problem("", reason, file=path) for reason in find_page_problems(page)]
        problems += [*_check_fetches(path, page, files), *_check_links(path, page, files, pages)]
    problems += _check_assets(folder, own)
    problems += _check_entry(files)
    problems += _check_indexes(folder, files)
    skipped = tuple(
        Skipped(f"section {name!r}", "a site of its own: only its entry page was checked") for name in sorted(sections)
    )
    skipped += tuple(Skipped(path, "not written by a build: not checked") for path in foreign)
    links = sum(len(page.links) for page in pages.values())
    return Checked(
        problems=tuple(problems),
        skipped=skipped,
        files=len(files),
        pages=len(pages),
        links=links,
        bytes=sum(files.values()),
    )


def _list_files(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, int]]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted([*folders, *names]):
            file = Path(place) / name
            relative = file.relative_to(folder).as_posix()
            if relative == ".git" or relative.startswith(".git/"):
                continue  # of the branch a site is published from
            if file.is_symlink():
                problems.append(Problem("", "is a symlink", file=relative))
            elif name in names:
                yield relative, file.stat().st_size


def _read_sections(folder: Path, files: dict[str, int], problems: list[Problem]) -> set[str]:
    plain = _read_json(folder, "sections.json", files, problems)
    if plain is None:
        return set()
    names = {item.get("name") for item in plain.get("sections", []) if isinstance(item, dict)}
    missing = sorted(str(name) for name in names if f"{name}/{ENTRY}" not in files)
    problems += [Problem(f"sections.{name}", f"there is no {name}/{ENTRY}", file="sections.json") for name in missing]
    return {name for name in names if isinstance(name, str)}


def _check_sizes(files: dict[str, int]) -> Iterator[Problem]:
    for path, size in files.items():
        limit = _find_budget(path)
        if limit is not None and size > limit:
            yield Problem("", f"has {size:,} bytes; the limit is {limit:,}", file=path)
        if size == 0 and path != ".nojekyll":
            yield Problem("", "is empty", file=path)


def _find_budget(path: str) -> int | None:
    if path.endswith(".html") and path.startswith(WIDE):
        return WIDE_HTML
    if path.endswith(".json") and path.startswith(DOWNLOADS):
        return LARGEST_DATA
    return BUDGETS.get(posixpath.splitext(path)[1])


def _check_fetches(path: str, page: Page, files: dict[str, int]) -> Iterator[Problem]:
    for address in page.fetches:
        if urlsplit(address).scheme or address.startswith(("//", "/")):
            yield Problem("", f"asks the browser to fetch {address}", file=path)
        elif _target(path, address) not in files:
            yield Problem("", f"asks for {address}, which is not there", file=path)


def _check_links(path: str, page: Page, files: dict[str, int], pages: dict[str, Page]) -> Iterator[Problem]:
    for address, may_be_missing in page.links:
        parts = urlsplit(address)
        if parts.scheme == "https" and parts.netloc:
            continue
        if parts.scheme or parts.netloc or address.startswith(("/", "\\")) or not address:
            yield Problem("", f"links to {address!r}, which is neither https nor a place on the site", file=path)
            continue
        target = _target(path, address) if parts.path else path
        if target not in files and not may_be_missing:
            yield Problem("", f"links to {address}, which is not there", file=path)
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
            yield Problem("", f"links to {address}, and that page has no such anchor", file=path)


def _target(path: str, address: str) -> str:
    inner = unquote(urlsplit(address).path)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), inner))
    return f"{target}/{ENTRY}" if inner.endswith("/") else target


def _check_assets(folder: Path, files: dict[str, int]) -> Iterator[Problem]:
    for path in files:
        match posixpath.splitext(path)[1]:
            case ".css":
                yield from (
                    Problem("", f"fetches something ({found})", file=path)
                    for found in find_style_fetches(_text(folder / path))
                )
            case ".svg":
                yield from _check_svg(_text(folder / path), path)
            case ".pdf" if _head(folder / path) != b"%PDF-":
                yield Problem("", "is not a PDF", file=path)
            case ".json":
                try:
                    codec.parse_json((folder / path).read_bytes(), where=path)
                except RecordError as error:
                    yield Problem("", error.problems[0], file=path)


def _check_svg(text: str, path: str) -> Iterator[Problem]:
    if "<!" in text or "<?" in text:
        yield Problem("", "declares a document type or an instruction", file=path)
        return
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  no document type, so no entities
    except ElementTree.ParseError as error:
        yield Problem("", f"is not well-formed: {error}", file=path)
        return
    for item in root.iter():
        name = item.tag.rpartition("}")[2]
        if name in {"script", "foreignObject", "image", "use", "a"} or any(
            key.startswith("on") or key.endswith("href") for key in item.attrib
        ):
            yield Problem("", f"<{name}> could run or fetch something", file=path)


def _check_entry(files: dict[str, int]) -> Iterator[Problem]:
    for path in (ENTRY, GAP_INDEX, REPORTS_INDEX):
        if path not in files:
            yield Problem("", "is missing", file=path)


def _check_indexes(folder: Path, files: dict[str, int]) -> Iterator[Problem]:
    problems: list[Problem] = []
    gap = _read_json(folder, GAP_INDEX, files, problems)
    combined = _read_json(folder, REPORTS_INDEX, files, problems)
    yield from problems
    if gap is not None:
        yield from _check_gap_index(folder, gap, files)
    for item in _reports(combined):
        page = f"{item.get('cadence')}/{item.get('report_id')}.html"
        if page not in files:
            yield Problem(str(item.get("report_id")), f"has no page {page}", file=REPORTS_INDEX)


def _check_gap_index(folder: Path, gap: dict[str, Any], files: dict[str, int]) -> Iterator[Problem]:
    with_pdf = any(path.startswith("reports/") and path.endswith(".pdf") for path in files)
    listed: set[str] = set()
    for item in _reports(gap):
        name = str(item.get("id"))
        if name in listed:
            yield Problem(name, "appears twice", file=GAP_INDEX)
        listed.add(name)
        for artifact in item.get("artifacts", []):
            path = str(artifact.get("path", "")).removeprefix("./")
            page = path.removesuffix(".pdf") + ".html"
            for wanted in (path, page) if with_pdf else (page,):
                if wanted not in files:
                    yield Problem(name, f"names the artifact {wanted}, which is not there", file=GAP_INDEX)
    kept = set()
    for path in files:
        if path.startswith("dashboard-data/reports/") and path.endswith(".json"):
            found: list[Problem] = []
            record = _read_json(folder, path, files, found)
            kept.add(str(record.get("id")) if record else path)
    for name in sorted(listed ^ kept):
        where = "the index" if name in listed else "dashboard-data/reports"
        yield Problem(name, f"is only in {where}", file=GAP_INDEX)


def _reports(index: dict[str, Any] | None) -> list[dict[str, Any]]:
    reports = index.get("reports") if index else None
    return [item for item in reports if isinstance(item, dict)] if isinstance(reports, list) else []


def _read_json(folder: Path, path: str, files: dict[str, int], problems: list[Problem]) -> dict[str, Any] | None:
    if path not in files:
        return None
    try:
        plain = codec.parse_json((folder / path).read_bytes(), where=path)
    except RecordError as error:
        problems.append(Problem("", error.problems[0], file=path))
        return None
    if not isinstance(plain, dict):
        problems.append(Problem("", "is not an object", file=path))
        return None
    return plain


def _head(file: Path) -> bytes:
    with file.open("rb") as handle:
        return handle.read(5)


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace")
