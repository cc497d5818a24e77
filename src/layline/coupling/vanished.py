"""Attributes that our copy of an upstream function still reads and that no code of upstream names any more.

Whose attribute it is need not be known: upstream's own body read it at the pin, code of upstream set it there, and at
the tip the word is gone from the whole package.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Container, Iterator
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.ours import is_test_module
from layline.core.why import Reason, Why
from layline.coupling.row_parts import LostRead
from layline.coupling.surroundings import find_chains, find_imports
from layline.errors import GitError
from layline.git import Blob
from layline.source.parsing import parse_tree
from layline.source.seen import Asked, Read, say_name
from layline.source.usage import mentions
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.change.compare import Comparer, Comparison
    from layline.coupling.replacements import Replacement
    from layline.coupling.version_guards import Running
    from layline.source import Symbol
    from layline.source.resolve import Resolver


class Vanished:
    """Answers for one pair of refs; upstream's files are read once, when the first word is asked for."""

    def __init__(self, comparer: Comparer) -> None:
        self._sides = comparer.pin, comparer.tip
        self._texts: dict[int, list[tuple[str, bytes]]] = {}
        self._named: dict[tuple[int, str], tuple[bool, Collection[Read]]] = {}
        self._owners: dict[str, str | None] = {}
        self._removals: dict[str, str | None] = {}

    def find(self, comparison: Comparison, ours: Replacement, known: Container[str | None]) -> Iterator[LostRead]:
        """Each such attribute once, by the first line of ours that reads it without asking; not those `known`."""
        if ours.tree is None or not comparison.body_changed:
            return
        then, now = (
            _find_words(*pair) for pair in zip(self._sides, (comparison.before, comparison.after), strict=True)
        )
        told = set[str]()
        for line, text, word in _find_reads(ours, then - now) if then - now else ():
            owner = self._find_owner(word) if word not in told and word not in known else None
            if owner is not None:
                told.add(word)
                why = Why(Reason.READS_VANISHED, text, owner.partition(".")[0])
                yield LostRead(line=line, why=why, certain=True, name=owner, attribute=word)

    def find_outlived(self, ours: Replacement, running: Running) -> Iterator[LostRead]:
        """Methods that our replacement calls where the version is the tip's and not the pin's, and that neither has:
        upstream had them in between.
        """
        for call, word in _find_branched(ours):
            then, now = running.decide(Location(ours.location.path, call.lineno), word)
            if then.holds is not False or now.holds is not True or any(self._names(side, word) for side in (0, 1)):
                continue
            since = self._find_removal(word)
            if since is not None:
                why = Why(Reason.READS_VANISHED, ast.unparse(call.func), self._package)
                yield LostRead(line=call.lineno, why=why, certain=True, name=why.other, attribute=word, since=since)

    @property
    def _package(self) -> str:
        return next(iter(self._sides[1].index.parts[0].packages), "upstream")

    def _names(self, side: int, word: str) -> bool:
        return self._sides[1].index.seen.remember(self._named, (side, word), lambda: self._search(side, word))

    def _search(self, side: int, word: str) -> bool:
        """One module that names the word decides, as long as it does; without one, all of them do."""
        seen, plain = self._sides[side].index.seen, word.encode()
        for name, data in self._read(side):
            if plain in data and mentions(data, word):
                seen.add(Asked.MENTION, say_name(name, word))
                return True
        seen.add(Asked.WORD, word)
        return False

    def _find_removal(self, word: str) -> str | None:
        """The last commit between pin and tip that took away a function of this name; None where there was none."""
        if word not in self._removals:
            then, now = (side.index.parts[0].tree for side in self._sides)
            how = ("log", "-1", "--first-parent", "-m", "--format=%H", f"-Sdef {word}(")
            try:
                out = now.repository.git(*how, f"{then.commit}..{now.commit}", "--", "*.py").decode().split()
            except GitError:  # a clone that lacks objects in between
                out = []
            self._removals[word] = next(iter(out), None)
        return self._removals[word]

    def _find_owner(self, word: str) -> str | None:
        """The class of the pin that has the attribute, of a word that is gone from all code of the tip."""
        gone = not self._names(1, word)
        if word not in self._owners:
            holding = (f"{name}.{owner}" for name, data in self._read(0) for owner in find_setting(data, word))
            self._owners[word] = next(holding, None) if gone else None
        return self._owners[word]

    def _read(self, side: int) -> list[tuple[str, bytes]]:
        """The modules of the upstream itself, without its tests."""
        if side not in self._texts:
            index = self._sides[side].index
            names = {
                one.blob: one.name for one in index.every.values() if one.part == 0 and not is_test_module(one.name)
            }
            streamed = index.parts[0].tree.repository.stream_blobs(names)
            found = [(names[blob.oid], blob.data) for blob in streamed if isinstance(blob, Blob)]
            self._texts[side] = sorted(found)
        return self._texts[side]


def _find_reads(ours: Replacement, words: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """Lines of our replacement that read such an attribute without asking, with the spelling and the word; not of
    modules, nor what code of ours has set by then.
    """
    tree = ours.tree or ast.Module([], [])
    imports, last = find_imports(tree, ours.node), ours.node.end_lineno or ours.node.lineno
    set_ = {(one.attr, one.lineno) for one in walk(tree) if isinstance(one, ast.Attribute) and _is_set(one)}
    defined = {one.name for one in walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    for chain in sorted(find_chains(ours.node), key=lambda one: one.line):
        if chain.guarded or chain.words[0] in imports:
            continue
        for number, word in enumerate(chain.words[1:], 1):
            # what the same function sets later is not there yet
            given = any(name == word and not chain.line < line <= last for name, line in set_)
            if word in words - defined and not given:
                yield chain.line, ".".join(chain.words[: number + 1]), word


def _find_branched(ours: Replacement) -> Iterator[tuple[ast.Call, str]]:
    """Methods of values that our replacement calls in a branch, with their names; not those that our file defines."""
    tree = ours.tree or ast.Module([], [])
    imports = find_imports(tree, ours.node)
    own = {one.name for one in walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    branches = [one for one in walk(ours.node) if isinstance(one, ast.If)]
    inside = [one for branch in branches for statement in (*branch.body, *branch.orelse) for one in walk(statement)]
    for one in {id(one): one for one in inside}.values():  # branches stand in branches
        match one:
            case ast.Call(func=ast.Attribute(attr=word) as func) if word not in own:
                root = next((item.id for item in walk(func) if isinstance(item, ast.Name)), "")
                if root not in imports:
                    yield one, word


def _find_words(side: Resolver, symbol: Symbol) -> frozenset[str]:
    """Attributes that the body of a function names."""
    if symbol.definition is None or symbol.module is None:
        return frozenset()
    node = side.index.read_node(symbol.module, symbol.definition)
    return (
        frozenset(one.attr for one in walk(node) if isinstance(one, ast.Attribute)) if node is not None else frozenset()
    )


def find_setting(data: bytes, word: str) -> Iterator[str]:
    """Classes of a file that define the attribute or set it on their objects."""
    tree = parse_tree("", data) if word.encode() in data else None
    for node in walk(tree) if isinstance(tree, ast.Module) else ():
        if isinstance(node, ast.ClassDef) and any(_defines(one, word) for one in walk(node)):
            yield node.name


def _defines(node: ast.AST, word: str) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return name == word
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return name == word
    return False


def _is_set(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store)
