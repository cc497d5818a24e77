"""The version a tree declares, and the file that declares it, or the tag; nothing is imported or run."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import packaging.version

from layline.core.evidence import Evidence
from layline.core.ours import is_packaged
from layline.history.tags import is_version, nearest_tag
from layline.source.parsing import PARSING
from layline.source.setup_script import parse_setup_script

if TYPE_CHECKING:
    from layline.git import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A declared version with its place."""

    text: str
    evidence: Evidence


def read_version(repository: Repository, commit: str, packages: tuple[str, ...] = ()) -> Version | None:
    """The first declaration found, strongest first: build files and where they point, version files, the packages'
    modules; the tag before it, where the build files leave the version to tags.
    """
    known = cache(lambda path: _read(repository, commit, path))
    for path, parse in _places(packages, known):
        text = known(path)
        found = parse(text) if text is not None else None
        if found is not None:
            return _build(repository, commit, path, found)
    for path in _find_version_modules(repository, commit, packages):
        found = _from_module(known(path) or "")
        if found is not None:
            return _build(repository, commit, path, found)
    return read_tagged(repository, commit) if _leaves_to_tags(known("pyproject.toml") or "") else None


_TAGGERS = re.compile(r"(setuptools[-_.]scm|hatch[-_.]vcs)\b", re.IGNORECASE)
"""What makes a version of git's tags when a package is built."""


def _leaves_to_tags(pyproject: str) -> bool:
    """`dynamic = ["version"]`, built with one of these."""
    plain = _load_toml(pyproject)
    needs = _table(plain, "build-system").get("requires", [])
    named = any(_TAGGERS.match(str(need)) for need in (needs if isinstance(needs, list) else []))
    return named and "version" in _table(plain, "project").get("dynamic", ())


def read_tagged(repository: Repository, commit: str) -> Version | None:
    """As these programs count: the version of the tag, or on the way to the next one (`1.2.1.dev30` after `v1.2.0`)."""
    found = nearest_tag(repository, commit, lambda name: is_version(name) and _parse_tag(name) is not None)
    named = _parse_tag(found[0]) if found is not None else None
    if found is None or named is None:
        return None
    version = re.fullmatch(r"(.*?)(\d+)", named)
    text = named if version is None or not found[1] else f"{version[1]}{int(version[2]) + 1}.dev{found[1]}"
    command = f"git describe --tags --long --match '*[0-9]*' {commit}"
    return Version(text=text, evidence=Evidence(repo=repository.name, commit=commit, command=command))


def _parse_tag(name: str) -> str | None:
    """The version that a tag ends with: `v1.2-rc1` is 1.2rc1; None where it is none."""
    for at in re.finditer(r"(?:^|[-_/v])(?=\d)", name, re.IGNORECASE):
        with suppress(packaging.version.InvalidVersion):
            return str(packaging.version.Version(name[at.end() :]))
    return None


def _read(repository: Repository, commit: str, path: str) -> str | None:
    data = repository.read_file(commit, path)
    return None if data is None else data.decode("utf-8", "replace")


def _build(repository: Repository, commit: str, path: str, found: Found) -> Version:
    text, first, last = found
    command = f"git show {commit}:{path} | sed -n {first},{last}p"
    evidence = Evidence(repo=repository.name, commit=commit, path=path, lines=(first, last), command=command)
    return Version(text=text, evidence=evidence)


Found = tuple[str, int, int]
_NUMBER = re.compile(r"[0-9][\w.!+-]*")
_MODULES = ("package_info.py", "_version.py", "version.py", "__about__.py", "__init__.py")


def _find_version_modules(repository: Repository, commit: str, packages: tuple[str, ...]) -> list[str]:
    """Modules that may declare one, at most two folders deep, the shallowest first: of the packages, or of any."""
    found: list[tuple[int, str, int, str]] = []
    for entry in repository.read_tree(commit):
        folder, _, name = entry.path.removeprefix("src/").rpartition("/")
        top = folder.split("/")[0]
        is_ours = (
            top in {package.partition(".")[0] for package in packages} if packages else is_packaged(f"{top}/{name}")
        )
        if folder and name in _MODULES and folder.count("/") < 2 and is_ours:
            found.append((folder.count("/"), folder, _MODULES.index(name), entry.path))
    return [path for *_, path in sorted(found)]


Reader = Callable[[str], "str | None"]


def _places(packages: tuple[str, ...], read: Reader) -> Iterator[tuple[str, Callable[[str], Found | None]]]:
    yield "pyproject.toml", _from_pyproject
    yield from _find_pointed(_read_pointers(read("pyproject.toml") or ""), read)
    yield "setup.cfg", _from_setup_cfg
    yield from _find_pointed(_read_cfg_pointers(read("setup.cfg") or ""), read)
    yield "setup.py", _from_setup_py
    for name in ("version.txt", "VERSION", "assets/version.txt"):
        yield name, _from_plain_file
    for package in packages:
        folder = package.replace(".", "/")
        for root in ("", "src/"):
            for name in _MODULES:
                yield f"{root}{folder}/{name}", _from_module


