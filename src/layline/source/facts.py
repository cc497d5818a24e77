"""What one Python file imports, calls, writes and names: rows made once per blob, from its syntax tree.

Comments and docstrings are not in it: a name that stands only there is no use. Runs in workers: no state, the
standard library alone.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Skipped
from layline.source.parsing import parse_tree
from layline.source.walking import walk
from layline.source.workers import encode_blobs

if TYPE_CHECKING:
    from layline.git import Blob
    from layline.source.cache import Cache
    from layline.source.tree import Tree

ANALYSER = f"facts-2-py{sys.version_info[0]}.{sys.version_info[1]}"
"""Part of the cache key: raise the number whenever the rows change."""
_DOTTED = re.compile(r"\.*[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*\Z")
_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr", "attrgetter"})
_WALKS = frozenset({"walk_packages", "iter_modules", "iter_entry_points"})
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
    """An attribute or item of something that is set or deleted."""

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
class LoadLine:
    """A module that is imported when the top level of a file runs, `if` and `try` included."""

    line: int
    module: str
    level: int = 0
    names: tuple[str, ...] = ()
    how: str = "import"
    """`import`, `from`, `text` (given to `import_module`) or `listed` (in a table that is looped over)."""

    def find_modules(self, package: str) -> Iterator[str]:
        """Dotted names of all that may be a module; `package` is what relative names count from."""
        match self.how:
            case "text":
                yield f"{package}{self.module}" if self.module.startswith(".") else self.module
            case "listed":
                yield f"{package}.{self.module.lstrip('.')}"
                yield self.module
            case _:
                base = package.split(".")[: package.count(".") + 2 - self.level] if self.level and package else []
                root = ".".join([*base, *([self.module] if self.module else [])])
                parts = root.split(".")
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
                yield from (f"{root}.{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Walk:
    """A loop over `pkgutil` that imports what it finds."""

    line: int
    deep: bool
    suffixes: tuple[str, ...]
    """Names it imports end in one of these; empty: all."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a search over many files needs to know of one."""

    imports: tuple[ImportLine, ...] = ()
    """Those under `if TYPE_CHECKING` do not happen and are left out."""
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
    words: frozenset[str] = frozenset()
    """Every name, attribute, keyword and imported name."""

    @property
    def called(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.calls)


def read_facts(tree: Tree, paths: dict[str, str], cache: Cache | None = None) -> dict[str, Facts]:
    """Path → facts of the files whose blob ids are given; those that are no Python have none."""
    texts = cache.load(paths.values()) if cache is not None else {}
    missing = sorted(set(paths.values()) - texts.keys())
    made = dict(encode_blobs(_keep_present(tree.repository.stream_blobs(missing)), encode_facts)) if missing else {}
    if cache is not None and made:
        cache.store(made.items())
    known = {blob: decode_facts(text) for blob, text in (texts | made).items()}
    found = ((path, known.get(blob)) for path, blob in paths.items())
    return {path: facts for path, facts in found if facts is not None}


def _keep_present(found: Iterable[Blob | str]) -> Iterator[Blob]:
    return (blob for blob in found if not isinstance(blob, str))


def parse_facts(data: bytes) -> Facts:
    """The facts of one text; nothing where it is no Python."""
    return decode_facts(encode_facts(data)) or Facts()


def encode_facts(data: bytes) -> str:
    """The rows of one blob as JSON; a JSON string says why there are none."""
    tree = parse_tree("", data)
    return json.dumps(tree.why if isinstance(tree, Skipped) else _Walker().read(tree), separators=(",", ":"))


def decode_facts(text: str) -> Facts | None:
    plain: Any = json.loads(text)
    if isinstance(plain, str):
        return None
    return Facts(
        imports=tuple(
            ImportLine(line, module, level, tuple((name, bound) for name, bound in names), alias)
            for line, module, level, names, alias in plain["i"]
        ),
        imported_texts=tuple((line, text) for line, text in plain["t"]),
        writes=frozenset(WriteLine(*row) for row in plain["w"]),
        calls=frozenset((name, count) for name, count in plain["c"]),
        texts=frozenset((name, text) for name, text in plain["s"]),
        classes=tuple((name, tuple(words)) for name, words in plain["b"]),
        loops=frozenset(plain["l"]),
        rows=frozenset(tuple(row) for row in plain["r"]),
        loads=tuple(LoadLine(line, module, level, tuple(names), how) for line, module, level, names, how in plain["o"]),
        walks=tuple(Walk(line, deep, tuple(suffixes)) for line, deep, suffixes in plain["k"]),
        words=frozenset(plain["n"].split(" ")),
    )


