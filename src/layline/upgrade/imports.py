"""Edits that follow upstream's names: imports, and attributes read through them; comments and layout stay.

Only text is changed here. Whether the edit is right is shown by judging the edited files again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst import helpers


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file after its edits, and the names that were followed in it."""

    text: str
    done: frozenset[str]


def follow_names(text: str, moves: Mapping[str, str]) -> Rewritten | None:
    """The file with every import of a moved name at its new home; None where nothing can be changed.

    `moves`: dotted name as it was → as it is. Names stay bound as they were in the file, so that its other lines need
    no edit; an attribute read through a module that stays (`module.old`) gets its new word.
    """
    try:
        tree = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return None
    aliases = _read_aliases(tree)
    editor = _Editor(dict(moves), aliases)
    edited = tree.visit(editor)
    if not editor.done or edited.code == text:
        return None
    return Rewritten(edited.code, frozenset(editor.done))


def _dotted(node: cst.BaseExpression | None) -> str:
    return helpers.get_full_name_for_node(node) or "" if node is not None else ""


def _name(dotted: str) -> cst.Attribute | cst.Name:
    found = cst.parse_expression(dotted)
    assert isinstance(found, cst.Attribute | cst.Name)  # noqa: S101  dotted names are nothing else
    return found


def _read_aliases(tree: cst.Module) -> dict[str, str]:
    """Names that imports of the file bind → what they stand for; one that is bound to two things is left out."""
    reader = _AliasReader()
    tree.visit(reader)
    return {name: next(iter(homes)) for name, homes in reader.found.items() if len(homes) == 1}


@dataclass
class _AliasReader(cst.CSTVisitor):
    found: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def visit_Import(self, node: cst.Import) -> None:
        for item in node.names:
            dotted = _dotted(item.name)
            if item.asname is not None:
                self._bind(_dotted(item.asname.name), dotted)  # type: ignore[arg-type]
            else:
                self._bind(dotted.partition(".")[0], dotted.partition(".")[0])

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        if isinstance(node.names, cst.ImportStar) or node.relative:
            return
        for item in node.names:
            name = item.asname.name if item.asname is not None else item.name
            bound = _dotted(name)  # type: ignore[arg-type]
            self._bind(bound, f"{_dotted(node.module)}.{_dotted(item.name)}")

    def _bind(self, name: str, home: str) -> None:
        self.found.setdefault(name, set()).add(home)


