"""Texts of upstream's source that a patch of ours searches for and exchanges, as upstream writes them now.

`source.replace("old text", "our text")`: where upstream changed the text, the text to search for follows it, and so
does ours, where both changes stand apart. Where they meet, or the new text is found twice, a person must look.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import libcst as cst

_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class NewText:
    """One text that a file of ours searches for, as it was and as it is."""

    old: str
    new: str


def find_new_text(anchor: str, then: str, now: str) -> NewText | None:
    """What stands now where the text stood; None where it stood twice, or where nobody can say what became of it."""
    if not anchor.strip() or then.count(anchor) != 1 or anchor in now:
        return None
    start = then.index(anchor)
    first, last = then.count("\n", 0, start), then.count("\n", 0, start + len(anchor) - 1)
    old, new = then.splitlines(keepends=True), now.splitlines(keepends=True)
    span = _map_lines(old, new, first, last + 1)
    if span is None:
        return None
    around, block = "".join(old[first : last + 1]), "".join(new[span[0] : span[1]])
    before, _, after = around.partition(anchor)
    if not block.startswith(before) or not block.endswith(after) or len(block) <= len(before) + len(after):
        return None
    found = block[len(before) : len(block) - len(after)]
    return NewText(anchor, found) if now.count(found) == 1 and found.strip() else None


def _map_lines(old: list[str], new: list[str], first: int, last: int) -> tuple[int, int] | None:
    """The lines that took the place of some others; None where they went, or where the change is wider than they."""
    start, end = None, None
    for code, low, high, at, to in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if high <= first or low >= last:
            continue
        low_in, high_in = max(low, first), min(high, last)
        if code == "equal" or (high - low == to - at and _are_alike(old[low:high], new[at:to])):
            start = at + low_in - low if start is None else start
            end = at + high_in - low
        elif low < first or high > last or code == "delete":
            return None
        else:
            start = at if start is None else start
            end = to
    return (start, end) if start is not None and end is not None and start < end else None


def _are_alike(old: list[str], new: list[str]) -> bool:
    """Line by line the same ones, each changed a little."""
    pairs = zip(old, new, strict=True)
    return all(difflib.SequenceMatcher(None, one.strip(), two.strip()).ratio() >= _ALIKE for one, two in pairs)


def merge(old: str, ours: str, theirs: str) -> str | None:
    """Both changes of a text, word by word; None where they meet."""
    words = [list(_split(text)) for text in (old, ours, theirs)]
    mine, other = (list(_find_changes(words[0], side)) for side in words[1:])
    for low, high, _ in mine:
        if any(low <= end and start <= high for start, end, _ in other):
            return None
    found, at = list[str](), 0
    for low, high, new in sorted([*mine, *other], key=lambda one: one[:2]):
        found += [*words[0][at:low], *new]
        at = high
    return "".join([*found, *words[0][at:]])


def _find_changes(old: list[str], new: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    for code, low, high, at, to in difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if code != "equal":
            yield low, high, new[at:to]


def _split(text: str) -> Iterator[str]:
    """Words, and each sign by itself."""
    word = ""
    for letter in text:
        if letter.isalnum() or letter == "_":
            word += letter
            continue
        if word:
            yield word
        yield letter
        word = ""
    if word:
        yield word


def exchange_text(text: str, change: NewText) -> str | None:
    """The file with the text that it searches for, and with what it puts there, brought up to date."""
    try:
        tree = cst.parse_module(text)
    except cst.ParserSyntaxError:
        return None
    reader = _Calls(change.old, _find_constants(tree))
    tree.visit(reader)
    if len(reader.found) != 1:
        return None
    searched, put = reader.found[0]
    ours = _value(put)
    merged = merge(change.old, ours, change.new) if ours is not None else None
    if merged is None:
        return None
    new = {id(searched): _literal(searched, change.new), id(put): _literal(put, merged)}
    return tree.visit(_Exchange(new)).code


def _find_constants(tree: cst.Module) -> dict[str, cst.BaseExpression]:
    """Names that the module binds once, to a text."""
    found: dict[str, list[cst.BaseExpression]] = {}
    for line in tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match statement:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value):
                    found.setdefault(name, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


class _Exchange(cst.CSTTransformer):
    def __init__(self, new: dict[int, cst.BaseExpression]) -> None:
        super().__init__()
        self._new = new

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        return self._new.get(id(original_node), updated_node)


class _Calls(cst.CSTVisitor):
    """Calls of `replace` whose first argument is a text: it, and what is put there."""

    def __init__(self, text: str, constants: dict[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._text = text
        self._constants = constants
        self.found: list[tuple[cst.BaseExpression, cst.BaseExpression]] = []

    def visit_Call(self, node: cst.Call) -> None:
        if not isinstance(node.func, cst.Attribute) or node.func.attr.value != "replace" or len(node.args) < 2:
            return
        searched, put = (self._follow(arg.value) for arg in node.args[:2])
        if _value(searched) == self._text:
            self.found.append((searched, put))

    def _follow(self, node: cst.BaseExpression) -> cst.BaseExpression:
        return self._constants.get(node.value, node) if isinstance(node, cst.Name) else node


def _value(node: cst.BaseExpression) -> str | None:
    if not isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        return None
    value = node.evaluated_value
    return value if isinstance(value, str) else None


def _literal(like: cst.BaseExpression, value: str) -> cst.BaseExpression:
    """The text in the quotes that the file uses there, where they can hold it."""
    spelled = repr(value)
    if isinstance(like, cst.SimpleString):
        inner = value if "r" in like.prefix.lower() or len(like.quote) == 3 else repr(value)[1:-1]
        kept = f"{like.prefix}{like.quote}{inner}{like.quote}"
        with suppress(ValueError, SyntaxError):
            spelled = kept if ast.literal_eval(kept) == value else spelled
    return cst.parse_expression(spelled)
