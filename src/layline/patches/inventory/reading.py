"""One downstream commit as far as patches need it: what its files say, and who calls whom there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.interpreter.callers.files import Files
from layline.interpreter.callers.find import Search
from layline.interpreter.config_paths import Roots
from layline.interpreter.modules import find_example_files, find_own_files, read_texts
from layline.patches.inventory.owners import find_home
from layline.patches.inventory.since import SearchMemos

if TYPE_CHECKING:
    from layline.config import Settings
    from layline.core.patch import Fate, Patch
    from layline.interpreter.calls import Interpreter
    from layline.patches.inventory.activation import Activation
    from layline.patches.inventory.engine import ReadEngine
    from layline.patches.inventory.registering import FoundRegistrations, Registered
    from layline.patches.inventory.strays import Strays
    from layline.patches.inventory.units import Units
    from layline.source.facts import Facts
    from layline.source.tree import Tree


@dataclass(eq=False)
class Reading:
    """One downstream commit, read as far as patches need it; shared by all backends."""

    tree: Tree
    settings: Settings
    units: Units
    facts: dict[str, Facts]
    found: dict[str, FoundRegistrations]
    """File → what it registers."""
    activation: Activation
    engine: ReadEngine
    own_names: frozenset[str]
    strays: Strays | None = None
    """Effects outside any registration, for all backends; None until asked for."""
    patches: dict[str, tuple[Patch, ...]] | None = None
    """File → its patches, in the order of its registrations; None until asked for."""
    stashes: dict[str, str] = field(default_factory=dict)
    """Where patches keep originals on upstream."""
    silent: dict[str, Fate] = field(default_factory=dict)
    """Lines of installers that make no row: `path:line` → why."""
    only: dict[str, frozenset[str]] | None = None
    """Path → functions and classes outside registrations that are read; None: all. Nothing of it may be kept."""
    load: Callable[[Iterable[str]], dict[str, Facts]] = lambda _: {}
    """What other files of the tree say."""
    _homes: dict[str, str | None] = field(default_factory=dict)

    def find_home(self, path: str) -> str | None:
        """The backend that a file of ours is taken to be written for: each effect in it asks, for each backend."""
        if path not in self._homes:
            self._homes[path] = find_home(path, self.settings, self.find_imports(path))
        return self._homes[path]

    def find_imports(self, path: str) -> tuple[str, ...]:
        """What a file imports from elsewhere."""
        imports = self.facts[path].imports if path in self.facts else ()
        return tuple(line.module for line in imports if not line.level)

    @cached_property
    def texts(self) -> dict[str, bytes]:
        """Path → bytes of our own Python files."""
        return dict(read_texts(self.tree, find_own_files(self.tree)))

    @cached_property
    def examples(self) -> dict[str, Facts]:
        """What examples change is not listed, but they call what does, as its users do."""
        return self.load(find_example_files(self.tree))

    @cached_property
    def files(self) -> Files:
        """What our files and the examples say to whoever looks for callers."""
        return Files({**self.facts, **self.examples}, self._read_texts)

    @cached_property
    def searches(self) -> SearchMemos:
        """What was found by going through our files."""
        return SearchMemos(self.units.memos, self.machine.modules, self.files)

    def _read_texts(self, paths: Iterable[str] | None) -> dict[str, bytes]:
        if paths is None:
            return {**self.texts, **dict(read_texts(self.tree, self.examples))}
        calling = {*find_own_files(self.tree), *self.examples}
        return dict(read_texts(self.tree, [path for path in paths if path in calling]))

    def open_search(self, names: Iterable[str]) -> Search:
        """A search for the callers of these functions."""
        return Search(self.machine.modules, self.files, names)

    @property
    def machine(self) -> Interpreter:
        return self.units.machine

    @property
    def roots(self) -> Roots:
        return Roots(frozenset(self.engine.roots))

    @property
    def registrations(self) -> list[Registered]:
        return [item for one in self.found.values() for item in one.registrations]

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files in sight of patches that are no Python, readings that were cut short, calls that were not reached."""
        looked = {*self.found, *(self.strays.paths if self.strays is not None else ())}
        seen = {path for start in looked for path in self.units.reach.see(start)}
        for path in sorted(path for path in seen if not self.units.reach.is_readable(path)):
            self.machine.modules.parse(path)
        cut = self.strays.skipped if self.strays is not None else ()
        unreached = (row for one in self.found.values() for row in one.skipped)
        return tuple(dict.fromkeys((*sorted(self.machine.modules.skipped, key=str), *cut, *unreached)))
