"""The text of one definition, cut out of a file without parsing it: history has thousands of versions to look at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from layline.source.definitions import Definition, Module
from layline.source.parsing import parse_module, parse_tree

_QUOTES = ('"""', "'''")
_BEFORE = " \t\n"
"""What a name that is defined stands behind."""
_STAR = re.compile(r"import[\s\\]*\*")
"""`from m import *`, which may bind any name; nearly every file has a star that multiplies."""


_MARGIN = re.compile(r"\n(?!else\b|elif\b|except\b|finally\b)(?=[^\s)\]}#])")
"""The end of a line before one at the margin that may begin a statement."""


def find_statements(text: str, word: str) -> Iterator[str]:
    """The statements at the margin of a file that hold a word, each whole: decorators, all branches, strings that reach
    back to the margin.
    """
    start = line = 0
    for found in _MARGIN.finditer(text):
        if text[line] != "@" and not _is_open(text[start : found.end()]):
            if word in (statement := text[start : found.end()]):
                yield statement
            start = found.end()
        line = found.end()
    if word in text[start:]:
        yield text[start:]


def slice_definition(text: str, qualname: str) -> str | None:
    """The lines of every definition or assignment of `qualname`, decorators included; None where there is none.

    Cut by indentation, strings that reach back to the margin minded; where that fails, `read_definition` notices.
    """
    spans = [(0, len(text), -1)]
    for name in qualname.split("."):
        if name not in text:
            return None
        spans = [span for start, end, indent in spans for span in _find_spans(text, name, (start, end, indent))]
    return "\n".join(text[start:end].rstrip("\n") for start, end, _ in spans) if spans else None


def binds(text: str, qualname: str) -> bool:
    """True if the file still defines or imports the name (of a member: if its class is, and holds or may inherit
    it).
    """
    if not qualname or slice_definition(text, qualname) is not None:
        return bool(text)
    first = qualname.partition(".")[0]
    if first not in text and _STAR.search(text) is None:
        return False
    module = parse_module("", text.encode("utf-8", "surrogatepass"))
    if not isinstance(module, Module):
        return True  # a version that cannot be parsed proves nothing
    # what only a type checker reads is imported by nothing that runs
    taken = (one for word in (first, "*") for one in module.bound_imports.get(word, ()))
    return any(not one.type_checking for one in taken) or bool(module.find(qualname))


def read_definition(text: str, qualname: str) -> Definition | None:
    """The definition as a value, parsed from its slice alone where that can be done, else from the whole file."""
    cut = slice_definition(text, qualname)
    if cut is None:
        return None
    found = _parse_slice(cut, qualname.rpartition(".")[2])
    if found is not None:
        return found
    whole = parse_module("", text.encode("utf-8", "surrogatepass"))
    return whole.best(qualname) if isinstance(whole, Module) else None


def read_signature(text: str, qualname: str) -> Definition | None:
    """The definition without its body where the head of a single function can be cut off: signatures are most of
    history.
    """
    cut = slice_definition(text, qualname)
    if cut is None:
        return None
    name = qualname.rpartition(".")[2]
    head = _cut_head(cut) if cut.count(f"def {name}") == 1 else None
    found = _parse_slice(f"{head} ...", name) if head is not None else None
    return found if found is not None else read_definition(text, qualname)


def _cut_head(cut: str) -> str | None:
    """The text up to the colon that ends a function's head; None where brackets in strings or comments confuse it."""
    depth, lines = 0, []
    for line in cut.split("\n"):
        lines.append(line)
        bare = line.partition("#")[0]
        depth += sum(bare.count(mark) for mark in "([{") - sum(bare.count(mark) for mark in ")]}")
        if depth == 0 and bare.rstrip().endswith(":") and not bare.lstrip().startswith("@"):
            return "\n".join([*lines[:-1], bare])
    return None


