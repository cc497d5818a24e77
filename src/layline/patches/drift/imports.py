"""Imports of ours that fail at the tip and keep patches from being installed: each is a finding of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layline.core.evidence import Location, Severity
from layline.core.patch import Unregistered
from layline.core.prose import count
from layline.core.why import Reason, Why, say
from layline.coupling.drift_model import Drift
from layline.coupling.own_imports import OwnModules
from layline.coupling.roots import Root, explain, find_roots
from layline.patches.drift.elsewhere import IMPORTS, Elsewhere
from layline.source.names import is_within


def find_failing_imports(rows: Iterable[Drift]) -> Iterator[Elsewhere]:
    """Root causes of drift rows, each once; of a line that fails its own row tells."""
    for root, behind in find_roots(rows).items():
        if not root.is_import:
            continue
        yield Elsewhere(
            touch=IMPORTS,
            target=root.name,
            location=root.location,
            severity=Severity.BREAKS,
            detail=say(_tell_behind(behind)),
            new_target=root.new_home,
            culprit=next((row.culprit.hash for row in behind if row.culprit and _is_alone(root, row)), None),
        )


def find_loaders(rows: Iterable[Drift], strays: Iterable[Unregistered]) -> dict[str, tuple[str, ...]]:
    """File → lines of ours that import it, of files that a line of their own keeps from being loaded."""
    failing = {root.location.path for root in find_roots(rows) if not root.is_import}
    return {
        item.effect.location.path: tuple(one.partition(" ")[0] for one in item.called_from)
        for item in strays
        if item.effect.location.path in failing and item.called_from
        if f"/{item.effect.location.path}".endswith(_spell_files(item.within))
    }


def _spell_files(module: str) -> tuple[str, str]:
    path = module.replace(".", "/")
    return f"/{path}.py", f"/{path}/__init__.py"


def tell_callers(
    cause: Elsewhere, rows: Iterable[Drift], strays: Iterable[Unregistered], ours: OwnModules
) -> Elsewhere:
    """The same with the effects that nobody installs any more, because each file that calls for them loads the one
    whose import fails.
    """
    told = {row.location for row in rows if row.has(Reason.NOT_INSTALLED)}
    found, calls = set[Location](), dict[str, None]()
    for stray in strays:
        known = stray.called_from if not stray.unknown_callers and stray.effect.location not in told else ()
        if known and all(_loads(ours, one, cause.location) for one in known):
            found.add(stray.effect.location)
            calls |= dict.fromkeys(known)
    if not found:
        return cause
    why = Why(Reason.CALLERS_FAIL, counts=(len(found),), names=tuple(calls))
    return replace(cause, detail=f"{cause.detail}; {say(why)}", waiting=tuple(sorted(found, key=str)))


def _loads(ours: OwnModules, call: str, at: Location) -> bool:
    return ours.loads(call.rpartition(":")[0], at.path, at.line)


def is_same_line(one: Elsewhere, cause: Elsewhere) -> bool:
    """Whether it is about the import that a cause is."""
    return one.touch == IMPORTS and one.location == cause.location


def choose_rows(cause: Elsewhere, names: list[Elsewhere]) -> list[Elsewhere]:
    """The cause, or the names that its line imports where these say more: where one is now, or which commit took it. The
    first of them then tells what waits behind the import. Of two causes on one line each has its own names.
    """
    names = [one for one in names if is_within(one.target, cause.target)]
    implied = {f"{cause.new_target}{one.target.removeprefix(cause.target)}" for one in names}
    knows_more = any(one.new_target and one.new_target not in implied for one in names)
    knows_who = cause.culprit is None and any(one.culprit for one in names)
    if not (knows_more or knows_who):
        return [replace(cause, differs=any(one.differs for one in names))]
    first, *others = names
    return [replace(first, detail=f"{first.detail}; {cause.detail}", waiting=cause.waiting), *others]


def _is_alone(root: Root, row: Drift) -> bool:
    """Whether nothing else is wrong with the row, so that its culprit is that of the root."""
    return explain(row) == root and len(find_roots([row])) == 1


def _tell_behind(rows: list[Drift]) -> Why:
    """Which effects wait behind the import: what each changes, and our line."""
    number = f"{count(len(rows), 'effect')} of our patches {'is' if len(rows) == 1 else 'are'}"
    named = tuple(dict.fromkeys(f"{row.target or row.patch} ({row.location})" for row in rows))
    return Why(Reason.IMPORT_FAILS, number, names=named)