class _Editor(cst.CSTTransformer):
    def __init__(self, moves: dict[str, str], aliases: dict[str, str]) -> None:
        super().__init__()
        self._moves = moves
        self._aliases = aliases
        self.done: set[str] = set()

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False  # edited as a whole

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        spelled = _dotted(original_node)
        root, _, rest = spelled.partition(".")
        home = self._aliases.get(root)
        old = f"{home}.{rest}" if home is not None and rest else ""
        new = self._moves.get(old)
        if new is None or new.rpartition(".")[0] != old.rpartition(".")[0] or old == home:
            return updated_node
        self.done.add(old)
        return updated_node.with_changes(attr=cst.Name(new.rpartition(".")[2]))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        if len(updated_node.body) != 1:
            return updated_node
        match updated_node.body[0]:
            case cst.Import() as node:
                return updated_node.with_changes(body=[self._edit_import(node)])
            case cst.ImportFrom() as node if not node.relative and not isinstance(node.names, cst.ImportStar):
                return self._edit_from(updated_node, node)
        return updated_node

    def _edit_import(self, node: cst.Import) -> cst.Import:
        """`import old.module as m`: without an alias every use spells the module, and a person must look."""
        names = []
        for item in node.names:
            old = _dotted(item.name)
            new = self._moves.get(old) if item.asname is not None else None
            if new is not None:
                self.done.add(old)
            names.append(item.with_changes(name=_name(new)) if new is not None else item)
        return node.with_changes(names=names)

    def _edit_from(
        self, line: cst.SimpleStatementLine, node: cst.ImportFrom
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        module = _dotted(node.module)
        names = [] if isinstance(node.names, cst.ImportStar) else list(node.names)
        moved = {
            _dotted(item.name): new for item in names if (new := self._moves.get(f"{module}.{_dotted(item.name)}"))
        }
        if not moved:
            return line
        self.done.update(f"{module}.{name}" for name in moved)
        names = [_rename_here(item, module, moved) for item in names]
        moved = {name: new for name, new in moved.items() if new.rpartition(".")[0] != module}
        if not moved:
            return line.with_changes(body=[node.with_changes(names=names)])
        homes = dict.fromkeys(new.rpartition(".")[0] for new in moved.values())
        if len(moved) == len(names) and len(homes) == 1:
            return line.with_changes(body=[_redirect(node, names, moved, next(iter(homes)))])
        kept = [item for item in names if _dotted(item.name) not in moved]
        added = [_import_line(names, moved, home) for home in homes]
        if not kept:
            first = added[0].with_changes(
                leading_lines=line.leading_lines, trailing_whitespace=line.trailing_whitespace
            )
            return cst.FlattenSentinel([first, *added[1:]])
        stays = line.with_changes(body=[node.with_changes(names=_close(kept, node))])
        return cst.FlattenSentinel([stays, *added])


def _alias(item: cst.ImportAlias, new: str) -> cst.ImportAlias:
    """The new name, bound as the old one was."""
    last = new.rpartition(".")[2]
    bound = _dotted(item.asname.name) if item.asname is not None else _dotted(item.name)  # type: ignore[arg-type]
    asname = None if bound == last else cst.AsName(name=cst.Name(bound))
    if item.asname is not None and asname is not None:
        asname = item.asname
    return item.with_changes(name=cst.Name(last), asname=asname)


def _rename_here(item: cst.ImportAlias, module: str, moved: Mapping[str, str]) -> cst.ImportAlias:
    """The item under its new name, where the module stays."""
    new = moved.get(_dotted(item.name), "")
    return _alias(item, new) if new.rpartition(".")[0] == module else item


def _redirect(
    node: cst.ImportFrom, names: Sequence[cst.ImportAlias], moved: Mapping[str, str], home: str
) -> cst.ImportFrom:
    changed = [_alias(item, moved[_dotted(item.name)]) for item in names]
    return node.with_changes(module=_name(home), names=changed)


def _import_line(names: Sequence[cst.ImportAlias], moved: Mapping[str, str], home: str) -> cst.SimpleStatementLine:
    mine = [item for item in names if moved.get(_dotted(item.name), "").rpartition(".")[0] == home]
    aliases = [_alias(item, moved[_dotted(item.name)]).with_changes(comma=cst.MaybeSentinel.DEFAULT) for item in mine]
    return cst.SimpleStatementLine(body=[cst.ImportFrom(module=_name(home), names=aliases)])


def _close(kept: list[cst.ImportAlias], node: cst.ImportFrom) -> list[cst.ImportAlias]:
    """The names that stay; without parentheses nothing may follow the last one."""
    if isinstance(node.names, cst.ImportStar):
        return kept
    return [*kept[:-1], kept[-1].with_changes(comma=_close_comma(kept[-1].comma, node.names[-1].comma))]


def _close_comma(
    own: cst.Comma | cst.MaybeSentinel, last: cst.Comma | cst.MaybeSentinel
) -> cst.Comma | cst.MaybeSentinel:
    """What stands behind the last name: its own comment, and the line end before the bracket."""
    if not isinstance(own, cst.Comma) or not isinstance(last, cst.Comma):
        return last
    mine, end = own.whitespace_after, last.whitespace_after
    if not isinstance(mine, cst.ParenthesizedWhitespace) or not isinstance(end, cst.ParenthesizedWhitespace):
        return last
    return last.with_changes(whitespace_after=end.with_changes(first_line=mine.first_line))
