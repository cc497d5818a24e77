"""Versions of upstreams that the project's own code asks for: comparisons of a package's version with one written down.

`compare(version("keel-core"), ">=", "1.2")`, `Version(keel.__version__) >= Version("1.2")` and a call of a function of
ours that makes such a comparison, `is_keel(">=", "1.2")`. For choosing, not for facts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.core.evidence import Location
from layline.core.ours import Role, find_role, is_own
from layline.gap.dependencies.model import canonical_name
from layline.interpreter.versions import METADATA, find_release
from layline.project.writes import walk
from layline.source.tree import Tree

_VERSION = re.compile(r"v?(\d+(?:\.\d+)+\w*)")
_SIGNS = {ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<", ast.Eq: "==", ast.NotEq: "!="}
_TURNED = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "==": "==", "!=": "!="}
_METADATA = {name.rpartition(".")[2] for name in METADATA}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One comparison: what is asked, of which distribution, where."""

    name: str
    operator: str
    version: str
    location: Location

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {self.version} at {self.location}"


def find_asked(tree: Tree, packages: Iterable[str]) -> dict[str, list[Asked]]:
    """Package → what our code asks of its version, each range once, our own files first, then tests, in path order."""
    wanted = {canonical_name(package): package for package in packages}
    own = [path for path in tree.paths(suffix=".py") if is_own(path)]
    tests = [path for path in tree.paths(suffix=".py") if find_role(path) is Role.TEST]
    texts = {path: text for path in (*own, *tests) if isinstance(text := tree.read_text(path), str)}
    modules = _Modules(texts)
    found: dict[str, dict[tuple[str, str], Asked]] = {}
    words = ("version", *(f"{quote}{name}" for name in wanted for quote in "'\""))
    files = {path: walk(text) for path, text in texts.items() if any(word in text for word in words)}
    helpers = _find_helpers(files.values())
    for path, nodes in files.items():
        sources = _Sources(nodes, helpers)
        for node in nodes:
            for one in sources.read(node, path):
                name = canonical_name(one.name)
                package = wanted.get(name) or wanted.get(modules.find_root(name))
                if package is not None:
                    found.setdefault(package, {}).setdefault((one.operator, one.version), one)
    return {package: list(ranges.values()) for package, ranges in found.items()}


class _Modules:
    """Which module a distribution is: `keel-core` is `keel.core`, where our code imports that."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts
        self._known: dict[str, str] = {}

    def find_root(self, distribution: str) -> str:
        if distribution not in self._known:
            module = distribution.replace("-", ".")
            is_module = any(module in text and _imports(text, module) for text in self._texts.values())
            self._known[distribution] = module.partition(".")[0] if is_module else ""
        return self._known[distribution]


def _imports(text: str, module: str) -> bool:
    for node in walk(text):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str() as base, level=0):
                found = [base]
            case _:
                continue
        if any(f"{name}.".startswith(f"{module}.") for name in found):
            return True
    return False


class _Sources:
    """What the names of one file hold of versions: `v = version("keel")`."""

    def __init__(self, nodes: list[ast.AST], helpers: dict[str, str]) -> None:
        self._helpers = helpers
        self._names: dict[str, str] = {}
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = self.find(node.value)
                if name is not None:
                    self._names[node.targets[0].id] = name

    def find(self, node: ast.AST) -> str | None:
        """The distribution whose version an expression reads; a call that parses it reads it, too."""
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Attribute():
                return _find_package(node)
            case ast.Call(func=function, args=[ast.Constant(value=str() as name)]) if _last(function) in _METADATA:
                return name
            case ast.Call(args=[only]):
                return self.find(only)
        return None

    def read(self, node: ast.AST, path: str) -> Iterator[Asked]:
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in _SIGNS:
                sign = _SIGNS[type(operator)]
                yield from self._tell(self.find(left), sign, _find_text(right), path, node.lineno)
                yield from self._tell(self.find(right), _TURNED[sign], _find_text(left), path, node.lineno)
            case ast.Call(args=[subject, ast.Constant(value=str() as sign), version]) if sign in _TURNED:
                name = subject.value if isinstance(subject, ast.Constant) else self.find(subject)
                yield from self._tell(name, sign, _find_text(version), path, node.lineno)
            case ast.Call(func=function, args=[ast.Constant(value=str() as sign), version]) if sign in _TURNED:
                yield from self._tell(self._helpers.get(_last(function)), sign, _find_text(version), path, node.lineno)

    def _tell(self, name: object, sign: str, version: str | None, path: str, line: int) -> Iterator[Asked]:
        if isinstance(name, str) and name and version is not None:
            yield Asked(name=name, operator=sign, version=version, location=Location(path, line))


def _find_helpers(files: Iterable[list[ast.AST]]) -> dict[str, str]:
    """Functions of ours that compare the version of one package with what they are given."""
    found: dict[str, set[str]] = {}
    for nodes in files:
        sources = _Sources(nodes, {})
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                given = {argument.arg for argument in node.args.args}
                names = {name for inner in ast.walk(node) if (name := _find_given(inner, given, sources)) is not None}
                if len(names) == 1:
                    found.setdefault(node.name, set()).update(names)
    return {name: min(packages) for name, packages in found.items() if len(packages) == 1}


def _find_given(node: ast.AST, given: set[str], sources: _Sources) -> str | None:
    """The package whose version a call compares as its function is asked to: `compare(v, operation, version)`."""
    match node:
        case ast.Call(args=[subject, ast.Name(id=sign), ast.Name(id=version)]) if {sign, version} <= given:
            return sources.find(subject)
    return None


def _find_package(node: ast.Attribute) -> str | None:
    """`keel` of `keel.__version__`."""
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or node.attr != "__version__":
        return None
    release = find_release(".".join((inner.id, *reversed(parts))))
    return inner.id if release is not None else None


def _find_text(node: ast.expr) -> str | None:
    """`1.2` of `"1.2"` and of `parse("1.2")`."""
    match node:
        case ast.Constant(value=str() as text):
            found = _VERSION.fullmatch(text)
            return found[1] if found is not None else None
        case ast.Call(args=[only]):
            return _find_text(only)
    return None


def _last(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
