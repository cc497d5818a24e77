"""What we put in an upstream symbol's place: its signature and body, read from the downstream."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from layline.change.similarity import Shingles, read_shingles
from layline.core.evidence import Location, Skipped
from layline.core.weak import weakly
from layline.source import Definition, Module, Tree, parse_module, parse_tree
from layline.source.walking import walk


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """A function or class of the downstream that takes an upstream symbol's place."""

    definition: Definition
    node: ast.stmt
    text: str
    """Its source, decorators included."""
    location: Location
    tree: ast.Module | None = None
    """The whole file, where it is needed."""
    installed: str = ""
    """The line that puts it in place, where that is known."""

    @property
    def shingles(self) -> Shingles:
        return read_shingles(self.node)

    def constructor(self) -> Definition | None:
        """The `__init__` written in a class, or made of the fields of a plain dataclass; None where it inherits one."""
        body = getattr(self.node, "body", ())
        for item in body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                return define(item)
        if not self.definition.is_dataclass or self.definition.bases:
            return None
        fields = [item for item in body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
        words = [
            f"{ast.unparse(item.target)}{'' if item.value is None else f' = {ast.unparse(item.value)}'}"
            for item in fields
        ]
        made = parse_tree("", f"def __init__(self, {', '.join(words)}): ...".encode())
        node = made.body[0] if isinstance(made, ast.Module) else None
        return define(node) if isinstance(node, ast.FunctionDef) else None


class Replacements:
    """Reads replacements of one downstream commit."""

    def __init__(self, tree: Tree) -> None:
        self.ours = tree
        self._parsed = lru_cache(maxsize=16)(weakly(self._parse))
        self._known = lru_cache(maxsize=128)(weakly(self._find))

    def read(self, location: Location | None) -> Replacement | None:
        """The definition that begins at a line (of its `def` or its first decorator); None where there is none."""
        return self._known(location) if location is not None else None

    def _find(self, location: Location) -> Replacement | None:
        found = self._parsed(location.path)
        if found is None:
            return None
        tree, text = found
        for node in _definitions(tree):
            first = min((word.lineno for word in node.decorator_list), default=node.lineno)
            if first <= location.line <= node.lineno:
                definition = define(node)
                lines = text.splitlines()[first - 1 : node.end_lineno]
                if definition is not None:
                    return Replacement(definition, node, "\n".join(lines), location)
        return _read_lambda(tree, text, location)

    def read_tree(self, path: str) -> ast.Module | None:
        """The syntax tree of one of our files; None where it cannot be read."""
        found = self._parsed(path)
        return found[0] if found is not None else None

    def read_line(self, location: Location) -> str:
        """One line of ours; empty where it cannot be read."""
        found = self._parsed(location.path)
        lines = found[1].splitlines() if found is not None else []
        return lines[location.line - 1] if 0 < location.line <= len(lines) else ""

    def _parse(self, path: str) -> tuple[ast.Module, str] | None:
        text = self.ours.read_text(path)
        if isinstance(text, Skipped):
            return None
        tree = parse_tree(path, text.encode("utf-8", "surrogatepass"))
        return None if isinstance(tree, Skipped) else (tree, text)


def _read_lambda(tree: ast.Module, text: str, location: Location) -> Replacement | None:
    """The only lambda on a line, as the function it is; None where there is none, or more than one."""
    found = [node for node in walk(tree) if isinstance(node, ast.Lambda) and node.lineno == location.line]
    if len(found) != 1:
        return None
    node = ast.FunctionDef(name="_lambda", args=found[0].args, body=[ast.Return(found[0].body)], decorator_list=[])
    ast.fix_missing_locations(node)
    definition = define(node)
    return None if definition is None else Replacement(definition, node, text.split("\n")[location.line - 1], location)


def define(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Definition | None:
    """A nested definition as a value: as if it stood at module level."""
    module = parse_module("", ast.unparse(node).encode("utf-8", "surrogatepass"))
    return module.best(node.name) if isinstance(module, Module) else None


def _definitions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
