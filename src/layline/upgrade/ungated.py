"""A file without some of its version gates: the branch that runs takes the place of the test; comments and layout
stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

_PLAIN = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseString, cst.BaseNumber)
_Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement


def drop_gates(text: str, gates: Mapping[tuple[int, int], bool]) -> str | None:
    """The file with each gate (line, column of its start) replaced by the side that runs; None where that is unclear.

    What stands on the lines of the gate itself goes with it; what stands above it or in the side that runs stays.
    """
    try:
        wrapper = MetadataWrapper(cst.parse_module(text))
    except cst.ParserSyntaxError:
        return None
    positions = wrapper.resolve(PositionProvider)
    found: dict[cst.CSTNode, bool] = {
        node: gates[at.start.line, at.start.column]
        for node, at in positions.items()
        if isinstance(node, cst.If | cst.IfExp) and (at.start.line, at.start.column) in gates
    }
    if len(found) != len(gates) or any(_loses_comment(node, holds) for node, holds in found.items()):
        return None
    return wrapper.module.visit(_Editor(found)).code


def _loses_comment(node: cst.CSTNode, holds: bool) -> bool:
    """True if a comment ends the block that stays: it would hang on nothing."""
    match node:
        case cst.If(body=cst.IndentedBlock(footer=footer)) if holds:
            return any(line.comment is not None for line in footer)
        case cst.If(orelse=cst.Else(body=cst.IndentedBlock(footer=footer))) if not holds:
            return any(line.comment is not None for line in footer)
    return False


class _Editor(cst.CSTTransformer):
    def __init__(self, gates: Mapping[cst.CSTNode, bool]) -> None:
        super().__init__()
        self._gates = gates
        self._chained: set[cst.CSTNode] = set()
        self._gaps: dict[cst.CSTNode, list[cst.EmptyLine]] = {}
        """Blank lines that a gate leaves to the statement behind it when nothing of it stays."""

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Module | cst.IndentedBlock):
            for gone, heir in pairwise(node.body):
                if isinstance(gone, cst.If) and self._gates.get(gone) is False and gone.orelse is None:
                    own = self._gaps.get(gone, [])
                    self._gaps[heir] = [*own, *takewhile(lambda line: line.comment is None, gone.leading_lines)]
        return super().on_visit(node)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        gap = self._gaps.get(original_node, [])
        if gap and not updated_node.leading_lines:
            updated_node = updated_node.with_changes(leading_lines=gap)
        return super().on_leave(original_node, updated_node)

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self._chained.add(node.orelse)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> Any:
        if original_node not in self._gates:
            return updated_node
        holds = self._gates[original_node]
        if original_node in self._chained:
            if holds:
                return cst.Else(updated_node.body, leading_lines=updated_node.leading_lines)
            return updated_node.orelse or cst.RemoveFromParent()
        if holds:
            return cst.FlattenSentinel(_unfold(updated_node.body, updated_node.leading_lines))
        match updated_node.orelse:
            case cst.If() as rest:
                return rest.with_changes(leading_lines=(*updated_node.leading_lines, *rest.leading_lines))
            case cst.Else(body=body, leading_lines=lines):
                return cst.FlattenSentinel(_unfold(body, (*updated_node.leading_lines, *lines)))
        return cst.RemoveFromParent()

    def leave_IfExp(self, original_node: cst.IfExp, updated_node: cst.IfExp) -> cst.BaseExpression:
        if original_node not in self._gates:
            return updated_node
        kept = updated_node.body if self._gates[original_node] else updated_node.orelse
        if isinstance(kept, _PLAIN) or kept.lpar:
            return kept
        return kept.with_changes(lpar=updated_node.lpar, rpar=updated_node.rpar)


def _unfold(body: cst.BaseSuite, above: Sequence[cst.EmptyLine]) -> Iterable[cst.BaseStatement]:
    """The statements of a block, the first with what stood above the gate."""
    if isinstance(body, cst.SimpleStatementSuite):
        return [cst.SimpleStatementLine(body.body, leading_lines=above, trailing_whitespace=body.trailing_whitespace)]
    first, *rest = (one for one in body.body if isinstance(one, _Statement))
    lines = _join(above, first.leading_lines)
    return [first.with_changes(leading_lines=lines), *rest]


def _join(above: Sequence[cst.EmptyLine], inside: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    return [*above, *inside] if any(line.comment is not None for line in inside) else list(above)
