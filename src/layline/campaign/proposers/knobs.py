"""Declared knobs of a kernel: numbers whose line lists the values they may take. Pure.

#define ROWS 6   /* knob: 4 6 8 */
BLOCK_M = 64     # knob: 32 64 128
WARPS = 4        # knob: 2 4 8 (forward)         only that pass depends on it
"""

from __future__ import annotations

import hashlib
import io
import itertools
import random
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_C = re.compile(
    r"^(?P<head>\s*#\s*define\s+(?P<name>\w+)\s+)(?P<value>-?\d+)(?P<tail>\s*(?:/\*|//)\s*knob:\s*(?P<values>[-\d ]+)(?:\((?P<step>\w+)\))?.*)$",
    re.MULTILINE,
)
_PYTHON = re.compile(
    r"^(?P<head>\s*(?P<name>[A-Za-z_]\w*)\s*=\s*)(?P<value>-?\d+)(?P<tail>\s*#\s*knob:\s*(?P<values>[-\d ]+)(?:\((?P<step>\w+)\))?.*)$",
    re.MULTILINE,
)


C_LIKE = (".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".cuh", ".hip")


@dataclass(frozen=True, slots=True)
class Knob:
    name: str
    value: int
    values: tuple[int, ...]
    step: str = ""
    """The one pass that depends on it, where the line names one."""


def find_knobs(text: str) -> Iterator[Knob]:
    """Every declared knob, in order."""
    for pattern in (_C, _PYTHON):
        for found in pattern.finditer(text):
            values = tuple(dict.fromkeys(int(word) for word in found["values"].split()))
            yield Knob(found["name"], int(found["value"]), values, found["step"] or "")


def set_knobs(text: str, setting: Mapping[str, int]) -> str:
    """The text with its knobs turned."""

    def turn(found: re.Match[str]) -> str:
        value = setting.get(found["name"])
        return found[0] if value is None else f"{found['head']}{value}{found['tail']}"

    for pattern in (_C, _PYTHON):
        text = pattern.sub(turn, text)
    return text


def choose_settings(knobs: tuple[Knob, ...], count: int, seed: int) -> list[dict[str, int]]:
    """At most `count` settings: today's, every one-knob neighbour of it, then random ones; the same for the same
    seed.
    """
    today = {knob.name: knob.value for knob in knobs}
    near = [{**today, knob.name: value} for knob in knobs for value in knob.values if value != knob.value]
    total = 1
    for knob in knobs:
        total *= len(knob.values)
    rng = random.Random(seed)  # noqa: S311  which settings are looked at is no secret
    if total <= count:
        everything = itertools.product(*(knob.values for knob in knobs))
        rest = [dict(zip(today, values, strict=True)) for values in everything]
    else:
        rest = [{knob.name: rng.choice(knob.values) for knob in knobs} for _ in range(4 * count)]
        rng.shuffle(near)
        near = near[: count // 2]
    unique = {tuple(setting.items()): setting for setting in (today, *near, *rest)}
    return list(unique.values())[:count]


def fingerprint_source(path: str, text: str) -> str:
    """The same for sources that differ only in comments, spacing and blank lines; other languages count byte by
    byte.
    """
    if path.endswith(".py"):
        words = _python_words(text)
    elif not path.endswith(C_LIKE):
        words = [text]
    else:
        bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
        words = re.findall(r"\w+|[^\w\s]", bare)
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def _python_words(text: str) -> list[str]:
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING}
    try:
        return [
            token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in skip
        ]
    except (tokenize.TokenError, IndentationError):
        return text.split()
