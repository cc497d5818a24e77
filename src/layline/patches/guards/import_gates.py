"""What must hold for a module of ours to be imported at all: what every import of it that runs asks before."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.core.condition import ALWAYS, NEVER, Condition, ConditionKind, combine
from layline.core.ours import is_own
from layline.interpreter.callers.above import MOST_SITES
from layline.interpreter.line_tests import find_body, find_chain, find_line_tests
from layline.interpreter.line_words import read_caller_tests

if TYPE_CHECKING:
    from layline.interpreter.callers.sites import KnownCallers, Site
    from layline.interpreter.line_tests import Definition, LineTest
    from layline.interpreter.modules import Modules


@dataclass(eq=False)
class ImportGates:
    """Reads the tests around the imports of modules."""

    known: KnownCallers
    """Modules with the places that import them."""
    modules: Modules
    _found: dict[str, Condition] = field(default_factory=dict)

    def find(self, module: str) -> Condition:
        """What each import of a module asks, one or the other; nothing where one asks nothing, or cannot be seen."""
        if module not in self._found:
            self._found[module] = self._read(module)
        return self._found[module]

    def _read(self, module: str) -> Condition:
        if module not in self.known:
            return ALWAYS
        callers = self.known[module]
        if callers.is_function or callers.unknown or callers.is_offered:
            return ALWAYS
        sites = [site for site in callers.sites if is_own(site.path) and not self._is_for_types(site)]
        if not sites or len(sites) > MOST_SITES or any(site.remark != "import" for site in sites):
            return ALWAYS
        asked = combine(ConditionKind.ANY, (self.read_site(site) for site in sites))
        if asked in (ALWAYS, NEVER):
            return ALWAYS
        return Condition(kind=ConditionKind.IMPORTER, wanted=module, parts=(asked,))

    def read_site(self, site: Site) -> Condition:
        """What one place asks before it imports; a module that is asked for a name (`__getattr__`) imports it for whoever
        asks.
        """
        body, chain = self._find_body(site)
        is_lazy = bool(chain) and chain[0].name == "__getattr__"
        return ALWAYS if is_lazy else read_caller_tests(body, site.line)

    def _find_body(self, site: Site) -> tuple[list[ast.stmt], list[Definition]]:
        """The statements of the function around an import, or of the file; and the functions and classes around it."""
        module = self.modules.find(self.modules.names_by_path.get(site.path, ""))
        body = module.body if module is not None else []
        chain = find_chain(body, site.line)
        return find_body(chain[-1]) if chain else body, chain

    def _is_for_types(self, site: Site) -> bool:
        return any(map(_asks_for_types, find_line_tests(self._find_body(site)[0], site.line)))


def _asks_for_types(test: LineTest) -> bool:
    match test.node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return test.holds and name == "TYPE_CHECKING"
    return False
