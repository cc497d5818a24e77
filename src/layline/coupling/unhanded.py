"""Classes of ours that nothing names, or only a spec which nobody asks for: what upstream would pass them, it never
does.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.model import Coupling, State, Touch
from layline.interpreter.line_tests import find_chain
from layline.interpreter.modules import read_texts
from layline.source.parsing import parse_tree
from layline.source.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.source import Tree


SETTINGS = (".yaml", ".yml", ".json", ".toml", ".cfg", ".ini")


def doubt_unhanded(couplings: Iterable[Coupling], ours: Tree) -> Iterator[Coupling]:
    """The same places; of overrides that fit neither ref, or may not, the lines of classes that no code of ours hands
    over are a place of their own, which fails nowhere.
    """
    listed = list(couplings)
    texts = dict(read_texts(ours)) if any(_fails(one) for one in listed) else {}
    files = _Files(texts, ours)
    for one in listed:
        if not _fails(one):
            yield one
            continue
        idle = {line: files.find_idle(one.location.path, line) for line in (one.location.line, *one.lines)}
        for makers in dict.fromkeys(idle.values()):
            lines = [line for line, found in idle.items() if found == makers]
            place = replace(one, location=Location(one.location.path, lines[0]), lines=tuple(lines[1:]))
            yield place if makers is None else _doubt(place, makers)


def _doubt(place: Coupling, makers: tuple[str, ...]) -> Coupling:
    why = Why(Reason.NOT_HANDED, names=makers) if makers else Why(Reason.NOT_NAMED)
    told = [one for one in place.why if one.reason is not Reason.MAYBE_PASSED]
    return replace(place, state=State.CANNOT_ACCEPT, why=(why, *told))


def _fails(one: Coupling) -> bool:
    may = one.state is State.CANNOT_ACCEPT and any(why.reason is Reason.MAYBE_PASSED for why in one.why)
    return one.touch is Touch.OVERRIDE and (one.state is State.NEVER_FITTED or may)


class _Files:
    """Our files, parsed where a word stands in them."""

    def __init__(self, texts: dict[str, bytes], ours: Tree) -> None:
        self._texts = texts
        self._ours = ours
        self._trees: dict[str, ast.Module | None] = {}

    def find_idle(self, path: str, line: int) -> tuple[str, ...] | None:
        """The functions that alone name the class around a line, where nothing names any of them; None where something
        hands the class over.
        """
        tree = self._parse(path)
        chain = find_chain(tree.body, line) if tree is not None else []
        if not chain or not isinstance(chain[0], ast.ClassDef) or chain[0].decorator_list or chain[0].keywords:
            return None
        makers: dict[tuple[str, str], None] = {}
        for there, node in self._find_named(chain[0].name):
            body = self._trees[there]
            around = find_chain(body.body, node.lineno) if body is not None else []
            if around[:1] == chain[:1]:
                continue  # the class itself
            if not around or not isinstance(around[0], ast.FunctionDef | ast.AsyncFunctionDef):
                return None
            makers[there, around[0].name] = None
        asked = any(self._is_asked_for(there, name) for there, name in makers)
        if asked or (not makers and self._is_offered(chain[0].name)):
            return None
        return tuple(name for _, name in makers)

    def _is_offered(self, word: str) -> bool:
        """Whether a file of settings has a word (`_target_: own.layers.Live`), or another file of ours imports it."""
        trees = (self._parse(path) for path, data in self._texts.items() if word.encode() in data)
        imports = (
            node for tree in trees if tree is not None for node in walk(tree) if isinstance(node, ast.ImportFrom)
        )
        if any(one.name == word for node in imports for one in node.names):
            return True
        return any(word.encode() in data for data in self._settings.values())

    @cached_property
    def _settings(self) -> dict[str, bytes]:
        return dict(read_texts(self._ours, [path for path in self._ours.paths() if path.endswith(SETTINGS)]))

    def _is_asked_for(self, path: str, function: str) -> bool:
        """Whether anything outside a function names it."""
        for there, node in self._find_named(function):
            tree = self._trees[there]
            chain = find_chain(tree.body, node.lineno) if tree is not None else []
            if there != path or not chain or getattr(chain[0], "name", "") != function:
                return True
        return False

    def _find_named(self, word: str) -> Iterator[tuple[str, ast.expr]]:
        """Where code names it, an import under another name, or a text of that word."""
        for path, data in self._texts.items():
            tree = self._parse(path) if word.encode() in data else None
            for node in walk(tree) if tree is not None else ():
                match node:
                    case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=name) if name == word:
                        yield path, node
                    case ast.ImportFrom(names=names) if any(one.name == word and one.asname for one in names):
                        yield path, ast.Name(word, lineno=node.lineno)

    def _parse(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            found = parse_tree(path, self._texts[path]) if path in self._texts else None
            self._trees[path] = found if isinstance(found, ast.Module) else None
        return self._trees[path]
