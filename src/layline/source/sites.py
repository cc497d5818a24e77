"""Candidate writes: the lines of a file that may change another package, counted from its syntax alone.

The interpreter decides what each of them does; this count is made without it, so that the one can be held against the
other: a line that no row accounts for is said to be left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layline.source.loads import called_name

_BEHAVES = frozenset({"forward", "__call__", "__class__", "generate"})
"""Attributes that hold behaviour, whatever is put there."""
_BINDS = frozenset({"MethodType", "partial", "partialmethod", "__get__", "wraps"})
"""Calls that make a function of another one."""
_OPENS = frozenset({"getattr", "import_module", "__import__", "get", "reload", "type", "vars"})
"""Calls that give what their first argument names, or holds."""

CHANGES = frozenset(
    ["add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update", "__setitem__"]
)
"""Methods by which a list, set or table is changed."""
SETS = frozenset({"setattr", "delattr", "__setattr__"})
"""Functions and methods that set the attribute whose name they are given."""
LOADERS = frozenset({"sys.modules", "import_module"})
"""Roots that stand for a module found by name."""


@dataclass(frozen=True, slots=True)
class Site:
    """One candidate write."""

    line: int
    root: str
    """The name it goes through, as the file imports it: `package.module`; empty for an object nobody imports."""
    last: str
    """The attribute that is set; empty for an item or a name computed at run time."""
    plain: bool = False
    """What is put there is a constant."""


class SiteFinder:
    """Collects writes and the names they go through; what counts is told when the whole file is known."""

    def __init__(self) -> None:
        self._raw: list[tuple[int, str, str, bool | str, bool, bool]] = []
        """Line, root, attribute, whether it is code (or the name that is set), whether it is our own, whether plain."""
        self._defined: set[str] = set()
        self._imported: dict[str, str] = {}
        self._aliases: dict[str, str] = {}

    def note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        match node:
            case ast.Import(names=names):
                for item in names:
                    self._imported[item.asname or item.name.partition(".")[0]] = item.name
            case ast.ImportFrom(module=module, level=level, names=names):
                base = "." * level + (module or "")
                dot = "" if base.endswith(".") else "."
                self._imported.update({item.asname or item.name: f"{base}{dot}{item.name}" for item in names})

    def note_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._defined.add(node.name)

    def note_write(
        self, node: ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete, targets: list[ast.expr]
    ) -> None:
        value = getattr(node, "value", None)
        plain = isinstance(value, ast.Constant)
        for target in targets:
            match target:
                case ast.Name(id=name) if value is not None:
                    opened = _open(value)
                    if opened:
                        self._aliases.setdefault(name, opened)
                case ast.Attribute(value=owner, attr=attr):
                    named = value.id if isinstance(value, ast.Name) else _is_code(value)
                    behaves = attr in _BEHAVES or _wraps(value, target) or named
                    self._raw.append((target.lineno, _root(owner), attr, behaves, _is_own(owner), plain))
                case ast.Subscript(value=ast.Attribute(value=owner, attr="__dict__")):
                    self._raw.append((target.lineno, _root(owner), "", not plain, _is_own(owner), plain))
                case ast.Subscript(value=owner):
                    self._raw.append((target.lineno, _root(owner), "", False, _is_own(owner), plain))

    def note_setattr(self, node: ast.Call) -> None:
        """`setattr(owner, name, value)`, `delattr(owner, name)`."""
        given = read_setattr(node)
        if len(given) < 2:
            return
        owner, name = given[0], given[1]
        last = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        plain = len(given) > 2 and isinstance(given[2], ast.Constant)
        self._raw.append((node.lineno, _root(owner), last, True, _is_own(owner), plain))

    def find(self) -> Iterator[Site]:
        for line, root, last, code, own, plain in sorted(set(self._raw), key=lambda row: (*row[:3], str(row[3]))):
            imported = self._follow(root)
            behaves = code in self._defined or code in self._imported if isinstance(code, str) else code
            if imported or (behaves and not own):
                yield Site(line, imported, last, plain)

    def _follow(self, root: str) -> str:
        """What a name was imported as, through names that stand for a part of it."""
        for _ in range(4):
            if root in LOADERS:
                return root  # whichever way the loader itself was imported
            if root in self._imported:
                return self._imported[root]
            if root not in self._aliases:
                break
            root = self._aliases[root]
        return ""


def read_setattr(node: ast.Call) -> list[ast.expr]:
    """Owner, name and value of `setattr(owner, name, value)`, `delattr(owner, name)`, `object.__setattr__(owner, name,
    value)` and `owner.__setattr__(name, value)`; nothing for other calls, and for what an object does to itself.
    """
    name = called_name(node)
    if name in {"setattr", "delattr"} or (name == "__setattr__" and len(node.args) == 3):
        return node.args
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="__setattr__"), args=[_, _]):
            itself = called_name(owner) == "super" if isinstance(owner, ast.Call) else _root(owner) in {"self", "cls"}
            return [] if itself else [owner, *node.args]
    return []


def encode_sites(sites: Iterable[Site]) -> list[list[object]]:
    return [[site.line, site.root, site.last, site.plain] for site in sites]


def _open(value: ast.expr) -> str:
    """The name an alias leads to: `m.C`, `getattr(m, "C", None)`, `sys.modules["a"]`; empty for anything made anew."""
    match value:
        case ast.Attribute() | ast.Subscript():
            return _root(value)
        case ast.Call(args=[first, *_]) if called_name(value) in _OPENS:
            return "import_module" if "import" in called_name(value) else _root(first) or _root(value.func)
    return ""


def _root(node: ast.expr) -> str:
    """The first name of a chain; `sys.modules` and `import_module(…)` stand for the module they give."""
    while True:
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
                return "sys.modules"
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node = inner
            case ast.Call(args=[first, *_]) if called_name(node) in _OPENS:
                if "import" in called_name(node):
                    return "import_module"
                node = first
            case ast.Name(id=name):
                return name
            case _:
                return ""


def read_chain(node: ast.expr) -> tuple[str, str, int]:
    """Root, last attribute and length of `a.b[0].c`."""
    last, depth = node.attr if isinstance(node, ast.Attribute) else "", 0
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                node, depth = inner, depth + 1
            case ast.Call(args=[first]) if called_name(node) == "vars":
                node, depth = first, depth + 1
            case ast.Call():
                return f"call:{called_name(node)}", last, depth
            case ast.Name(id=name):
                return name, last, depth
            case _:
                return "", last, depth


def _is_own(owner: ast.expr) -> bool:
    """`self.x = …`: an object sets its own attribute; `self.model.x = …` changes another one."""
    return isinstance(owner, ast.Name) and owner.id in {"self", "cls"}


def _wraps(value: ast.expr | None, target: ast.Attribute) -> bool:
    """`model.module = Other(config, model.module)`: a class is handed what its object takes the place of."""
    if not isinstance(value, ast.Call) or not called_name(value)[:1].isupper():
        return False
    given = (*value.args, *(word.value for word in value.keywords))
    alike = [one for one in given if isinstance(one, ast.Attribute) and one.attr == target.attr]
    return any(ast.unparse(one) == ast.unparse(target) for one in alike)


def _is_code(value: ast.expr | None) -> bool:
    match value:
        case ast.Lambda():
            return True
        case ast.Call():
            return called_name(value) in _BINDS
        case ast.ListComp(elt=item) | ast.List(elts=[item]):
            return _is_code(item)
    return False
