"""The configured upstreams at their pins, as one index that tells what a dotted name is there."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.patch import TargetKind
from layline.errors import Error
from layline.patches.installer import Known, MemberKind
from layline.source import DefinitionKind, Index, Part, SymbolKind, open_cache
from layline.source.instances import Instances
from layline.source.lazy import LazyTexts, open_index
from layline.source.resolve import Resolver
from layline.source.text_search import TextSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.source import Symbol
    from layline.source.definitions import Definition
    from layline.workspace.open import Workspace

_KINDS = {
    SymbolKind.DEFINITION: TargetKind.DEFINITION,
    SymbolKind.SUBMODULE: TargetKind.DEFINITION,
    SymbolKind.IMPORTED_NAME: TargetKind.IMPORTED_NAME,
    SymbolKind.MODULE_ASSIGNMENT: TargetKind.MODULE_ASSIGNMENT,
    SymbolKind.ABSENT: TargetKind.ABSENT,
    SymbolKind.EXTERNAL: TargetKind.EXTERNAL,
    SymbolKind.UNKNOWN: TargetKind.UNKNOWN,
}


@dataclass(slots=True, eq=False)
class Upstreams:
    """Every backend whose objects are here, at its pin."""

    index: Index
    resolver: Resolver
    pins: dict[str, str]
    """Backend → the commit its targets are looked up in."""
    skipped: tuple[Skipped, ...]
    texts: LazyTexts
    searches: tuple[TextSearch, ...]
    """One for each part of the index."""
    instances: Instances
    members: dict[str, frozenset[MemberKind]] = field(default_factory=dict)
    """What `find_members` was asked before."""
    code: frozenset[str] | None = None
    """Names that stand before an annotation with `Callable` or `type`; None until asked for."""
    fields: dict[str, bool] = field(default_factory=dict)
    """What `holds_code` was asked before."""

    def look_up(self, dotted: str) -> Known:
        """What a target is at the pin; for an absent one, the name probably meant."""
        symbol = self.resolver.resolve(dotted)
        suggestion = self.suggest(symbol) if symbol.kind is SymbolKind.ABSENT else None
        is_field = symbol.definition is not None and symbol.definition.kind is DefinitionKind.FIELD
        is_function = symbol.definition is not None and symbol.definition.kind is DefinitionKind.FUNCTION
        is_class = symbol.definition is not None and symbol.definition.kind is DefinitionKind.CLASS
        above = (symbol.home or "").rpartition(".")[0] if self._may_be_inherited(symbol) else None
        kind = TargetKind.UNKNOWN if above is not None else _KINDS[symbol.kind]
        set_by = self._find_setter(symbol.name) if above is not None else None
        # a name of upstream may lead out of it (`up.train.Accelerator.go`); one that is not upstream's leads nowhere
        outside = symbol.home if kind is TargetKind.EXTERNAL and symbol.home != dotted else None
        alias = symbol.alias_of or symbol.reached_as or outside
        return Known(
            kind, alias, suggestion, is_field, is_function, is_class, None if set_by else above or None, set_by
        )

    def _may_be_inherited(self, symbol: Symbol) -> bool:
        """A member of a class of upstream that only a class of another package may have."""
        if symbol.kind is not SymbolKind.EXTERNAL or symbol.is_implicit or not self.index.owns(symbol.name):
            return False
        owner = self.resolver.resolve(symbol.name.rpartition(".")[0])
        return owner.definition is not None and owner.definition.kind is DefinitionKind.CLASS

    def _find_setter(self, name: str) -> str | None:
        """The class whose methods set an attribute on their objects: `self.x = …`."""
        owner, _, attribute = name.rpartition(".")
        found = self.instances.find(owner).get(attribute)
        return None if found is None else found.owner

    def find_members(self, name: str) -> frozenset[MemberKind]:
        """What classes of any upstream declare a name as; one method is enough, fields are looked at one by one.

        `config.name`: only classes that upstream says of what it calls `config`.
        """
        if name not in self.members:
            kept, _, last = name.rpartition(".")
            self.members[name] = self._find_kept(kept, last) if kept else self._find_members(name)
        return self.members[name]

    def holds_code(self, name: str) -> bool:
        """Whether fields of this name hold something to be called, wherever they are declared: `sync: Callable | None`,
        `norm: Spec | type`.
        """
        if name not in self.fields:
            self.fields[name] = self._holds_code(name)
        return self.fields[name]

    def _holds_code(self, name: str) -> bool:
        if self.code is None:
            lines = (line for search in self.searches for word in _KINDS_OF_CODE for line in search.find_lines(word))
            self.code = frozenset(one.group(1) for line in lines if (one := _CODE.match(line)))
        if name not in self.code or self.find_members(name) != frozenset({MemberKind.FIELD}):
            return False
        declares = re.compile(rf" +{name} *:")
        declared = (line for search in self.searches for line in search.find_lines(name) if declares.match(line))
        return all(_CODE.match(line) for line in declared)

    def _find_members(self, name: str) -> frozenset[MemberKind]:
        if any(search.has(f"def {name}(") for search in self.searches):
            return frozenset({MemberKind.METHOD})
        paths = {(number, path) for number, search in enumerate(self.searches) for path in search.find_files(name)}
        modules = [entry.name for entry in self.index.entries.values() if (entry.part, entry.path) in paths]
        for module in modules[:_MOST_FILES]:
            held = self.index.module(module)
            named = (one for one in (held.definitions if held else ()) if one.owner and one.name == name)
            if any(one.kind is DefinitionKind.FIELD for one in named):
                return frozenset({MemberKind.FIELD})
        return frozenset()

    def _find_kept(self, kept: str, name: str) -> frozenset[MemberKind]:
        if not any(search.has(f" {name}:") for search in self.searches):
            return frozenset({MemberKind.METHOD})  # no class declares it with what it holds
        texts = (f" {name}:", f"def {name}(")
        paths = {(number, path) for number, search in enumerate(self.searches) for path in search.find_holders(texts)}
        kinds = {DefinitionKind.FIELD: MemberKind.FIELD, DefinitionKind.FUNCTION: MemberKind.METHOD}
        declared = {
            (one.owner.rpartition(".")[2], kinds[one.kind])
            for one in (self._read_definitions(paths) if len(paths) <= _FEW_FILES else ())
            if one.name == name and one.owner and one.kind in kinds
        }
        found: set[MemberKind] = set()
        for kind in (MemberKind.FIELD, MemberKind.METHOD):  # without a field nobody asks for the rest
            owners = [owner for owner, one in declared if one is kind]
            if not any(search.says(kept, owner) for search in self.searches for owner in owners):
                break
            found.add(kind)
        return frozenset(found)

    def _read_definitions(self, paths: set[tuple[int, str]]) -> Iterator[Definition]:
        for module in [entry.name for entry in self.index.entries.values() if (entry.part, entry.path) in paths]:
            held = self.index.module(module)
            yield from held.definitions if held is not None else ()

    def suggest(self, symbol: Symbol) -> str | None:
        """A name beside the absent one that differs by a slip of the hand."""
        owner, _, name = symbol.name.rpartition(".")
        beside = self._names_in(owner) - {name}
        near = difflib.get_close_matches(name, sorted(beside), n=1, cutoff=0.85)
        return f"{owner}.{near[0]}" if near else None

    def _names_in(self, owner: str) -> set[str]:
        module = self.index.module(owner)
        if module is not None:
            named = {item.alias for item in module.imports if item.alias}
            return named | {item.qualname for item in module.definitions if "." not in item.qualname}
        symbol = self.resolver.resolve(owner)
        holder = self.index.module(symbol.module) if symbol.module else None
        if holder is None or symbol.definition is None:
            return set()
        return set(holder.members(symbol.definition.qualname))

    def save(self) -> None:
        """Keep what was parsed for the next run."""
        if self.texts.fresh:
            cache = open_cache()
            cache.store(self.texts.fresh.items())
            cache.close()


_KINDS_OF_CODE = ("Callable", "type", "Type")
_CODE = re.compile(rf" +(\w+) *: [^=#]*\b(?:{'|'.join(_KINDS_OF_CODE)})\b(?!\()")
_MOST_FILES = 40
"""Files with a name that are looked at for a field of it."""
_FEW_FILES = 12
"""A name that more files declare is nobody's own: `step`, `forward`."""


def open_upstreams(workspace: Workspace) -> Upstreams:
    """All upstreams together, so that a namespace shared by several resolves in the right one."""
    parts: list[Part] = []
    pins: dict[str, str] = {}
    skipped: list[Skipped] = []
    for key in workspace.settings.backends:
        try:
            parts.append(workspace.read_pinned_part(key))
        except Error as error:
            skipped.append(Skipped(f"upstream {key}", f"its targets cannot be looked up: {error.message}"))
            continue
        pins[key] = parts[-1].tree.commit
    cache = open_cache()
    index, texts = open_index(parts, cache)
    cache.close()
    resolver, searches = Resolver(index), tuple(TextSearch(part.tree) for part in parts)
    return Upstreams(index, resolver, pins, tuple(skipped), texts, searches, Instances(resolver))
