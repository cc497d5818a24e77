"""Lines and files of ours that no version test lets run at one upstream commit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.core.evidence import Location, Skipped
from layline.core.ours import is_packaged, is_test
from layline.source import parse_module
from layline.source.names import absolute_name

if TYPE_CHECKING:
    from layline.coupling.version_guards import Running
    from layline.source.definitions import Import


@dataclass(slots=True)
class OffLines:
    """Asks what stands around a line, and who imports its file; a file that nobody imports, or that somebody only names,
    may be run by itself.
    """

    running: Running
    _known: dict[str, bool] = field(default_factory=dict)
    _imports: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def may_not_run(self, location: Location, name: str) -> bool:
        """Whether an import in a branch need not fail: the branch is false there, or it is about the import itself."""
        runs = self._runs(location, name)
        return runs is False or (runs is None and self.running.is_chosen(location, 1))

    def is_off(self, location: Location, name: str) -> bool:
        """Whether our code does not run a line at this version, or does not load its file."""
        return self._runs(location, name) is False or self._is_unloaded(location.path)

    def _runs(self, location: Location, name: str = "") -> bool | None:
        return self.running.decide(location, name)[1].holds

    def _is_unloaded(self, path: str) -> bool:
        """Whether every import of the file stands where our code does not go at this version."""
        if path not in self._known:
            self._known[path] = is_packaged(path) and not path.endswith("__init__.py") and self._is_left_out(path)
        return self._known[path]

    def _is_left_out(self, path: str) -> bool:
        modules = self.running.guards.modules
        name = modules.names_by_path.get(path, "")
        last = name.rpartition(".")[2]
        if not last:
            return False
        texts = ((one, modules.tree.read_text(one)) for one in modules.tree.paths(suffix=".py") if one != path)
        is_named = False
        for one, text in texts:
            if isinstance(text, str) and last in text and not is_test(one):
                is_named, lines = True, self._find_imports(one, text).get(name, [])
                if not lines or any(self._runs(Location(one, line)) is not False for line in lines):
                    return False
        return is_named

    def _find_imports(self, path: str, text: str) -> dict[str, list[int]]:
        """Module, or something of one, that a file imports → the lines; read once."""
        if path not in self._imports:
            module = self.running.guards.modules.names_by_path.get(path, "")
            parsed = parse_module(path, text.encode("utf-8", "surrogatepass"))
            found = self._imports[path] = defaultdict[str, list[int]](list)
            for item in () if isinstance(parsed, Skipped) else parsed.imports:
                if not item.type_checking:
                    for name in _name_imported(item, module, is_package=path.endswith("__init__.py")):
                        found[name].append(item.line)
        return self._imports[path]


def _name_imported(item: Import, module: str, *, is_package: bool) -> tuple[str, ...]:
    """The module that an import is from, and what it takes of it."""
    source = absolute_name(module, package=is_package, level=item.level, name=item.module)
    return (source, f"{source}.{item.name}") if source is not None else ()
