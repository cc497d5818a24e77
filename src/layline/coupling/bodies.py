"""What another body of upstream's means in one line: the names that came and went, else how many lines."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher

from layline.core.drift import DriftKind
from layline.core.evidence import Severity, Skipped
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.question import Question
from layline.source import Symbol
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.walking import walk

_UNREAD = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def judge_body(question: Question, severity: Severity) -> Iterator[Finding]:
    """Of a target that keeps its signature and is worth a look: what its body does now and did not do before."""
    comparison = question.comparison
    if question.kind is not DriftKind.BODY_CHANGED or severity is not Severity.LOOK or comparison.why:
        return
    sides = (question.sides.pin, comparison.before), (question.sides.tip, comparison.after)
    then, now = (_read(*side) for side in sides)
    reasons = [Why(Reason.VALUE)]
    if then is not None and now is not None:
        reasons = _compare(then, now) or [_count(*(_find_lines(_cut(*side)) for side in sides))]
    yield from (Finding(severity=Severity.OK, why=why) for why in reasons)


def _read(side: Resolver, symbol: Symbol) -> ast.AST | None:
    if symbol.definition is None or symbol.module is None:
        return None
    return side.index.read_node(symbol.module, symbol.definition)


def _cut(side: Resolver, symbol: Symbol) -> str:
    """The text of a definition, moved to the margin."""
    if symbol.definition is None or symbol.module is None:
        return ""
    first, last = symbol.definition.lines
    return textwrap.dedent("\n".join(side.index.read_text(symbol.module).split("\n")[first - 1 : last]))


def _compare(then: ast.AST, now: ast.AST) -> list[Why]:
    """Names that came and went."""
    old, new = find_names(then), find_names(now)
    came = tuple(name for name in new if name not in old)
    went = tuple(name for name in old if name not in new)
    told = [Why(Reason.BODY_USES, names=came)] if came else []
    return [*told, Why(Reason.BODY_DROPS, names=went)] if went else told


def _count(before: list[str], after: list[str]) -> Why:
    """How many lines of the source are others."""
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [(end - start, last - first) for tag, start, end, first, last in steps if tag != "equal"]
    number = max(sum(one for one, _ in changed), sum(two for _, two in changed))
    return Why(Reason.BODY_LINE if number == 1 else Reason.BODY_LINES, counts=(number,))


def _find_lines(text: str) -> list[str]:
    """The lines of a definition as their tokens are, without what only people read."""
    tree = parse_tree("", text.encode("utf-8", "surrogatepass"))
    if isinstance(tree, Skipped):
        return text.splitlines()
    documented = (item.body[0] for item in walk(tree) if isinstance(item, _DOCUMENTED) and ast.get_docstring(item))
    unread = {line for item in documented for line in range(item.lineno, (item.end_lineno or item.lineno) + 1)}
    lines: dict[int, list[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in _UNREAD or token.start[0] in unread:
            continue
        for number, words in enumerate(token.string.split("\n"), token.start[0]):
            lines.setdefault(number, []).append(words)
    return [" ".join(words) for _, words in sorted(lines.items())]


def find_names(node: ast.AST) -> dict[str, None]:
    """What a body reads, calls and imports, in the order in which it does."""
    found: dict[str, None] = {}
    for item in walk(node):
        match item:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                found[name] = None
            case ast.alias(name=name):
                found[name.rpartition(".")[2]] = None
    return found
