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

from layline.change.binding import CallShape, CallSite, check_call, read_call
from layline.change.call_sites import read_modules
from layline.core.evidence import Location, Skipped
from layline.core.ours import is_test_module
from layline.source.definitions import (
    ROW_FIRST,
    ROW_KIND,
    ROW_LAST,
    ROW_QUALNAME,
    DefinitionKind,
    Module,
    Parameter,
)
from layline.source.excerpts import parse_around
from layline.source.fingerprint import dotted_text
from layline.source.resolve import Resolver
from layline.source.walking import walk

_BUILDER = "build_"
_CLASS = tuple(DefinitionKind).index(DefinitionKind.CLASS)
SPECIFIED = "module"
"""The slot of what a spec names that is built as a whole."""
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
    names, found = {item.name for item in theirs}, []
    for site in calls:
        shape = replace(site.shape, has_double_star=True)
        fitting = shape.positional + len(names.intersection(shape.keywords))
        failing = {problem.argument for problem in check_call(shape, ours, bound=True)}
        if fitting >= telling and not failing.isdisjoint(refused) and not check_call(shape, theirs, bound=True):
            found.append(site)
    return sorted(found, key=lambda site: (-len(site.shape.keywords), site.location.path, site.location.line))


def find_slot_calls(resolver: Resolver, arguments: frozenset[str]) -> list[CallSite]:
    """Calls through slots of the first part, outside tests, that name one of the arguments; in the order of files and
    lines.
    """
    if not arguments:
        return []
    words = b"|".join(re.escape(name.encode()) for name in sorted(arguments))
    pattern = re.compile(rb"\b(?:" + words + rb")\s*=(?!=)")
    found = [
        site
        for module, data in read_modules(resolver, sorted(arguments))
        if resolver.index.every[module].part == 0 and not is_test_module(module) and pattern.search(data)
        for site in _find_in(resolver, module, data, pattern)
        if not arguments.isdisjoint(site.shape.keywords)
    ]
    return sorted(found, key=lambda site: (site.location.path, site.location.line))


def _find_in(resolver: Resolver, module: str, data: bytes, pattern: re.Pattern[bytes]) -> Iterator[CallSite]:
    holder, path = resolver.index.module(module), resolver.index.entries[module].path
    parts = parse_around(data, holder, pattern) if holder is not None else ()
    for tree, offset in () if isinstance(parts, Skipped) else parts:
        for node in walk(tree):
            read = _read_slot(resolver, module, node) if isinstance(node, ast.Call) and node.keywords else None
            if read is not None and isinstance(node, ast.Call):
                at = Location(path, node.lineno + offset)
                alone = dotted_text(node.func) == f"self.{read[0]}"
                if alone and _is_method(holder, node.lineno + offset, read[0]):
                    continue
                yield CallSite(module=module, location=at, shape=read[1], certain=False, slot=read[0], on_self=alone)


def _is_method(holder: Module | None, line: int, name: str) -> bool:
    """Whether the class around a line defines the name: no field, then."""
    rows = holder.rows if holder is not None else ()
    around = [row for row in rows if row[ROW_KIND] == _CLASS and row[ROW_FIRST] <= line <= row[ROW_LAST]]
    owner = max(around, key=lambda row: row[ROW_FIRST], default=None)
    return owner is not None and holder is not None and name in holder.members(str(owner[ROW_QUALNAME]))


def _read_slot(resolver: Resolver, module: str, call: ast.Call) -> tuple[str, CallShape] | None:
    """The slot, and what the call passes to what stands in it; None where it calls something that can be told."""
    match call:
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Attribute() | ast.Subscript() | ast.Name(), *_]
        ) if name.startswith(_BUILDER):
            shape, field = read_call(call), call.args[0]
            slot = SPECIFIED if isinstance(field, ast.Name) else getattr(field, "attr", "")
            return slot, replace(shape, positional=shape.positional - 1)
        case ast.Call(func=ast.Call(args=[ast.Attribute(attr=slot)])):  # `checked(self.mlp)(…)`
            return slot, read_call(call)
        case ast.Call(func=ast.Attribute() | ast.Name() as func):
            text = dotted_text(func)
            holder = resolver.index.module(module)
            inner = any(item.alias == text for item in holder.imports) if holder is not None else False
            known = text is None or inner or resolver.resolve_in(module, text).exists or hasattr(builtins, text)
            return None if known else (getattr(func, "attr", ""), read_call(call))
    return None