class _Walker:
    """One walk over a syntax tree."""

    def __init__(self) -> None:
        self.imports: list[list[Any]] = []
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
        self.imports_by_name = False

    def read(self, tree: ast.Module) -> dict[str, Any]:
        never = {id(item) for node in walk(tree) if isinstance(node, ast.If) for item in _find_typing(node)}
        for node in walk(tree):
            if id(node) in never:
                continue
            self._note(node)
        by_text = {*self.given, *(self.listed if self.imports_by_name else ())}
        return {
            "i": sorted(self.imports, key=lambda row: row[0]),
            "t": sorted(by_text),
            "w": sorted(self.writes),
            "c": sorted(self.calls),
            "s": sorted(self.texts),
            "b": self.classes,
            "l": sorted(self.loops),
            "r": sorted(self.rows),
            "a": sorted(self.attributes),
            "o": list(_find_loads(tree.body)),
            "k": list(_find_walks(tree.body)),
            "n": " ".join(sorted(self.words)),
        }

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                self.words.add(name)
            case ast.Call():
                self._note_call(node)
            case ast.Import() | ast.ImportFrom():
                self._note_import(node)
            case ast.ClassDef(name=name, bases=bases):
                self.classes.append([name, sorted({word for base in bases for word in _find_words(base)})])
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                self.listed += [(item.lineno, text) for item in elts if (text := _text(item))]
                self.rows.update(_find_rows(elts))
            case ast.Dict(keys=keys, values=values):
                self.listed += [(item.lineno, text) for item in values if (text := _text(item))]
                for key, value in zip(keys, values, strict=True):
                    self.rows.update(_find_rows([key, value]) if key is not None else ())
            case ast.For(target=ast.Name(id=name)) | ast.comprehension(target=ast.Name(id=name)):
                self.loops.add(name)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Delete():
                self._note_write(node)

    def _note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        match node:
            case ast.Import(names=names):
                for item in names:
                    self.imports.append([node.lineno, item.name, 0, [], item.asname or item.name.partition(".")[0]])
                    self.words.update((item.asname or "").split() or item.name.split("."))
            case ast.ImportFrom(module=module, level=level, names=names):
                taken = [[item.name, item.asname or item.name] for item in names]
                self.imports.append([node.lineno, module or "", level, taken, ""])
                self.words.update(word for pair in taken for word in pair)
                self.words.update((module or "").split("."))

    def _note_call(self, node: ast.Call) -> None:
        name = called_name(node)
        self.calls.add((name, len(node.args) + len(node.keywords)))
        self.words.update(word.arg for word in node.keywords if word.arg)
        given = [*node.args, *(word.value for word in node.keywords)]
        self.texts.update((name, text) for item in given for text in _find_texts(item))
        self.rows.update(_find_rows(node.args))
        if "import" in name.lower() and given:
            text = _text(given[0])
            self.imports_by_name = self.imports_by_name or text is None
            self.given += [(node.lineno, text)] if text is not None else []
        if name in _BY_NAME:
            self.attributes.update(text for item in node.args if (text := _text(item)) is not None)
        if name in {"setattr", "delattr"} and node.args:
            root, _, depth = _read_chain(node.args[0])
            plain = len(node.args) > 2 and node.args[2].__class__ in _CONSTANT
            last = _text(node.args[1]) if len(node.args) > 1 else None
            self.writes.add((root, last or "", depth + 1, plain, True))

    def _note_write(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) -> None:
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        plain = getattr(node, "value", None).__class__ in _CONSTANT
        for target in _flatten(targets):
            if isinstance(target, ast.Attribute | ast.Subscript):
                root, last, depth = _read_chain(target)
                self.writes.add((root, last, depth, plain, False))


def _find_loads(body: list[ast.stmt]) -> Iterator[list[Any]]:
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from ([node.lineno, alias.name, 0, [], "import"] for alias in names)
            case ast.ImportFrom(module=name, level=level, names=names):
                yield [node.lineno, name or "", level, [alias.name for alias in names], "from"]
            case ast.Expr(value=ast.Call(args=[ast.Constant(value=str(name)), *_]) as call):
                if called_name(call).endswith("import_module"):
                    yield [node.lineno, name, 0, [], "text"]
            case ast.If(body=inner, orelse=other):
                yield from _find_loads([*inner, *other])
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from _find_loads([*inner, *other, *last])
            case ast.For(iter=ast.Tuple(elts=elts) | ast.List(elts=elts)):
                for item in elts:
                    if isinstance(item, ast.Constant) and isinstance(item.value, str):
                        yield [node.lineno, item.value, 0, [], "listed"]


def _find_walks(body: list[ast.stmt]) -> Iterator[list[Any]]:
    called = {
        node.value.func.id
        for node in body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name not in called:
            continue
        calls = [part for part in walk(node) if isinstance(part, ast.Call)]
        loop = next((call for call in calls if called_name(call) in _WALKS), None)
        if loop is not None:
            ends = [call.args[0] for call in calls if called_name(call) == "endswith" and call.args]
            texts = [part.value for end in ends for part in walk(end) if isinstance(part, ast.Constant)]
            yield [loop.lineno, called_name(loop) == "walk_packages", [text for text in texts if isinstance(text, str)]]


def called_name(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


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


def _read_chain(node: ast.expr) -> tuple[str, str, int]:
    """Root, last attribute and length of `a.b[0].c`."""
    last, depth = node.attr if isinstance(node, ast.Attribute) else "", 0
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node, depth = inner, depth + 1
            case ast.Call():
                return f"call:{called_name(node)}", last, depth
            case ast.Name(id=name):
                return name, last, depth
            case _:
                return "", last, depth


def _find_words(node: ast.expr) -> Iterator[str]:
    for part in walk(node):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name


def _find_texts(node: ast.expr) -> Iterator[str]:
    """Dotted texts of an argument: itself, or in a list, tuple or table."""
    text = _text(node)
    if text is not None:
        if "." in text or ":" in text:
            yield text
        return
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _find_texts(part)
        case ast.Dict(keys=keys):
            for key in keys:
                yield from _find_texts(key) if key is not None else ()


def _find_rows(nodes: Iterable[ast.expr]) -> Iterator[tuple[str, ...]]:
    row: list[str] = []
    for text in (*map(_text, nodes), None):
        if text is not None:
            row.append(text)
            continue
        if len(row) > 1:
            yield tuple(row)
        row = []


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(value)) if _DOTTED.match(value):
            return value
    return None
