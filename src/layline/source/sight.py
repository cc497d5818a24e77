"""What each file of a downstream can see of the others, by its imports: what a judgement about one of its lines depends
on.

By name (`source.sighted`): a function that nothing in sight mentions may change. Wider than `interpreter.reach`, which
follows what runs: imports for types count, and what the packages around a module do when they are loaded. A module that
appears where a name led nowhere changes it too.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from layline.core.weak import weakly
from layline.source.facts import ImportLine, decode_imports, list_handed, read_rows
from layline.source.handed import BUILT
from layline.source.names import module_name
from layline.source.sighted import Sighted, find_paths

if TYPE_CHECKING:
    from layline.source.cache import Cache
    from layline.source.tree import Tree


@dataclass(frozen=True, slots=True)
class Look:
    """What one file says about others."""

    imports: tuple[ImportLine, ...] = ()
    texts: tuple[str, ...] = ()
    """Names that are imported by text."""
    given: tuple[str, ...] = ()
    """Dotted texts that are given to calls."""
    classes: tuple[str, ...] = ()
    handed: frozenset[str] = frozenset()
    parts: dict[str, Any] | None = None
    words: str = ""
    """Every name, attribute and keyword, with a space on both sides of each."""
    called: str = ""
    """Last names of what is called, in the same way."""


class Sight:
    """Digests over the import graph of one commit."""

    def __init__(self, tree: Tree, roots: tuple[str, ...], cache: Cache | None = None) -> None:
        self._tree = tree
        self._cache = cache
        self.paths = tuple(path for path in tree.paths(suffix=".py") if not is_tested(path))
        """Every Python file, tests apart."""
        self.names: dict[str, list[str]] = {}
        """Dotted name → the files that may be meant."""
        for path in tree.paths(suffix=".py"):
            for name in {module_name(path, (root,)) for root in ("", *roots)} - {None}:
                self.names.setdefault(str(name), []).append(path)
        self._looks: dict[str, Look] = {}
        self._next: dict[str, frozenset[str]] = {}
        self._around: dict[str, frozenset[str]] = {}
        self._digests: dict[frozenset[str], str] = {}
        self._loading: dict[str, bytes] = {}
        self._sighted = Sighted(
            weakly(self._find_parts), weakly(self._lead), weakly(self._find_loaded), weakly(self.find_blob)
        )

    def see(self, starts: Iterable[str], *, loaded: bool = False) -> frozenset[str]:
        """These files, all that they import, all that those import, and so on; with `loaded` also the packages around
        each, which are loaded before it, with what they import.
        """
        seen = {path for path in starts if path in self._tree.entries}
        waiting = sorted(seen)
        while waiting:
            self._read(waiting)
            fresh = {found for path in waiting for found in self._find_next(path)}
            fresh |= {found for path in waiting if loaded for found in self._find_around(path)}
            fresh -= seen
            seen |= fresh
            waiting = sorted(fresh)
        return frozenset(seen)

    def digest(self, starts: Iterable[str]) -> str:
        """Of everything that can be read from these files by following names."""
        asked = frozenset(path for path in starts if path in self._tree.entries)
        if asked not in self._digests:
            self._read(self.paths)  # ahead, and together
            self._digests[asked] = self._sighted.digest(asked)
        return self._digests[asked]

    def digest_loading(self, starts: Iterable[str]) -> str:
        """Of what these files, all that they import and the packages around these import, line by line."""
        found = hashlib.sha256()
        for path in sorted(self.see(starts, loaded=True)):
            found.update(self._tell_loading(path))
        return found.hexdigest()

    def _tell_loading(self, path: str) -> bytes:
        if path not in self._loading:
            look = self._looks[path]
            runs = look.parts["s"][0] if look.parts is not None else self.find_blob(path)
            told = repr([path, runs, look.imports, look.texts, self._find_loaded(path)])
            self._loading[path] = hashlib.sha256(told.encode("utf-8", "surrogatepass")).digest()
        return self._loading[path]

    def find_told(self, plain: object) -> dict[str, str]:
        """Files of ours of which a plain value tells lines, each with what stands for its text."""
        paths = sorted({path for path in find_paths(plain) if path in self._tree.entries})
        return {path: self.find_blob(path) for path in paths}

    def stays(self, told: dict[str, str]) -> bool:
        """Whether none of these files has changed, so that lines of theirs are where they were."""
        return all(self.find_blob(path) == blob for path, blob in told.items())

    def _find_parts(self, path: str) -> dict[str, Any] | None:
        self._read([path])
        return self._looks[path].parts

    def _lead(self, path: str, level: int, name: str) -> list[str]:
        return self._find(path, "." * level + name)

    def _find_loaded(self, path: str) -> list[tuple[str, str]]:
        """Where the imports of a file lead, and what the packages around it do when they are loaded."""
        self._read([path, *self._find_around(path)])
        names = dict.fromkeys(_find_names(self._looks[path]))
        found = [(name, there) for name in names for there in self._find(path, name)]
        around = ((init, self._looks[init].parts) for init in sorted(self._find_around(path)))
        return [*found, *((f"{init} {parts['s'][0] if parts else self.find_blob(init)}", "") for init, parts in around)]

    def find_handed(self, path: str) -> list[str]:
        """Those classes of a file that some file, tests apart, builds or hands on, and by which keywords."""
        self._read([path])
        return sorted(name for own in set(self._looks[path].classes) for name in self._handed.get(own, ()))

    def see_built(self, starts: Iterable[str]) -> frozenset[str]:
        """What these files see, and what the files see that build their classes."""
        listed = list(starts)
        return self.see((*listed, *(one for path in listed for one in self.find_builders(path))))

    def find_naming(self, word: str, paths: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Those of these files whose code has a name, and whether they call something by it."""
        listed, spaced = list(paths), f" {word} "
        self._read(listed)
        for path, look in ((path, self._looks[path]) for path in listed):
            if spaced in look.words:
                yield path, spaced in look.called

    def find_builders(self, path: str) -> list[str]:
        """Files, tests apart, that build a class of this file by its name."""
        self._read([path])
        return sorted({one for own in set(self._looks[path].classes) for one in self._builders.get(own, ())})

    @cached_property
    def _builders(self) -> dict[str, set[str]]:
        """Class → the files that build it."""
        self._read(self.paths)
        found: dict[str, set[str]] = {}
        for path, name in ((one, name) for one in self.paths for name in self._looks[one].handed):
            slot, _, own = name.partition("=")
            if slot == BUILT:
                found.setdefault(own, set()).add(path)
        return found

    @cached_property
    def _handed(self) -> dict[str, frozenset[str]]:
        """Class → how it is handed on."""
        self._read(self.paths)
        found: dict[str, set[str]] = {}
        for name in (name for path in self.paths for name in self._looks[path].handed):
            found.setdefault(name.rpartition("=")[2], set()).add(name)
        return {own: frozenset(names) for own, names in found.items()}

    @cached_property
    def named(self) -> frozenset[str]:
        """What some file, tests apart, imports or gives as dotted text to a call."""
        self._read(self.paths)
        looks = [self._looks[path] for path in self.paths]
        given = (text.removesuffix(".py").replace(":", ".") for look in looks for text in look.given)
        return frozenset((*given, *(name for look in looks for name in _find_names(look))))

    def _find_next(self, path: str) -> frozenset[str]:
        if path not in self._next:
            names = set(_find_names(self._looks[path]))
            self._next[path] = frozenset(there for name in names for there in self._find(path, name))
        return self._next[path]

    def _find_around(self, path: str) -> frozenset[str]:
        """The `__init__.py` of each folder around a file."""
        if path not in self._around:
            inits = (f"{folder}/__init__.py" for folder in _find_folders(path))
            self._around[path] = frozenset(one for one in inits if one in self._tree.entries)
        return self._around[path]

    def _find(self, path: str, name: str) -> list[str]:
        """The files that a name may mean; a relative one counts from the folder of the file."""
        bare = name.lstrip(".")
        if bare == name:
            return self.names.get(name, [])
        folder = path
        for _ in range(len(name) - len(bare)):
            folder = posixpath.dirname(folder)
        place = posixpath.join(folder, bare.replace(".", "/")) if bare else folder
        return [one for one in (f"{place}.py", f"{place}/__init__.py") if one in self._tree.entries]

    def find_blob(self, path: str) -> str:
        """What stands for the text of a file; nothing where there is none."""
        entry = self._tree.find(path)
        return entry.oid if entry is not None else ""

    def _read(self, paths: Iterable[str]) -> None:
        oids = {path: self.find_blob(path) for path in paths if path not in self._looks}
        if not oids:
            return
        texts = read_rows(self._tree, oids.values(), self._cache)
        self._looks.update({path: _decode(texts.get(oid, '""')) for path, oid in oids.items()})


def is_tested(path: str) -> bool:
    """True of files in folders of tests: what they touch is not counted."""
    return path.startswith(("tests/", "test/")) or "/tests/" in path


def _decode(text: str) -> Look:
    plain = json.loads(text)
    if isinstance(plain, str):
        return Look()
    return Look(
        imports=decode_imports([*plain["i"], *plain["y"]]),
        texts=tuple(text for _, text in plain["t"]),
        given=tuple(text for _, text in plain["s"]),
        classes=tuple(name for name, _ in plain["b"]),
        handed=frozenset(list_handed(plain)),
        parts=plain["d"],
        words=f" {plain['n']} ",
        called=f" {' '.join(name for name, _ in plain['c'])} ",
    )


def _find_names(look: Look) -> Iterator[str]:
    """Dotted names that a file looks for, relative ones with their dots."""
    for item in look.imports:
        root = "." * item.level + item.module
        if item.alias:
            parts = item.module.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
            continue
        yield root
        yield from (f"{root}{'' if root.endswith('.') else '.'}{name}" for name, _ in item.names)
    yield from (text.replace(":", ".") for text in look.texts)


def _find_folders(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
