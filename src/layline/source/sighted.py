"""What can be read from a file by following names: of each file in sight what runs when it is loaded, and those of its
functions, classes and assignments that a name leads to.

A digest of it stands for all that a reading of the file may come upon: a function that nobody in sight names may
change. Lines are no part of it (`source.parts`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from layline.source.circles import find_circles
from layline.source.parts import EVERYTHING

Node: TypeAlias = "tuple[str, str]"
"""File and part; its top level (`LOADED`), all of it (`EVERYTHING`), or how a name is imported there (`=name`)."""
LOADED = ""
_PATH = re.compile(r"[^\s:,;()'\"]+\.py\b")


def find_paths(value: object) -> Iterator[str]:
    """Files that a plain value names: it may tell lines of theirs."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        match one:
            case str():
                yield from _PATH.findall(one) if ".py" in one else ()
            case dict():
                waiting += one
                waiting += one.values()
            case list():
                waiting += one


@dataclass(slots=True, eq=False)
class Sighted:
    """Digests over the names of one commit; a part is looked at once, however many lead to it."""

    find_rows: Callable[[str], dict[str, Any] | None]
    """The parts of a file; None where it is no Python that can be read."""
    lead: Callable[[str, int, str], Iterable[str]]
    """From a file, by so many dots and a dotted name: the files that may be meant."""
    find_loaded: Callable[[str], list[tuple[str, str]]]
    """What a file imports, anywhere in it: names and the files they lead to, in order; nothing for a mere folder."""
    find_blob: Callable[[str], str]
    _digests: dict[Node, bytes] = field(default_factory=dict)
    _led: dict[tuple[str, str], tuple[Node, ...]] = field(default_factory=dict)
    _rows: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    _files: dict[tuple[str, int, str], tuple[str, ...]] = field(default_factory=dict)

    def digest(self, paths: Iterable[str]) -> str:
        """Of all that can be read from these files, each of them whole."""
        found = hashlib.sha256()
        for path in sorted(set(paths)):
            found.update(self._digest((path, EVERYTHING)))
        return found.hexdigest()

    def _digest(self, start: Node) -> bytes:
        if start not in self._digests:
            self._follow(start)
        return self._digests[start]

    def _follow(self, start: Node) -> None:
        """Parts that lead to one another have one digest, of their texts and of all they lead to."""
        edges: dict[Node, list[Node]] = {}

        def find_edges(node: Node) -> list[Node]:
            edges[node] = self._find_edges(node)
            return edges[node]

        for circle in find_circles((start,), find_edges, self._digests.__contains__):
            found, members = hashlib.sha256(), set(circle)
            for own in sorted(map(self._tell_own, circle)):
                found.update(own.encode("utf-8", "surrogatepass"))
            for below in sorted({self._digests[item] for one in circle for item in edges[one] if item not in members}):
                found.update(below)
            self._digests.update(dict.fromkeys(circle, found.digest()))

    def _find_rows(self, path: str) -> dict[str, Any] | None:
        if path not in self._rows:
            self._rows[path] = self.find_rows(path)
        return self._rows[path]

    def _lead(self, path: str, level: int, name: str) -> tuple[str, ...]:
        asked = path if level else "", level, name
        if asked not in self._files:
            self._files[asked] = tuple(self.lead(path, level, name))
        return self._files[asked]

    def _tell_own(self, node: Node) -> str:
        path, part = node
        rows = self._find_rows(path)
        if rows is None or part == EVERYTHING:
            return f"{path}\0{part}\0{self.find_blob(path)}\0"
        if part == LOADED:
            return f"{path}\0{rows['s'][0]}\0{self.find_loaded(path)}\0"
        if part.startswith("="):
            return f"{path}\0{part}\0{rows['m'][part[1:]]}\0"
        return f"{path}\0{part}\0{rows['p'][part][0]}\0"

    def _find_edges(self, node: Node) -> list[Node]:
        path, part = node
        rows = self._find_rows(path)
        if rows is None or part.startswith("="):
            return []
        if part == EVERYTHING:
            return [(path, LOADED), *((path, name) for name in rows["p"])]
        if part == LOADED:
            return list(dict.fromkeys(self._find_run(path, rows)))
        _, chains, taken = rows["p"][part]
        return list(dict.fromkeys([(path, LOADED), *self._resolve_all(path, chains, taken)]))

    def _find_run(self, path: str, rows: dict[str, Any]) -> Iterator[Node]:
        """What loading a file comes upon: its own statements, decorators and defaults, and all that it imports anywhere."""
        yield from ((there, LOADED) for _, there in self.find_loaded(path) if there)
        yield from self._resolve_all(path, rows["s"][1], rows["s"][2])
        for chains in rows["h"].values():
            yield from self._resolve_all(path, chains, ())
        for name, chains in rows["g"].items():
            led = list(self._resolve_all(path, chains, ()))
            yield from led
            if any(not part.startswith("=") for _, part in led):  # something of ours is handed it
                yield path, name
        for module, level, _ in rows["m"].get("*", ()):
            yield from ((there, EVERYTHING) for there in self._lead(path, level, module))

    def _resolve_all(self, path: str, chains: Iterable[str], taken: Iterable[list[Any]]) -> Iterator[Node]:
        own: dict[str, list[list[Any]]] = {}
        for alias, *target in taken:
            own.setdefault(alias, []).append(target)
            if alias == "*":
                yield from ((there, EVERYTHING) for there in self._lead(path, target[1], target[0]))
        for chain in chains:
            if chain == EVERYTHING:
                yield path, EVERYTHING
                continue
            root, *rest = chain.split(".")
            for target in own.get(root, ()):
                yield from self._take(path, target, rest)
            yield from self._resolve(path, chain)

    def _resolve(self, path: str, chain: str) -> tuple[Node, ...]:
        """Where a dotted name leads that is written in a file, by the names of its top level."""
        if (path, chain) not in self._led:
            self._led[path, chain] = ()  # names that are imported in a circle lead nowhere
            root, *rest = chain.split(".")
            rows = self._find_rows(path)
            found: list[Node] = []
            if rows is None or root == "__dict__":
                found.append((path, EVERYTHING))
            else:
                found += [(path, root)] if root in rows["p"] else []
                found += [(path, f"={root}")] if root in rows["m"] else []
                for target in rows["m"].get(root, ()):
                    found += self._take(path, target, rest)
            self._led[path, chain] = tuple(dict.fromkeys(found))
        return self._led[path, chain]

    def _take(self, path: str, target: list[Any], rest: list[str]) -> Iterator[Node]:
        """What an import gives, and what is read of that: a file, or a name of one."""
        module, level, taken = target
        home = [] if not module else module.partition(".")[:1] if taken is None else module.split(".")
        if taken is None and not rest:  # `import a.b` binds `a`
            yield from ((there, EVERYTHING) for there in self._lead(path, 0, module))
        parts = [*home, *([taken] if taken else []), *rest]
        for end in range(len(home), len(parts) + 1):
            for there in self._lead(path, level, ".".join(parts[:end])):
                if end == len(parts):
                    yield there, EVERYTHING
                else:
                    yield from self._resolve(there, ".".join(parts[end:]))
