"""Edits that follow names which a file spells out: `import a.b`, then `a.b.c.f = …` or `a.b.c.f(…)`.

Such a name stands in each line whole, so every use of it is rewritten, and the import that loads its module. Whether the
edit is right is shown by judging the edited file again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from layline.source.fingerprint import dotted_text
from layline.source.names import parents
from layline.upgrade.edits import Edit, apply_edits


@dataclass(frozen=True, slots=True)
class Followed:
    """A file after its edits, and the names that were followed in it."""

    text: str
    done: frozenset[str]


def follow_spelled(text: str, moves: Mapping[str, str], find_module: Callable[[str], str | None]) -> Followed | None:
    """The file with every spelled use of the moved names at its new home; None where it spells none, or it is unclear.

    `moves`: dotted name as it was → as it is; `find_module`: the module that holds a new name.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    loaded = {item.name for node in ast.walk(tree) if isinstance(node, ast.Import) for item in node.names}
    roots = {name.partition(".")[0] for name in loaded} - set(_find_other_bindings(tree))
    chains = [(node, name) for node, name in _find_chains(tree) if name.partition(".")[0] in roots]
    followed = [(node, name, old) for node, name in chains if (old := _find_moved(name, moves)) is not None]
    spelled = {name for _, name in chains}
    if not followed or any(f"{name}.".startswith(f"{moves[old]}.") for _, _, old in followed for name in spelled):
        return None  # it knows the new name already: this one may be for other versions
    editor = _Editor(text, tree, moves, find_module)
    kept = spelled - {name for _, name, _ in followed}
    if not all(editor.follow(node, name, old) for node, name, old in followed) or editor.lets_go_of(kept):
        return None
    return Followed(apply_edits(text, editor.find_edits()), frozenset(old for _, _, old in followed) | editor.modules)


def _find_moved(name: str, moves: Mapping[str, str]) -> str | None:
    return next((one for one in parents(f"{name}.") if one in moves), None)


def _find_chains(tree: ast.AST) -> Iterator[tuple[ast.Attribute, str]]:
    """Each longest chain of names once: `a.b.c`, not `a.b` within it."""
    if isinstance(tree, ast.Attribute) and (name := dotted_text(tree)) is not None:
        yield tree, name
        return
    for node in ast.iter_child_nodes(tree):
        yield from _find_chains(node)


def _find_other_bindings(tree: ast.Module) -> Iterator[str]:
    """Names that the file binds to something else than a package: by alias, from a module, by assignment, as a
    parameter.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (item.asname for item in names if item.asname is not None)
            case ast.ImportFrom(names=names):
                yield from (item.asname or item.name for item in names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case (
                ast.ExceptHandler(name=str(name))
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name


class _Editor:
    """Collects the edits of one file."""

    def __init__(
        self, text: str, tree: ast.Module, moves: Mapping[str, str], find_module: Callable[[str], str | None]
    ) -> None:
        self._lines = text.split("\n")
        self._moves = moves
        self._find_module = find_module
        self._edits: dict[tuple[int, int], Edit] = {}
        self._plain = {
            item.name: (node, item)
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for item in node.names
            if item.asname is None
        }
        self._added: dict[str, ast.Import] = {}
        self._end = "\r\n" if "\r\n" in text else "\n"
        self.modules: set[str] = set()
        """Modules whose import was redirected."""

    def follow(self, node: ast.Attribute, name: str, old: str) -> bool:
        """Note the edit of one use and of what loads it; False where that is not clear."""
        new = self._moves[old]
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return False
        self._edits[node.lineno, node.col_offset] = Edit(
            node.lineno, node.col_offset, node.end_col_offset, new + name[len(old) :]
        )
        return self._load(name, new + name[len(old) :])

    def _load(self, old: str, new: str) -> bool:
        """What loads the old name loads the new one, too: an import that moved along, or one more."""
        held = next((one for one in parents(f"{old}.") if one in self._plain), None)
        module = self._find_module(new)
        if held is None or module is None:
            return False
        moved = self._moves.get(held)
        if moved is not None:
            item = self._plain[held][1]
            if item.end_col_offset is None or item.lineno != item.end_lineno:
                return False
            self._edits[item.lineno, item.col_offset] = Edit(item.lineno, item.col_offset, item.end_col_offset, moved)
            self.modules.add(held)
            if new == moved + old[len(held) :]:
                return True
        if not any(f"{one}.".startswith(f"{module}.") for one in (*self._plain, *self._added)):
            self._added[module] = self._plain[held][0]
            return not self._indent(self._added[module]).strip()
        return True

    def lets_go_of(self, kept: Iterable[str]) -> bool:
        """True if a name that stays is reached through a package that no import binds any more."""
        stay = {self._moves.get(name, name).partition(".")[0] for name in self._plain} | {
            name.partition(".")[0] for name in self._added
        }
        return any(name.partition(".")[0] not in stay for name in kept)

    def _indent(self, node: ast.Import) -> str:
        line = self._lines[node.lineno - 1].encode("utf-8", "surrogatepass")
        return line[: node.col_offset].decode("utf-8", "replace")

    def find_edits(self) -> Iterator[Edit]:
        yield from self._edits.values()
        for module, node in self._added.items():  # in front of the statement: behind it a comment may stand
            more = f"import {module}{self._end}{self._indent(node)}"
            yield Edit(node.lineno, node.col_offset, node.col_offset, more)
