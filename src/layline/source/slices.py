"""The text of one definition, cut out of a file without parsing it: history has thousands of versions to look at."""

from __future__ import annotations

import re
import textwrap
from functools import lru_cache

from layline.source.definitions import Definition, Module
from layline.source.parsing import parse_module


def slice_definition(text: str, qualname: str) -> str | None:
    """The lines of every definition or assignment of `qualname`, decorators included; None where there is none.

    Cut by indentation, strings that reach back to the margin minded; where that fails, `read_definition` notices.
    """
    lines: list[str] = text.splitlines()
    spans = [(0, len(lines), -1)]
    for name in qualname.split("."):
        spans = [span for start, end, indent in spans for span in _find_spans(lines, name, (start, end, indent))]
    if not spans:
        return None
    return "\n".join("\n".join(lines[start:end]) for start, end, _ in spans)


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


@lru_cache(maxsize=4096)
def _parse_slice(cut: str, name: str) -> Definition | None:
    module = parse_module("", textwrap.dedent(cut).encode("utf-8", "surrogatepass"))
    return module.best(name) if isinstance(module, Module) else None


@lru_cache(maxsize=1024)
def _pattern(name: str) -> re.Pattern[str]:
    word = re.escape(name)
    return re.compile(rf"(?P<indent>\s*)(?:(?:async\s+)?(?:def|class)\s+{word}\b|{word}\s*(?::[^=]*)?=[^=]|{word}\s*:)")


def _find_spans(lines: list[str], name: str, within: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    start, end, outer = within
    pattern = _pattern(name)
    found: list[tuple[int, int, int]] = []
    for number in range(start, end):
        match = pattern.match(lines[number]) if name in lines[number] else None
        if match is None or len(match["indent"]) <= outer or (found and number < found[-1][1]):
            continue
        indent = len(match["indent"])
        found.append((_with_decorators(lines, number, indent), _end(lines, number, end, indent), indent))
    if outer >= 0 or not found:
        level = min((indent for _, _, indent in found), default=0)
        return [span for span in found if span[2] == level]
    # at module level a definition may stand under `if` or `try`, but not inside another definition
    return [span for span in found if not _is_nested(lines, span)]


def _is_nested(lines: list[str], span: tuple[int, int, int]) -> bool:
    indent = span[2]
    for number in range(span[0] - 1, -1, -1):
        line = lines[number]
        if indent == 0:
            return False
        bare = line.lstrip()
        if bare and len(line) - len(bare) < indent and not bare.startswith(("#", ")", "]", "}")):
            if bare.startswith(("def ", "class ", "async def ")):
                return True
            indent = len(line) - len(bare)
    return False


def _with_decorators(lines: list[str], number: int, indent: int) -> int:
    while number > 0 and lines[number - 1][:indent].strip() == "" and lines[number - 1][indent : indent + 1] == "@":
        number -= 1
    return number


def _end(lines: list[str], number: int, end: int, indent: int) -> int:
    last, quotes = number + 1, _open_quotes(lines[number], "")
    for following in range(number + 1, end):
        line = lines[following]
        bare = line.lstrip()
        inside = quotes or not bare or len(line) - len(bare) > indent or bare[0] in ")]}#"
        if not inside:
            break
        if bare:
            last = following + 1
        quotes = _open_quotes(line, quotes)
    return last


def _open_quotes(line: str, quotes: str) -> str:
    """The triple quotes that are open at the end of the line, given those open at its beginning."""
    if quotes:
        return quotes if line.count(quotes) % 2 == 0 else ""
    for mark in ('"""', "'''"):
        if line.count(mark) % 2:
            return mark
    return ""
