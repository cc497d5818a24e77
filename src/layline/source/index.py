"""The symbol index of whole refs: every Python module of one or several trees, read once, decoded when asked for."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from layline.core.evidence import Evidence, Location, Skipped
from layline.core.progress import Progress, count, silent
from layline.core.weak import weakly
from layline.errors import MissingObject
from layline.git import Blob
from layline.source.cache import Cache, cache_directory
from layline.source.decoded import Decoded
from layline.source.definitions import Definition, Module
from layline.source.memos import Answers
from layline.source.names import is_package, is_within, longest_root, module_name, parents, script_name
from layline.source.parsing import ANALYSER, parse_tree
from layline.source.seen import Asked, Noting, Seen, SeenEntries, SeenNames, say_name
from layline.source.tree import Tree
from layline.source.workers import encode_blobs

T = TypeVar("T")
USES = "uses"
"""Asked of a blob: all that its code names."""
_WATCHED = 256
"""Modules whose reads are noted, held with what was noted of them last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One repository's share of an index: its tree, where module names begin, and the packages it owns."""

    tree: Tree
    source_roots: tuple[str, ...] = (".", "src")
    packages: tuple[str, ...] = ()
    """Dotted roots (`megatron.core`); where two parts hold the same module, the longer root wins."""
    under: tuple[str, ...] = ()
    """Only these folders of the tree; empty: all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleEntry:
    """One importable file of the index."""

    name: str
    path: str
    blob: str
    part: int
    """Which part of the index it came from."""
    is_package: bool


class Index:
    """Modules by dotted name. `resolve` (in `layline.source.resolve`) follows names through it."""

    def __init__(
        self,
        parts: Sequence[Part],
        entries: Iterable[ModuleEntry],
        texts: dict[str, str],
        decoded: Decoded | None = None,
    ) -> None:
        """`texts` are encoded modules by blob; indexes that share them may share what was `decoded` of them, too."""
        self.parts = tuple(parts)
        self.entries: dict[str, ModuleEntry] = {}
        for entry in entries:
            held = self.entries.get(entry.name)
            if held is None or self._rank(entry) > self._rank(held):
                self.entries[entry.name] = entry
        self._texts = texts
        self._decoded = decoded or Decoded()
        self.namespaces = frozenset(above for name in self.entries for above in parents(name))
        """Dotted names that something stands below: packages, with or without `__init__.py`."""
        self.every: Mapping[str, ModuleEntry] = self.entries
        """The same entries, for searches that note themselves what they look for."""
        self.seen = Seen()
        self._watch: Callable[[str, Module], Module] | None = None
        from layline.source.packed import PackedTexts  # a kept answer does not pay for it

        self.packed = PackedTexts()
        """Texts of modules that were searched, by blob; indexes that share files may share them."""
        self.answers = Answers()
        """What is found in single modules; who keeps it for the next commit gives another."""
        self._blobs = lru_cache(maxsize=256)(weakly(self._read_blob))
        self._lines = lru_cache(maxsize=16)(weakly(self._split_blob))
        self._nodes = lru_cache(maxsize=32)(weakly(self._parse_lines))
        """One row asks again and again for the same few definitions."""

    def share(self, blobs: Iterable[str]) -> tuple[dict[str, str], Decoded]:
        """What is known of blobs, and what of it was decoded, for another index of the same files."""
        return {blob: self._texts[blob] for blob in blobs if blob in self._texts}, self._decoded

    def watch(self) -> None:
        """From here on note what is read (`seen`)."""
        seen = self.seen = Noting()
        from layline.source.named import SeenModule  # as above

        self._watch = lru_cache(maxsize=_WATCHED)(lambda name, found: SeenModule(name, found, seen))
        self.entries = SeenEntries(self.entries, seen)
        names = SeenNames(self.namespaces)
        names.seen = seen
        self.namespaces = names

    def read_all(self, words: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Every module whose text holds one of the words, with its blob; where one is missing, nothing. Asked again, no
        repository is.
        """
        plain = [word.encode() for word in words]
        names = self._name_blobs()
        self._pack(names[blob][0] for blob in (self.packed.find_unknown(names) if plain else ()))
        holding = [blob for blob in names if self.packed.holds(blob, plain)]
        self._pack(names[blob][0] for blob in holding if blob not in self.packed)
        for blob in holding:
            if blob in self.packed:
                data = self.packed.read(blob)
                yield from ((entry.name, data) for entry in names[blob])

    def _pack(self, entries: Iterable[ModuleEntry]) -> None:
        for found in self.stream_blobs(entries):
            if isinstance(found, Blob):
                self.packed.put(found.oid, found.data)
        self.packed.save()

    def _name_blobs(self) -> dict[str, list[ModuleEntry]]:
        names: dict[str, list[ModuleEntry]] = {}
        for entry in self.every.values():
            names.setdefault(entry.blob, []).append(entry)
        return names

    def stream_blobs(self, entries: Iterable[ModuleEntry]) -> Iterator[Blob | str]:
        """Many at once, in no order; the id alone where one is missing."""
        wanted: dict[int, set[str]] = {}
        for entry in entries:
            wanted.setdefault(entry.part, set()).add(entry.blob)
        for part, blobs in wanted.items():
            yield from self.parts[part].tree.repository.stream_blobs(blobs)

    def read_blob(self, module: str) -> bytes:
        """The bytes of a module."""
        self.seen.add(Asked.MODULE, module)
        return self._blobs(module)

    def peek_blob(self, module: str) -> bytes:
        """The same for who notes himself what he looks for."""
        return self._blobs(module)

    def look(self, module: str, word: str) -> bytes:
        """The same, for who looks only where a word stands, and tells no lines."""
        self.seen.add(Asked.MENTION, say_name(module, word))
        return self._blobs(module)

    def module(self, name: str) -> Module | None:
        """What the module binds; None where there is none or it cannot be read (see `skipped`)."""
        found = self.peek(name)
        if found is None:
            self.seen.add(Asked.MODULE, name)
            return None
        if self._watch is None:
            return found
        self.seen.add(Asked.READABLE, name)
        return self._watch(name, found)

    def peek(self, name: str) -> Module | None:
        """The same for who notes himself what he looks for."""
        entry = self.every.get(name)
        found = self._decode(entry.blob) if entry is not None else None
        return found if isinstance(found, Module) else None

    def peek_known(self, name: str) -> Module | None:
        """The same, and None where nobody has parsed the module yet."""
        entry = self.every.get(name)
        return self.peek(name) if entry is not None and entry.blob in self._texts else None

    def differs(self, module: str, definition: Definition, fingerprint: str, *, implicit: bool = False) -> bool:
        """Whether a definition of a module has another body; an `implicit` one has that of its class."""
        told = definition.fingerprint != fingerprint
        what = say_name(module, definition.owner if implicit else definition.qualname)
        self.seen.add(Asked.BODY, f"{what} {fingerprint}={told}")
        return told

    def ask(self, module: str, question: str, make: Callable[[], T]) -> T:
        """What follows from the text of a module alone, as a plain value; found once for each blob."""
        return self.answers.find(self.every[module].blob, question, make)

    def ask_all(self, question: str, make: Callable[[bytes], T]) -> Iterator[tuple[str, T]]:
        """The same of every module, each with its name; only those are read that nobody has asked before."""
        names = self._name_blobs()
        self.answers.load(names)
        missing = [listed[0] for blob, listed in names.items() if not self.answers.trusts(blob, question)]
        for found in self.stream_blobs(missing):
            if isinstance(found, Blob):
                self.answers.put(found.oid, question, make(found.data))
        for blob, listed in names.items():
            if self.answers.trusts(blob, question):
                yield from ((entry.name, self.answers.get(blob, question)) for entry in listed)

    def ask_node(self, module: str, definition: Definition, question: str, make: Callable[[ast.stmt | None], T]) -> T:
        """The same of the syntax tree of one definition."""
        self._note_text(module, definition)
        named = f"{question} {definition.qualname}:{definition.line}"
        return self.ask(module, named, lambda: make(self.read_node(module, definition)))

    def uses(self, module: str, name: str) -> bool:
        """Whether code of a module, its imports apart, names something."""
        from layline.source.usage import find_words  # as above

        told = name in self.ask(module, USES, lambda: find_words(self._blobs(module)))
        self.seen.add(Asked.USED, f"{say_name(module, name)}={told}")
        return told

    def modules(self) -> Iterator[tuple[ModuleEntry, Module]]:
        """Every readable module, in order of name; all that they say counts as read."""
        self.seen.add(Asked.ALL, "")
        for name in sorted(self.every):
            found = self._decode(self.every[name].blob, hold=False)
            if isinstance(found, Module):
                yield self.every[name], found

    def read_encoded(self) -> Iterator[tuple[str, str]]:
        """Every module with its rows as text, in order of name; who looks for something in them notes it himself."""
        yield from ((name, self._texts[self.every[name].blob]) for name in sorted(self.every))

    def skipped(self, part: int | None = None) -> Iterator[Skipped]:
        """What could not be read, of all parts or of one, and why; in order of path."""
        asked = (entry for entry in self.entries.values() if part in {None, entry.part})
        for entry in sorted(asked, key=lambda entry: (entry.part, entry.path)):
            # a module is a JSON object, the reason why there is none a JSON string: most need not be decoded
            found = self._decode(entry.blob) if self._texts[entry.blob].startswith('"') else None
            if isinstance(found, str):
                yield Skipped.at(entry.path, None, found)

    def owns(self, dotted: str) -> bool:
        """True if the name belongs to the indexed code, whether or not it is there."""
        if dotted in self.entries or dotted in self.namespaces:
            return True
        packages = [package for part in self.parts for package in part.packages]
        if any(is_within(dotted, package) and package not in self.namespaces for package in packages):
            return True  # a package that is not there at all, or one module
        # a folder without `__init__.py` goes on in other repositories (`ns.bridge` beside `ns.core`); a package does
        # not
        return any(above in self.entries for above in parents(dotted))

    def location(self, module: str, line: int) -> Location:
        return Location(self.entries[module].path, line)

    def evidence(self, module: str, lines: tuple[int, int] | None = None) -> Evidence:
        """Where the module, or lines of it, can be read again."""
        entry = self.entries[module]
        tree = self.parts[entry.part].tree
        return Evidence(repo=tree.repository.name, commit=tree.commit, path=entry.path, lines=lines)

    def read_text(self, module: str) -> str:
        """The source of a module; empty where it cannot be read."""
        return self.read_blob(module).decode("utf-8-sig", "replace")

    def read_node(self, module: str, definition: Definition) -> ast.stmt | None:
        """The syntax tree of one definition, parsed from its own lines; nobody changes it."""
        self._note_text(module, definition)
        return self._nodes(module, definition.lines, definition.name, definition.parameters is None)

    def _parse_lines(self, module: str, lines: tuple[int, int], name: str, is_value: bool) -> ast.stmt | None:
        first, last = lines
        cut = "\n".join(self._lines(module)[first - 1 : last])
        # a block may be indented as it likes: under an `if` the lines can be parsed as they stand; empty lines before
        # them
        # cost less than counting every node's line anew
        nested = cut[:1].isspace()
        text = "\n" * (first - 2) + f"if 1:\n{cut}\n" if nested else "\n" * (first - 1) + cut
        tree = parse_tree(module, text.encode("utf-8", "surrogatepass"))
        if isinstance(tree, Skipped):
            return None
        body = tree.body[0].body if nested and tree.body and isinstance(tree.body[0], ast.If) else tree.body
        return next((node for node in body if _binds(node, name, is_value)), None)

    def _split_blob(self, module: str) -> list[str]:
        return self._blobs(module).decode("utf-8-sig", "replace").split("\n")

    def _note_text(self, module: str, definition: Definition) -> None:
        """The lines of a definition are noted by its name, where it stands in the module under it."""
        if self._watch is not None:
            holder = self.peek(module)
            known = holder.find(definition.qualname) if holder is not None else ()
            named = any(one.lines == definition.lines for one in known)
            what = say_name(module, definition.qualname) if named else module
            self.seen.add(Asked.TEXT if named else Asked.MODULE, what)

    def _read_blob(self, module: str) -> bytes:
        entry = self.every[module]
        return self.parts[entry.part].tree.repository.read_blob(entry.blob)

    def _rank(self, entry: ModuleEntry) -> tuple[int, int, bool]:
        """Of two files with one name the owner of the longer package root wins, then the earlier part, then a
        package.
        """
        return longest_root(entry.name, self.parts[entry.part].packages), -entry.part, entry.is_package

    def mentions(self, module: str, word: str) -> bool:
        """True if the word stands in what is known of a module, or, where nobody has read it yet, in its text."""
        self.seen.add(Asked.WORD, word)
        entry = self.every.get(module)
        text = self._texts.get(entry.blob) if entry is not None else None
        if text is not None or entry is None:
            return word in (text or "")
        try:
            return word.encode() in self._blobs(module)
        except MissingObject:
            return False

    def find_version(self, blob: str) -> Module | None:
        """What a blob of the index binds, whatever it is called; None where the index has not read it."""
        found = self._decode(blob) if blob in self._texts else None
        return found if isinstance(found, Module) else None

    def _decode(self, blob: str, *, hold: bool = True) -> Module | str:
        return self._decoded.find(blob, self._texts, hold=hold)


