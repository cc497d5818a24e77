"""What one Python file imports, calls, writes and names: rows made once per blob, from its syntax tree.

Comments and docstrings are not in it: a name that stands only there is no use. Runs in workers: no state, the
standard library alone.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Skipped
from layline.core.progress import Progress, count, silent
from layline.source.handed import BUILDER, BUILT, SPECIFIED, find_handed, find_own_specs
from layline.source.loads import WALKS, LoadLine, Walk, called_name, find_loads, find_walks, loads_module
from layline.source.parsing import parse_tree
from layline.source.parts import encode_parts
from layline.source.sites import CHANGES, SETS, Site, SiteFinder, encode_sites, read_chain, read_setattr
from layline.source.texts import find_rows, find_texts, read_text
from layline.source.walking import list_levels, walk
from layline.source.workers import encode_blobs

if TYPE_CHECKING:
    from layline.git import Blob
    from layline.source.cache import Cache
    from layline.source.tree import Tree

ANALYSER = f"facts-12-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of the cache key: raise the number whenever the rows change."""
_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr", "attrgetter"})
_HANDS = frozenset({ast.Name, ast.IfExp, ast.Tuple, ast.List, ast.Call})
"""Kinds of values that may hand on a name; an assignment builds what is anywhere in it."""
_TEXTS = frozenset({ast.Constant, ast.List, ast.Tuple, ast.Dict})
"""Kinds of arguments that may hold a text that counts."""
_CONSTANT = frozenset({ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr})


@dataclass(frozen=True, slots=True)
class ImportLine:
    """One import statement."""

    line: int
    module: str
    """As written, without leading dots."""
    level: int
    names: tuple[tuple[str, str], ...]
    """What is taken and what it is called here; empty for `import module`."""
    alias: str
    """The name that `import module` binds; empty for `from`."""


