"""Upstream's own calls of names, read once for all names that are asked for together."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from layline.change.asked_signatures import MARK, find_asked
from layline.change.asked_signatures import Asked as AskedParameter
from layline.change.binding import CallSite, read_call
from layline.core.evidence import Location, Skipped
from layline.source.definitions import ROW_FIRST, ROW_KIND, ROW_LAST, ROW_QUALNAME, DefinitionKind, Module
from layline.source.excerpts import parse_around
from layline.source.fingerprint import dotted_text
from layline.source.instances import Attribute, Instances
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read, say_name
from layline.source.shift import SHARED
from layline.source.symbols import Symbol
from layline.source.walking import walk

if TYPE_CHECKING:
    from layline.change.told import Told


class CallSites:
    """Every call in one index of dotted names: functions and classes by meaning, methods by name.

    Only modules whose text holds `name(`, or that import it under another name, are parsed. A method call counts as
    certain only where no other class of the index has a method of that name; names that many classes share (`forward`)
    say nothing and are not searched.
    """

    def __init__(self, resolver: Resolver, told: Told | None = None) -> None:
        """`told` keeps what is said of each name: who asks depends on that."""
        self._resolver = resolver
        self._told = told
        self._known: dict[str, tuple[list[CallSite], Collection[Read]]] = {}

    def find(self, name: str, others: Iterable[str] = ()) -> list[CallSite]:
        """The calls of a name, by file and line; those of the `others` are read with them, since reading costs."""
        if name not in self._known:
            self._read({name, *others} - self._known.keys())
        sites, reads = self._known[name]
        seen = self._resolver.index.seen
        if self._told is None:
            seen.extend(reads)
        else:
            digest = _digest(sites)
            self._told.put(name, digest, reads)
            seen.add(Asked.CALLS, f"{name}={digest}")
        return sites

    def tell(self, name: str) -> str:
        """The calls of a name in a word, places apart."""
        with self._resolver.index.seen.within(set()):
            return _digest(self.find(name))

    @cached_property
    def _owners(self) -> Counter[str]:
        """Last name → how many classes of the index have a method of that name."""
        index, found = self._resolver.index, Counter[str]()
        for _, module in index.modules():
            found.update(name.rpartition(".")[2] for name in module.names() if "." in name)
        return found

    def _read(self, names: set[str]) -> None:
        seen = self._resolver.index.seen
        with seen.within(set()):
            wanted = _Wanted(self._resolver, names, self._owners)
            found: dict[str, list[CallSite]] = {name: [] for name in wanted.homes}
            words = {word: word.encode() for word in sorted(wanted.by_last)}
            pattern = re.compile(rb"\b(?:" + (b"|".join(map(re.escape, words.values())) or rb"(?!)") + rb")\s*\(")
            lasts = {last for names in wanted.in_home.values() for last in names}
            # which modules are looked at follows from the words, which are noted for each name
            for module, data in self._resolver.index.read_all({*words, *lasts, *wanted.applied}):
                # a plain search first: it is many times faster than the pattern, and mostly in vain
                spelled = any(word in data for word in words.values()) and pattern.search(data)
                applied = _APPLY in data and any(word.encode() in data for word in wanted.applied)
                if not (spelled or applied or module in wanted.in_home or wanted.has_alias(module)):
                    continue
                reads: set[Read] = set()
                with seen.within(reads):
                    for dotted, site in wanted.find(module, data):
                        found[dotted].append(site)
                for dotted in wanted.find_named(module, data, words):
                    wanted.reads[dotted] |= reads
        for name, sites in found.items():
            sites.sort(key=lambda site: (site.location.path, site.location.line))
            self._known[name] = sites, tuple(wanted.reads[name])


def _digest(sites: Iterable[CallSite]) -> str:
    """Of all that is said of calls, their lines apart: answers that tell lines know whether their files changed."""
    told = [replace(site, location=Location(site.location.path, 0)) for site in sites]
    return hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def find_call_sites(resolver: Resolver, names: Iterable[str]) -> dict[str, list[CallSite]]:
    """The calls of several names."""
    listed = sorted(set(names))
    sites = CallSites(resolver)
    return {name: sites.find(name, listed) for name in listed}


def read_modules(resolver: Resolver, words: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Every module that holds one of the words, with its blob."""
    index, listed = resolver.index, list(words)
    for word in listed:
        index.seen.add(Asked.WORD, word)
    yield from index.read_all(listed)


