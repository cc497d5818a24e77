"""Command-line flags at one ref: `add_argument` calls, and the flags that a factory makes from a dataclass.

A naive diff of `add_argument` is wrong for most of a modern upstream: a factory class walks `dataclasses.fields` and
adds one argument per field, so a flag may come, go or change without a line of argparse being touched.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from layline.change.options.fields import ConfigField, all_fields
from layline.change.surface import SurfaceChange, SurfaceRow
from layline.core.evidence import Evidence, Skipped
from layline.core.ours import is_test_module
from layline.errors import SilentGitError
from layline.source import Index, Tree, is_within, parse_tree
from layline.source.parsing import PARSING
from layline.source.resolve import Resolver

_WALKS_FIELDS = re.compile(rb"\bfields\(")
_STARRED = re.compile(rb"add_argument\(\s*\*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag, known by the name it sets."""

    dest: str
    option: str
    default: str
    """As text; what the action implies where none is written."""
    evidence: Evidence
    generated: bool = False
    """Made from a dataclass field."""


def read_flags(
    resolver: Resolver, packages: tuple[str, ...], classes: dict[str, dict[str, ConfigField]]
) -> tuple[dict[str, Flag], tuple[Skipped, ...]]:
    """Flags of the upstream packages by destination; written ones win over generated ones."""
    index = resolver.index
    trees = dict(_find_trees(index, packages))
    factories = frozenset(_find_factories(index, trees))
    written: dict[str, Flag] = {}
    generated: dict[str, Flag] = {}
    skipped: list[Skipped] = []
    for module, tree in trees.items():
        for found in _find_written(index, module, tree):
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                written.setdefault(found.dest, found)
        for flag in _Generated(resolver, classes, factories).find(module, tree):
            generated.setdefault(flag.dest, flag)
    return generated | written, tuple(skipped)


def compare_flags(pin: dict[str, Flag], tip: dict[str, Flag]) -> tuple[SurfaceRow, ...]:
    """Flags by the name they set; an option that stays but sets another name is renamed, not removed."""
    by_option = {flag.option: flag for flag in tip.values()}
    renamed = {
        flag.dest: by_option[flag.option] for flag in pin.values() if flag.dest not in tip and flag.option in by_option
    }
    arrived = {flag.dest for flag in renamed.values()} - pin.keys()
    rows: list[SurfaceRow] = []
    for dest in sorted(pin.keys() | tip.keys() - arrived):
        was, now = pin.get(dest), tip.get(dest) or renamed.get(dest)
        if was is not None and now is not None and was.default == now.default and was.dest == now.dest:
            continue
        change = _change(was, now)
        rows.append(
            SurfaceRow(
                change=change,
                kind="flag",
                name=dest,
                was=_text(was),
                now=_text(now),
                pin_evidence=was.evidence if was else None,
                tip_evidence=now.evidence if now else None,
            )
        )
    return tuple(rows)


def _change(was: Flag | None, now: Flag | None) -> SurfaceChange:
    if was is None:
        return SurfaceChange.ADDED
    if now is None:
        return SurfaceChange.REMOVED
    return SurfaceChange.RENAMED if was.dest != now.dest else SurfaceChange.DEFAULT


def _text(flag: Flag | None) -> str | None:
    return None if flag is None else f"{flag.option} sets {flag.dest}, default {flag.default}"


def _find_trees(index: Index, packages: tuple[str, ...]) -> Iterator[tuple[str, ast.Module]]:
    """Modules that add arguments; git searches their text, only the few that match are parsed."""
    adding = {path for part in index.parts for path in find_files_with(part.tree, "add_argument(")}
    for name, entry in sorted(index.entries.items()):
        if entry.path in adding and _is_surface(name, packages):
            tree = parse_tree(entry.path, index.read_blob(name))
            if not isinstance(tree, Skipped):
                yield name, tree


def find_files_with(tree: Tree, text: str) -> Iterator[str]:
    """Python files of a commit that hold a text, by one `git grep`."""
    command = ("grep", "-l", "-z", "-F", "--no-color", "--full-name", "-e", text, tree.commit, "--", "*.py")
    try:
        out = tree.repository.git(*command)
    except SilentGitError:
        return  # nothing found
    prefix = f"{tree.commit}:"
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        if row.startswith(prefix):
            yield row.removeprefix(prefix)


def _is_surface(name: str, packages: tuple[str, ...]) -> bool:
    return any(is_within(name, package) for package in packages) and not is_test_module(name)


def _find_factories(index: Index, trees: dict[str, ast.Module]) -> Iterator[str]:
    """Dotted classes that add arguments from `dataclasses.fields`."""
    for module, tree in trees.items():
        data = index.read_blob(module)
        if not (_WALKS_FIELDS.search(data) and _STARRED.search(data)):
            continue
        lines = data.splitlines(keepends=True)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                body = b"".join(lines[node.lineno - 1 : node.end_lineno])
                if _WALKS_FIELDS.search(body) and _STARRED.search(body):
                    yield f"{module}.{node.name}"