@dataclass(frozen=True, slots=True)
class WriteLine:
    """An attribute or item of something that is set or deleted; what a list's or table's own method does, too."""

    root: str
    """The first name; `call:f` where it is what a call gives; empty for anything else."""
    last: str
    """The attribute that is set; empty for an item."""
    depth: int
    """Attributes, items and calls between the root and what is set."""
    plain: bool
    """What is put there is written out: a constant or a display."""
    by_call: bool = False
    """By `setattr` or `delattr`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a search over many files needs to know of one."""

    imports: tuple[ImportLine, ...] = ()
    """Those under `if TYPE_CHECKING` do not happen and are left out."""
    typed: tuple[ImportLine, ...] = ()
    """Those."""
    handed: frozenset[str] = frozenset()
    """Capitalised names that are handed on as values: classes that somebody else may build; with the keyword they are
    passed by, `slot=Name`."""
    imported_texts: tuple[tuple[int, str], ...] = ()
    """Names that are imported by text: what `import_module` is given, or a table in a file that calls it."""
    writes: frozenset[WriteLine] = frozenset()
    calls: frozenset[tuple[str, int]] = frozenset()
    """Last name of what is called, and with how many arguments."""
    texts: frozenset[tuple[str, str]] = frozenset()
    """Dotted texts that a call is given, themselves or in a display: last name of the callee, text."""
    classes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each class and the words of its bases."""
    loops: frozenset[str] = frozenset()
    """Variables of `for`."""
    rows: frozenset[tuple[str, ...]] = frozenset()
    """Two or more dotted texts that stand side by side: in a tuple, a list, a call, or as key and value of a table."""
    attributes: frozenset[str] = frozenset()
    """Names of attributes that are given as text: `getattr(x, "name")`."""
    loads: tuple[LoadLine, ...] = ()
    walks: tuple[Walk, ...] = ()
    """At the top level, or in a function that is called there."""
    sites: tuple[Site, ...] = ()
    """Lines that may change another package, counted without following anything."""
    words: frozenset[str] = frozenset()
    """Every name, attribute, keyword and imported name."""
    parts: dict[str, Any] | None = None
    """What others may read of it by name (`source.parts`)."""

    @property
    def called(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.calls)


def read_facts(
    tree: Tree, paths: dict[str, str], cache: Cache | None = None, progress: Progress = silent
) -> dict[str, Facts]:
    """Path → facts of the files whose blob ids are given; those that are no Python have none."""
    known = {blob: decode_facts(text) for blob, text in read_rows(tree, paths.values(), cache, progress).items()}
    found = ((path, known.get(blob)) for path, blob in paths.items())
    return {path: facts for path, facts in found if facts is not None}


def read_rows(
    tree: Tree, blobs: Iterable[str], cache: Cache | None = None, progress: Progress = silent
) -> dict[str, str]:
    """Blob → its rows as JSON, from the cache, else made on all cores and kept; those that are not here have none."""
    wanted = {blob for blob in blobs if blob}
    texts = cache.load(wanted) if cache is not None else {}
    missing = sorted(wanted - texts.keys())
    coming = encode_blobs(_keep_present(tree.repository.stream_blobs(missing)), encode_facts) if missing else ()
    made = dict(count(coming, "reading our files", len(missing), progress))
    if cache is not None and made:
        cache.store(made.items())
    return texts | made


def read_handed(tree: Tree, blobs: Iterable[str], cache: Cache | None = None) -> dict[str, frozenset[str]]:
    """Blob → capitalised names that the file hands on as values, or builds."""
    rows = ((blob, json.loads(text)) for blob, text in read_rows(tree, blobs, cache).items())
    return {blob: frozenset(list_handed(row)) for blob, row in rows if isinstance(row, dict)}


def list_handed(row: dict[str, Any]) -> Iterator[str]:
    """What a file hands on, by its own name; what it builds itself stands in the slot `BUILT`."""
    names = {bound: name for _, _, _, taken, _ in row["i"] for name, bound in taken}
    for slot, mark, name in (one.rpartition("=") for one in row["h"]):
        yield f"{slot}{mark}{names.get(name, name)}"
    yield from (f"{BUILT}={names.get(name, name)}" for name, _ in row["c"] if name[:1].isupper())


def _keep_present(found: Iterable[Blob | str]) -> Iterator[Blob]:
    return (blob for blob in found if not isinstance(blob, str))


def parse_facts(data: bytes) -> Facts:
    """The facts of one text; nothing where it is no Python."""
    return decode_facts(encode_facts(data)) or Facts()


def encode_facts(data: bytes) -> str:
    """The rows of one blob as JSON; a JSON string says why there are none."""
    tree = parse_tree("", data)
    return json.dumps(tree.why if isinstance(tree, Skipped) else _read_rows(tree, data), separators=(",", ":"))


def _read_rows(tree: ast.Module, data: bytes) -> dict[str, Any]:
    """Each statement is walked once: the parts read it whole, the walker all of them level by level."""
    levels = [list_levels(one) for one in tree.body]
    deepest = max(map(len, levels), default=0)
    below = (level for depth in range(deepest) for one in levels for level in one[depth : depth + 1])
    rows = _Walker(data).read(tree, [tree, *chain.from_iterable(below)])
    return {**rows, "d": encode_parts(tree, data, [list(chain.from_iterable(one)) for one in levels])}


def decode_facts(text: str) -> Facts | None:
    plain: Any = json.loads(text)
    if isinstance(plain, str):
        return None
    return Facts(
        imports=decode_imports(plain["i"]),
        typed=decode_imports(plain["y"]),
        handed=frozenset(plain["h"]),
        imported_texts=tuple((line, text) for line, text in plain["t"]),
        writes=frozenset(WriteLine(*row) for row in plain["w"]),
        calls=frozenset((name, count) for name, count in plain["c"]),
        texts=frozenset((name, text) for name, text in plain["s"]),
        classes=tuple((name, tuple(words)) for name, words in plain["b"]),
        loops=frozenset(plain["l"]),
        rows=frozenset(tuple(row) for row in plain["r"]),
        loads=tuple(LoadLine(line, module, level, tuple(names), how) for line, module, level, names, how in plain["o"]),
        walks=tuple(Walk(line, deep, tuple(suffixes)) for line, deep, suffixes in plain["k"]),
        sites=tuple(Site(*row) for row in plain["p"]),
        attributes=frozenset(plain["a"]),
        words=frozenset(plain["n"].split(" ")),
        parts=plain["d"],
    )


def decode_imports(rows: list[list[Any]]) -> tuple[ImportLine, ...]:
    return tuple(
        ImportLine(line, module, level, tuple((name, bound) for name, bound in names), alias)
        for line, module, level, names, alias in rows
    )


class _Walker:
    """One walk over a syntax tree."""

    def __init__(self, data: bytes) -> None:
        self.builds = BUILDER.encode() in data or not data.isascii()  # letters of other scripts may mean the same
        self.built: set[int] = set()
        """Lines of calls that build something."""
        self.imports: list[list[Any]] = []
        self.typed: list[list[Any]] = []
        self.handed: set[str] = set()
        self.given: list[tuple[int, str]] = []
        self.listed: list[tuple[int, str]] = []
        self.writes: set[tuple[str, str, int, bool, bool]] = set()
        self.calls: set[tuple[str, int]] = set()
        self.texts: set[tuple[str, str]] = set()
        self.classes: list[list[Any]] = []
        self.loops: set[str] = set()
        self.rows: set[tuple[str, ...]] = set()
        self.attributes: set[str] = set()
        self.words: set[str] = set()
        self.sites = SiteFinder()
        self.imports_by_name = False
        self.never: set[int] = set()
        """Imports that stand under `if TYPE_CHECKING`."""
        self.own: set[int] = set()
        """What specs name that are built where they are made."""
        self._notes: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Call: self._note_call,
            ast.Import: self._note_import,
            ast.ImportFrom: self._note_import,
            ast.If: self._note_test,
            ast.ClassDef: self._note_class,
            ast.FunctionDef: self._note_function,
            ast.AsyncFunctionDef: self._note_function,
            ast.List: self._note_display,
            ast.Tuple: self._note_display,
            ast.Set: self._note_display,
            ast.Dict: self._note_table,
            ast.For: self._note_loop,
            ast.comprehension: self._note_loop,
            ast.Assign: self._note_write,
            ast.AugAssign: self._note_write,
            ast.AnnAssign: self._note_write,
            ast.Delete: self._note_write,
            ast.Return: self._note_handed,
        }

    def read(self, tree: ast.Module, nodes: list[ast.AST]) -> dict[str, Any]:
        """`nodes`: nearer ones first, so that a test is met before what stands under it."""
        add, notes = self.words.add, self._notes
        if self.builds:
            calls = (node for node in nodes if isinstance(node, ast.Call))
            self.built = {call.lineno for call in calls if called_name(call).startswith(BUILDER)}
        for node in nodes:
            kind = node.__class__
            if kind is ast.Name:
                add(node.id)  # type: ignore[attr-defined]
            elif kind is ast.Attribute:
                add(node.attr)  # type: ignore[attr-defined]
            elif kind in notes:
                notes[kind](node)
        by_text = {*self.given, *(self.listed if self.imports_by_name else ())}
        return {
            "i": sorted(self.imports, key=lambda row: row[0]),
            "y": sorted(self.typed, key=lambda row: row[0]),
            "h": sorted(self.handed),
            "t": sorted(by_text),
            "w": sorted(self.writes),
            "c": sorted(self.calls),
            "s": sorted(self.texts),
            "b": self.classes,
            "l": sorted(self.loops),
            "r": sorted(self.rows),
            "a": sorted(self.attributes),
            "o": list(find_loads(tree.body)),
            "k": list(find_walks(tree.body)) if self.words & WALKS else [],
            "p": encode_sites(self.sites.find()),
            "n": " ".join(sorted(self.words)),
        }

    def _note_test(self, node: ast.If) -> None:
        self.never.update(id(item) for item in _find_typing(node))

    def _note_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.sites.note_definition(node)
        first = min((one.lineno for one in node.decorator_list), default=node.lineno)
        lines = range(first, (node.end_lineno or node.lineno) + 1)
        for spec in find_own_specs(node) if self.builds and not self.built.isdisjoint(lines) else ():
            self.own.update(id(word) for word in spec.keywords if word.arg == SPECIFIED)

    def _note_class(self, node: ast.ClassDef) -> None:
        self.sites.note_definition(node)
        self.classes.append([node.name, sorted({word for base in node.bases for word in _find_words(base)})])
        for word in node.keywords:
            self._note_handed(word)

    def _note_display(self, node: ast.List | ast.Tuple | ast.Set) -> None:
        self.listed += [(item.lineno, text) for item in node.elts if (text := read_text(item))]
        self.rows.update(find_rows(node.elts) if len(node.elts) > 1 else ())

    def _note_table(self, node: ast.Dict) -> None:
        self.listed += [(item.lineno, text) for item in node.values if (text := read_text(item))]
        for key, value in zip(node.keys, node.values, strict=True):
            self.rows.update(find_rows([key, value]) if key is not None else ())

    def _note_loop(self, node: ast.For | ast.comprehension) -> None:
        if isinstance(node.target, ast.Name):
            self.loops.add(node.target.id)

    def _note_handed(self, node: ast.AST) -> None:
        value = getattr(node, "value", None).__class__
        if value is ast.Constant if node.__class__ is ast.Assign else value not in _HANDS:
            return  # most hand on nothing
        named = {name for name in find_handed(node) if name.rpartition("=")[2][:1].isupper()}
        self.handed.update({f"{BUILT}={name.rpartition('=')[2]}" for name in named} if id(node) in self.own else named)

    def _note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if id(node) in self.never:
            self.typed += import_rows(node)
            return
        self.sites.note_import(node)
        self.imports += import_rows(node)
        match node:
            case ast.Import(names=names):
                for item in names:
                    self.words.update((item.asname or "").split() or item.name.split("."))
            case ast.ImportFrom(module=module, names=names):
                self.words.update(word for item in names for word in (item.name, item.asname or item.name))
                self.words.update((module or "").split("."))

    def _note_call(self, node: ast.Call) -> None:
        name = called_name(node)
        self.calls.add((name, len(node.args) + len(node.keywords)))
        self.words.update(word.arg for word in node.keywords if word.arg)
        for word in node.keywords:
            self._note_handed(word)
        given = [*node.args, *(word.value for word in node.keywords)]
        told = [item for item in given if item.__class__ in _TEXTS]
        self.texts.update((name, text) for item in told for text in find_texts(item))
        self.rows.update(find_rows(node.args) if len(told) > 1 else ())
        if given and loads_module(node):
            text = read_text(given[0])
            self.imports_by_name = self.imports_by_name or text is None
            self.given += [(node.lineno, text)] if text is not None else []
        if name in _BY_NAME:
            self.attributes.update(text for item in node.args if (text := read_text(item)) is not None)
        if name in CHANGES and isinstance(node.func, ast.Attribute) and given:
            self.writes.add((read_chain(node.func.value)[0], "", 1, True, False))
        if name in SETS and (put := read_setattr(node)):
            self.sites.note_setattr(node)
            root, _, depth = read_chain(put[0])
            plain = len(put) > 2 and put[2].__class__ in _CONSTANT
            last = read_text(put[1]) if len(put) > 1 else None
            self.writes.add((root, last or "", depth + 1, plain, True))

    def _note_write(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> None:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        plain = getattr(node, "value", None).__class__ in _CONSTANT
        flat = list(_flatten(targets))
        self._note_handed(node)
        self.sites.note_write(node, flat)
        for target in flat:
            if isinstance(target, ast.Attribute | ast.Subscript):
                root, last, depth = read_chain(target)
                self.writes.add((root, last, depth, plain, False))


def import_rows(node: ast.Import | ast.ImportFrom) -> list[list[Any]]:
    """One row for `from m import a, b`, one for each module of `import m, n`."""
    match node:
        case ast.ImportFrom(module=module, level=level, names=names):
            taken = [[item.name, item.asname or item.name] for item in names]
            return [[node.lineno, module or "", level, taken, ""]]
    return [[node.lineno, item.name, 0, [], item.asname or item.name.partition(".")[0]] for item in node.names]


def _find_typing(node: ast.If) -> Iterator[ast.AST]:
    """What stands under `if TYPE_CHECKING`: it never runs."""
    match node.test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            for item in node.body:
                yield from (inner for inner in walk(item) if isinstance(inner, ast.Import | ast.ImportFrom))


def _flatten(targets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        match target:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                yield from _flatten(elts)
            case ast.Starred(value=inner):
                yield inner
            case _:
                yield target


def _find_words(node: ast.expr) -> Iterator[str]:
    for part in walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