def build_index(parts: Sequence[Part], cache: Cache | None = None, *, workers: int | None = None) -> Index:
    """Index every Python file of the parts; only blobs the cache does not hold are read and parsed."""
    return build_indexes([parts], cache, workers=workers)[0]


def build_indexes(
    wanted: Sequence[Sequence[Part]],
    cache: Cache | None = None,
    *,
    workers: int | None = None,
    progress: Progress = silent,
    beside: Index | None = None,
) -> list[Index]:
    """Several indexes at once: what they share is read once, and all cores work until all is parsed. What is known of
    the files of one that stands `beside` them is not read again.
    """
    entries = [[entry for number, part in enumerate(parts) for entry in find_entries(number, part)] for parts in wanted]
    trees: dict[str, Tree] = {}
    for parts, listed in zip(wanted, entries, strict=True):
        for entry in listed:
            trees.setdefault(entry.blob, parts[entry.part].tree)
    texts, decoded = beside.share(trees) if beside is not None else ({}, Decoded())
    texts |= cache.load(trees.keys() - texts.keys()) if cache is not None else {}
    coming = encode_blobs(_read_missing(trees, texts), workers=workers)
    made = dict(count(coming, "reading files", len(trees.keys() - texts.keys()), progress))
    if cache is not None and made:
        cache.store(made.items())
    texts |= made
    indexes = [Index(parts, listed, texts, decoded) for parts, listed in zip(wanted, entries, strict=True)]
    from layline.source.packed import WORDS, PackedTexts  # as above

    packed = PackedTexts(Cache(cache.file.parent, WORDS) if cache is not None else None)
    for index in indexes:
        index.packed = packed
    return indexes


