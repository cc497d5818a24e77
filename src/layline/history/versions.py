"""The version a tree declares, and the file that declares it; nothing is imported or run."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.git import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A declared version with its place."""

    text: str
    evidence: Evidence


def read_version(repository: Repository, commit: str, packages: tuple[str, ...] = ()) -> Version | None:
    """The first declaration found, strongest first: pyproject, setup.cfg, version files, the packages' own modules."""
    for path, parse in _places(packages or _find_packages(repository, commit)):
        data = repository.read_file(commit, path)
        if data is None:
            continue
        found = parse(data.decode("utf-8", "replace"))
        if found is not None:
            text, first, last = found
            command = f"git show {commit}:{path} | sed -n {first},{last}p"
            evidence = Evidence(repo=repository.name, commit=commit, path=path, lines=(first, last), command=command)
            return Version(text=text, evidence=evidence)
    return None


Found = tuple[str, int, int]
_MODULES = ("package_info.py", "_version.py", "version.py", "__about__.py", "__init__.py")
_NOT_PACKAGES = {"tests", "test", "docs", "examples", "tools", "scripts", "benchmarks"}


def _find_packages(repository: Repository, commit: str) -> tuple[str, ...]:
    """Where none are configured: packages at most two folders deep, the shallowest first."""
    found: dict[str, None] = {}
    for entry in repository.read_tree(commit):
        folder, _, name = entry.path.removeprefix("src/").rpartition("/")
        if (
            name in _MODULES
            and 0 < len(folder.split("/")) <= 2
            and folder.split("/")[0] not in _NOT_PACKAGES
            and folder
        ):
            found[folder.replace("/", ".")] = None
    return tuple(sorted(found, key=lambda package: (package.count("."), package)))


def _places(packages: tuple[str, ...]) -> Iterator[tuple[str, Callable[[str], Found | None]]]:
    yield "pyproject.toml", _from_pyproject
    yield "setup.cfg", _from_setup_cfg
    yield "setup.py", _from_setup_py
    for name in ("version.txt", "VERSION", "assets/version.txt"):
        yield name, _from_plain_file
    for package in packages:
        folder = package.replace(".", "/")
        for root in ("", "src/"):
            for name in _MODULES:
                yield f"{root}{folder}/{name}", _from_module


def _from_pyproject(text: str) -> Found | None:
    try:
        version = tomllib.loads(text).get("project", {}).get("version")
    except (tomllib.TOMLDecodeError, AttributeError):
        return None
    return _at_line(text, r"^\s*version\s*=", str(version)) if isinstance(version, str) else None


def _from_setup_cfg(text: str) -> Found | None:
    found = re.search(r"(?m)^\s*version\s*=\s*([0-9][\w.!+-]*)\s*$", text)
    return _at_line(text, r"^\s*version\s*=", found.group(1)) if found else None


def _from_setup_py(text: str) -> Found | None:
    found = re.search(r"(?m)^[^#\n]*\bversion\s*=\s*[\"']([0-9][\w.!+-]*)[\"']", text)
    return _at_line(text, r"\bversion\s*=\s*[\"']", found.group(1)) if found else None


def _from_plain_file(text: str) -> Found | None:
    first = text.strip().splitlines()[:1]
    return (first[0].strip(), 1, 1) if first and re.fullmatch(r"v?[0-9][\w.!+-]*", first[0].strip()) else None


def _from_module(text: str) -> Found | None:
    # to the end of the line: `__version__ = ".".join(parts)` declares nothing
    found = re.search(
        r"(?m)^(?:__)?(?:version|VERSION)(?:__)?\s*(?::\s*\w+\s*)?=\s*[\"']([^\"']+)[\"']\s*(?:#.*)?$", text
    )
    if found:
        return _at_line(text, r"^(?:__)?(?:version|VERSION)(?:__)?\s*[:=]", found.group(1))
    return _from_parts(text)


def _from_parts(text: str) -> Found | None:
    """MAJOR, MINOR, PATCH, PRE_RELEASE on lines of their own, as NVIDIA writes it."""
    parts: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r"(MAJOR|MINOR|PATCH|PRE_RELEASE)\s*=\s*[\"']?([\w.]*)[\"']?\s*(?:#.*)?$", line)
        if found:
            parts.setdefault(found.group(1), (found.group(2), number))
    if not {"MAJOR", "MINOR", "PATCH"} <= parts.keys():
        return None
    version = ".".join(parts[name][0] for name in ("MAJOR", "MINOR", "PATCH")) + parts.get("PRE_RELEASE", ("", 0))[0]
    lines = [number for _, number in parts.values()]
    return version, min(lines), max(lines)


def _at_line(text: str, pattern: str, version: str) -> Found | None:
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(pattern, line) and version in line:
            return version, number, number
    return None
