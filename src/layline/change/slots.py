"""Constructor calls through a slot: code that builds whatever class a field or a parameter holds.

    self.proj = submodules.proj(size, config=config, name=name)     # a field of a value
    build_module(submodules.mlp, config=config, name=name)          # a builder that is handed the field
    self.mlp(hidden, mask=mask)                                     # what was built is run: its `forward`
    build_module(layer_spec, config=config, number=1)               # what a spec names: the slot `module`

Which class stands there only a run knows; what is passed can be read.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias
from weakref import WeakKeyDictionary

from layline.change.binding import CallShape, CallSite, check_call, read_call
from layline.change.call_sites import find_class
from layline.core.evidence import Location
from layline.core.ours import is_test_module
from layline.git import Blob
from layline.source.definitions import Module, Parameter
from layline.source.fingerprint import dotted_text
from layline.source.handed import BUILDER, SPECIFIED
from layline.source.index import Index
from layline.source.parsing import parse_tree
from layline.source.resolve import Resolver
from layline.source.seen import Asked, say_name
from layline.source.walking import walk

_SLOTS = "slots"
_APART = "\t"
_PLACED, _KEYWORDS = 3, 8
"""Of a row: so many numbers say where the call stands; what it names stands at this place."""
_WIDEST = 10_000
"""Columns of a line."""
TELLING = 3
"""So many arguments that fit say which class a slot is for."""


def find_refusing(
    calls: Iterable[CallSite],
    ours: tuple[Parameter, ...],
    theirs: tuple[Parameter, ...],
    refused: frozenset[str] | set[str],
    telling: int = TELLING,
) -> list[CallSite]:
    """Slot calls that fit upstream's class at the tip, and ours but for an argument that it refuses; the most telling
    first.

    What a call does not pass may have been given before (`functools.partial`, the parameters of a spec).
    """
    found = []
    for site in find_fitting(calls, theirs, telling):
        failing = {problem.argument for problem in check_call(complete(site), ours, bound=True)}
        if not failing.isdisjoint(refused):
            found.append(site)
    return sorted(found, key=lambda site: (-len(site.shape.keywords), site.location.path, site.location.line))


def find_fitting(calls: Iterable[CallSite], theirs: tuple[Parameter, ...], telling: int = TELLING) -> list[CallSite]:
    """Slot calls that fit upstream's class, by so many arguments that it may be the one that is meant."""
    names = {item.name for item in theirs}
    return [
        site
        for site in calls
        if site.shape.positional + len(names.intersection(site.shape.keywords)) >= telling
        and not check_call(complete(site), theirs, bound=True)
    ]


def complete(site: CallSite) -> CallShape:
    """What a call does not pass may have been given before."""
    return replace(site.shape, has_double_star=True)


def put_covering_first(sites: list[CallSite], refused: frozenset[str] | set[str]) -> list[CallSite]:
    """The same calls; after the first those that pass what none before them does: who reads a few sees all that is
    passed. A local variable that is called may be anything, and says no more than the first does.
    """
    told, rest = sites[:1], sites[1:]
    passed = {name for site in told for name in site.shape.keywords}
    while rest:
        gains = [len(refused.intersection(one.shape.keywords) - passed) if one.slot else 0 for one in rest]
        if not max(gains):
            break
        best = rest.pop(gains.index(max(gains)))
        passed.update(best.shape.keywords)
        told.append(best)
    return [*told, *rest]


def find_slot_calls(resolver: Resolver, arguments: frozenset[str]) -> list[CallSite]:
    """Calls through slots of the first part, outside tests, that name one of the arguments; in the order of files and
    lines.
    """
    if not arguments:
        return []
    index = resolver.index
    index.seen.extend((Asked.PASSED, f"{name}={tell_passing(index, name)}") for name in arguments)
    calls = _read_all(index)
    found = {one for name in arguments for one in calls.get(name, ())}
    sites = (site for name, row in sorted(found, key=_read_order) if (site := _find_site(resolver, name, row)))
    return sorted(sites, key=lambda site: (site.location.path, site.location.line))


def tell_passing(index: Index, argument: str) -> str:
    """What stands for the calls that name an argument, wherever in their modules they stand."""
    told = [[name, *row.split(_APART)[_PLACED:]] for name, row in _read_all(index).get(argument, ())]
    return hashlib.sha256(json.dumps(told).encode("utf-8", "surrogatepass")).hexdigest()[:16] if told else ""


