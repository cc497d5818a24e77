"""Finds the places of the downstream that touch an upstream: which name, where, how."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from layline.core.evidence import Location
from layline.core.progress import Progress, count, silent
from layline.coupling.built import Constructors
from layline.coupling.handing import Handing
from layline.coupling.heirs import Below, join_below
from layline.coupling.keepers import Keepers
from layline.coupling.model import Touch
from layline.coupling.needed import FUNCTIONS, Own
from layline.coupling.own_uses import (
    call_method,
    find_called,
    find_loaded,
    find_opened,
    find_script,
    find_visible,
    hands_back,
    is_ours,
    is_read_of,
    name_imported,
    names_package,
)
from layline.coupling.place import Alone, Place
from layline.coupling.roads import find_road
from layline.coupling.uses import FieldRead, Uses
from layline.coupling.value_chains import Step, ValueChains
from layline.coupling.variables import ITEMS, VALUES
from layline.source import Definition, DefinitionKind, Import, Index, ModuleEntry, is_within
from layline.source.instances import Instances
from layline.source.lineage import find_above
from layline.source.resolve import Resolver

_MADE = frozenset({"__init__"})
READING = "reading our overrides and calls"


@dataclass(slots=True)
class Finder:
    """Reads one downstream against the packages of one upstream at the pin."""

    index: Index
    """Downstream (part 0) and upstream at the pin (part 1) together, so that base classes resolve."""
    packages: tuple[str, ...]
    uses: dict[str, Uses]
    """By blob."""
    progress: Progress = silent
    resolver: Resolver = field(init=False)
    instances: Instances = field(init=False)
    handing: Handing = field(init=False)
    constructors: Constructors = field(init=False)
    keepers: Keepers = field(init=False)
    chains: ValueChains = field(init=False)
    below: Mapping[str, Container[str]] | None = None
    """Upstream class → what classes of ours below it define or set; None: those of all files that are read."""
    asked: defaultdict[str, dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    """File → what was asked of classes of ours below upstream's (`class attribute`), and what they said."""

    def __post_init__(self) -> None:
        self.resolver = Resolver(self.index)
        self.instances = Instances(self.resolver)
        self.chains = ValueChains(self.resolver, self.instances, self.owns)
        self.handing = Handing(self.index, is_ours)
        self.constructors = Constructors(self.resolver, self.owns)
        self.keepers = Keepers(self.index, self.uses, self.handing)

    def find_places(self, paths: Container[str] | None = None) -> Iterator[Place]:
        """Of all our files, or of these, in the order of their paths."""
        entries = (entry for entry in self.index.entries.values() if is_ours(entry))
        wanted = sorted((one for one in entries if paths is None or one.path in paths), key=lambda one: one.path)
        for entry in count(wanted, READING, len(wanted), self.progress, lambda entry: entry.path):
            module = self.index.module(entry.name)
            if module is None:
                continue
            imports = tuple(item for item in module.imports if names_package(item, self.packages))
            yield from self._find_imports(entry, imports)
            yield from self._find_uses(entry, imports)
            yield from self._find_inherited_by_name(entry)
            yield from self._find_classes(entry, module.definitions)
            yield from self._find_reads(entry, module.imports)

    def owns(self, dotted: str) -> bool:
        return any(is_within(dotted, package) for package in self.packages)

    def _find_imports(self, entry: ModuleEntry, imports: tuple[Import, ...]) -> Iterator[Place]:
        found = self.uses.get(entry.blob)
        guarded = frozenset(found.guarded_imports if found else ())
        for item in imports:
            whole = item.name in {None, "*"}
            target = item.module if whole else f"{item.module}.{item.name}"
            yield Place(
                touch=find_script(self.index, target) or (Touch.MODULE if whole else Touch.IMPORT),
                target=target,
                location=Location(entry.path, item.line),
                guarded=item.line in guarded,
                type_checking=item.type_checking,
            )
        for name, use in find_loaded(found):
            if self.owns(name):
                at = Location(entry.path, use.line)
                yield Place(touch=Touch.MODULE, target=name, location=at, guarded=use.guarded)

    def _find_uses(self, entry: ModuleEntry, imports: tuple[Import, ...]) -> Iterator[Place]:
        found = self.uses.get(entry.blob)
        for use in found.uses if found else ():
            root, _, rest = use.chain.partition(".")
            item = find_visible(imports, root, use.scope)
            if item is None:
                continue
            imported = name_imported(item)
            if item.name is None and item.alias == item.module.partition(".")[0]:
                target, imported = use.chain, item.module
                if not self.owns(target):
                    continue
            else:
                target = f"{imported}.{rest}" if rest else imported
            touch = Touch.CALL if use.call is not None else Touch.PATCH if use.assigned else Touch.ATTRIBUTE
            yield Place(
                touch=touch,
                target=target,
                location=Location(entry.path, use.line),
                call=use.call,
                guarded=use.guarded,
                imported=imported,
                tested=use.tested,
                of_value=use.aliased,
                asked=use.asked,
                type_checking=item.type_checking,
            )

    def _find_inherited_by_name(self, entry: ModuleEntry) -> Iterator[Place]:
        """`Ours.make(…)` and `Ours(…)`, where upstream's class is the one that has the method or the constructor."""
        found = self.uses.get(entry.blob)
        for use in found.uses if found else ():
            root, _, name = use.chain.partition(".")
            if use.call is None or "." in name or root in {"self", "super()"}:
                continue
            at = Location(entry.path, use.line)
            if not name:
                built = self.constructors.find(f"{entry.name}.{root}", use.call)
                if built is not None:
                    call = Place(touch=Touch.CALL, target=built[0], location=at, call=built[1], guarded=use.guarded)
                    yield replace(call, of_value=True)
                continue
            owner = self.resolver.resolve(f"{entry.name}.{root}")
            is_class = owner.definition is not None and owner.definition.kind is DefinitionKind.CLASS
            if not is_class or owner.home is None or self.owns(owner.home):
                continue
            theirs = self.resolver.resolve(f"{owner.home}.{name}")
            if theirs.home and self.owns(theirs.home) and theirs.definition is not None:
                yield Place(touch=Touch.CALL, target=theirs.home, location=at, call=use.call, guarded=use.guarded)

    def _find_classes(self, entry: ModuleEntry, definitions: tuple[Definition, ...]) -> Iterator[Place]:
        found = self.uses.get(entry.blob)
        calls = [use for use in found.uses if use.chain.startswith("super().")] if found else []
        for definition in definitions:
            if definition.kind is not DefinitionKind.CLASS:
                continue
            bases = list(dict.fromkeys(self._upstream_bases(entry.name, definition, 0)))
            for base in bases:
                yield Place(touch=Touch.SUBCLASS, target=base, location=Location(entry.path, definition.line))
            for base in bases[:1]:
                yield from self._find_overrides(entry, definition, base)
                yield from self._find_inherited(entry, definition, base)
                yield from self._find_attributes(entry, definition, base)
                for use in calls:
                    if use.scope.rpartition(".")[0] == definition.qualname and use.call is not None:
                        name = use.chain.removeprefix("super().")
                        if self.is_ours_above(entry.name, definition, name):
                            continue
                        target = f"{base}.{name}"
                        yield Place(
                            touch=Touch.CALL,
                            target=target,
                            location=Location(entry.path, use.line),
                            call=use.call,
                            bound=True,
                            guarded=use.guarded,
                        )

    def is_ours_above(self, module: str, owner: Definition, name: str) -> bool:
        """True if `super().name` runs a method of our own: a class of ours between this one and upstream's has it."""
        for text in owner.bases:
            found = self.resolver.resolve_in(module, f"{text.partition('[')[0]}.{name}")
            if found.exists and found.home is not None:
                return not self.owns(found.home)
        return False

    def _find_inherited(self, entry: ModuleEntry, owner: Definition, base: str) -> Iterator[Place]:
        """`self.name` in our class, where upstream's class is the one that has the name."""
        found = self.uses.get(entry.blob)
        prefix = f"{owner.qualname}."
        inside = [use for use in found.uses if use.scope.startswith(prefix)] if found else []
        own = self._own_names(entry.name, owner, 0) if inside else frozenset()
        for use in inside:
            name = use.chain.removeprefix("self.")
            if not use.chain.startswith("self.") or name in own:
                continue  # what our class sets itself is there, whatever upstream's has
            theirs = self.resolver.resolve(f"{entry.name}.{owner.qualname}.{name}")
            if theirs.exists and theirs.home and self.owns(theirs.home) and not theirs.is_implicit:
                is_call = use.call is not None
                yield Place(
                    touch=Touch.CALL if is_call else Touch.ATTRIBUTE,
                    unshared=is_call and not self._is_below(base, name, entry.path),
                    target=theirs.home,
                    location=Location(entry.path, use.line),
                    call=use.call,
                    bound=True,
                    guarded=use.guarded,
                    base=base,
                )

    def _find_attributes(self, entry: ModuleEntry, owner: Definition, base: str) -> Iterator[Place]:
        """`self.name` in our class, where only methods of upstream's class set the name."""
        found = self.uses.get(entry.blob)
        reads = [use for use in found.uses if is_read_of(use, owner)] if found else []
        attributes = self.instances.find(base) if reads else {}
        own = self._own_names(entry.name, owner, 0) if attributes else frozenset()
        for use in reads:
            name = use.chain.removeprefix("self.")
            attribute = attributes.get(name)
            if attribute is None or name in own or not self.owns(attribute.owner):
                continue
            if self.resolver.resolve(f"{base}.{name}").exists:
                continue  # a member of the class, told as such
            yield Place(
                touch=Touch.ATTRIBUTE,
                target=f"{attribute.owner}.{name}",
                location=Location(entry.path, use.line),
                imported=base,
                guarded=use.guarded,
                instance=True,
                bound=True,
            )

    def _own_names(self, module: str, owner: Definition, depth: int) -> frozenset[str]:
        """What our class and our own classes above it define or set on `self`."""
        entry, holder = self.index.entries.get(module), self.index.module(module)
        found = self.uses.get(entry.blob) if entry is not None else None
        names = set(holder.members(owner.qualname)) if holder else set()
        prefix = f"{owner.qualname}."
        names |= {
            use.chain.removeprefix("self.")
            for use in (found.uses if found else ())
            if use.assigned and use.scope.startswith(prefix)
        }
        for text in owner.bases if depth < 6 else ():
            symbol = self.resolver.resolve_in(module, text.partition("[")[0])
            if symbol.definition is not None and symbol.module is not None and not self.owns(symbol.home or ""):
                names |= self._own_names(symbol.module, symbol.definition, depth + 1)
        return frozenset(names)

    def _find_overrides(self, entry: ModuleEntry, owner: Definition, base: str) -> Iterator[Place]:
        module = self.index.module(entry.name)
        own = self.uses.get(entry.blob)
        closed, called = self._find_closed(entry.name, owner, 0), find_called(own, owner)
        for name in module.members(owner.qualname) if module else ():
            ours = module.best(f"{owner.qualname}.{name}") if module else None
            if ours is None or ours.kind is not DefinitionKind.FUNCTION:
                continue
            theirs = self.resolver.resolve(f"{base}.{name}")
            if theirs.exists and theirs.home and self.owns(theirs.home) and not theirs.is_implicit:
                yield Place(
                    touch=Touch.OVERRIDE,
                    target=theirs.home,
                    location=Location(entry.path, ours.line),
                    override=ours,
                    base=base,
                    closed=closed,
                    handed=name == "__init__" and self.handing.is_handed(owner.name),
                    slots=self.handing.find_slots(owner.name),
                    called=name in called,
                    alone=self._find_alone(entry.name, owner, ours, called) if name in closed & _MADE else None,
                    built=self.handing.is_built(owner.name),
                    fields=self.handing.find_fields(owner.name),
                    keepers=self._find_keepers(owner.name),
                )

    def _find_alone(self, module: str, owner: Definition, made: Definition, called: frozenset[str]) -> Alone | None:
        """What our class gives its objects, where its constructor hands them to nobody; None where others may."""
        node = self.index.read_node(module, made)
        if not isinstance(node, FUNCTIONS) or len(owner.bases) != 1:
            return None
        handed = Own(ast.Module([], []), node)
        sets = self._own_names(module, owner, 0) | handed.sets
        return Alone(sets, called, frozenset(handed.calls)) if handed.is_closed else None

    def _find_keepers(self, name: str) -> frozenset[str] | None:
        kept = self.keepers.find(name)
        above = (base for one in kept or () for base in find_above(one, self.resolver) if self.owns(base))
        return None if kept is None else frozenset(above)

    def _find_closed(self, module: str, owner: Definition, depth: int) -> frozenset[str]:
        """Methods of a class of ours, and of those of ours above it, behind which upstream's of the same name never
        run.
        """
        entry, holder = self.index.entries.get(module), self.index.module(module)
        found = self.uses.get(entry.blob) if entry is not None else None
        names = frozenset(holder.members(owner.qualname)) if holder is not None else frozenset()
        closed = names - find_opened(found, owner) if found is not None or not depth else frozenset()
        for text in owner.bases if depth < 6 else ():
            base = self.resolver.resolve_in(module, text.partition("[")[0])
            if base.definition is None or base.module is None or base.home is None or self.owns(base.home):
                break  # what stands behind upstream's class comes after it
            closed |= self._find_closed(base.module, base.definition, depth + 1)
            if any(self._upstream_bases(base.module, base.definition, depth + 1)):
                break
        return closed

    def _upstream_bases(self, module: str, definition: Definition, depth: int) -> Iterator[str]:
        """Upstream classes among the ancestors, nearest first; our own classes in between are followed."""
        for text in definition.bases if depth < 6 else ():
            symbol = self.resolver.resolve_in(module, text.partition("[")[0])
            if symbol.home is None:
                continue
            if self.owns(symbol.home):
                yield symbol.home
            elif symbol.definition is not None and symbol.module is not None:
                yield from self._upstream_bases(symbol.module, symbol.definition, depth + 1)

    def _find_reads(self, entry: ModuleEntry, imports: tuple[Import, ...]) -> Iterator[Place]:
        found = self.uses.get(entry.blob)
        for read in found.reads if found else ():
            kind, _, text = read.origin.partition(":")
            location = Location(entry.path, read.line)
            if kind == "through":
                maker, place, text = text.split(":")
                if not self._hands_back(maker, int(place), imports, read.scope):
                    continue
            if kind == "self":
                yield from self._find_held(entry, read)
                continue
            if kind in {"name", ITEMS, VALUES} or not text:
                if text == "args" and "." not in read.attributes:
                    yield Place(
                        touch=Touch.FIELD,
                        target=f"args.{read.attributes}",
                        location=location,
                        guarded=read.guarded,
                        certain=False,
                    )
                continue
            root, _, rest = text.partition(".")
            item = find_visible(imports, root, read.scope)
            if item is None or not names_package(item, self.packages):
                continue
            named = f"{name_imported(item)}.{rest}" if rest else name_imported(item)
            if named.rpartition(".")[2] in {"get_args", "parse_args"} and kind == "call":
                first = read.attributes.partition(".")[0]
                yield Place(touch=Touch.FIELD, target=f"args.{first}", location=location, guarded=read.guarded)
                continue
            held = self.chains.find_class(named, kind, read.attributes.split("."))
            if held is None:
                continue
            holder, exact, names = held
            # as our file names the class, where it does: its module may move
            through = named if self.resolver.resolve(named).home == holder else holder
            given = replace(read, attributes=".".join(names))
            yield from self._find_steps(given, location, holder, through, exact=exact, certain=kind != "claim")

    def _hands_back(self, text: str, place: int, imports: tuple[Import, ...], scope: str) -> bool:
        """Whether a function of upstream's returns nothing but what it is given, and so what it is given there."""
        root, _, rest = text.partition(".")
        item = find_visible(imports, root, scope)
        if item is None or not names_package(item, self.packages):
            return False
        return hands_back(self.resolver, f"{name_imported(item)}.{rest}" if rest else name_imported(item), place)

    def _find_steps(
        self, read: FieldRead, location: Location, holder: str, through: str, *, exact: bool, certain: bool
    ) -> Iterator[Place]:
        """What a chain of attributes of a value touches: the last member that can be told, and what methods set."""
        names = read.attributes.split(".")
        steps = list(self.chains.follow(holder, names, exact=exact))
        road = find_road(through or holder, names, steps)
        ours = {one for one in steps if not one.exact and self._is_ours_below(one, location.path)}
        for one in [one for one in steps if not one.instance][-1:]:
            yield Place(
                touch=Touch.FIELD,
                target=one.target,
                location=location,
                guarded=read.guarded,
                imported=through if len(names) == 1 else "",
                certain=certain and one not in ours,
                base=one.holder,
                may_be_below=not one.exact,
                road=road,
            )
        for one in steps:
            if one.instance and one not in ours:
                yield Place(
                    touch=Touch.ATTRIBUTE,
                    target=one.target,
                    location=location,
                    imported=one.holder,
                    guarded=read.guarded,
                    certain=certain,
                    may_be_below=not one.exact,
                    instance=True,
                    bound=True,
                )
        reached = sum(one.taken for one in steps) == len(names)
        if read.call is not None and reached and not (steps[-1].instance or steps[-1] in ours):
            last = steps[-1]
            base = through if len(names) == 1 else last.holder
            yield call_method(last.target, location, read, base, certain=certain, exact=last.exact)

    def _is_ours_below(self, step: Step, path: str) -> bool:
        """Whether a class of ours below the one that a value is said to be of has the attribute: it may be that one."""
        return self._is_below(step.holder, step.target.rpartition(".")[2], path)

    def _is_below(self, holder: str, name: str, path: str) -> bool:
        """Whether a class of ours below one of upstream's has an attribute."""
        if self.below is None:
            entries = [one for one in self.index.entries.values() if is_ours(one)]
            self.below = join_below(map(self._find_below, entries))
        told = name in self.below.get(holder, ())
        self.asked[path][f"{holder} {name}"] = told
        return told

    def find_below(self, paths: Container[str]) -> dict[str, Below]:
        """Of each of these files of ours what its classes below upstream's define or set."""
        entries = (one for one in self.index.entries.values() if is_ours(one) and one.path in paths)
        return {entry.path: self._find_below(entry) for entry in entries}

    def _find_below(self, entry: ModuleEntry) -> Below:
        module, found = self.index.module(entry.name), dict[str, set[str]]()
        for owner in module.definitions if module is not None else ():
            bases = list(self._upstream_bases(entry.name, owner, 0)) if owner.bases else []
            if bases:
                above = sorted({one for base in bases for one in find_above(base, self.resolver)})
                found.setdefault(" ".join(above), set()).update(self._own_names(entry.name, owner, 0))
        return {above: " ".join(sorted(names)) for above, names in sorted(found.items()) if names}

    def _find_held(self, entry: ModuleEntry, read: FieldRead) -> Iterator[Place]:
        """`self.config.field` in our class: upstream's class says what `config` holds."""
        module, name = self.index.module(entry.name), read.origin.partition(":")[2]
        owner = next(
            (
                one
                for one in (module.definitions if module else ())
                if one.kind is DefinitionKind.CLASS and read.scope.startswith(f"{one.qualname}.")
            ),
            None,
        )
        bases = list(self._upstream_bases(entry.name, owner, 0)) if owner is not None else []
        held = self.instances.find(bases[0]).get(name) if bases else None
        if held is None or not held.kind or owner is None or not self.owns(held.kind):
            return
        location, own = Location(entry.path, read.line), self._own_names(entry.name, owner, 0)
        exact, certain = held.made and name not in own, name not in own
        yield from self._find_steps(read, location, held.kind, "", exact=exact, certain=certain)
