"""Who brought, or dropped, the names that are told of a body of upstream's that changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain

from layline.change.file_trace import Version
from layline.change.trace import Tracer
from layline.core.drift import DriftKind
from layline.core.why import Reason, Why
from layline.coupling.bodies import find_names
from layline.coupling.drift_model import Drift, Sides
from layline.source.slices import parse_cut, slice_definition

BODY = frozenset({Reason.BODY_USES, Reason.BODY_DROPS})


def find_naming(row: Drift, sides: Sides, told: Collection[Why]) -> Iterator[tuple[Why, str]]:
    """What is told of a body that changed: the names by the commits that brought or dropped them."""
    before = row.comparison.before if row.comparison is not None else None
    place = find_tracer(before.module if before is not None else None, sides)
    if row.kind is not DriftKind.BODY_CHANGED or not told:
        return
    if place is None or before is None or before.definition is None:
        return
    versions = list(_find_versions(*place, before.definition.qualname))
    for why in told:
        commits: dict[str, list[str]] = {}
        for name in why.names:
            since = _find_since(versions, name, wanted=why.reason is Reason.BODY_USES)
            commits.setdefault(since, []).append(name)
        yield from ((replace(why, names=tuple(names)), commit) for commit, names in commits.items() if commit)


def _find_versions(tracer: Tracer, path: str, qualname: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The names that each version of a definition uses; in front, without a commit, the one that the line begins with."""
    base = ("", tracer.find_base(path), qualname)
    for commit, version, name in chain([base], tracer.find_versions(path, qualname)):
        yield commit, frozenset(version.ask(f"body names {name}", partial(_read_names, name), of=name))


def _read_names(qualname: str, text: str) -> tuple[str, ...]:
    cut = slice_definition(text, qualname)
    return _parse_names(cut) if cut is not None else ()


@lru_cache(maxsize=128)
def _parse_names(cut: str) -> tuple[str, ...]:
    """Most commits that change a file leave a definition of it as it was."""
    node = parse_cut(cut)
    return tuple(sorted(set(find_names(node)))) if node is not None else ()


def _find_since(versions: list[tuple[str, frozenset[str]]], name: str, *, wanted: bool) -> str:
    since = ""
    for commit, names in reversed(versions):
        if (name in names) is not wanted:
            return since
        since = commit
    return ""


def find_rewriting(row: Drift, tracer: Tracer, path: str, qualname: str) -> str | None:
    """Since when most of what is told of the body holds: the branch of the pin has a body of its own, so that all
    versions on the line of the tip differ from it.
    """
    told = {one.why.reason: one.why.names for one in row.findings}
    came, went = told.get(Reason.BODY_USES, ()), told.get(Reason.BODY_DROPS, ())

    def is_so(version: Version, name: str) -> bool:
        words = set(re.findall(r"\w+", version.slice_definition(name) or ""))
        return 2 * (len(words.intersection(came)) + len(set(went) - words)) > len(came) + len(went)

    return tracer.find_since(path, qualname, is_so) if came or went else None


def find_tracer(module: str | None, sides: Sides) -> tuple[Tracer, str] | None:
    """The history of a module of the pin, and its file."""
    if module is None or module not in sides.pin.index.entries:
        return None
    tracer = sides.comparer.tracer(module)
    return None if tracer is None else (tracer, sides.pin.index.entries[module].path)
