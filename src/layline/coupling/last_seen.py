"""Whether upstream ever had a name that the pin does not have: taken away before, added and removed since, or a typo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from layline.core.condition import ConditionKind, needs
from layline.core.drift import DriftKind
from layline.core.evidence import Severity
from layline.core.finding import Finding
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Drift, Sides
from layline.git import Repository
from layline.history.commits import read_commits
from layline.history.timeline import Timeline, read_timeline
from layline.source.names import absolute_name, find_files, parents
from layline.source.parsing import find_bound_names
from layline.source.slices import slice_definition
from layline.source.symbols import SymbolKind
from layline.workspace.past import Past

Places: TypeAlias = tuple[tuple[str, str], ...]
"""Paths with the name that would stand there."""
_KNOWN = frozenset({Reason.HAD_UNTIL, Reason.CAME_AND_WENT, Reason.NEVER_HAD_OWNER})
"""What makes a test for the name false: it is no mark of ours."""


def find_last_seen(rows: Iterable[Drift], sides: Sides, upstream: Repository, pin: str, tip: str) -> Iterator[Drift]:
    """Tells, of targets that are dead at the pin, whether upstream ever had them, before the pin or after it: else they
    are a typo or an addition.
    """
    listed = list(rows)
    places = {row.target: tuple(_guess_places(row.target, sides)) for row in listed if _is_unknown(row) and row.target}
    before = Past(upstream, pin).find_losses(
        places.values(), lambda base, asked: _find_removals(upstream, base, pin, asked)
    )
    since = _find_removals(upstream, pin, tip, list(places.values()))
    for row in listed:
        if not _is_unknown(row) or row.target is None:
            yield row
            continue
        comes = row.comparison is not None and row.comparison.after.exists
        lost = before.get(places[row.target])
        gone = since.get(places[row.target]) if not comes else None
        if gone is not None:
            why = _name_removal(Reason.CAME_AND_WENT, gone, upstream)
        elif lost is not None:
            why = _name_removal(Reason.HAD_UNTIL, lost, upstream)
        else:
            why = Why(Reason.COMES_LATER) if comes else _doubt(row, sides)
        told = (*_tell_asked(row, sides), Finding(severity=Severity.OK, why=why))
        yield replace(row, findings=(*row.findings, *(told if why.reason in _KNOWN else told[-1:])))


def _tell_asked(row: Drift, sides: Sides) -> Iterator[Finding]:
    """Of a write to a name that upstream once had, or to a class that it never had, made only where it has it: written
    for those versions.
    """
    asked = row.effect.when if row.effect is not None else None
    names = [row.target, *parents(row.target)] if row.target is not None else []
    lacking = (
        one
        for one in names
        if needs(asked, one) and not (sides.pin.resolve(one).exists or sides.tip.resolve(one).exists)
    )
    for name in list(lacking)[:1] if not row.has(Reason.GUARD_NEVER) else ():
        parts = (Why(Reason.SIDE_LACKS, name, "pin"), Why(Reason.SIDE_LACKS, name, "tip"))
        why = Why(Reason.GUARD_NEVER, "the condition of this effect", parts=parts)
        yield Finding(severity=Severity.OK, why=why, is_limit=True, retires=True)


def _name_removal(reason: Reason, commit: str, upstream: Repository) -> Why:
    found = next(read_commits(upstream, [commit]))
    return Why(reason, found.hash[:10], found.date, found.subject)


def _doubt(row: Drift, sides: Sides) -> Why:
    effect = row.effect
    owner = _find_missing_owner(row.target or "", sides)
    if owner is not None:
        return Why(Reason.NEVER_HAD_OWNER, owner)  # nothing can be added to it
    asked = effect.when.walk() if effect is not None and effect.when is not None else ()
    if any(part.kind is ConditionKind.NAME and part.text == row.target for part in asked):
        return Why(Reason.NEVER_HAD_ASKED)  # a probe of several names is no typo
    meant = effect.suggestion if effect is not None and effect.suggestion != row.target else None
    return Why(Reason.TYPO, meant) if meant else Why(Reason.NEVER_HAD)


def _find_missing_owner(target: str, sides: Sides) -> str | None:
    """The outermost part of a target that neither ref has, where that is not the name itself."""
    both = (sides.pin, sides.tip)
    missing = [one for one in parents(target) if all(side.resolve(one).kind is SymbolKind.ABSENT for side in both)]
    return missing[-1] if missing else None


def _is_unknown(row: Drift) -> bool:
    """A name that the pin does not have; a row may be dead for another reason."""
    found = row.comparison
    return (
        row.kind is DriftKind.DEAD_AT_PIN and found is not None and found.kind is row.kind and not found.before.exists
    )


def _guess_places(target: str, sides: Sides) -> Iterator[tuple[str, str]]:
    """Where a target would be defined: paths for every way to split it into module and attributes. Of a member whose
    class the pin does not have either, where the class would be: it may have inherited what it no longer wrote itself.
    """
    roots = sides.pin.index.parts[sides.part].source_roots
    lacking = [name for name in (target, *parents(target)) if not sides.pin.resolve(name).exists]
    for module in parents(target):
        entry = sides.pin.index.entries.get(module)
        outermost = next((name for name in reversed(lacking) if name.startswith(f"{module}.")), target)
        rest = outermost[len(module) + 1 :]
        if entry is not None:
            yield from ((path, rest) for path in find_files(entry.path))
            yield from _follow_owner(module, rest, sides)
            return
        for root in roots:
            folder = "" if root in {"", "."} else f"{root.strip('/')}/"
            base = f"{folder}{module.replace('.', '/')}"
            yield f"{base}.py", rest
            yield f"{base}/__init__.py", rest


def _follow_owner(module: str, rest: str, sides: Sides) -> Iterator[tuple[str, str]]:
    """Of a member whose class the pin has: the files that hand the class on, and the one that defines it."""
    owner, _, member = rest.rpartition(".")
    index, seen = sides.pin.index, {module}
    while owner and "." not in owner and (holder := index.module(module)) is not None:
        item = next((one for one in holder.bound_imports.get(owner, ()) if one.name), None)
        if item is None:
            break
        package = index.entries[module].is_package
        module = absolute_name(module, package=package, level=item.level, name=item.module) or ""
        owner = item.name or ""
        if module in seen or module not in index.entries:
            break
        seen.add(module)
        yield index.entries[module].path, f"{owner}.{member}"
    home = sides.pin.resolve(f"{module}.{owner}") if owner else None
    if home is not None and home.definition is not None and home.module in index.entries:
        yield index.entries[home.module].path, f"{home.definition.qualname}.{member}"


def _find_removals(upstream: Repository, base: str | None, tip: str, asked: list[Places]) -> dict[Places, str]:
    """Of each name the commit on a stretch of history that took it away; the stretch is walked once for all."""
    paths = tuple(sorted({path for places in asked for path, _ in places}))
    timeline = read_timeline(upstream, base, tip, paths) if paths else None
    if timeline is None:
        return {}
    found = ((places, _find_removal(timeline, places, upstream)) for places in asked)
    return {places: commit for places, commit in found if commit is not None}


def _find_removal(timeline: Timeline, places: Places, upstream: Repository) -> str | None:
    """The last commit whose parent still had the name in one of the places; None where no version ever had it."""
    found: list[int] = []
    for path, qualname in places:
        for number, change in reversed(timeline.by_path.get(path, ())):
            text = upstream.read_blob(change.before).decode("utf-8", "replace") if change.before else ""
            # a class that became an import is still there; whether with this member, its own file tells
            if slice_definition(text, qualname) is not None or ("." not in qualname and _binds_import(text, qualname)):
                found.append(number)
                break
    return timeline.steps[max(found)].commit if found else None


def _binds_import(text: str, name: str) -> bool:
    return name in text and name in find_bound_names(text.encode("utf-8", "surrogatepass"))