def _receiver(tree: ast.Module, call: ast.Call, holder: Module | None, offset: int) -> tuple[str | None, bool]:
    """The class that the receiver of a method call is known to have: of `self`, or of an annotated or constructed
    variable; and whether it was made there, so that it is of no class below.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id="self")):
            return find_class(holder, call.lineno + offset), False
        case ast.Attribute(value=ast.Name(id=name)):
            found = {one for function in _find_functions(tree, call) for one in _find_kinds(function, name)}
            kinds = {kind for kind, _ in found}
            if len(kinds) == 1:  # several makers: only a run knows
                return kinds.pop(), all(made for _, made in found)
    return None, False


def find_class(holder: Module | None, line: int) -> str | None:
    """The innermost class around a line."""
    return _find_innermost(holder, line, _CLASS)


def find_function(holder: Module | None, line: int) -> str | None:
    """The innermost function around a line, with its class."""
    return _find_innermost(holder, line, _FUNCTION)


def _find_innermost(holder: Module | None, line: int, kind: int) -> str | None:
    rows = holder.rows if holder is not None else ()
    around = [one for one in rows if one[ROW_KIND] == kind and one[ROW_FIRST] <= line <= one[ROW_LAST]]
    return str(max(around, key=lambda row: row[ROW_FIRST])[ROW_QUALNAME]) if around else None


def _find_functions(tree: ast.Module, call: ast.Call) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions around a call."""
    for node in _list_functions(tree):
        if node.lineno <= call.lineno <= (node.end_lineno or 0):
            yield node


def _find_asked(tree: ast.Module, call: ast.Call) -> Iterator[AskedParameter]:
    """What the function around a call asks of the signature of what it calls."""
    around = list(_find_functions(tree, call))
    yield from find_asked(max(around, key=lambda one: one.lineno), call) if around else ()


@lru_cache(maxsize=4)
def _list_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _find_kinds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[tuple[str | None, bool]]:
    """What a variable of a function is annotated with or made by, and whether it is made; None for anything else it is
    given.
    """
    for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if one.arg == name:
            yield dotted_text(one.annotation) if one.annotation is not None else None, False
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                yield (dotted_text(value.func), True) if isinstance(value, ast.Call) else (None, False)


def is_applied(symbol: Symbol) -> bool:
    """Whether a method is what `apply` of its class runs: its first parameter is the context."""
    definition = symbol.definition
    if definition is None or not definition.owner or definition.name != "forward" or not definition.parameters:
        return False
    return definition.parameters[0].name == "ctx"


_APPLY = b".apply"
_CLASS = tuple(DefinitionKind).index(DefinitionKind.CLASS)
_FUNCTION = tuple(DefinitionKind).index(DefinitionKind.FUNCTION)
_MAKERS = ("__init__", "__new__")


