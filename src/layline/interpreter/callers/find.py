"""Where a function of the downstream is called or handed on: only what resolves to this very function counts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import OFFERED
from layline.interpreter.callers.files import Ask, Files
from layline.interpreter.callers.hints import is_named_after, is_telling
from layline.interpreter.callers.names import Names
from layline.interpreter.callers.offers import find_offers
from layline.interpreter.callers.receivers import Receiver, find_receivers, is_said_otherwise
from layline.interpreter.callers.sites import PASSED, Callers, Site, say_site, show_sites
from layline.interpreter.callers.tables import find_asked, find_keys, find_table, find_table_calls
from layline.interpreter.callers.text_loads import TextLoads
from layline.interpreter.callers.uses import (
    calls_overridden,
    find_method_uses,
    find_own_method,
    is_property,
    read_file,
)

if TYPE_CHECKING:
    from layline.interpreter.callers.uses import Body, File, Use
    from layline.interpreter.modules import Modules

_MAKERS = frozenset(["__init__", "__new__", "__post_init__", "__enter__", "__exit__", "__aenter__", "__aexit__"])
"""Methods that making an object (and entering it) calls."""
_CALL = "__call__"
_ENTERS = frozenset(["__enter__", "__exit__", "__aenter__", "__aexit__"])
_REGISTERS = re.compile(r"regist|hook|subscri|listen|callback|receiver|handler|command|event", re.IGNORECASE)
_PLAIN = frozenset(["abc", "typing", "enum"])
"""Where bases come from that call no methods of ours."""


class Search:
    """Finds the callers of functions of one downstream; files are read as far as they mention a name asked for."""

    def __init__(self, modules: Modules, files: Files, asked: Iterable[str]) -> None:
        listed = frozenset(asked)
        wanted = {name.rpartition(".")[2] for name in listed}
        makers = {name.rpartition(".")[0].rpartition(".")[2] for name in listed if _is_made(name)}
        wanted |= {below for name in makers for below in files.find_words_below(name)}
        self._files = files
        self._names = Names(modules, files, frozenset(wanted))
        self._tables: dict[str, list[Site]] = {}
        self._text_loads = TextLoads(self._names, files)

    def find(self, dotted: str) -> Callers:
        """The callers of a function, method, class or module of the downstream."""
        place = self._names.find_place(dotted) or self._find_inherited(dotted)
        if place is None or isinstance(place.node, ast.ClassDef):
            return self._find_importers(dotted if place is None else _module_around(place).name)
        owner = place.outer
        if owner is None or not isinstance(owner.node, ast.ClassDef):
            found = [*self._find_function(dotted, place), *self._find_named(dotted)]
            known = show_sites([*found, *_find_registration(place, self._names)])
            is_ours = bool(known.sites) and all(site.is_own_call for site in known.sites)
            return known if is_ours else self._add_offers(known, dotted)
        if place.name.rpartition(".")[2] in _MAKERS:
            makers = show_sites(self._find_makers(owner.name, place))
            is_handed = any(site.use is not None and not site.use.is_call for site in makers.sites)
            return self._add_offers(replace(makers, is_method=True, is_offered=is_handed), owner.name)
        if place.name.rpartition(".")[2] == _CALL:
            made = list(self._find_makers(owner.name, place))
            return show_sites(
                list(self._find_object_calls(owner.name, made)) or [_call_elsewhere(site) for site in made]
            )
        method = place.name.rpartition(".")[2]
        found, unknown = self._find_method(dotted.rpartition(".")[0], owner.name, place)
        known = show_sites([*found, *_find_registration(place, self._names)], unknown)
        known = replace(known, is_method=True, is_offered=bool(above := self._find_foreign(owner.name, method)))
        if known.places or known.unknown:
            return known
        if above:
            return known.add_others(f"{above} (a class above it)")
        return replace(known, unknown=self._text_loads.count_names(method)) if is_telling(method) else known

    def is_offered_method(self, dotted: str) -> bool:
        """A method that others may call, too: what calls it cannot be known."""
        place = self._names.find_place(dotted)
        owner = place.outer if place is not None else None
        if place is None or owner is None or not isinstance(owner.node, ast.ClassDef) or _is_made(dotted):
            return False
        return self._find_foreign(owner.name, dotted.rpartition(".")[2]) is not None

    def _add_offers(self, known: Callers, dotted: str) -> Callers:
        """With the place where a package offers it: its users may call it, too."""
        offers = find_offers(dotted, self._names, self._files)
        return known.add_others(f"{offers[0]}{OFFERED}") if offers else known

    def _find_foreign(self, owner: str, method: str) -> str | None:
        """The class of another package that one inherits from: it may call whatever is not private."""
        if method.startswith("_"):
            return None
        above = (name for name in self._names.order(owner) if self._names.find_place(name) is None)
        tops = ((name, name.partition(".")[0]) for name in above)
        return next((n for n, top in tops if top not in _PLAIN and not self._names.modules.knows(top)), None)

    def _find_inherited(self, dotted: str) -> Body | None:
        """The method that a class finds in one it inherits from."""
        owner, _, method = dotted.rpartition(".")
        if self._names.find_place(owner) is None:
            return None
        home = self._names.look_up(self._names.order(owner), method)
        return self._names.find_place(f"{home}.{method}") if home is not None else None

    def _find_named(self, dotted: str) -> Iterator[Site]:
        """Calls that name a function and its module as text: a table of hooks, an entry point."""
        module, _, name = dotted.rpartition(".")
        for path, file in self._read(self._files.find(Ask.GIVES, module, name)):
            for line, words in file.texts:
                if (name in words and module in words) or not {dotted, f"{module}:{name}"}.isdisjoint(words):
                    yield Site(path, line, "named as text")

    def _read_naming(self, *words: str) -> Iterator[tuple[str, File]]:
        """Files that mention one of the words, in order."""
        return self._read(self._files.find(Ask.NAMES, *sorted(set(words))))

    def _read(self, paths: Iterable[str]) -> Iterator[tuple[str, File]]:
        for path in paths:
            file = self._names.read_path(path)
            if file is not None:
                yield path, file

    def _find_function(self, dotted: str, place: Body) -> Iterator[Site]:
        name = dotted.rpartition(".")[2]
        tables: dict[str, list[str]] = {}
        for path, file in self._read_naming(name):
            for use in _find_uses(file, name):
                if _is_inside(use.place, place):
                    continue
                if dotted in self._names.resolve_expression(use.node, use.place, file):
                    table = None if use.is_call else find_table(use, file)
                    yield replace(say_site(path, use), table=table or "")
                    if table:
                        tables.setdefault(f"{file.module.name}.{table}", []).extend(find_keys(use, file))
        for table, keys in tables.items():
            yield from (replace(site, keys=tuple(sorted(keys))) for site in self._find_table_calls(table))

    def _find_table_calls(self, dotted: str) -> list[Site]:
        """Where what a table of the top level holds is called or handed on."""
        if dotted not in self._tables:
            name = dotted.rpartition(".")[2]
            self._tables[dotted] = [
                replace(_say_table(path, node.lineno, use, name, is_call=is_call), asked=find_asked(use, file))
                for path in self._files.find(Ask.NAMES, name)
                if (module := self._names.find_module(path)) is not None
                for file in [read_file(module, {name}, in_parts=True)]
                for use in _find_uses(file, name)
                if dotted in self._names.resolve_expression(use.node, use.place, file)
                for node, is_call in find_table_calls(use, file)
            ]
        return self._tables[dotted]

    def _find_makers(self, owner: str, place: Body) -> Iterator[Site]:
        """`Class(...)`, of the class or one below that inherits the method, and `super().__init__()`."""
        method = place.name.rpartition(".")[2]
        makers = {
            name for name in self._names.below(owner) if self._names.look_up(self._names.order(name), method) == owner
        }
        for path, file in self._read_naming(*(name.rpartition(".")[2] for name in makers)):
            for word in sorted({name.rpartition(".")[2] for name in makers}):
                for use in _find_uses(file, word):
                    if makers & set(self._names.resolve_expression(use.node, use.place, file)):
                        made = use.is_call and not use.is_entered and method in _ENTERS
                        yield say_site(path, use, "made here, entered elsewhere" if made else "")
            for use in file.uses.get(method, ()):
                if not _is_inside(use.place, place) and self._reaches(use, file, owner, method):
                    yield say_site(path, use)

    def _find_object_calls(self, owner: str, made: list[Site]) -> Iterator[Site]:
        """`self.redirect(x)`, where `self.redirect = Redirection()`."""
        names = frozenset(name for path in {site.path for site in made} for name in self._find_held(path, owner))
        for path in self._files.find(Ask.HOLDS, *sorted(names)):
            module = self._names.find_module(path)
            if module is None:
                continue
            file = read_file(module, names)
            for use in (use for name in sorted(names) for use in file.uses.get(name, ()) if use.is_call):
                receivers = find_receivers(use.node, use.place, file, self._names)
                if any(
                    isinstance(item, Receiver) and self._dispatches(item, owner, _CALL, owner) for item in receivers
                ):
                    yield say_site(path, use)

    def _find_held(self, path: str, owner: str) -> Iterator[str]:
        """Names and attributes under which a file keeps objects of a class."""
        file = self._names.read_path(path)
        if file is None:
            return
        for place in file.places.values():
            kept = ((name, value, place) for name, value in place.kept)
            bound = ((name, value, place) for name, values in place.binds.items() for value in values)
            for name, value, where in (*kept, *bound):
                if isinstance(value, ast.Call) and any(
                    isinstance(item, Receiver) and owner in self._names.order(item.of)
                    for item in find_receivers(value, where, file, self._names)
                ):
                    yield name

    def _find_method(self, of: str, owner: str, place: Body) -> tuple[list[Site], int]:
        method = place.name.rpartition(".")[2]
        only, is_read = self._is_only_family(owner, method), is_property(place)
        said = ("read",) if is_read else ()
        found: list[Site] = []
        unknown = 0
        family = {above.rpartition(".")[2] for below in self._names.below(of) for above in self._names.order(below)}
        for path, file in self._read_naming(method):
            for use in find_method_uses(file, place):
                if not isinstance(use.node, ast.Attribute) or _is_inside(use.place, place):
                    continue
                reached = self._reaches(use, file, owner, method, of)
                if reached:
                    found.append(say_site(path, use, *said))
                elif reached is None and only and self._is_like(use, file, family):
                    found.append(say_site(path, use, *said, "by the names of object and method"))
                elif reached is None and (use.is_call or is_telling(method)):
                    unknown += 1
        return found, unknown

    def _is_like(self, use: Use, file: File, family: set[str]) -> bool:
        """An object that is called like one of the classes, and that nothing says to be another."""
        receiver = use.node.value if isinstance(use.node, ast.Attribute) else use.node
        is_other = is_said_otherwise(receiver, use.place, file, self._names, family)
        return is_named_after(receiver, family) and not is_other

    def _reaches(self, use: Use, file: File, owner: str, method: str, of: str = "") -> bool | None:
        """Whether a call reaches `owner.method` for objects of a class; None where the receiver's is not known."""
        if not isinstance(use.node, ast.Attribute):
            return False
        receivers = list(find_receivers(use.node.value, use.place, file, self._names))
        if not receivers:
            return None
        around = find_own_method(use.place)
        return any(
            isinstance(item, Receiver) and self._dispatches(item, owner, method, of or owner, around)
            for item in receivers
        )

    def _dispatches(self, receiver: Receiver, owner: str, method: str, of: str, around: str = "") -> bool:
        """Some class that has both finds `owner`'s method when it looks from where the receiver stands: for the method
        `around` the call, no class below has one of its own that leaves it out.
        """
        names = self._names
        if receiver.how == "exact":
            return of in names.order(receiver.of) and names.look_up(names.order(receiver.of), method) == owner
        for candidate in names.below(of):
            order = names.order(candidate)
            if receiver.of not in order or (
                around and receiver.how in {"self", "super"} and self._is_left_out(order, receiver.of, around)
            ):
                continue
            start = order.index(receiver.of) + 1 if receiver.how == "super" else 0
            if names.look_up(order[start:], method) == owner:
                return True
        return False

    def _is_left_out(self, order: tuple[str, ...], home: str, method: str) -> bool:
        """A class that is looked up before `home` has the method, too, and none of those calls what it overrides."""
        before = order[: order.index(home)]
        own = any(self._names.defines(name, method) for name in before)
        return own and not any(calls_overridden(self._names.find_place(name), method) for name in before)

    def _is_only_family(self, owner: str, method: str) -> bool:
        """No class or module of the downstream but this one, those above and those below defines the name."""
        if not is_telling(method):
            return False
        top = self._top_definer(owner, method)
        for path in self._files.find_texts(Ask.DEFINES, method):
            file = self._names.read_path(path)
            for place in file.places.values() if file is not None else ():
                if place.name.rpartition(".")[2] != method:
                    continue
                around = place.outer
                if around is None or not isinstance(around.node, ast.ClassDef):
                    return False
                if self._top_definer(around.name, method) != top:
                    return False
        return True

    def _top_definer(self, owner: str, method: str) -> str:
        """The furthest class above that defines a method."""
        return [name for name in self._names.order(owner) if self._names.defines(name, method)][-1]

    def _find_importers(self, module: str) -> Callers:
        by_text, unknown = self._text_loads.find(module)
        found = show_sites([*self._find_imports(module), *by_text], unknown, is_function=False)
        self._files.asked.add((Ask.BELOW, module))
        return found.add_others("every import of a module inside it") if self._names.modules.below(module) else found

    def _find_imports(self, module: str) -> Iterator[Site]:
        """Importing a module runs what stands outside its functions."""
        home = self._names.modules.path_of(module)
        if home is None:
            return
        for path, file in self._read(self._files.find(Ask.IMPORTS, module)):
            if path == home:
                continue
            lines = {line for line, name in file.import_lines if self._names.modules.path_of(name) == home}
            yield from (Site(path, line, "import") for line in sorted(lines))