@lru_cache(maxsize=4096)
def _parse_slice(cut: str, name: str) -> Definition | None:
    module = parse_module("", _stand_alone(cut).encode("utf-8", "surrogatepass"))
    return module.best(name) if isinstance(module, Module) else None


def read_node(text: str, qualname: str) -> ast.stmt | None:
    """The last definition of the name as a syntax tree, parsed from its slice alone."""
    cut = slice_definition(text, qualname)
    return parse_cut(cut) if cut is not None else None


def parse_cut(cut: str) -> ast.stmt | None:
    """The last definition of a slice as a syntax tree."""
    tree = parse_tree("", _stand_alone(cut).encode("utf-8", "surrogatepass"))
    node = tree.body[-1] if isinstance(tree, ast.Module) and tree.body else None
    return node.body[-1] if isinstance(node, ast.If) else node


def _stand_alone(cut: str) -> str:
    """A block may be indented as it likes: under an `if` it needs no dedenting, which would change its strings."""
    return f"if 1:\n{cut}\n" if cut[:1].isspace() else cut


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    return re.compile(
        rf"^([ \t]*)(?:(?:async[ \t]+)?(?:def|class)[ \t]+{word}\b|{word}[ \t]*(?::|=[^=]))", re.MULTILINE
    )


@lru_cache(maxsize=64)
def _outside(indent: int) -> re.Pattern[str]:
    """The end of a line before one that stands no deeper than `indent` and is neither blank, comment nor closing
    bracket.

    It begins with the line end, not with `^`: a fixed first character is searched for many times faster.
    """
    return re.compile(rf"\n[ \t]{{0,{indent}}}[^\s)\]}}#]")


def _find_spans(text: str, name: str, within: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    start, end, outer = within
    found: list[tuple[int, int, int]] = []
    for match in _find_heads(text, name, start, end):
        indent = len(match[1])
        if indent > outer and not (found and match.start() < found[-1][1]):
            found.append((_with_decorators(text, match.start(), indent), _end(text, match, end), indent))
    if outer >= 0:
        level = min((indent for _, _, indent in found), default=0)
        return [span for span in found if span[2] == level]
    # at module level a definition may stand under `if` or `try`, but not inside another definition
    return [span for span in found if span[2] == 0 or not _is_nested(text, span)]


def _find_heads(text: str, name: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Lines that define or assign the name; a plain search finds the few places where the pattern is worth trying."""
    pattern, place, seen = _pattern(name), start, -1
    while (place := text.find(name, place, end)) >= 0:
        if place == 0 or text[place - 1] in _BEFORE:  # most stand inside another word, or behind a dot
            line = text.rfind("\n", 0, place) + 1
            if line > seen and (match := pattern.match(text, line, end)) is not None and match.end() > place:
                yield match
                seen = line
        place += len(name)


def _is_nested(text: str, span: tuple[int, int, int]) -> bool:
    indent = span[2]
    for line in reversed(text[: span[0]].splitlines()):
        bare = line.lstrip()
        if bare and len(line) - len(bare) < indent and bare[0] not in ")]}#":
            if bare.startswith(("def ", "class ", "async def ")):
                return True
            indent = len(line) - len(bare)
            if indent == 0:
                return False
    return False


def _with_decorators(text: str, start: int, indent: int) -> int:
    while start > 0:
        line = text.rfind("\n", 0, start - 1) + 1
        if text[line : line + indent].strip() or text[line + indent : line + indent + 1] != "@":
            break
        start = line
    return start


def _end(text: str, head: re.Match[str], end: int) -> int:
    """Where the block ends: the next line that stands no deeper, unless a string is open there."""
    pattern = _outside(len(head[1]))
    place = head.end()
    while (found := pattern.search(text, place, end)) is not None:
        place = found.start() + 1
        if not _is_open(text[head.start() : place]):
            return place
    return end


def _is_open(cut: str) -> bool:
    """True if a triple-quoted string begins in the text and does not end in it."""
    return any(cut.count(mark) % 2 for mark in _QUOTES)
