"""A gap as flat facts: a name, a plain value, and where it was read. `gap verify` compares two such lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from layline.core.evidence import Evidence, Fact
from layline.coupling.drift_model import find_breaking
from layline.gap.breaks import Standing, find_rewritten, find_standings
from layline.gap.cells import diff_command, requirement_text, span
from layline.gap.overview import find_fixes
from layline.history.commits import say_count

if TYPE_CHECKING:
    from layline.change.surface import SurfaceRow
    from layline.core.evidence import Location
    from layline.gap.dependencies import Declaration, Difference, Unread
    from layline.gap.model import Gap


def find_facts(gap: Gap) -> Iterator[Fact[Any]]:
    """Every claim of the report; names are unique, values are plain JSON."""
    yield from _find_frame(gap)
    yield from _find_tree(gap)
    yield from _find_dependencies(gap)
    yield from _find_changes(gap)
    yield from _find_couplings(gap)
    yield from _find_patches(gap)
    yield from _find_plan(gap)
    yield from _find_causes(gap)
    yield from _find_surface(gap)


def _find_patches(gap: Gap) -> Iterator[Fact[Any]]:
    seen: dict[str, int] = {}
    breaking = {id(row) for row in find_breaking(gap.patches or ())}
    for row in gap.patches or ():
        base = f"patch.{row.patch}.{row.location}.{row.target or ''}"
        seen[base] = seen.get(base, 0) + 1
        own = _place(gap.downstream, gap.downstream_commit.hash, row.location.path, row.location.line)
        value = {
            "kind": row.kind.value,
            "severity": row.severity.value,
            "broken_by_upgrade": id(row) in breaking,
            "detail": row.detail,
            "since": row.culprit.hash if row.culprit is not None else None,
        }
        yield Fact(name=base if seen[base] == 1 else f"{base}.{seen[base]}", value=value, evidence=(own, *row.evidence))


def _find_plan(gap: Gap) -> Iterator[Fact[Any]]:
    for number, step in enumerate(gap.plan, 1):
        value = {
            "commit": step.commit,
            "date": step.date,
            "reason": step.reason,
            "behind": step.behind,
            "breaks_next": list(step.breaks_next),
            "places": step.places,
            "again": step.again,
            "code_lines": step.lines,
            "deletes": list(step.asks.deletes),
            "keys": list(step.asks.keys),
            "lines": step.asks.lines,
            "needs": list(step.asks.needs),
            "off": list(step.asks.off),
            "methods": step.asks.methods,
            "ahead": step.ahead,
            "next": step.next,
            "number": step.number,
        }
        evidence = Evidence(repo=gap.upstream, commit=step.commit)
        yield Fact(name=f"plan.{number}", value=value, evidence=(evidence,))


def _find_causes(gap: Gap) -> Iterator[Fact[Any]]:
    for cause in gap.causes:
        evidence = Evidence(repo=gap.upstream, commit=cause.commit)
        yield Fact(name=f"cause.{cause.name}", value=list(cause.places), evidence=(evidence,))
    if gap.surface is not None:
        counted = Counter(find_standings(gap).values())
        here = Evidence(repo=gap.downstream, commit=gap.downstream_commit.hash)
        yield Fact(name="places", value={kind.value: counted[kind] for kind in Standing}, evidence=(here,))
        yield Fact(name="places_to_fix", value=sorted(find_fixes(gap.couplings, gap.patches or ())), evidence=(here,))
        yield Fact(name="places_outside", value=list(gap.outside), evidence=(here,))
        yield Fact(name="places_to_rewrite", value=sorted(find_rewritten(gap)), evidence=(here,))
    if gap.effort is not None:
        own = Evidence(repo=gap.downstream, commit=gap.downstream_commit.hash)
        yield Fact(name="effort", value={"lines": gap.effort.lines, "files": gap.effort.files}, evidence=(own,))


def _find_frame(gap: Gap) -> Iterator[Fact[Any]]:
    pin, tip = gap.pin.commit, gap.tip.commit
    diff = diff_command(gap)
    yield Fact(name="pin.commit", value=pin.hash, evidence=(gap.pin_evidence,))
    yield _told(gap, "tip.commit", tip.hash, f"git rev-parse {tip.hash}^{{commit}}")
    for name, side in (("pin", gap.pin), ("tip", gap.tip)):
        yield _told(gap, f"{name}.date", side.commit.date, f"git log -1 --format=%cs {side.commit.hash}")
        yield _told(gap, f"{name}.subject", side.commit.subject, f"git log -1 --format=%s {side.commit.hash}")
        if side.version is not None:
            yield Fact(name=f"{name}.version", value=side.version.text, evidence=(side.version.evidence,))
        if side.tag is not None:
            yield _told(gap, f"{name}.tag", list(side.tag), say_count(side.tag[0], side.commit.hash))
    yield _told(gap, "behind", gap.distance.behind, say_count(pin.hash, tip.hash))
    yield _told(gap, "ahead", gap.distance.ahead, say_count(tip.hash, pin.hash))
    yield _told(gap, "merge_base", gap.distance.merge_base, f"git merge-base {pin.hash} {tip.hash}")
    yield _told(gap, "relation", gap.distance.relation.value, f"git merge-base {pin.hash} {tip.hash}")
    yield _told(
        gap, "releases", [name for name, _ in gap.releases], f"git tag --no-merged {pin.hash} --merged {tip.hash}"
    )
    if gap.release is not None:
        newest = {"name": gap.release.name, "lacks": gap.release.lacks, "past": gap.release.past}
        yield _told(gap, "newest_release", newest, say_count(pin.hash, gap.release.name))
    if gap.branch is not None:
        made = {
            "name": gap.branch.name,
            "version": gap.branch.version,
            "lacks": gap.branch.lacks,
            "without": list(gap.branch.without),
        }
        yield _told(gap, "release_branch", made, say_count(pin.hash, gap.branch.commit))
    if gap.last_move is not None:
        move = gap.last_move
        moved = Evidence(repo=gap.downstream, commit=move.commit.hash)
        size = {"files": move.files, "insertions": move.insertions, "deletions": move.deletions}
        size |= {"new_files": move.new_files, "new_lines": move.new_lines}
        yield Fact(name="last_move", value=size, evidence=(moved,))
    yield _told(gap, "files", len(gap.diff.files), diff)
    yield _told(gap, "insertions", gap.diff.insertions, diff)
    yield _told(gap, "deletions", gap.diff.deletions, diff)
    for folder in gap.footprint.folders[:1]:
        command = f"git ls-tree -r -l {gap.downstream_commit.hash} -- {' '.join(gap.footprint.folders)}"
        evidence = Evidence(repo=gap.downstream, commit=gap.downstream_commit.hash, path=folder, command=command)
        for name in ("tracked", "non_empty", "python"):
            yield Fact(name=f"footprint.{name}", value=getattr(gap.footprint, name), evidence=(evidence,))
    if gap.footprint.beyond:
        tree = f"git ls-tree -r --name-only {gap.downstream_commit.hash}"
        listing = Evidence(repo=gap.downstream, commit=gap.downstream_commit.hash, command=tree)
        value = [list(pair) for pair in gap.footprint.beyond]
        yield Fact(name="footprint.beyond", value=value, evidence=(listing,))
    yield _told(
        gap, "recommendation", [str(gap.recommendation), gap.recommendation.rule], say_count(pin.hash, tip.hash)
    )


def _find_tree(gap: Gap) -> Iterator[Fact[Any]]:
    numstat = diff_command(gap, "--numstat")
    for churn in gap.churn:
        yield _told(gap, f"churn.{churn.name}", [churn.files, churn.insertions, churn.deletions], numstat)
    for area in gap.areas:
        value = [area.added, area.removed, area.renamed, area.modified, area.insertions, area.deletions, area.commits]
        yield _told(gap, f"area.{area.name}", value, numstat)
    for one in gap.packages:
        commit = gap.pin.commit.hash if one.kind == "removed" else gap.tip.commit.hash
        evidence = Evidence(repo=gap.upstream, commit=commit, path=one.path)
        yield Fact(
            name=f"package.{one.path}", value=[one.kind, one.files, one.old_path, *one.origins], evidence=(evidence,)
        )
    for path, line in gap.shims:
        yield Fact(name=f"shim.{path}", value=line, evidence=(_place(gap.upstream, gap.tip.commit.hash, path, line),))


def _find_dependencies(gap: Gap) -> Iterator[Fact[Any]]:
    seen: dict[str, int] = {}
    for row in gap.dependencies.differences:
        value = [requirement_text(row.was), requirement_text(row.now), [change.value for change in row.changes]]
        for scope in row.scopes:
            base = f"dependency.{row.rank.name.lower()}.{scope}.{row.kind.value}.{row.name}"
            seen[base] = seen.get(base, 0) + 1
            name = base if seen[base] == 1 else f"{base}.{seen[base]}"
            yield Fact(name=name, value=value, evidence=tuple(_sides(gap, row)))
    yield from _find_unread(gap, "pin", gap.pin.commit.hash, gap.dependencies.unread[0])
    yield from _find_unread(gap, "tip", gap.tip.commit.hash, gap.dependencies.unread[1])
    for was, now in gap.dependencies.locks:
        lock = now or was
        if lock is not None:
            sizes = [len(side.versions) if side else None for side in (was, now)]
            commit = (gap.tip if now else gap.pin).commit.hash
            yield Fact(
                name=f"lock.{lock.path}",
                value=sizes,
                evidence=(Evidence(repo=gap.upstream, commit=commit, path=lock.path),),
            )


def _find_unread(gap: Gap, side: str, commit: str, unread: Iterable[Unread]) -> Iterator[Fact[Any]]:
    """What the package metadata may say where it could not be read, by the scopes that it is of."""
    parts: dict[str, list[Unread]] = {}
    for one in unread:
        parts.setdefault(one.what, []).append(one)
    for what, found in parts.items():
        lines = (found[0].line, found[0].line) if found[0].line is not None else None
        evidence = Evidence(repo=gap.upstream, commit=commit, path=found[0].path, lines=lines)
        value = [{"scopes": list(one.scopes), "why": one.why} for one in found]
        yield Fact(name=f"unread.{side}.{what}", value=value, evidence=(evidence,))


def _find_changes(gap: Gap) -> Iterator[Fact[Any]]:
    log = f"git log --no-renames --name-only {span(gap)}"
    yield _told(gap, "changes.reverted", gap.changes.reverted, log)
    yield _told(gap, "changes.housekeeping", gap.changes.housekeeping, log)
    for change in gap.changes.kept:
        name = f"change.{'#' + str(change.number) if change.number else change.commits[0]}"
        value = {
            "title": change.title,
            "date": change.date,
            "area": change.area,
            "files": change.files,
            "ours": list(change.ours),
        }
        evidence = tuple(Evidence(repo=gap.upstream, commit=commit) for commit in change.commits)
        yield Fact(name=name, value=value, evidence=evidence)


def _find_couplings(gap: Gap) -> Iterator[Fact[Any]]:
    seen: dict[str, int] = {}
    for one in gap.couplings:
        base = f"coupling.{one.location}.{one.touch.name.lower()}.{one.target}"
        seen[base] = seen.get(base, 0) + 1
        name = base if seen[base] == 1 else f"{base}.{seen[base]}"
        own = _place(gap.downstream, gap.downstream_commit.hash, one.location.path, one.location.line)
        evidence = tuple(item for item in (own, one.pin_evidence, one.tip_evidence) if item is not None)
        value = {
            "consequence": one.consequence.value,
            "state": one.state.value,
            "now": one.new_target,
            "detail": one.detail,
            "since": one.culprit,
            "later": list(one.later),
            "near": one.near,
        }
        yield Fact(name=name, value=value, evidence=evidence)
    for stale in gap.stale_keys:
        own = _place(gap.downstream, gap.downstream_commit.hash, stale.location.path, stale.location.line)
        evidence = tuple(item for item in (own, stale.pin_evidence) if item is not None)
        yield Fact(name=f"stale-key.{stale.key}", value=[stale.others, stale.suggestion], evidence=evidence)

    yield from _find_rest(gap)
    for package, files in gap.mentions:
        evidence = tuple(_place(gap.downstream, gap.downstream_commit.hash, path, 1) for path in files)
        yield Fact(name=f"mention.{package}", value=list(files), evidence=evidence)
    if gap.tests:
        places = tuple(_place(gap.downstream, gap.downstream_commit.hash, one.path, one.line) for one in gap.tests)
        yield Fact(name="tests.lost-imports", value=[str(one) for one in gap.tests], evidence=places)
    for change in gap.dependencies.platform:
        if change.by is not None:
            by = Evidence(repo=gap.upstream, commit=change.by.hash)
            yield Fact(name=f"switched-off.{change.what}", value=change.by.hash, evidence=(by,))


def _find_rest(gap: Gap) -> Iterator[Fact[Any]]:
    """What a new address leaves to do, what lost names left, and texts of ours that name what is gone."""
    commit = gap.downstream_commit.hash
    for one in gap.follows:
        value = {
            "target": one.target,
            "now": one.arrival,
            "takes": [list(side) for side in one.takes],
            "changes": [[change.commit, *change.parameters, *change.unset] for change in one.changes],
        }
        own = _place(gap.downstream, commit, one.location.path, one.location.line)
        by = tuple(Evidence(repo=gap.upstream, commit=change.commit) for change in one.changes)
        yield Fact(name=f"override.{one.location}", value=value, evidence=(own, *by))
    for left in gap.successors:
        kept: dict[str, Any] = {
            "instead": [list(pair) for pair in left.instead],
            "users": left.users,
            "named": list(left.named or ()),
            "told": left.told,
            "inside": left.inside,
            "differs": [*left.differs, *([left.holds] if left.holds else [])],
            "constructed_by_name": not left.is_unmade,
        }
        here = Evidence(repo=gap.upstream, commit=gap.tip.commit.hash)
        yield Fact(name=f"successor.{left.target}", value=kept, evidence=(here,))
    for place, words in gap.done:
        path, _, line = place.rpartition(":")
        yield Fact(name=f"done.{place}", value=list(words), evidence=(_place(gap.downstream, commit, path, int(line)),))
    for kind, named in (("asked-key", gap.asked), ("read-file", gap.read_files)):
        for text, places in named:
            evidence = tuple(_place(gap.downstream, commit, place.path, place.line) for place in places)
            yield Fact(name=f"{kind}.{text}", value=[str(place) for place in places], evidence=evidence)


def _find_surface(gap: Gap) -> Iterator[Fact[Any]]:
    if gap.surface is None:
        return
    for name, was, now in gap.surface.sizes:
        yield _told(gap, f"surface.{name}", [was, now], f"git ls-tree -r {gap.tip.commit.hash}")
    for kind, rows in (("field", gap.surface.fields), ("flag", gap.surface.flags)):
        seen: dict[str, int] = {}
        for row in rows:
            base = f"{kind}.{row.change.value}.{row.name}"
            seen[base] = seen.get(base, 0) + 1
            yield _surface_fact(gap, base if seen[base] == 1 else f"{base}.{seen[base]}", row)
    yield from _find_definitions(gap, gap.surface.definitions)


def _find_definitions(gap: Gap, rows: tuple[SurfaceRow, ...]) -> Iterator[Fact[Any]]:
    """One fact per upstream file and kind of change: names with lines, so that the file stays small enough to read."""
    files: dict[tuple[str, str], list[SurfaceRow]] = {}
    for row in rows:
        evidence = row.pin_evidence or row.tip_evidence
        path = evidence.path if evidence and evidence.path else ""
        files.setdefault((path, row.change.value), []).append(row)
    for (path, change), inside in files.items():
        names = ", ".join(f"{row.name} {_line(row.pin_evidence)}→{_line(row.tip_evidence)}" for row in inside)
        commit = gap.pin.commit.hash if inside[0].pin_evidence else gap.tip.commit.hash
        evidence = Evidence(repo=gap.upstream, commit=commit, path=path)
        yield Fact(name=f"definitions.{change}.{path}", value=names, evidence=(evidence,))


def _line(evidence: Evidence | None) -> str:
    return str(evidence.lines[0]) if evidence and evidence.lines else "–"


def _surface_fact(gap: Gap, name: str, row: SurfaceRow) -> Fact[Any]:
    evidence = tuple(item for item in (row.pin_evidence, row.tip_evidence) if item is not None)
    return Fact(
        name=name,
        value=[row.was, row.now],
        evidence=evidence or (Evidence(repo=gap.upstream, commit=gap.tip.commit.hash),),
    )


def _sides(gap: Gap, row: Difference) -> Iterator[Evidence]:
    sides: tuple[tuple[Declaration | None, str], ...] = ((row.was, gap.pin.commit.hash), (row.now, gap.tip.commit.hash))
    for item, commit in sides:
        if item is not None:
            yield _at(gap.upstream, commit, item.place)


def _told(gap: Gap, name: str, value: object, command: str) -> Fact[Any]:
    return Fact(
        name=name, value=value, evidence=(Evidence(repo=gap.upstream, commit=gap.tip.commit.hash, command=command),)
    )


def _at(repo: str, commit: str, place: Location) -> Evidence:
    return _place(repo, commit, place.path, place.line)


def _place(repo: str, commit: str, path: str, line: int) -> Evidence:
    return Evidence(repo=repo, commit=commit, path=path, lines=(line, line))