Pointers = list[tuple[str, str]]
"""`attr` and a dotted name, or `file` and a path: where a build file says that the version stands."""


def _read_pointers(text: str) -> Pointers:
    """`[tool.setuptools.dynamic] version = {attr = …}` or `{file = …}`, and what hatch and pdm call `path`."""
    tool = _table(_load_toml(text), "tool")
    found = _table(_table(_table(tool, "setuptools"), "dynamic"), "version")
    pointers = [("attr", str(found["attr"]))] if "attr" in found else []
    files = found.get("file", [])
    pointers += [("file", str(path)) for path in (files if isinstance(files, list) else [files])]
    paths = [_table(_table(tool, name), "version").get("path") for name in ("hatch", "pdm")]
    return pointers + [("file", path) for path in paths if isinstance(path, str)]


def _read_cfg_pointers(text: str) -> Pointers:
    kind, _, target = (_read_cfg(text) or "").partition(":")
    return [(kind.strip(), target.strip())] if kind.strip() in {"attr", "file"} and target.strip() else []


def _read_cfg(text: str) -> str | None:
    """`version` of `[metadata]` in a setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return parser.get("metadata", "version", fallback=None)


def _find_pointed(pointers: Pointers, read: Reader) -> Iterator[tuple[str, Callable[[str], Found | None]]]:
    for kind, target in pointers:
        if kind == "file":
            yield target, _from_module if target.endswith(".py") else _from_plain_file
            continue
        module, _, name = target.rpartition(".")
        for path in _find_files(module):
            yield path, _from_module
            yield from ((other, _from_module) for other in _find_source(path, read(path) or "", name))


def _find_files(module: str) -> Iterator[str]:
    folder = module.replace(".", "/")
    for root in ("", "src/"):
        yield f"{root}{folder}.py"
        yield f"{root}{folder}/__init__.py"


def _find_source(path: str, text: str, name: str) -> Iterator[str]:
    """The module from which a package takes its version: `from .package_info import __version__`."""
    for node in _parse(text):
        match node:
            case ast.ImportFrom(module=str(module), level=level, names=names):
                if any((item.asname or item.name) == name for item in names):
                    base = path.rsplit("/", level)[0].replace("/", ".") if level else ""
                    yield from _find_files(f"{base}.{module}" if base else module)


def _parse(text: str) -> list[ast.stmt]:
    """The statements of a module; none where it is no Python."""
    try:
        with PARSING:
            return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def _load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _from_pyproject(text: str) -> Found | None:
    plain = _load_toml(text)
    version = _table(plain, "project").get("version") or _table(_table(plain, "tool"), "poetry").get("version")
    return _at_line(text, r"^\s*version\s*=", str(version)) if isinstance(version, str) else None


def _from_setup_cfg(text: str) -> Found | None:
    version = _read_cfg(text) or ""
    return _at_line(text, r"^\s*version\s*[=:]", version) if _NUMBER.fullmatch(version) else None


def _from_setup_py(text: str) -> Found | None:
    try:
        found = parse_setup_script(text).find_text("version")
    except (SyntaxError, ValueError, RecursionError):
        return None
    return (found[0], found[1], found[1]) if found is not None and _NUMBER.fullmatch(found[0]) else None


def _from_plain_file(text: str) -> Found | None:
    first = text.strip().splitlines()[:1]
    return (first[0].strip(), 1, 1) if first and _NUMBER.fullmatch(first[0].strip().removeprefix("v")) else None


def _from_module(text: str) -> Found | None:
    """A text that a module gives to `__version__`; `".".join(parts)` declares nothing."""
    body = _parse(text)
    for name, value in _find_assigned(body):
        if name.strip("_") in {"version", "VERSION"} and isinstance(value.value, str) and value.value:
            return value.value, value.lineno, value.end_lineno or value.lineno
    return _from_parts(body)


def _from_parts(body: list[ast.stmt]) -> Found | None:
    """MAJOR, MINOR, PATCH, PRE_RELEASE on lines of their own, as NVIDIA writes it."""
    parts: dict[str, tuple[str, int]] = {}
    for name, value in _find_assigned(body):
        if name in {"MAJOR", "MINOR", "PATCH", "PRE_RELEASE"} and isinstance(value.value, str | int):
            parts.setdefault(name, (str(value.value), value.lineno))
    if not {"MAJOR", "MINOR", "PATCH"} <= parts.keys():
        return None
    version = ".".join(parts[name][0] for name in ("MAJOR", "MINOR", "PATCH")) + parts.get("PRE_RELEASE", ("", 0))[0]
    lines = [number for _, number in parts.values()]
    return version, min(lines), max(lines)


def _find_assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.Constant]]:
    """Names that a module gives a literal at its top."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant() as value):
                yield name, value


def _at_line(text: str, pattern: str, version: str) -> Found | None:
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(pattern, line) and version in line:
            return version, number, number
    return None
