"""The address of its own repository that a tree names: in its build files, else in its README; nothing is run."""

from __future__ import annotations

import ast
import configparser
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Location
from layline.source.setup_script import parse_setup_script
from layline.source.survey import find_address, normalise

if TYPE_CHECKING:
    from layline.source.tree import Tree

_SOURCE = frozenset({"source", "repository", "sourcecode", "github"})
"""What the packaging specification calls the place of the source ("Well-known Project URLs"), as `normalise` writes it."""
_READMES = ("README.md", "README.rst", "README.txt", "README")


@dataclass(frozen=True, slots=True)
class HomeAddress:
    """An address with the line that names it."""

    url: str
    location: Location


Link = tuple[str, str]
"""A label, as `Homepage`, and what it leads to."""


def read_home_address(tree: Tree, package: str) -> HomeAddress | None:
    """What the build files call its repository, source before homepage; else the address in the README whose repository
    has the name of `package`. A page that is no repository (`https://keel.org`) is not taken.
    """
    for path, read in (("pyproject.toml", _read_pyproject), ("setup.cfg", _read_cfg), ("setup.py", _read_setup)):
        text = tree.read_text(path)
        links = list(read(text)) if isinstance(text, str) else []
        for _, link in sorted(links, key=lambda link: normalise(link[0]) not in _SOURCE):
            address = find_address(link)
            if address is not None and isinstance(text, str):
                return HomeAddress(address, Location(path, _find_line(text, link)))
    return _read_readme(tree, normalise(package))


def _read_pyproject(text: str) -> Iterator[Link]:
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    poetry = _table(_table(plain, "tool"), "poetry")
    named = {key: poetry[key] for key in ("repository", "homepage") if key in poetry}
    for table in (_table(_table(plain, "project"), "urls"), named, _table(poetry, "urls")):
        yield from ((str(label), link) for label, link in table.items() if isinstance(link, str))


def _read_cfg(text: str) -> Iterator[Link]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for line in parser.get("metadata", "project_urls", fallback="").splitlines():
        label, _, link = line.partition("=")
        yield label.strip(), link.strip()
    yield "homepage", parser.get("metadata", "url", fallback="")


def _read_setup(text: str) -> Iterator[Link]:
    try:
        script = parse_setup_script(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for keyword in script.keywords:
        match keyword.arg, script.look_up(keyword.value):
            case "url", ast.Constant(value=str() as link):
                yield "homepage", link
            case "project_urls", ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    match key, script.look_up(value):
                        case ast.Constant(value=str() as label), ast.Constant(value=str() as link):
                            yield label, link


def _read_readme(tree: Tree, name: str) -> HomeAddress | None:
    for path in _READMES:
        text = tree.read_text(path)
        for number, line in enumerate(text.splitlines() if isinstance(text, str) else (), 1):
            for word in line.replace("(", " ").split():
                address = find_address(word.rstrip(".,;"))
                if address is not None and normalise(address.rpartition("/")[2]) == name:
                    return HomeAddress(address, Location(path, number))
    return None


def _find_line(text: str, link: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if link in line), 1)


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}
