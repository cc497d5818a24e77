"""Modules that no other module of an index loads: templates that code is made from, scripts, leftovers. They run only
where somebody outside asks for one of them.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from layline.core.evidence import Skipped
from layline.source.index import Index
from layline.source.loads import IMPORTS, WALKS, called_name
from layline.source.names import absolute_name, is_within, parents
from layline.source.parsing import parse_tree
from layline.source.seen import Asked
from layline.source.texts import DOTTED
from layline.source.walking import walk

_LISTS = tuple(word.encode() for word in sorted(IMPORTS | WALKS))
_QUOTED = re.compile(rb"""["'](%s)["']""" % DOTTED.pattern.encode())
_ANY = "*"
"""What an f-string puts between its texts; alone: every module of the package."""


class Loads:
    """Who loads whom in one index, by statement or by text."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._starts: dict[str, frozenset[str]] = {}

    def find_starts(self, module: str) -> frozenset[str]:
        """Those of which somebody outside has to ask for one, itself among them, so that a module is loaded; nothing
        where one that runs anyway loads it.
        """
        if module not in self._starts:
            with self._index.seen.within(set()):
                self._starts[module] = frozenset(self._follow(module)) if module in self._unloaded else frozenset()
        self._index.seen.add(Asked.STARTS, f"{module}={_digest(self._starts[module])}")
        return self._starts[module]

    def stay(self, told: str) -> bool:
        """Whether the starts of a module are those that were noted: `module=digest`."""
        module, _, digest = told.rpartition("=")
        with self._index.seen.within(set()):
            return module in self._index.every and _digest(self.find_starts(module)) == digest

    def _follow(self, module: str) -> set[str]:
        found = {module}
        waiting = [module]
        while waiting:
            name = waiting.pop()
            more = (self._importers.get(name, set()) | self._namers.get(name, set())) - found
            found |= more
            waiting += more
        return found

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """Module → those that import it, on whatever condition."""
        found: dict[str, set[str]] = {}
        for entry, module in self._index.modules():
            for item in module.imports:
                named = absolute_name(entry.name, package=entry.is_package, level=item.level, name=item.module)
                for one in (named, f"{named}.{item.name}") if named is not None else ():
                    found.setdefault(one, set()).add(entry.name)
        return found

    @cached_property
    def _not_imported(self) -> frozenset[str]:
        """Those that nothing imports but others of them; a package is loaded with what is in it."""
        modules = {entry.name for entry in self._index.every.values() if not entry.is_package}
        return _keep_unasked(modules, self._importers)

    @cached_property
    def _unloaded(self) -> frozenset[str]:
        return _keep_unasked(self._not_imported, self._importers, self._namers)

    @cached_property
    def _namers(self) -> dict[str, set[str]]:
        """Of modules that nothing imports: those that name them by text."""
        found: dict[str, set[str]] = {}
        for name, quoted in self._index.ask_all("quoted", _find_quoted):
            for text in self._read_texts(name, quoted):
                for one in self._find_named(name, text):
                    found.setdefault(one, set()).add(name)
        return found

    def _read_texts(self, module: str, quoted: list[str] | None) -> list[str]:
        """Texts of a module that may name modules; only where a plain search finds some is it parsed."""
        if quoted is not None and not any(map(self._find_whole, quoted)):
            return []
        return self._index.ask(module, "named modules", lambda: sorted(set(find_texts(self._index.peek_blob(module)))))

    def _find_named(self, module: str, text: str) -> Iterator[str]:
        """The modules that a text of another one may mean."""
        entry = self._index.every[module]
        package = module if entry.is_package else module.rpartition(".")[0]
        if text == _ANY:
            yield from (one for one in self._not_imported if is_within(one, package))
        elif _ANY in text:
            rest = re.escape(text.removeprefix(_ANY)).replace(re.escape(_ANY), r"\w+")
            pattern = re.compile((r"[\w.]+" if text.startswith(_ANY) else "") + rest)
            yield from (one for one in self._not_imported if pattern.fullmatch(one))
        elif text.startswith("."):
            yield from self._find_whole(f"{package}.{text.lstrip('.')}")
        else:
            yield from self._find_whole(text)

    def _find_whole(self, text: str) -> list[str]:
        """A module, or that of what stands in one."""
        return [one for one in (text, *parents(text)) if one in self._not_imported]


def _find_quoted(data: bytes) -> list[str] | None:
    """Dotted texts in quotes; None where more than these may name modules."""
    if any(word in data for word in _LISTS):
        return None
    return sorted({text.decode().replace(":", ".") for text in _QUOTED.findall(data)})


def _digest(names: Iterable[str]) -> str:
    return hashlib.blake2b("\0".join(sorted(names)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def find_texts(data: bytes) -> Iterator[str]:
    """Dotted texts of a file; where it imports what it works out, also words, relative to its package (`.word`), and
    f-strings with `*` for what they put in.
    """
    tree = parse_tree("", data)
    nodes = [] if isinstance(tree, Skipped) else list(walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    works_out = any(called_name(call) in IMPORTS and not _is_plain(call.args[:1]) for call in calls)
    if any(called_name(call) in WALKS for call in calls):
        yield _ANY
    parts = {id(one) for node in nodes if isinstance(node, ast.JoinedStr) for one in node.values}
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if DOTTED.fullmatch(text) and id(node) not in parts:
                if "." in text.lstrip("."):
                    yield text.replace(":", ".")
                elif works_out:
                    yield f".{text.lstrip('.')}"
            case ast.JoinedStr(values=values) if works_out:
                yield from _find_pattern(values)


def _find_pattern(parts: list[ast.expr]) -> Iterator[str]:
    """An f-string that says in which package a module is, or what it is called."""
    match parts:
        case [ast.Constant(value=str(head)), *_] if "." in head[1:]:
            pass
        case [*_, ast.Constant(value=str(tail))] if tail[:1] == "." and DOTTED.fullmatch(tail):
            pass
        case _:
            return
    yield "".join(str(one.value) if isinstance(one, ast.Constant) else _ANY for one in parts)


def _is_plain(nodes: Iterable[ast.expr]) -> bool:
    return all(isinstance(node, ast.Constant) for node in nodes)


def _keep_unasked(modules: Iterable[str], *asking: dict[str, set[str]]) -> frozenset[str]:
    """Those that nobody asks for but others of them."""
    waiting, found = set(modules), set[str]()
    while more := {
        name for name in waiting - found if not set().union(*(one.get(name, set()) for one in asking)) - found - {name}
    }:
        found |= more
    return frozenset(found)
