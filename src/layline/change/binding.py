"""Whether a call binds to a signature, and whether a replacement accepts what its callers pass.

    shape = read_call(node)                                        # of an ast.Call
    check_call(shape, definition.parameters, bound=True)           # → problems, () where the call binds; bound: `self`
    is supplied
    check_replacement(ours.parameters, theirs.parameters)          # → problems of calls that upstream's signature
    allows
    sites = find_call_sites(tip, {"pkg.m.f", "pkg.m.C.step"})      # upstream's own calls of these names at the tip
    [p for site in sites["pkg.m.f"] for p in check_call(site.shape, ours.parameters, bound=False)]

A problem names the argument that breaks. `certain` problems break every call; the others break the calls that pass the
optional argument, which `find_call_sites` can show.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from layline.core.evidence import Location, Skipped
from layline.core.why import Reason, Why, say
from layline.git import Blob
from layline.source.definitions import (
    ROW_FIRST,
    ROW_KIND,
    ROW_LAST,
    ROW_QUALNAME,
    DefinitionKind,
    Module,
    Parameter,
    ParameterKind,
)
from layline.source.excerpts import parse_around
from layline.source.fingerprint import dotted_text
from layline.source.resolve import Resolver
from layline.source.walking import walk


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShape:
    """What one call passes."""

    positional: int
    keywords: tuple[str, ...] = ()
    has_star: bool = False
    """`*args`: more positional arguments than can be counted."""
    has_double_star: bool = False
    taken: int | None = None
    """Into how many names the result is taken apart, where it is."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call does not bind."""

    argument: str
    why: Why
    certain: bool = True

    @property
    def message(self) -> str:
        return say(self.why)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """One place that calls a name."""

    module: str
    location: Location
    shape: CallShape
    certain: bool
    """False: a method called on a value whose class only a run knows."""
    on_self: bool = False


def read_call(node: ast.Call) -> CallShape:
    return CallShape(
        positional=len([item for item in node.args if not isinstance(item, ast.Starred)]),
        keywords=tuple([item.arg for item in node.keywords if item.arg is not None]),
        has_star=any(isinstance(item, ast.Starred) for item in node.args),
        has_double_star=any(item.arg is None for item in node.keywords),
    )


def check_call(call: CallShape, parameters: tuple[Parameter, ...], *, bound: bool) -> tuple[Problem, ...]:
    """Why the call does not bind; nothing where it does or where stars hide what it passes."""
    return tuple(_find_problems(call, _without_self(parameters) if bound else parameters))


def _find_problems(call: CallShape, parameters: tuple[Parameter, ...]) -> Iterator[Problem]:
    by_position = [item for item in parameters if item.kind in _BY_POSITION]
    takes_more = any(item.kind is ParameterKind.VARIADIC for item in parameters)
    takes_any = any(item.kind is ParameterKind.KEYWORDS for item in parameters)
    if call.positional > len(by_position) and not takes_more:
        why = Why(Reason.TOO_MANY, counts=(len(by_position), call.positional))
        yield Problem(f"#{len(by_position) + 1}", why)
    filled = {item.name for item in by_position[: call.positional]}
    accepted = {item.name for item in parameters if item.kind in _BY_KEYWORD}
    for name in call.keywords:
        if name not in accepted and not takes_any:
            yield Problem(name, Why(Reason.REFUSES_KEYWORD, name))
        elif name in filled and name in accepted:
            yield Problem(name, Why(Reason.TWICE, name))
    for item in parameters:
        hidden = call.has_double_star or (call.has_star and item.kind in _BY_POSITION)
        named = item.name in call.keywords and item.name in accepted
        if item.required and item.name not in filled and not named and not hidden:
            yield Problem(item.name, Why(Reason.NOT_PASSED, item.name))


_BY_POSITION = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL)
_BY_KEYWORD = (ParameterKind.POSITIONAL, ParameterKind.KEYWORD_ONLY)


def find_shifted(
    call: CallShape, before: tuple[Parameter, ...], after: tuple[Parameter, ...], *, bound: bool
) -> tuple[Problem, ...]:
    """Positional arguments of a call that binds at both refs and that land in another parameter at the second."""
    old, new = (
        [item.name for item in (_without_self(side) if bound else side) if item.kind in _BY_POSITION]
        for side in (before, after)
    )
    known = {item.name for item in after}
    found = []
    for place, (was, now) in enumerate(zip(old[: call.positional], new[: call.positional], strict=False), start=1):
        # a parameter that only changed its name is where it was
        if was != now and (was in known or now in old):
            found.append(Problem(was, Why(Reason.LANDS_IN_ANOTHER, was, now, counts=(place,))))
    return tuple(found)


def check_replacement(ours: tuple[Parameter, ...], theirs: tuple[Parameter, ...]) -> tuple[Problem, ...]:
    """What our replacement (or override) does not take although upstream's signature invites callers to pass it."""
    return tuple(_find_refused(ours, theirs))


