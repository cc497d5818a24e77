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
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from layline.change.binding import CallShape, CallSite, check_call, read_call
from layline.change.call_sites import find_class
from layline.core.evidence import Location, Skipped
from layline.core.ours import is_test_module
from layline.git import Blob
from layline.source.definitions import Module, Parameter
from layline.source.excerpts import parse_around
from layline.source.fingerprint import dotted_text
from layline.source.handed import BUILDER, SPECIFIED
from layline.source.index import Index, ModuleEntry
from layline.source.resolve import Resolver
from layline.source.seen import Asked, say_name
from layline.source.walking import walk

_SLOTS = "slots"
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
    index.seen.extend((Asked.WORD, name) for name in arguments)
    entries = [one for one in index.every.values() if one.part == 0 and not is_test_module(one.name)]
    _read_all(index, entries, arguments)
    sites = (site for entry in entries for site in _find_in(resolver, entry))
    asked = [site for site in sites if not arguments.isdisjoint(site.shape.keywords)]
    return sorted(asked, key=lambda site: (site.location.path, site.location.line))


def _read_all(index: Index, entries: list[ModuleEntry], arguments: frozenset[str]) -> None:
    """What was read for more arguments is not read again."""
    modules, answers = {one.blob: one for one in entries}, index.answers
    answers.load(modules)
    kept = {blob: frozenset((answers.get(blob, _SLOTS) or [()])[0]) for blob in modules}
    missing = [blob for blob in sorted(modules) if not (arguments <= kept[blob] and answers.trusts(blob, _SLOTS))]
    for found in index.stream_blobs(modules[blob] for blob in missing):
        if isinstance(found, Blob):
            holder, known = index.peek(modules[found.oid].name), kept[found.oid]
            trusted = answers.trusts(found.oid, _SLOTS)
            held = answers.get(found.oid, _SLOTS)[1] if trusted else []
            asked = arguments - known if trusted else arguments | known
            more = _list_calls(found.data, holder, asked, known if trusted else frozenset())
            told = [sorted(arguments | known), sorted([*held, *more], key=_read_place)]
            answers.put(found.oid, _SLOTS, told, same=arguments <= known)


def _read_place(call: list[Any]) -> tuple[int, int, int]:
    line, column, end = call[:3]
    return line, column, -end


@lru_cache(maxsize=16)
def _pattern(arguments: frozenset[str]) -> re.Pattern[bytes]:
    words = b"|".join(re.escape(name.encode()) for name in sorted(arguments))
    return re.compile(rb"\b(?:" + words + rb")\s*=(?!=)")


def _list_calls(
    data: bytes, holder: Module | None, arguments: frozenset[str], known: frozenset[str]
) -> Iterator[list[Any]]:
    """Calls of a file that may go through a slot, and name one of the arguments and none of those that are known, as
    `_find_in` reads them.
    """
    pattern = _pattern(arguments)
    parts = parse_around(data, holder, pattern) if holder is not None and pattern.search(data) else ()
    for tree, offset in () if isinstance(parts, Skipped) else parts:
        for node in walk(tree):
            read = _read_slot(node) if isinstance(node, ast.Call) and node.keywords else None
            if read is None or not isinstance(node, ast.Call):
                continue
            slot, text, shape = read
            if not arguments.isdisjoint(shape.keywords) and known.isdisjoint(shape.keywords):
                ends = [node.col_offset, ((node.end_lineno or 0) + offset) * _WIDEST + (node.end_col_offset or 0)]
                alone = dotted_text(node.func) == f"self.{slot}"
                around = find_class(holder, node.lineno + offset) if alone else None
                told = [shape.positional, list(shape.keywords), shape.has_star, shape.has_double_star]
                yield [node.lineno + offset, *ends, slot, text, alone, around, *told]


def _find_in(resolver: Resolver, entry: ModuleEntry) -> Iterator[CallSite]:
    index = resolver.index
    for line, _, _, slot, text, alone, around, positional, keywords, star, double in (
        index.answers.get(entry.blob, _SLOTS) or [(), ()]
    )[1]:
        holder = index.module(entry.name)
        if holder is None or (text is not None and _can_be_told(resolver, holder, entry.name, text)):
            continue
        if around is not None and holder.has(f"{around}.{slot}"):
            continue  # a method, no field
        shape = CallShape(positional=positional, keywords=tuple(keywords), has_star=star, has_double_star=double)
        yield CallSite(
            module=entry.name,
            location=Location(entry.path, line),
            shape=shape,
            certain=False,
            slot=slot,
            on_self=alone,
            around=around or "",
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
