"""The edit that follows moved and renamed targets: imports, dotted paths and string paths of the patch files.

Only edits that are sure to be meant are made: a module alias is redirected only where everything used through it in
its scope is at the new home too. What is left is told, with the reason.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from layline.core.drift import DriftKind
from layline.core.evidence import Skipped
from layline.core.patch import Effect
from layline.coupling.drift_model import Drift
from layline.source import Tree, parse_tree
from layline.source.fingerprint import dotted_text
from layline.source.names import parents
from layline.source.resolve import Resolver
from layline.upgrade.edits import Edit, apply_edits, render_patch


@dataclass(frozen=True, slots=True)
class Move:
    """One target and where it is now, split into module and attributes."""

    row: Drift
    old_module: str
    old_rest: str
    new_module: str
    new_rest: str

    @property
    def old(self) -> str:
        return f"{self.old_module}.{self.old_rest}"

    @property
    def new(self) -> str:
        return f"{self.new_module}.{self.new_rest}"


@dataclass(frozen=True, slots=True)
class Edited:
    """One file with its edits."""

    path: str
    before: str
    after: str
    moves: tuple[Move, ...]

    @property
    def diff(self) -> str:
        return render_patch(self.path, self.before, self.after)

    @property
    def done(self) -> Iterator[str]:
        return (_tell(move) for move in self.moves)


@dataclass(slots=True)
class Retargeted:
    """The edited files, and what is left for a person."""

    files: list[Edited] = field(default_factory=list)
    left: list[Skipped] = field(default_factory=list)

    @property
    def diff(self) -> str:
        return "".join(file.diff for file in self.files)

    @property
    def done(self) -> list[str]:
        return list(dict.fromkeys(line for file in self.files for line in file.done))


def build_retarget(rows: Iterable[Drift], tree: Tree, pin: Resolver, tip: Resolver) -> Retargeted:
    """Edit every file whose targets moved or were renamed."""
    found = Retargeted()
    by_path: dict[str, list[Move]] = defaultdict(list)
    for row in rows:
        move = split_move(row, pin, tip)
        if isinstance(move, Skipped):
            found.left.append(move)
        elif move is not None:
            by_path[row.location.path].append(move)
    for path, moves in sorted(by_path.items()):
        edited = _edit_file(path, moves, tree, (pin, tip), found)
        if edited is not None:
            found.files.append(edited)
    return found


def confirm(found: Retargeted, before: Iterable[Effect], after: Iterable[Effect], tip: Resolver) -> Retargeted:
    """Only the files whose effects, read again after the edit, are the old ones with their targets at the new homes."""
    then, now = _count_targets(before), _count_targets(after)
    kept = Retargeted(left=list(found.left))
    for file in found.files:
        expected = Counter(then[file.path])
        for move in file.moves:
            expected[move.old] -= 1
            expected[move.new] += 1
        lost = next((move for move in file.moves if not _is_defined(tip, move.new)), None)
        if lost is None and +expected == now[file.path]:
            kept.files.append(file)
            continue
        why = (
            "the edited file, read again, still does not patch the new name"
            if lost is None
            else "the tip does not define it there"
        )
        kept.left += [Skipped(_tell(move), why) for move in ((lost,) if lost is not None else file.moves)]
    return kept


def _count_targets(effects: Iterable[Effect]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for effect in effects:
        if effect.target is not None:
            found[effect.location.path][effect.target] += 1
    return found


def _is_defined(tip: Resolver, name: str) -> bool:
    """The module or class binds it itself: it is not inherited."""
    symbol = tip.resolve(name)
    return symbol.exists and symbol.inherited_from is None


def _tell(move: Move) -> str:
    return f"{move.row.location}: {move.old} → {move.new}"


def split_move(row: Drift, pin: Resolver, tip: Resolver) -> Move | Skipped | None:
    """The move that a row asks for; None where there is no new home good enough to write down."""
    home = row.comparison.new_home if row.comparison is not None else None
    if home is None or row.target is None:
        return None
    # an importer that now imports the object under its new name has renamed its binding, too
    is_rebound = row.kind is DriftKind.BINDING_LOST and home.rpartition(".")[0] == row.target.rpartition(".")[0]
    if row.kind not in {DriftKind.MOVED, DriftKind.RENAMED} and not is_rebound:
        return None
    what = f"{row.location}: {row.target} → {home}"
    after = row.comparison.after if row.comparison is not None else None
    if after is not None and after.exists and after.inherited_from is not None:
        owner, base = row.target.rpartition(".")[0].rpartition(".")[2], after.inherited_from
        why = (
            f"{owner} inherits it from {base} now: the patch still works where it is; on {base.rpartition('.')[2]} "
            "it would change every subclass"
        )
        return Skipped(what, why)
    if not _is_defined(tip, home):
        return Skipped(what, "the tip does not define it there")
    old = next((name for name in parents(row.target) if name in pin.index.entries), None)
    new = next((name for name in parents(home) if name in tip.index.entries), None)
    if old is None or new is None:
        return Skipped(what, "its module is not in the tree")
    return Move(row, old, row.target[len(old) + 1 :], new, home[len(new) + 1 :])


def _edit_file(
    path: str, moves: list[Move], tree: Tree, sides: tuple[Resolver, Resolver], found: Retargeted
) -> Edited | None:
    text = tree.read_text(path)
    parsed = parse_tree(path, text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else text
    if isinstance(text, Skipped) or isinstance(parsed, Skipped):
        found.left.append(Skipped(path, "cannot be read"))
        return None
    edits: dict[tuple[int, int], Edit] = {}
    made_moves: list[Move] = []
    for move in moves:
        made = list(_Rewriter(parsed, text, move, sides).find_edits())
        problems = [item for item in made if isinstance(item, str)]
        plain = [item for item in made if isinstance(item, Edit)]
        if problems or not plain:
            why = problems[0] if problems else "the place where the name is written was not recognised"
            found.left.append(Skipped(f"{move.row.location} {move.old} → {move.new}", why))
            continue
        edits |= {(item.line, item.start): item for item in plain}
        made_moves.append(move)
    after = apply_edits(text, edits.values())
    if isinstance(parse_tree(path, after.encode("utf-8", "surrogatepass")), Skipped):
        found.left.append(Skipped(path, "the edited file would not be valid Python; nothing was changed"))
        return None
    return Edited(path, text, after, tuple(made_moves)) if made_moves else None


class _Rewriter:
    """Finds the edits of one move in one file: in the function around the effect, and at module level."""

    def __init__(self, tree: ast.Module, text: str, move: Move, sides: tuple[Resolver, Resolver]) -> None:
        self._lines = text.split("\n")
        self._move = move
        self._pin, self._tip = sides
        self._scope = _innermost(tree, move.row.location.line)
        self._module = tree

    def find_edits(self) -> Iterator[Edit | str]:
        """Edits, or sentences that say why there can be none."""
        move = self._move
        if move.old_module != move.new_module:
            yield from self._find_module_edits()
        if move.old_rest != move.new_rest:
            yield from self._find_attribute_edits()

    def _nodes(self) -> Iterator[ast.AST]:
        """The nodes of the scope, and of module level outside functions and classes."""
        yield from ast.walk(self._scope)
        if self._scope is not self._module:
            for item in self._module.body:
                if isinstance(item, ast.Import | ast.ImportFrom):
                    yield item
                elif isinstance(item, ast.Assign | ast.AnnAssign | ast.Try | ast.If):
                    yield from ast.walk(item)

    def _find_module_edits(self) -> Iterator[Edit | str]:
        move = self._move
        for node in self._nodes():
            match node:
                case ast.Import(names=names):
                    for item in names:
                        if item.name == move.old_module:
                            yield from self._redirect(
                                item, item.asname or item.name, f"{move.new_module}{_as(item.asname)}"
                            )
                case ast.ImportFrom(module=module, level=0, names=names) if module is not None:
                    yield from self._redirect_from(node, module, names)
                case ast.Constant(value=str(value)) if value in {move.old_module, move.old}:
                    yield _edit(node, self._quote(node, move.new_module if value == move.old_module else move.new))
                case ast.Attribute() if dotted_text(node) == move.old_module and self._is_spelled_out():
                    yield _edit(node, move.new_module)

    def _redirect_from(self, node: ast.ImportFrom, module: str, names: list[ast.alias]) -> Iterator[Edit | str]:
        move = self._move
        owner, _, last = move.old_module.rpartition(".")
        first = move.old_rest.partition(".")[0]
        for item in names:
            bound = item.asname or item.name
            if module == owner and item.name == last:
                new_owner, _, new_last = move.new_module.rpartition(".")
                yield from self._redirect_name(node, item, bound, (new_owner, new_last))
            elif module == move.old_module and item.name == first:
                new_first = move.new_rest.partition(".")[0]
                yield from self._redirect_name(node, item, bound, (move.new_module, new_first), checked=False)

    def _redirect_name(
        self, node: ast.ImportFrom, item: ast.alias, bound: str, home: tuple[str, str], *, checked: bool = True
    ) -> Iterator[Edit | str]:
        if len(node.names) > 1:
            yield f"line {node.lineno} imports other names with it"
            return
        problem = self._other_use(bound) if checked else None
        if problem:
            yield problem
            return
        alias = bound if bound != home[1] else None
        yield _edit(node, f"from {home[0]} import {home[1]}{_as(alias)}")

    def _redirect(self, item: ast.alias, bound: str, text: str) -> Iterator[Edit | str]:
        problem = self._other_use(bound)
        yield problem or _edit(item, text)

    def _other_use(self, bound: str) -> str | None:
        """Something used through the module that is not at the new home."""
        move = self._move
        for node in self._nodes():
            text = dotted_text(node) if isinstance(node, ast.Attribute) else None
            if text is None or not text.startswith(bound + "."):
                continue
            rest = text[len(bound) + 1 :].partition(".")[0]
            is_target = rest == move.old_rest.partition(".")[0]
            is_marker = rest.startswith("_")
            if not is_target and not is_marker and not self._has_moved_along(rest):
                return f"{bound}.{rest} is used there too and is not in {move.new_module}"
        return None

    def _has_moved_along(self, name: str) -> bool:
        """True if another name of the old module is the same kind of thing in the new one, not a mere namesake."""
        before = self._pin.resolve(f"{self._move.old_module}.{name}")
        after = self._tip.resolve(f"{self._move.new_module}.{name}")
        return after.exists and (before.kind is after.kind or before.home == after.home)

    def _is_spelled_out(self) -> bool:
        """True if the scope imports the old module without an alias, so that chains spell it."""
        return any(
            isinstance(node, ast.Import)
            and any(item.name == self._move.old_module and item.asname is None for item in node.names)
            for node in self._nodes()
        )

    def _find_attribute_edits(self) -> Iterator[Edit | str]:
        """Rename the attribute where it is read and written: `m.f`, `"f"` in setattr and getattr."""
        move = self._move
        old, new = move.old_rest.split("."), move.new_rest.split(".")
        if len(old) != len(new):
            yield f"{move.old_rest} became {move.new_rest}, which an edit of the name alone cannot express"
            return
        yield from self._find_table_edits(old[-1], new[-1])
        aliases = set(self._find_aliases())
        for place, (before, after) in enumerate(zip(old, new, strict=True)):
            if before == after:
                continue
            owners = {".".join((alias, *old[:place])) for alias in aliases} | ({old[place - 1]} if place else set())
            for node in ast.walk(self._scope):
                match node:
                    case ast.Attribute(value=owner, attr=attr, end_lineno=int(line), end_col_offset=int(end)) if (
                        attr == before
                    ):
                        if dotted_text(owner) in owners or line == move.row.location.line:
                            yield Edit(line, end - len(before.encode()), end, after)
                    case ast.Call(
                        func=ast.Name(id="setattr" | "getattr" | "hasattr"),
                        args=[_, ast.Constant(value=str(value)) as name, *_],
                    ) if value == before:
                        yield _edit(name, self._quote(name, after))

    def _find_table_edits(self, before: str, after: str) -> Iterator[Edit | str]:
        """Rows of a literal table: `("old.module", "f")`."""
        for node in self._nodes():
            match node:
                case (
                    ast.Tuple(elts=[ast.Constant(value=module), ast.Constant(value=name) as item, *_])
                    | ast.List(elts=[ast.Constant(value=module), ast.Constant(value=name) as item, *_])
                ):
                    if module == self._move.old_module and name == before:
                        yield _edit(item, self._quote(item, after))

    def _find_aliases(self) -> Iterator[str]:
        """Names that stand for the old module in this scope."""
        owner, _, last = self._move.old_module.rpartition(".")
        for node in self._nodes():
            match node:
                case ast.Import(names=names):
                    yield from (item.asname or item.name for item in names if item.name == self._move.old_module)
                case ast.ImportFrom(module=module, names=names) if module == owner:
                    yield from (item.asname or item.name for item in names if item.name == last)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if any(
                        isinstance(item, ast.Constant) and item.value == self._move.old_module
                        for item in ast.walk(value)
                    ):
                        yield name

    def _quote(self, node: ast.expr, text: str) -> str:
        """The text as a literal, in the quotes that the file uses there."""
        line = self._lines[node.lineno - 1].encode("utf-8", "surrogatepass")
        mark = line[node.col_offset : node.col_offset + 1].decode("ascii", "replace")
        return f"{mark}{text}{mark}" if mark in {"'", '"'} else repr(text)


def _innermost(tree: ast.Module, line: int) -> ast.AST:
    """The outermost function around a line (helpers nested in a handler share its imports); else the module."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for item in inner:
            is_function = isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and item.lineno <= line <= (item.end_lineno or item.lineno):
                return item
    return tree


def _edit(node: ast.expr | ast.stmt | ast.alias, text: str) -> Edit | str:
    if node.end_lineno != node.lineno or node.end_col_offset is None:
        return f"the code at line {node.lineno} spans several lines"
    return Edit(node.lineno, node.col_offset, node.end_col_offset, text)


def _as(name: str | None) -> str:
    return f" as {name}" if name else ""