def _find_refused(ours: tuple[Parameter, ...], theirs: tuple[Parameter, ...]) -> Iterator[Problem]:
    names = {item.name for item in ours if item.kind in _BY_KEYWORD}
    positions = [item for item in ours if item.kind in _BY_POSITION]
    kinds = {item.kind for item in ours}
    takes_more, takes_any = ParameterKind.VARIADIC in kinds, ParameterKind.KEYWORDS in kinds
    place = 0
    for item in theirs:
        by_position = place < len(positions) or takes_more
        if item.kind in _BY_POSITION:
            place += 1
        by_keyword = item.name in names or takes_any
        match item.kind:
            case ParameterKind.VARIADIC | ParameterKind.KEYWORDS:
                continue
            case ParameterKind.POSITIONAL_ONLY:
                is_taken = by_position
            case ParameterKind.POSITIONAL if item.name in {"self", "cls"}:
                continue
            case _:
                is_taken = by_keyword
        if is_taken:
            continue
        stand_in = _find_stand_in(place - 1, positions, theirs) if by_position and item.required else None
        if stand_in is not None:  # only a call that names it would notice
            yield Problem(item.name, Why(Reason.REFUSES_NAME, stand_in, text=str(item)), certain=False)
        else:
            yield Problem(item.name, Why(Reason.REFUSES, item.name, text=str(item)), certain=item.required)
    known = {item.name for item in theirs}
    flexible = any(item.kind in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS} for item in theirs)
    for item in ours:
        is_extra = item.required and item.name not in known and item.name not in {"self", "cls"} and not flexible
        if is_extra and not _stands_for_another(item, positions, theirs):
            yield Problem(item.name, Why(Reason.NEEDS_EXTRA, item.name))
    yield from _find_swapped(positions, theirs)


def _find_stand_in(place: int, ours: list[Parameter], theirs: tuple[Parameter, ...]) -> str | None:
    """What our parameter at this place is called, if theirs has none of that name: the same one under another name."""
    name = ours[place].name if 0 <= place < len(ours) else None
    return name if name not in {item.name for item in theirs} else None


def _stands_for_another(item: Parameter, ours: list[Parameter], theirs: tuple[Parameter, ...]) -> bool:
    """True if it takes, under another name, the place of a parameter of theirs."""
    if item not in ours:
        return False
    place = ours.index(item)
    by_position = [other for other in theirs if other.kind in _BY_POSITION]
    return place < len(by_position) and by_position[place].name not in {other.name for other in ours}


def _find_swapped(ours: list[Parameter], theirs: tuple[Parameter, ...]) -> Iterator[Problem]:
    """Parameters of the same name at another place: a positional call would put values in the wrong ones."""
    their_names = [item.name for item in theirs if item.kind in _BY_POSITION]
    our_names = [item.name for item in ours]
    for place, name in enumerate(their_names):
        if (
            place < len(our_names)
            and our_names[place] != name
            and name in our_names
            and our_names[place] in their_names
        ):
            yield Problem(name, Why(Reason.SWAPPED, our_names[place], name), certain=False)
            return


