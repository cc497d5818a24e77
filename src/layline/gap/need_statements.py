"""What a gap says of dependencies and platforms: sentences and items, the weightiest first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from layline.core.evidence import Location
from layline.core.ours import is_own
from layline.core.prose import count, listed
from layline.core.report import Cell
from layline.gap.cells import change_cell, join_text, listed_text, place_cell, plain_text
from layline.gap.dependencies import Kind, Rank
from layline.gap.dependencies.compare import Move
from layline.gap.dependencies.model import BY, EVERY_EXTRA, PYTHON, RUNTIME
from layline.gap.platform import IN_CI, PlatformChange, is_platform

if TYPE_CHECKING:
    from layline.core.report import Inline
    from layline.gap.dependencies import Difference
    from layline.gap.model import Gap
    from layline.gap.refused import Refused

MOST_NEEDS = 6
MOST_BOUNDS = 3
"""Steps of one bound that are told one by one."""
_NAMES = {"python": "Python "}
_SCOPES = {"runtime": 0, "requires-python": 0, "extra": 1, "source": 2, "build": 3, "override": 4, "group": 5}
_DEVELOPER = frozenset({"extra dev", "extra test", "extra tests", "extra docs", "extra lint"})


def dependency_sentence(gap: Gap) -> Inline:
    metadata = [row for row in gap.dependencies.differences if row.rank is Rank.METADATA]
    unread = tell_unread(gap)
    if not metadata:
        some = ", as far as it could be read" if unread else ""
        return join_text(f"The package metadata declares the same dependencies at pin and tip{some}.", *_after(unread))
    python = [row for row in metadata if row.kind is Kind.PYTHON]
    runtime = [row for row in metadata if _is_need(row)]
    total = len(metadata) - len(python)
    some = "" if not total else ", none of them at run time" if not runtime else f", {len(runtime)} of them at run time"
    some = ", all of them at run time" if total and len(runtime) == total else some
    partly = sum(1 for row in metadata if _is_partly_needed(row))
    if partly:
        everywhere = f"{len(runtime)} of them at run time and {partly}" if runtime else f"{partly} of them"
        some = f", {everywhere} at run time by one of several requirement files"
    told = f"The package metadata differs in {count(total, 'requirement')}{some}." if total else ""
    ranges = _tell_python(gap, python) if python else ""
    return join_text(told, " " if told and python else "", ranges, *_after(unread))


def tell_unread(gap: Gap, *, whole: bool = True) -> Inline:
    """What of the package metadata was not compared because it could not be read; empty where all was. `whole`: extras,
    too.
    """
    told: list[Inline] = []
    asked = {PYTHON: "the range of Python", RUNTIME: "what a run needs", EVERY_EXTRA: "extras"}
    for scope, name in list(asked.items())[: 3 if whole else 2]:
        sides = [side for side in (_place_unread(gap, 0, scope), _place_unread(gap, 1, scope)) if side]
        told += [join_text(f"{name} (", listed_text(sides), ")")] if sides else []
    return join_text("What could not be read was not compared: ", listed_text(told), ".") if told else ""


def _place_unread(gap: Gap, side: int, scope: str) -> Inline:
    """`setup.py:343 at the tip`: the first place of a scope, or of scopes of that kind, that was not read."""
    for one in gap.dependencies.unread[side]:
        kinds = {part if part in {PYTHON, RUNTIME} else part.partition(" ")[0] for part in one.scopes}
        if one.path and (not kinds or scope in kinds):
            commit = (gap.tip if side else gap.pin).commit.hash
            place = place_cell(gap.upstream, commit, Location(one.path, one.line or 1))
            return join_text(place, " at the tip" if side else " at the pin")
    return ""


def _after(text: Inline) -> tuple[Inline, ...]:
    return (" ", text) if text else ()


def _tell_python(gap: Gap, rows: list[Difference]) -> Inline:
    """The versions of Python where one file says them."""
    was, now = (rows[0].was, rows[0].now) if len(rows) == 1 else (None, None)
    if was is not None and now is not None:
        return join_text(f"Python went from {was.spec} to {now.spec}", _since(gap, rows[0], " (", ")"), ".")
    if len(rows) > 1:
        return f"The required Python version differs in {len(rows)} files."
    return (
        f"Only the tip requires a Python version: {now.spec}."
        if now
        else "The tip no longer requires a Python version."
    )


def _tell_needs(gap: Gap, rows: list[Difference]) -> Inline:
    """Kind by kind: `Changed: datasets>=3.6.0. New: einops (#4). Dropped: tomli`."""
    now = [row for row in rows if row.now and (row.now.scope == "runtime" or row.kind is Kind.PYTHON)]
    gone = [row for row in rows if row not in now]
    kinds = {
        "Changed": [row for row in now if row.was and (row.was.scope == "runtime" or row.kind is Kind.PYTHON)],
        "New": [row for row in now if not row.was],
        "No longer optional": [
            row for row in now if row.was and row.was.scope != "runtime" and row.kind is not Kind.PYTHON
        ],
        "Dropped": [row for row in gone if not row.imported_at],
        "No longer declared as needed at run time, but still imported": [row for row in gone if row.imported_at],
    }
    told: list[Inline] = []
    for kind, found in kinds.items():
        names = [_tell_need(gap, row) for row in found[:6]]
        more: list[Inline] = [f"{len(found) - 6} more"] if len(found) > 6 else []
        told += [f"{' ' if told else ''}{kind}: ", listed_text([*names, *more]), "."] if found else []
    return join_text(*told)


def _tell_need(gap: Gap, row: Difference) -> Inline:
    """`datasets>=3.6.0 (#3) with <4.8.0 (#9)`, `fast==1 (#2) then ==2 (#5)`: each bound with the change that brought
    it; of many what the tip asks for, with the first and the last change.
    """
    name = _NAMES.get(row.name, row.name)
    if not row.bounds:
        instead = f", which removed {row.instead_of}" if row.instead_of else ""
        return join_text(f"{name}{row.now.spec if row.now else ''}", _since(gap, row, " (", f"{instead})"))
    told: list[Inline] = [name]
    spec = row.now.spec if row.now else ""
    if len(row.bounds) > MOST_BOUNDS:
        first, last = (change_cell(gap, one.hash, one.pull_request) for _, one in (row.bounds[0], row.bounds[-1]))
        return join_text(f"{name}{spec} (", first, " to ", last, f", in {len(row.bounds)} steps)")
    for number, (bound, commit) in enumerate(row.bounds):
        stays = set(row.bounds[number - 1][0].split(",")) - {""} <= set(spec.split(","))
        joint = "" if not number else " with " if stays else " then "
        told += [f"{joint}{bound} (", change_cell(gap, commit.hash, commit.pull_request), ")"]
    return join_text(*told)


def _since(gap: Gap, row: Difference, before: str, after: str = "") -> Inline:
    """The change that brought it, between two words; empty where it was not found."""
    return (before, change_cell(gap, row.by.hash, row.by.pull_request), after) if row.by is not None else ""


_NO_NEEDS: tuple[Inline, ...] = ("No dependency declaration differs between pin and tip.",)


def dependency_deltas(gap: Gap, most: int = 5) -> tuple[str, ...]:
    """Dependency shifts without their links."""
    return tuple(plain_text(item) for item in dependency_items(gap, most, "More in the detailed report."))


def dependency_items(
    gap: Gap, most: int = 5, more: str = "More under Dependencies and in the appendix."
) -> tuple[Inline, ...]:
    """Dependency shifts: platforms that were lost, what a run needs in one line, other changes of platforms and CI, then
    the rest; the same rank on both sides.
    """
    needs = [row for row in gap.dependencies.differences if row.rank is Rank.METADATA and row.is_runtime]
    unread = tell_unread(gap, whole=False)
    platforms = _find_platforms(gap)[: max(2, most // 2)]
    told = [_tell_refused(gap)] if gap.refused else []
    told += [_platform_item(gap, change) for change in platforms if _is_gone(change)]
    for inner in sorted({row.inner for row in needs}):
        whose = f"Needed at run time by {inner}, a package of its own. " if inner else "Needed at run time. "
        told.append(join_text(whose, _tell_needs(gap, [row for row in needs if row.inner == inner])))
    partly = [row for row in gap.dependencies.differences if _is_partly_needed(row)]
    told += [_tell_partly(partly)] if partly else []
    told += [unread] if unread else []
    told += [_platform_item(gap, change) for change in platforms if not _is_gone(change)]
    told_of = {id(row) for row in (*needs, *partly)}
    rows = [row for row in gap.dependencies.differences if not is_platform(row) and id(row) not in told_of]
    ordered = sorted(rows, key=_dependency_weight)
    if len(told) + len(rows) <= most:
        return (*told, *(difference_item(gap, row) for row in ordered)) or _NO_NEEDS
    shown = ordered[: max(0, most - 1 - len(told))]
    return (*told[: most - 1], *(difference_item(gap, row) for row in shown), more)


def range_sentence(gap: Gap) -> Inline:
    """Of a project that supports several versions the pin is one; empty where ours ask for it alone."""
    if gap.allowing is None or gap.distance.behind == 0:
        return ""
    place = place_cell(gap.downstream, gap.downstream_commit.hash, gap.allowing.place)
    asks = f" asks for {gap.allowing.name}{gap.allowing.spec}, which allows newer versions than the pin; this page is about the pin. "
    return join_text(place, asks, Cell(f"layline patches matrix {gap.key}", code=True), " judges the others.")


def _tell_refused(gap: Gap) -> Inline:
    """`Our own bounds do not fit the tip: transformers<=5.8.0 (pyproject.toml:43; the tip is 5.16.0.dev0)`."""
    groups: dict[tuple[str, str], list[Refused]] = {}
    for one in gap.refused:
        groups.setdefault((one.bound, one.asked), []).append(one)
    told: list[Inline] = []
    for (bound, asked), found in list(groups.items())[:MOST_NEEDS]:
        ours = [place_cell(gap.downstream, gap.downstream_commit.hash, one.ours.place) for one in found]
        theirs = found[0].theirs
        place = place_cell(gap.upstream, gap.tip.commit.hash, theirs) if theirs is not None else ""
        said = (f"; upstream asks for {asked} at ", place) if theirs is not None else (f"; the tip is {asked}",)
        told.append(join_text(f"{bound} (", listed_text(list(ours)), *said, ")"))
    more = len(groups) - MOST_NEEDS
    some: list[Inline] = [f"{more} more"] if more > 0 else []
    does = "bound does" if len(gap.refused) == 1 else "bounds do"
    return join_text(f"Our own {does} not fit the tip: ", listed_text([*told, *some]), ".")


def _tell_partly(rows: list[Difference]) -> str:
    """`torch==2.13.0 (cpu.txt and cuda.txt)`: what only some of the requirement files ask for, the widest first; of each
    package what most of them say at the tip.
    """
    files: dict[str, set[str]] = {}
    specs: dict[str, Counter[str]] = {}
    for row in rows:
        files.setdefault(row.name, set()).update(one.scope.partition(BY)[2] for one in (row.now, row.was) if one)
        specs.setdefault(row.name, Counter()).update([row.now.spec] if row.now else [])
    widest = sorted(files, key=lambda name: (-len(files[name]), name))
    told = []
    for name in widest[:MOST_NEEDS]:
        spec = specs[name].most_common(1)[0][0] if specs[name] else " (dropped)"
        told.append(f"{name}{spec} ({listed(sorted(files[name]))})")
    more = [f"{len(widest) - MOST_NEEDS} more"] if len(widest) > MOST_NEEDS else []
    shown = listed([*told, *more], most=MOST_NEEDS + 1)
    return f"Run-time requirements that changed in some requirement files: {shown}."


def _is_gone(change: PlatformChange) -> bool:
    """All that the pin had of it."""
    return change.is_lost and not change.keeps


def _platform_item(gap: Gap, change: PlatformChange) -> Inline:
    where, commit = (change.at_tip, gap.tip) if change.at_tip else (change.at_pin, gap.pin)
    before, between, after = change.words()
    by: Inline = change_cell(gap, change.by.hash, change.by.pull_request) if change.by else ""
    place: Inline = place_cell(gap.upstream, commit.commit.hash, where) if where else ""
    return join_text(before, by, between, place, after)


def difference_item(gap: Gap, row: Difference) -> Inline:
    """One dependency difference in words, its place linked."""
    one = row.now or row.was
    scope = (
        f" ({one.scope})"
        if one and row.rank is Rank.METADATA and one.scope not in {"runtime", "requires-python"}
        else ""
    )
    side = gap.tip if row.now else gap.pin
    place: str | Cell = place_cell(gap.upstream, side.commit.hash, one.place) if one else row.file
    changes = ", ".join(change.value for change in row.changes)
    if row.also:
        scope = f" ({listed(list(row.scopes), most=2)})"
    if row.was and row.now and row.was.scope != row.now.scope and row.rank is Rank.METADATA:
        scope = f" ({row.was.scope} → {row.now.scope})"
    was = row.was.spec or "any version" if row.was else None
    now = row.now.spec or "any version" if row.now else None
    match was, now:
        case None, str():
            return f"{row.name} {now}{scope}: {changes} (", place, ")."
        case str(), None:
            return f"{row.name} {was}{scope}: {changes} (", place, " at the pin)."
        case _:
            versions = f" {now}{scope}: " if was == now else f"{scope}: {was} → {now}, "
            return f"{row.name}{versions}{changes} (", place, ")."


def _find_platforms(gap: Gap) -> list[PlatformChange]:
    """Without rows of a CI matrix and images that only repeat which wheels are installed, without what one line of one
    file has more or less while others install the same platform, and without what only examples ask for.
    """
    wheels = any(change.what.endswith(IN_CI) for change in gap.dependencies.platform)
    repeat = ("CI gpu-arch", "container images")
    return [
        one
        for one in gap.dependencies.platform
        if not (wheels and one.what.startswith(repeat))
        and (one.is_matrix or not one.is_single)
        and any(is_own(place.path) for place in (one.at_pin, one.at_tip) if place is not None)
    ]


def count_needs(gap: Gap) -> int:
    """Of Python itself and of packages: what a run needs otherwise than at the pin."""
    return sum(1 for row in gap.dependencies.differences if row.rank is Rank.METADATA and row.is_runtime)


def tell_needs(gap: Gap) -> str:
    """How many requirements a run must follow, beside moving the pin; empty where none changed."""
    number = count_needs(gap)
    if not number:
        return ""
    changed = (row for row in gap.dependencies.differences if row.rank is Rank.METADATA and row.is_runtime)
    python = " (Python itself is one)" if any(row.kind is Kind.PYTHON for row in changed) else ""
    return f"{count(number, 'changed requirement')} at run time{python}"


def _is_partly_needed(row: Difference) -> bool:
    """What a run needs where one of several requirement files is installed: a platform, mostly."""
    sides = [one for one in (row.was, row.now) if one is not None]
    is_partly = any(one.scope.startswith(f"{RUNTIME}{BY}") for one in sides) and not row.is_runtime
    return row.rank is Rank.METADATA and row.kind is Kind.REQUIREMENT and is_partly


def _is_need(row: Difference) -> bool:
    return row.rank is Rank.METADATA and row.kind is not Kind.PYTHON and row.is_runtime


def _dependency_weight(row: Difference) -> tuple[object, ...]:
    """What a user of the upstream needs before what its developers need; true changes before mere repetition."""
    one = row.now or row.was
    scope = one.scope if one else ""
    whole_file = bool({Move.FILE_ADDED, Move.FILE_REMOVED} & set(row.changes))
    other_kind = row.kind not in {Kind.REQUIREMENT, Kind.PYTHON, Kind.CHANNEL, Kind.SOURCE}
    repeated = bool({Move.LEFT, Move.JOINED} & set(row.changes))
    place = _SCOPES.get(scope.partition(" ")[0], 6), scope in _DEVELOPER
    return (
        row.rank,
        "/" in row.file,
        repeated,
        whole_file,
        other_kind,
        *place,
        row.kind is not Kind.PYTHON,
        row.was is None,
        row.name,
    )
