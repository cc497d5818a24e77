"""Follows dotted names through an index: re-exports, `__init__` chains, star imports, aliases, base classes."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property

from layline.core.weak import weakly
from layline.source.definitions import Definition, DefinitionKind, Import, Module, Parameter, ParameterKind
from layline.source.index import Index
from layline.source.made import MEMBERS, Makers, Making, Named, Owned
from layline.source.named import is_taken
from layline.source.names import absolute_name, parents
from layline.source.replaced import Replaced
from layline.source.seen import Asked, Read
from layline.source.stars import StarWords
from layline.source.symbols import (
    Binding,
    Symbol,
    SymbolKind,
    Thing,
    bind_absent,
    bind_module,
    bind_outside,
    bind_unknown,
    define,
    note_inside,
    wins,
)
from layline.source.unloaded import Loads

_OBJECT_MEMBERS = frozenset(dir(object)) | {
    "__dict__",
    "__module__",
    "__name__",
    "__qualname__",
    "__bases__",
    "__mro__",
}
_MODULE_MEMBERS = frozenset({"__name__", "__file__", "__doc__", "__path__", "__dict__", "__package__", "__spec__"})


class Resolver:
    """Resolves names in one index; remembers what it found, ends on cycles."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._known: dict[str, tuple[Symbol, Collection[Read]]] = {}
        self._steps: dict[tuple[str, str, str], Binding | None] = {}
        """The steps of the question under way; None: being worked out, so asking again is a cycle."""
        self._stars: dict[str, list[tuple[Import, str | None]]] = {}
        self._words = StarWords(index, weakly(self._find_stars))
        self._starring = 0
        """How many star imports the question under way goes through."""
        self._replaced = Replaced(index)
        self.loads = Loads(index)
        self._makers = Makers(index, weakly(self._readable_bases), weakly(self._name_function))

    def resolve(self, dotted: str) -> Symbol:
        """What `dotted` is, seen as `import` statements see it: the longest module first, then attributes."""
        return self.index.seen.remember(self._known, dotted, lambda: self._resolve(dotted))

    def resolve_in(self, module: str, dotted: str) -> Symbol:
        """What `dotted` means when written at module level in `module`."""
        self._steps.clear()
        return self._symbol(dotted, self._expression(module, dotted))

    def follow_import(self, module: str, item: Import) -> Symbol:
        """What an import statement of `module` brings in (of a star: the module)."""
        self._steps.clear()
        name = item.alias if item.name or item.alias != item.module.partition(".")[0] else item.module
        return self._symbol(name, self._imported(module, item))

    def find_importers(self, dotted: str) -> Iterator[tuple[str, Import]]:
        """Module-level `from m import f` bindings, anywhere in the index, of what `dotted` is finally: they copy it."""
        home = self.resolve(dotted).home
        words = {dotted.rpartition(".")[2], (home or "").rpartition(".")[2]}
        for word in sorted(words):
            self.index.seen.add(Asked.IMPORTERS, word)
            for module, item in self._imports_by_name.get(word, ()):
                if home == self.follow_import(module, item).home:
                    yield module, item

    @cached_property
    def _imports_by_name(self) -> dict[str, list[tuple[str, Import]]]:
        """Name taken → every module-level import that takes it at run time; read once for the whole index."""
        found: dict[str, list[tuple[str, Import]]] = {}
        with self.index.seen.within(set()):
            for entry, module in self.index.modules():
                for item in module.imports:
                    if is_taken(item):
                        found.setdefault(str(item.name), []).append((entry.name, item))
        return found

    def _resolve(self, dotted: str) -> Symbol:
        self._steps.clear()
        prefix = next((name for name in (dotted, *parents(dotted)) if self._is_module(name)), None)
        if prefix is None:
            kind = SymbolKind.ABSENT if self.index.owns(dotted) else SymbolKind.EXTERNAL
            return Symbol(name=dotted, kind=kind, home=dotted if kind is SymbolKind.EXTERNAL else None)
        if prefix != dotted and not self.index.owns(dotted):
            return Symbol(name=dotted, kind=SymbolKind.EXTERNAL, home=dotted)
        binding = self._walk(bind_module(prefix), dotted[len(prefix) + 1 :])
        return replace(self._symbol(dotted, binding), shadowed_by=self._shadow(prefix))

    def _walk(self, thing: Binding, rest: str) -> Binding:
        for name in rest.split(".") if rest else ():
            thing = self._member(thing, name)
        return thing

    def _symbol(self, dotted: str, binding: Binding) -> Symbol:
        thing = binding.thing
        location = self.index.location(binding.module, binding.line) if binding.module in self.index.entries else None
        return Symbol(
            name=dotted,
            kind=binding.kind,
            home=thing.home,
            module=thing.module,
            definition=thing.definition,
            bound_in=binding.module,
            location=location,
            inherited_from=thing.inherited_from,
            is_implicit=thing.is_implicit,
            reason=thing.reason,
            inside=thing.inside,
        )

    def _shadow(self, module: str) -> str | None:
        """What hides a submodule (or a package on the way to it) from attribute access, if something does."""
        for name in (module, *parents(module)):
            package, _, last = name.rpartition(".")
            holder = self.index.module(package) if package else None
            if holder is None or not (last in holder.bound_imports or holder.find(last)):
                continue
            thing = self._module_member(package, last).thing
            if thing.home is not None and thing.home != name:
                return thing.home
        return None

    def _is_module(self, name: str) -> bool:
        return name in self.index.entries or name in self.index.namespaces

    def _member(self, binding: Binding, name: str) -> Binding:
        thing = binding.thing
        if binding.kind in {SymbolKind.ABSENT, SymbolKind.UNKNOWN}:
            return binding
        if thing.is_module and thing.module is not None:
            return self._module_member(thing.module, name)
        if thing.definition is None or thing.module is None:
            return bind_outside(f"{thing.home}.{name}", thing.reason)
        match thing.definition.kind:
            case DefinitionKind.CLASS:
                return self._class_member(thing.module, thing.definition, name)
            case DefinitionKind.FUNCTION:
                return bind_absent(f"{thing.home} is a function; it has no attribute {name} of its own")
        return self._value_member(thing.module, thing.definition, name)

    def _value_member(self, module: str, definition: Definition, name: str) -> Binding:
        """A member of an assigned value: known where the value is plainly made by calling a class."""
        maker = (definition.value or "").partition("(")[0]
        key = (module, definition.qualname, "()")
        is_call = maker and all(part.isidentifier() for part in maker.split(".")) and "(" in (definition.value or "")
        if is_call and key not in self._steps:  # `x = x.made()` is made of itself
            self._steps[key] = None
            made = self._expression(module, maker)
            del self._steps[key]
            if made.thing.definition is not None and made.thing.definition.kind is DefinitionKind.CLASS:
                return self._member(made, name)
        return bind_unknown(
            f"{module}.{definition.qualname} is a value that cannot be decided without running the code"
        )

    def _module_member(self, module: str, name: str) -> Binding:
        key = (module, "", name)
        if key in self._steps:
            return self._steps[key] or self._submodule(module, name) or bind_absent("import cycle")
        self._steps[key] = None
        found = self._steps[key] = self._bind(module, name)
        return found

    def _bind(self, module: str, name: str) -> Binding:
        holder = self.index.module(module)
        if holder is None:
            return self._submodule(module, name) or self._unreadable(module, name)
        best = holder.best(name)
        imports = self._replaced.find_imports(module, holder, name)
        if best is not None and wins(best, imports):
            return self._defined(module, best)
        if imports:
            return self._best_import(module, imports)
        return (
            self._starred(module, holder, name) or self._submodule(module, name) or self._unbound(module, holder, name)
        )

    def _defined(self, module: str, definition: Definition) -> Binding:
        if definition.kind is not DefinitionKind.ASSIGNMENT:
            return Binding(SymbolKind.DEFINITION, define(module, definition), module, definition.line)
        thing = define(module, definition)
        if definition.alias_of and definition.alias_of not in {definition.qualname, "None", "True", "False"}:
            behind = self._expression(module, definition.alias_of)
            if behind.kind not in {SymbolKind.ABSENT, SymbolKind.UNKNOWN}:
                thing = behind.thing
        return Binding(SymbolKind.MODULE_ASSIGNMENT, thing, module, definition.line)

    def _best_import(self, module: str, imports: list[Import]) -> Binding:
        """Of alternatives the first whose source is there; else the first."""
        found = [self._imported(module, item) for item in sorted(imports, key=lambda item: (item.branch, item.line))]
        inside = [item for item in found if item.thing.module is not None]
        outside = [item for item in found if item.thing.home is not None]
        return (inside or outside or found)[0]

    def _imported(self, module: str, item: Import) -> Binding:
        package = module in self.index.entries and self.index.entries[module].is_package
        source = absolute_name(module, package=package, level=item.level, name=item.module)
        if source is None:
            return Binding(
                SymbolKind.ABSENT, Thing(None, reason="a relative import climbs out of its package"), module, item.line
            )
        if item.name is None and item.alias == source.partition(".")[0]:
            behind = self._dotted(item.alias)  # `import a.b` binds `a`
        elif item.name is None or item.name == "*":
            behind = self._dotted(source)
        elif self._is_module(source):
            behind = self._module_member(source, item.name)
        else:
            behind = self._dotted(f"{source}.{item.name}")
        if behind.kind is SymbolKind.ABSENT and item.group and item.name and self._is_others(module, source):
            behind = bind_outside(f"{source}.{item.name}", None)  # made for another version of that package
        thing = note_inside(behind, f"{source}.{item.name}")
        kind = SymbolKind.IMPORTED_NAME if thing.home is not None else behind.kind
        return Binding(kind, thing, module, item.line)

    def _is_others(self, module: str, source: str) -> bool:
        """True of a name in another repository than the module's."""
        entries = self.index.entries
        holder = next((entries[name] for name in (source, *parents(source)) if name in entries), None)
        return holder is not None and module in entries and holder.part != entries[module].part

    def _starred(self, module: str, holder: Module, name: str) -> Binding | None:
        outside: Binding | None = None
        may_bind = name in _MODULE_MEMBERS or self._words.may_bind(module, name)
        for item, source in self._star_sources(module, holder):
            if source is None or not self._is_module(source):
                if source is not None and not self.index.owns(source):
                    outside = bind_unknown(f"{module} has `from {source} import *`, which may bind it")
                continue
            if not may_bind or (name not in _MODULE_MEMBERS and not self._words.may_mention(source, name)):
                continue
            inner = self.index.module(source)
            exports = inner.exports if inner is not None else None
            if name not in exports if exports is not None else name.startswith("_"):
                continue
            self._starring += 1
            try:
                found = self._module_member(source, name)
            finally:
                self._starring -= 1
            if found.thing.home is not None:
                return Binding(SymbolKind.IMPORTED_NAME, note_inside(found, f"{source}.{name}"), module, item.line)
        return outside

    def _star_sources(self, module: str, holder: Module) -> list[tuple[Import, str | None]]:
        """Each star import with what it names; some packages have hundreds, and are asked for every name."""
        self.index.seen.add(Asked.STARS, module)
        if module not in self._stars:
            package = self.index.entries[module].is_package
            self._stars[module] = [
                (item, absolute_name(module, package=package, level=item.level, name=item.module))
                for item in holder.bound_imports.get("*", ())
            ]
        return self._stars[module]

    def _find_stars(self, module: str) -> Iterator[str]:
        holder = self.index.module(module)
        if holder is not None:
            yield from (source for _, source in self._star_sources(module, holder) if source is not None)

    def _submodule(self, module: str, name: str) -> Binding | None:
        return bind_module(f"{module}.{name}") if self._is_module(f"{module}.{name}") else None

    def _unbound(self, module: str, holder: Module, name: str) -> Binding:
        if name in _MODULE_MEMBERS:
            return bind_outside(f"types.ModuleType.{name}", None)
        if holder.has_getattr:
            typed = [item for item in holder.bound_imports.get(name, ()) if item.type_checking]
            if typed:  # type checkers are told what the function gives
                return self._best_import(module, typed)
            return bind_unknown(f"{module} has a __getattr__, which may make it")
        if not self._starring and self._replaced.is_replaced(module):
            found = self._collected(module, name)  # a star hands on what is bound; searching every folder costs
            if found is not None:
                return found
        only_typing = name in holder.bound_imports
        return bind_absent(
            f"{module} imports {name} for type checking only" if only_typing else f"{module} has no name {name}"
        )

    def _collected(self, module: str, name: str) -> Binding | None:
        """A name that a module hands on although none of its statements binds it."""
        homes = [self._module_member(below, name) for below in self._replaced.find_collected(module, name)]
        if len({item.thing.home for item in homes}) == 1 and homes[0].thing.home is not None:
            return Binding(SymbolKind.IMPORTED_NAME, homes[0].thing, module)
        made = bool(homes) or self._replaced.tells(module, name)
        return bind_unknown(f"{module} replaces itself with an object that makes its names") if made else None

    def _unreadable(self, module: str, name: str) -> Binding:
        if module in self.index.entries:
            return bind_unknown(f"{self.index.entries[module].path} cannot be parsed")
        return bind_absent(f"{module} is a namespace package without a module {name}")

    def _dotted(self, dotted: str) -> Binding:
        """Like `resolve`, as a step of a question under way."""
        prefix = next((name for name in (dotted, *parents(dotted)) if self._is_module(name)), None)
        if prefix is None or not self.index.owns(dotted):
            return bind_absent(f"{dotted} is not there") if self.index.owns(dotted) else bind_outside(dotted, None)
        return self._walk(bind_module(prefix), dotted[len(prefix) + 1 :])

    def _expression(self, module: str, dotted: str) -> Binding:
        first, _, rest = dotted.partition(".")
        found = self._module_member(module, first)
        if found.kind is SymbolKind.ABSENT and hasattr(builtins, first):
            found = bind_outside(f"builtins.{first}", None)
        return self._walk(found, rest)

    def _class_member(self, module: str, owner: Definition, name: str) -> Binding:
        key = (module, owner.qualname, name)
        if key in self._steps:
            return self._steps[key] or bind_absent("class cycle")
        self._steps[key] = None
        found = self._steps[key] = self._find_member(module, owner, name)
        return found

    def _find_member(self, module: str, owner: Definition, name: str) -> Binding:
        holder = self.index.module(module)
        own = holder.best(f"{owner.qualname}.{name}") if holder is not None else None
        if own is not None:
            return Binding(SymbolKind.DEFINITION, define(module, own), module, own.line)
        making = self._makers.find(Owned(module, owner)) if name in MEMBERS else None
        if making is not None and (making.is_known or name == "__init__"):
            return self._implicit(module, owner, name, making)
        outside: str | None = None
        for base in self._bases(module, owner):
            thing = base.thing
            if thing.definition is not None and thing.module is not None:
                found = self._class_member(thing.module, thing.definition, name)
                if found.kind is SymbolKind.DEFINITION:
                    thing = found.thing
                    return replace(found, thing=replace(thing, inherited_from=thing.inherited_from or base.thing.home))
                if found.kind is SymbolKind.EXTERNAL and not found.thing.is_implicit:
                    outside = outside or found.thing.home
            elif base.kind is not SymbolKind.ABSENT:
                outside = outside or f"{thing.home or 'a computed base'}.{name}"
        if outside is not None:
            return bind_outside(outside, f"may be inherited from {outside.rpartition('.')[0]}")
        if name in _OBJECT_MEMBERS:
            return Binding(SymbolKind.EXTERNAL, Thing(f"builtins.object.{name}", is_implicit=True))
        return bind_absent(f"class {module}.{owner.qualname} has no member {name}")

    def _bases(self, module: str, owner: Definition) -> Iterator[Binding]:
        for text in owner.bases:
            dotted = text.partition("[")[0]
            if all(part.isidentifier() for part in dotted.split(".")):
                yield self._expression(module, dotted)
            else:
                yield bind_unknown(f"the base {text} is computed")

    def _readable_bases(self, owner: Owned) -> Iterator[Owned]:
        for base in self._bases(owner.module, owner.definition):
            module, found = base.thing.module, base.thing.definition
            if module is not None and found is not None and found.kind is DefinitionKind.CLASS:
                yield Owned(module, found)

    def _name_function(self, module: str, dotted: str) -> Named:
        """What a name leads to, with its function where that stands in the index."""
        thing = self._expression(module, dotted).thing
        if thing.module is None or thing.definition is None or thing.definition.kind is not DefinitionKind.FUNCTION:
            return Named(thing.home or "")
        node = self.index.read_node(thing.module, thing.definition)
        function = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        return Named(thing.home or "", thing.module, function)

    def _implicit(self, module: str, owner: Definition, name: str, making: Making) -> Binding:
        if not making.is_known:
            return bind_unknown(f"a base of {module}.{owner.qualname} makes its {name} when the class is defined")
        fields = self._makers.find_fields(Owned(module, owner))
        parameters = (Parameter("self", ParameterKind.POSITIONAL), *fields)
        made = replace(
            owner,
            qualname=f"{owner.qualname}.{name}",
            kind=DefinitionKind.FUNCTION,
            bases=(),
            decorators=(),
            parameters=parameters if name == "__init__" else None,
            returns=None,
        )
        return Binding(SymbolKind.DEFINITION, replace(define(module, made), is_implicit=True), module, owner.line)