def _without_self(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    return parameters[1:] if parameters and parameters[0].kind in _BY_POSITION else parameters


def find_call_sites(resolver: Resolver, names: Iterable[str]) -> dict[str, list[CallSite]]:
    """Every call in the index of these dotted names: functions and classes by meaning, methods by name.

    Only modules whose text holds `name(`, or that import it under another name, are parsed. A method call counts as
    certain only where no other class of
    the index has a method of that name; names that many classes share (`forward`) say nothing and are not searched.
    """
    wanted = _Wanted(resolver, names)
    found: dict[str, list[CallSite]] = {name: [] for name in wanted.homes}
    if not wanted.by_last and not wanted.in_home:
        return found
    words = [word.encode() for word in sorted(wanted.by_last)]
    pattern = re.compile(rb"\b(?:" + (b"|".join(map(re.escape, words)) or rb"(?!)") + rb")\s*\(")
    for name, data in read_modules(resolver):
        # a plain search first: it is many times faster than the pattern, and mostly in vain
        spelled = any(word in data for word in words) and pattern.search(data)
        if spelled or name in wanted.in_home or wanted.has_alias(name):
            for dotted, site in wanted.find(name, data):
                found[dotted].append(site)
    for sites in found.values():
        sites.sort(key=lambda site: (site.location.path, site.location.line))
    return found


def read_modules(resolver: Resolver) -> Iterator[tuple[str, bytes]]:
    """Every module with its blob, each repository streamed once."""
    index = resolver.index
    for number, part in enumerate(index.parts):
        names: dict[str, list[str]] = defaultdict(list)
        for entry in index.entries.values():
            if entry.part == number:
                names[entry.blob].append(entry.name)
        for blob in part.tree.repository.stream_blobs(names):
            if isinstance(blob, Blob):
                yield from ((name, blob.data) for name in names[blob.oid])


def _receiver(tree: ast.Module, call: ast.Call, holder: Module | None, offset: int) -> str | None:
    """The class that the receiver of a method call is known to have: of `self`, or of an annotated or constructed
    variable.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id="self")):
            line = call.lineno + offset
            around = (
                [one for one in holder.rows if one[ROW_KIND] == _CLASS and one[ROW_FIRST] <= line <= one[ROW_LAST]]
                if holder
                else []
            )
            return str(max(around, key=lambda row: row[ROW_FIRST])[ROW_QUALNAME]) if around else None
        case ast.Attribute(value=ast.Name(id=name)):
            kinds = {kind for function in _find_functions(tree, call) for kind in _find_kinds(function, name)}
            return kinds.pop() if len(kinds) == 1 else None  # several makers: only a run knows
    return None


def _find_functions(tree: ast.Module, call: ast.Call) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions around a call."""
    for node in _list_functions(tree):
        if node.lineno <= call.lineno <= (node.end_lineno or 0):
            yield node


@lru_cache(maxsize=4)
def _list_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _find_kinds(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Iterator[str | None]:
    """What a variable of a function is annotated with or made by; None for anything else it is given."""
    for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if one.arg == name:
            yield dotted_text(one.annotation) if one.annotation is not None else None
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                yield dotted_text(value.func) if isinstance(value, ast.Call) else None


_CLASS = tuple(DefinitionKind).index(DefinitionKind.CLASS)
_MAKERS = ("__init__", "__new__")
_SHARED = 4


class _Wanted:
    """The names asked for, and how a call may spell them."""

    def __init__(self, resolver: Resolver, names: Iterable[str]) -> None:
        self._resolver = resolver
        self.homes = {name: resolver.resolve(name) for name in sorted(set(names))}
        self.by_last: dict[str, list[str]] = defaultdict(list)
        self.in_home: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """Methods whose name many classes share: only receivers whose class is known, in their own module, tell whose
        they are."""
        self._owners: dict[str, int] = defaultdict(int)
        for _, module in resolver.index.modules():
            for qualname in module.names():
                self._owners[qualname.rpartition(".")[2]] += "." in qualname
        for name, symbol in self.homes.items():
            last = name.rpartition(".")[2]
            if (
                symbol.definition is not None
                and symbol.definition.owner
                and self._owners[last] > _SHARED
                and last not in _MAKERS
            ):
                self.in_home[str(symbol.module)][last].append(name)
                continue
            dunder = last in _MAKERS and symbol.definition is not None
            self.by_last[symbol.definition.owner.rpartition(".")[2] if dunder and symbol.definition else last].append(
                name
            )

    def find(self, module: str, data: bytes) -> Iterator[tuple[str, CallSite]]:
        path, holder = self._resolver.index.entries[module].path, self._resolver.index.module(module)
        words, own = self._spellings(module), self.in_home.get(module, {})
        spelled = b"|".join(re.escape(word.encode()) for word in (*words, *own))
        # between a name and the bracket that calls it there may be closing brackets, line ends and comments
        pattern = re.compile(rb"\b(?:" + spelled + rb")\b[\s\\)]*[(#]")
        parts = parse_around(data, holder, pattern) if holder is not None else ()
        for tree, offset in () if isinstance(parts, Skipped) else parts:
            for node in walk(tree):
                match node:
                    case ast.Call(func=ast.Name(id=last) | ast.Attribute(attr=last)) if last in words or last in own:
                        klass = _receiver(tree, node, holder, offset)
                        for dotted in (*words.get(last, ()), *(own.get(last, ()) if klass else ())):
                            certain = self._is_call_of(module, node, dotted, klass)
                            if certain is not None:
                                yield (
                                    dotted,
                                    CallSite(
                                        module=module,
                                        location=Location(path, node.lineno + offset),
                                        shape=read_call(node),
                                        certain=certain,
                                        on_self=(dotted_text(node.func) or "").startswith("self."),
                                    ),
                                )

    def has_alias(self, module: str) -> bool:
        holder = self._resolver.index.module(module)
        imports = holder.imports if holder is not None else ()
        return any(item.name in self.by_last and item.alias != item.name for item in imports)

    def _spellings(self, module: str) -> dict[str, list[str]]:
        """The last word of a call → the names it may mean; `from m import f as g` makes `g` another word for `f`."""
        words = {last: list(names) for last, names in self.by_last.items()}
        holder = self._resolver.index.module(module)
        for item in holder.imports if holder is not None else ():
            if item.name in self.by_last and item.alias != item.name:
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
        for item in holder.imports if holder is not None else ():
            if item.scope and item.alias == first:
                base = self._resolver.follow_import(module, item).home
                return self._resolver.resolve(f"{base}.{rest}" if rest else str(base)).home if base else None
        return None