class _Wanted:
    """The names asked for, and how a call may spell them."""

    def __init__(self, resolver: Resolver, names: Iterable[str], owners: Counter[str]) -> None:
        self._resolver = resolver
        self._owners = owners
        self._instances = Instances(resolver)
        self.reads: dict[str, set[Read]] = {name: set() for name in sorted(set(names))}
        """What the calls of each name depend on."""
        self.homes = {name: self._resolve(name) for name in self.reads}
        self.by_last: dict[str, list[str]] = defaultdict(list)
        self.in_home: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """Methods whose name many classes share: only receivers whose class is known tell whose they are, in their own
        module and in those that import the class."""
        self.applied: dict[str, list[str]] = defaultdict(list)
        """Last word of a class → those names that its `apply` runs: `Function.apply(x)` is `forward(ctx, x)`."""
        for name, symbol in self.homes.items():
            last = name.rpartition(".")[2]
            if is_applied(symbol):
                owner = (symbol.home or "").split(".")[-2]
                self.applied[owner].append(name)
                self.reads[name].add((Asked.WORD, owner))
            if (
                symbol.definition is not None
                and symbol.definition.owner
                and self._owners[last] > SHARED
                and last not in _MAKERS
            ):
                for user in self._find_users(name, symbol):
                    self.in_home[user][last].append(name)
                    self.reads[name].add((Asked.MENTION, say_name(user, last)))
                self.reads[name].add(self._count(last))
                continue
            dunder = last in _MAKERS and symbol.definition is not None
            word = symbol.definition.owner.rpartition(".")[2] if dunder and symbol.definition else last
            self.by_last[word].append(name)
            named = symbol.definition.name if symbol.definition is not None else last
            self.reads[name] |= {(Asked.WORD, word), self._count(last), self._count(named)}

    def _resolve(self, name: str) -> Symbol:
        with self._resolver.index.seen.within(self.reads[name]):
            return self._resolver.resolve(name)

    def _find_users(self, name: str, symbol: Symbol) -> list[str]:
        """The module of a method, and those that import its class."""
        owner = (symbol.home or "").rpartition(".")[0]
        with self._resolver.index.seen.within(self.reads[name]):
            importers = [module for module, _ in self._resolver.find_importers(owner)]
        return list(dict.fromkeys((str(symbol.module), *importers)))

    def _count(self, last: str) -> Read:
        return Asked.OWNERS, f"{last}={self._owners[last]}"

    def find_named(self, module: str, data: bytes, words: dict[str, bytes]) -> Iterator[str]:
        """Names whose calls may stand in a module."""
        for word, names in self.by_last.items():
            yield from names if words[word] in data else ()
        for word, names in self.applied.items():
            yield from names if word.encode() in data else ()
        yield from (name for names in self.in_home.get(module, {}).values() for name in names)

    def find(self, module: str, data: bytes) -> Iterator[tuple[str, CallSite]]:
        # the words that lead here are noted, and with them the definitions that are read
        path, holder = self._resolver.index.entries[module].path, self._resolver.index.peek(module)
        words, own = self._spellings(module), self.in_home.get(module, {})
        spelled = b"|".join(re.escape(word.encode()) for word in (*words, *own, *(["apply"] if self.applied else [])))
        # between a name and the bracket that calls it there may be closing brackets, line ends and comments
        pattern = re.compile(rb"\b(?:" + spelled + rb")\b[\s\\)]*[(#]")
        parts = parse_around(data, holder, pattern) if holder is not None else ()
        asks = MARK in data
        for tree, offset in () if isinstance(parts, Skipped) else parts:
            for node in walk(tree):
                yield from self._find_applied(module, path, node, offset)
                match node:
                    case ast.Call(func=ast.Name(id=last) | ast.Attribute(attr=last)) if last in words or last in own:
                        klass, made = _receiver(tree, node, holder, offset)
                        asked = tuple(_find_asked(tree, node)) if asks else ()
                        held = self._find_held(module, node, holder, offset)
                        shared = own.get(last, ())
                        for dotted in (*words.get(last, ()), *shared):
                            sure = held is not None and held.kind is not None and self._has_method(held.kind, dotted)
                            kept = sure and held is not None and held.made
                            certain = sure or self._is_call_of(module, node, dotted, klass)
                            if certain or (certain is False and dotted not in shared):
                                yield (
                                    dotted,
                                    CallSite(
                                        module=module,
                                        location=Location(path, node.lineno + offset),
                                        shape=read_call(node),
                                        certain=certain,
                                        exact=(made or kept) and bool(certain),
                                        slot=(dotted_text(node.func) or "").split(".")[1] if kept else "",
                                        on_self=(dotted_text(node.func) or "").rpartition(".")[0] == "self",
                                        asked=asked,
                                    ),
                                )

    def _find_applied(self, module: str, path: str, node: ast.AST, offset: int) -> Iterator[tuple[str, CallSite]]:
        """`Function.apply(x)`, which runs `forward(ctx, x)` of the class."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr="apply")):
                home = self._meaning(module, dotted_text(owner) or "") if self.applied else None
                for name in (one for names in self.applied.values() for one in names if home is not None):
                    if (self.homes[name].home or "").rpartition(".")[0] == home:
                        shape = read_call(node)
                        given = replace(shape, positional=shape.positional + 1)
                        at = Location(path, node.lineno + offset)
                        yield name, CallSite(module=module, location=at, shape=given, certain=True)

    def _find_held(self, module: str, call: ast.Call, holder: Module | None, offset: int) -> Attribute | None:
        """What the methods of a class keep under a name: `self.router.route(…)`."""
        match call.func:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                around = find_class(holder, call.lineno + offset)
                home = self._resolver.resolve_in(module, around).home if around is not None else None
                return self._instances.find(home).get(name) if home is not None else None
        return None

    def _has_method(self, owner: str, dotted: str) -> bool:
        """Whether objects of a class have this very method."""
        wanted = self.homes[dotted]
        return (
            wanted.home is not None
            and self._resolver.resolve(f"{owner}.{dotted.rpartition('.')[2]}").home == wanted.home
        )

    def has_alias(self, module: str) -> bool:
        holder = self._resolver.index.peek(module)
        imports = holder.imports if holder is not None else ()
        return any(item.name in self.by_last and item.alias != item.name for item in imports)

    def _spellings(self, module: str) -> dict[str, list[str]]:
        """The last word of a call → the names it may mean; `from m import f as g` makes `g` another word for `f`."""
        words = {last: list(names) for last, names in self.by_last.items()}
        holder = self._resolver.index.peek(module)
        for item in holder.imports if holder is not None else ():
            if item.name in self.by_last and item.alias != item.name:
                for name in self.by_last[item.name]:
                    self.reads[name].add((Asked.MENTION, say_name(module, item.alias)))
                words[item.alias] = [*words.get(item.alias, ()), *self.by_last[item.name]]
        return words

    def _is_call_of(self, module: str, node: ast.Call, dotted: str, klass: str | None) -> bool | None:
        """True: it is; None: it is not; False: it may be, on a value only a run knows."""
        symbol = self.homes[dotted]
        definition = symbol.definition
        is_method = definition is not None and bool(definition.owner) and definition.kind is DefinitionKind.FUNCTION
        is_made = is_method and definition is not None and definition.name in _MAKERS
        text = dotted_text(node.func)
        if klass is not None and is_method and definition is not None and not is_made:
            # the receiver may be an object of any subclass, ours too: certain where its class has this very method
            owner = self._resolver.resolve_in(module, klass)
            if owner.definition is not None and owner.definition.kind is DefinitionKind.CLASS:
                home = self._resolver.resolve(f"{owner.home}.{definition.name}").home
                return True if home == symbol.home else None
        if text is not None:
            home = self._meaning(module, text)
            wanted = symbol.home.rpartition(".")[0] if is_made and symbol.home else symbol.home
            if home is not None:
                return True if home == wanted else None
        if not is_method or is_made or not isinstance(node.func, ast.Attribute) or definition is None:
            return None
        return self._owners[definition.name] == 1

    def _meaning(self, module: str, text: str) -> str | None:
        symbol = self._resolver.resolve_in(module, text)
        if symbol.home is not None:
            return symbol.home
        first, _, rest = text.partition(".")
        holder = self._resolver.index.module(module)
        for item in holder.find_imports(first) if holder is not None else ():
            if item.scope:
                base = self._resolver.follow_import(module, item).home
                return self._resolver.resolve(f"{base}.{rest}" if rest else str(base)).home if base else None
        return None