def _find_written(index: Index, module: str, tree: ast.Module) -> Iterator[Flag | Skipped]:
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        ):
            continue
        if any(isinstance(item, ast.Starred) for item in node.args):
            continue  # the factory itself
        options = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        flags = [option for option in options if option.startswith("-")]
        if len(options) != len(node.args):
            yield Skipped.at(index.entries[module].path, node.lineno, "a flag whose name is computed")
        if flags:
            keywords = {item.arg: item.value for item in node.keywords if item.arg}
            evidence = index.evidence(module, (node.lineno, node.lineno))
            long = next((option for option in flags if option.startswith("--")), flags[0])
            yield Flag(dest=_dest(long, keywords), option=long, default=_default(keywords), evidence=evidence)


def _dest(option: str, keywords: dict[str, ast.expr]) -> str:
    match keywords.get("dest"):
        case ast.Constant(value=str(dest)):
            return dest
    return option.lstrip("-").replace("-", "_")


def _default(keywords: dict[str, ast.expr]) -> str:
    if "default" in keywords:
        return ast.unparse(keywords["default"])
    match keywords.get("action"):
        case ast.Constant(value="store_true"):
            return "False"
        case ast.Constant(value="store_false"):
            return "True"
    return "None"


class _Generated:
    """Flags that factories make: `Factory(SomeConfig, exclude=[…])`."""

    def __init__(
        self, resolver: Resolver, classes: dict[str, dict[str, ConfigField]], factories: frozenset[str]
    ) -> None:
        self._resolver = resolver
        self._classes = classes
        self._factories = factories

    def find(self, module: str, tree: ast.Module) -> Iterator[Flag]:
        words = {name.rpartition(".")[2].encode() for name in self._factories}
        if not any(word in self._resolver.index.read_blob(module) for word in words):
            return
        for function in tree.body:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for call in ast.walk(function):
                    if isinstance(call, ast.Call) and call.args and self._is_factory(module, call, function.name):
                        yield from self._find_fields(module, call, function)

    def _is_factory(self, module: str, call: ast.Call, function: str) -> bool:
        if not isinstance(call.func, ast.Name | ast.Attribute):
            return False
        home = self._home(module, ast.unparse(call.func), function)
        if home is None:
            return False
        symbol = self._resolver.resolve(home)
        bases = symbol.definition.bases if symbol.definition is not None else ()
        inherited = {self._resolver.resolve_in(symbol.module, base).home for base in bases} if symbol.module else set()
        return home in self._factories or bool(inherited & self._factories)

    def _home(self, module: str, text: str, function: str) -> str | None:
        """What a name means inside a function: its own imports first."""
        holder = self._resolver.index.module(module)
        for item in holder.imports if holder is not None else ():
            if item.alias == text and item.scope.rpartition(".")[2] == function:
                return self._resolver.follow_import(module, item).home
        return self._resolver.resolve_in(module, text).home

    def _find_fields(
        self, module: str, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> Iterator[Flag]:
        owner = self._home(module, ast.unparse(call.args[0]), function.name)
        if owner is None or owner not in self._classes:
            return
        value = (
            call.args[1]
            if len(call.args) > 1
            else next((item.value for item in call.keywords if item.arg == "exclude"), None)
        )
        excluded = _names(value, function)
        for name, field in all_fields(self._resolver, self._classes, owner).items():
            if name not in excluded and "init=False" not in (field.default or "").replace(" ", ""):
                yield _flag_of(name, field)


def _flag_of(name: str, field: ConfigField) -> Flag:
    """The flag a factory makes of a field: a switch that is on by default is named for switching it off."""
    default = field.default if field.default is not None else "required"
    option = f"--{name.replace('_', '-')}"
    bare = field_default(default)
    if field.annotation == "bool" and bare == "True":
        option = f"--no-{name.replace('_', '-')}"
    whole = field.source or default
    if renamed := re.search(r"['\"]arg_names['\"]:\s*\[\s*['\"](--[\w-]+)", whole):
        option = renamed.group(1)
    if redirected := re.search(r"['\"]dest['\"]:\s*['\"](\w+)", whole):
        name = redirected.group(1)
    return Flag(dest=name, option=option, default=bare, evidence=field.evidence, generated=True)


def field_default(text: str) -> str:
    """What `field(default=…)` or a plain default says."""
    if not re.match(r"(?:dataclasses\.)?field\(", text):
        return text
    try:
        with PARSING:
            call: Any = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        found = re.search(r"default=([^,]+),", text)  # cut off after 200 characters
        return found.group(1).strip() if found else "computed"
    keywords = {item.arg: item.value for item in call.keywords}
    if "default" in keywords:
        return ast.unparse(keywords["default"])
    return f"{ast.unparse(keywords['default_factory'])}()" if "default_factory" in keywords else "required"


def _names(value: ast.expr | None, function: ast.AST) -> frozenset[str]:
    """The strings of a literal list, or of the local list (with its later `append`s) that a name stands for."""
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return frozenset(
            item.value for item in value.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)
        )
    if not isinstance(value, ast.Name):
        return frozenset()
    found: frozenset[str] = frozenset()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.List() as listed) if name == value.id:
                found |= _names(listed, function)
            case ast.AugAssign(target=ast.Name(id=name), value=ast.List() as listed) if name == value.id:
                found |= _names(listed, function)
    return found
