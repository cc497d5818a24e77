"""Keys of our configuration files that upstream calls otherwise now: found by what its own code did with them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from layline.core.evidence import Location

_ALIKE = 0.5
_FEW = 2
"""Statements that must speak of a key: where it is declared, and where it is used."""
_MARK = "§"


@dataclass(frozen=True, slots=True)
class RenamedKey:
    """One key, as it was and as it is, with the places where our files say it."""

    old: str
    new: str
    places: tuple[Location, ...]


def find_new_key(old: str, new: Set[str], files: Iterable[tuple[str, str]]) -> str | None:
    """The one new key that upstream's statements speak of as they spoke of the old one; None where nobody can say.

    `files`: upstream's files before and after the commit that took the old key away.
    """
    pairs = [(before, after) for before, after in files if old in before or _dash(old) in before]
    then = Counter(line for before, _ in pairs for line in _find_statements(before, old))
    if then.total() < _FEW or any(_find_statements_of(after, old) for _, after in pairs):
        return None
    shares = {
        key: (then & Counter(line for _, after in pairs for line in _find_statements(after, key))).total()
        for key in new
        if any(key in after or _dash(key) in after for _, after in pairs)
    }
    ranked = sorted(shares, key=lambda key: (-shares[key], key))
    if not ranked or shares[ranked[0]] < _ALIKE * then.total():
        return None
    return ranked[0] if len(ranked) == 1 or shares[ranked[1]] < shares[ranked[0]] / 2 else None


def _find_statements_of(text: str, key: str) -> bool:
    return next(_find_statements(text, key), None) is not None


def _find_statements(text: str, key: str) -> Iterator[str]:
    """Statements that speak of a key, the key masked, however it is spelled: as a name, an attribute, a flag."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        for part in _find_parts(node):
            spelled = ast.unparse(part)
            masked = " ".join(_MARK if word in {key, _dash(key)} else word for word in _split(spelled))
            if _MARK in masked:
                yield masked


def _find_parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While():
            yield node.test
        case ast.For(iter=head):
            yield head
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Return() | ast.Assert():
            yield node


def _split(text: str) -> Iterator[str]:
    word = ""
    for letter in text:
        if letter.isalnum() or letter in "_-":
            word += letter
            continue
        if word:
            yield word.lstrip("-") or word
        if not letter.isspace():
            yield letter
        word = ""
    if word:
        yield word.lstrip("-") or word


def _dash(key: str) -> str:
    return key.replace("_", "-")


def rename_keys(text: str, lines: Iterable[int], old: str, new: str) -> str | None:
    """The file with the key under its new name on these lines; None where one of them does not begin with it."""
    found = text.split("\n")
    for line in lines:
        content = found[line - 1].lstrip(" -") if 0 < line <= len(found) else ""
        if not content.startswith(f"{old}:"):
            return None
        head = found[line - 1][: len(found[line - 1]) - len(content)]
        found[line - 1] = f"{head}{new}{content[len(old) :]}"
    return "\n".join(found)


def is_renamed(key: RenamedKey, before: Mapping[str, list[Location]], after: Mapping[str, list[Location]]) -> bool:
    """Read again, the files hold the new key where they held the old one, and all others as before."""
    last = (key.old.rpartition(".")[2], key.new.rpartition(".")[2])
    moved = {place for name, places in after.items() for place in places if name == last[1]}
    others = {name for name in before if name.rpartition(".")[2] != last[0]}
    return set(key.places) <= moved and last[0] not in after and others <= after.keys()