def _find_uses(file: File, name: str) -> Iterator[Use]:
    """Uses of a name and of the names it is imported under."""
    local = {name, *(alias for alias, targets in file.imports.items() if any(t.endswith(f".{name}") for t in targets))}
    for alias in sorted(local):
        yield from file.uses.get(alias, ())


def _find_registration(place: Body, names: Names) -> Iterator[Site]:
    """A decorator that hands the function to a registry."""
    module = _module_around(place).name
    path = names.modules.path_of(module)
    for decorator in getattr(place.node, "decorator_list", ()):
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        text = ast.unparse(callee)
        if _REGISTERS.search(text):
            yield Site(path or module, decorator.lineno, f"registered by @{text}")


def _module_around(place: Body) -> Body:
    return list(place.around())[-1]


def _is_inside(place: Body, function: Body) -> bool:
    """A function that calls itself is not its own caller."""
    return any(around.node is function.node for around in place.around())


def _say_table(path: str, line: int, use: Use, name: str, *, is_call: bool) -> Site:
    return Site(path, line, f"{'' if is_call else f'{PASSED} '}through {name}", replace(use, is_call=is_call), name)


def _is_made(dotted: str) -> bool:
    """True of a method whose callers are sought where objects of its class are made."""
    return dotted.rpartition(".")[2] in _MAKERS | {_CALL}


def _call_elsewhere(site: Site) -> Site:
    made = site.use.node if site.use is not None else None
    around = site.use.place.node if site.use is not None else None
    for node in ast.walk(around) if around is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and node.func.func is made:
            return site  # `Redirection()(x)`
    return replace(site, remark="; ".join(filter(None, (site.remark, "made here, called elsewhere"))))


__all__ = ["Callers", "Search"]