ABSENT = json.dumps("the object is not in this repository")


def _read_missing(trees: dict[str, Tree], texts: dict[str, str]) -> Iterator[Blob]:
    """Blobs that nobody has parsed yet, each repository streamed once; those that are not here are noted as absent."""
    for repository in dict.fromkeys(tree.repository for tree in trees.values()):
        missing = [blob for blob, tree in trees.items() if tree.repository is repository and blob not in texts]
        for found in repository.stream_blobs(sorted(missing)) if missing else ():
            if isinstance(found, str):
                texts[found] = ABSENT  # a partial clone; not cached, the object may come
            else:
                yield found


def find_entries(number: int, part: Part) -> Iterator[ModuleEntry]:
    for under in part.under or ("",):
        for path in part.tree.paths(under, ".py"):
            name = module_name(path, part.source_roots)
            if name is None and not part.packages:  # a script of ours: nobody imports it, and it uses what it imports
                name = script_name(path, part.source_roots)
            found = part.tree.find(path)
            if name is not None and found is not None:
                yield ModuleEntry(name=name, path=path, blob=found.oid, part=number, is_package=is_package(path))


def _binds(node: ast.stmt, wanted: str, is_value: bool) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name == wanted
        case ast.Assign() | ast.AnnAssign():
            return is_value
    return False


def open_cache(directory: Path | None = None, *, analyser: str = ANALYSER) -> Cache:
    """What an analyser keeps; in Layline's own cache where no folder is named."""
    return Cache(directory if directory is not None else cache_directory(), analyser)