_Calls: TypeAlias = dict[str, list[tuple[str, str]]]
_KNOWN: WeakKeyDictionary[Index, _Calls] = WeakKeyDictionary()


def _read_all(index: Index) -> _Calls:
    """Arguments → the calls that name them, each with its module."""
    if index not in _KNOWN:
        entries = [one for one in index.every.values() if one.part == 0 and not is_test_module(one.name)]
        modules, answers = {one.blob: one for one in entries}, index.answers
        answers.load(modules)
        missing = (one for blob, one in modules.items() if not answers.trusts(blob, _SLOTS))
        for found in index.stream_blobs(missing):
            if isinstance(found, Blob):
                holder = index.peek(modules[found.oid].name)
                answers.put(found.oid, _SLOTS, list(_list_calls(found.data, holder)))
        calls: _Calls = {}
        for entry in entries:
            for row in answers.get(entry.blob, _SLOTS) or ():
                for argument in dict.fromkeys(row.split(_APART)[_KEYWORDS].split(",")):
                    calls.setdefault(argument, []).append((entry.name, row))
        _KNOWN[index] = calls
    return _KNOWN[index]


def _read_order(call: tuple[str, str]) -> tuple[str, int, int, int]:
    line, column, end = map(int, call[1].split(_APART)[:_PLACED])
    return call[0], line, column, -end


def _list_calls(data: bytes, holder: Module | None) -> Iterator[str]:
    """Calls of a file that may go through a slot and name arguments, as `_find_site` reads them: one row of text each,
    since a large upstream has many.
    """
    tree = parse_tree("", data) if holder is not None else None
    for node in walk(tree) if isinstance(tree, ast.Module) else ():
        read = _read_slot(node) if isinstance(node, ast.Call) and node.keywords else None
        if read is None or not isinstance(node, ast.Call) or not read[2].keywords:
            continue
        slot, text, shape = read
        place = [node.lineno, node.col_offset, (node.end_lineno or 0) * _WIDEST + (node.end_col_offset or 0)]
        alone = dotted_text(node.func) == f"self.{slot}"
        around = find_class(holder, node.lineno) if alone else None
        stars = int(shape.has_star), int(shape.has_double_star)
        told = [slot, text or "", int(alone), around or "", shape.positional, ",".join(shape.keywords), *stars]
        yield _APART.join(map(str, [*place, *told]))


def _find_site(resolver: Resolver, module: str, row: str) -> CallSite | None:
    index = resolver.index
    line, _, _, slot, text, alone, around, positional, keywords, star, double = row.split(_APART)
    holder = index.module(module)
    if holder is None or (text and _can_be_told(resolver, holder, module, text)):
        return None
    if around and holder.has(f"{around}.{slot}"):
        return None  # a method, no field
    return CallSite(
        module=module,
        location=Location(index.every[module].path, int(line)),
        shape=CallShape(
            positional=int(positional),
            keywords=tuple(keywords.split(",")),
            has_star=star == "1",
            has_double_star=double == "1",
        ),
        certain=False,
        slot=slot,
        on_self=alone == "1",
        around=around,
    )


def _can_be_told(resolver: Resolver, holder: Module, module: str, text: str) -> bool:
    """Whether what is called is known to the file."""
    if holder.find_imports(text):
        return True
    seen = resolver.index.seen
    with seen.within(set()):  # whether it is there, and nothing else of it
        told = resolver.resolve_in(module, text).exists
    seen.add(Asked.THERE, f"{say_name(module, text)}={told}")
    return told


def _read_slot(call: ast.Call) -> tuple[str, str | None, CallShape] | None:
    """The slot, what is called where that may be something that can be told, and what the call passes to what stands
    in the slot.
    """
    match call:
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Attribute() | ast.Subscript() | ast.Name(), *_]
        ) if name.startswith(BUILDER):
            shape, field = read_call(call), call.args[0]
            slot = SPECIFIED if isinstance(field, ast.Name) else getattr(field, "attr", "")
            return slot, None, replace(shape, positional=shape.positional - 1)
        case ast.Call(func=ast.Call(args=[ast.Attribute(attr=slot)])):  # `checked(self.mlp)(…)`
            return slot, None, read_call(call)
        case ast.Call(func=ast.Attribute() | ast.Name() as func):
            text = dotted_text(func)
            return (
                None if text is None or hasattr(builtins, text) else (getattr(func, "attr", ""), text, read_call(call))
            )
    return None
