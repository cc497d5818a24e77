"""Audits a weekly or monthly record: pins, tips, gaps and counts at the time it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from layline.core.period import find_month_start, find_quarter_start, parse_moment, parse_period
from layline.gap.audit.gap_record import date_readings
from layline.gap.audit.ground import holds_code
from layline.gap.audit.model import AuditedField, AuditVerdict, attempt, check, check_any, check_hash, leave
from layline.gap.audit.written import find_written
from layline.history.commits import compare_commits, find_tip_at, read_commit, read_log, say_count
from layline.history.pins import read_pin

if TYPE_CHECKING:
    from layline.config import Backend
    from layline.core.records import PeriodicRecord
    from layline.git import Repository

_HASH = re.compile(r"[0-9a-f]{40}\Z")
_BEHIND = re.compile(
    r"pin (?P<pin>[0-9a-f]{7,40})\b[^.]*?(?P<count>\d+) commits behind upstream HEAD (?P<tip>[0-9a-f]{7,40})"
)
_MERGED = re.compile(r"^(?P<count>\d+) PRs? merged\b")
_MOVED = re.compile(
    r"(?:\+(?P<before>\d+) commits \()?\b(?P<was>[0-9a-f]{7,40}) ?(?:->|→) ?(?P<now>[0-9a-f]{7,40})"
    r"\b(?:, \+(?P<after>\d+))?"
)
_PULL = re.compile(r"\bPR #(\d+)")
_SAME_PINS = re.compile(r"no submodule SHA (?:change|changed)\b|submodule SHAs are unchanged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The repositories a periodic record may talk of."""

    downstream: Repository
    line: str
    """The downstream commit whose first-parent history counts."""
    find_backend: Callable[[str, str | None], tuple[str, Backend, Repository] | None]
    """By status key or upstream address."""
    repositories: Callable[[], list[Repository]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a record was made, and what the downstream was then."""

    record: PeriodicRecord
    made: str
    has_code: bool

    @property
    def without_code(self) -> str:
        return f"{self.made[:12]} contains no code"


def audit_periodic_record(record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    start, end = parse_moment(record.time_window.start), parse_moment(record.time_window.end)
    made = find_tip_at(around.downstream, around.line, parse_moment(record.generated_at))
    if made is None:
        yield leave("generated_at", record.generated_at, "the downstream history begins later")
        return
    where = Moment(record=record, made=made, has_code=holds_code(around.downstream, made))
    yield from _audit_counts(record, around, start, end, where)
    for key, status in record.statuses.items():
        yield from _audit_status(key, status, where, around)
        for name in ("month_start_ts", "quarter_start_ts"):
            if isinstance(status.get(name), str):
                yield _check_start(f"{key}_status.{name}", status[name], record)
    for index, text in enumerate(record.key_findings):
        yield from _audit_finding(f"key_findings[{index}]", text, record, around)


def _audit_counts(
    record: PeriodicRecord, around: Surroundings, start: datetime, end: datetime, where: Moment
) -> Iterator[AuditedField]:
    merged = [
        commit
        for commit in read_log(around.downstream, None, around.line, first_parent=True)
        if start <= _when(commit.committed) <= end
    ]
    numbered = [commit for commit in merged if commit.pull_request is not None]
    command = (
        f"git log --first-parent --since={record.time_window.start} --until={record.time_window.end} "
        f"--format=%s {around.line}"
    )
    readings = {"pull requests merged in the window": len(numbered), "commits in the window": len(merged)}
    if where.has_code:
        yield check_any("merged_pr_count", record.merged_pr_count, readings, command)
    else:
        yield leave("merged_pr_count", record.merged_pr_count, where.without_code)
    total = sum(record.category_breakdown.values())
    yield check("category_breakdown (sum)", record.merged_pr_count, total, "the sum of its categories")


def _audit_status(key: str, status: Mapping[str, Any], where: Moment, around: Surroundings) -> Iterator[AuditedField]:
    found = around.find_backend(key, status.get("upstream_repo"))
    place = f"{key}_status"
    for name, value in status.items():
        field = f"{place}.{name}"
        if value is None:
            continue
        match name:
            case "pin_commit" if found:
                yield attempt(_check_pin, field, value, where.made, found, around)
            case "previous_pin_commit" if found:
                yield attempt(_check_previous_pin, field, value, where, found, around)
            case "pin_date" | "upstream_head_date" if found:
                commit = status.get("pin_commit" if name == "pin_date" else "upstream_head")
                yield attempt(_check_date, field, value, str(commit), found[2])
            case "commit_gap" if found:
                ends = (str(status.get("pin_commit")), str(status.get("upstream_head")))
                yield attempt(_check_gap, field, value, *ends, found[2])
            case "upstream_head" if found:
                yield attempt(_check_on_ref, field, value, str(status.get("upstream_ref") or "main"), found[2])
            case _ if isinstance(value, str) and _HASH.match(value) and name.endswith("_commit"):
                yield attempt(_check_written, field, value, status, name, where, around)
            case _ if "drift_commits" in name and isinstance(value, int):
                yield attempt(_check_drift, field, value, status, name, around)
            case "recommendation":
                yield leave(field, value, "a judgement; the policy that gave it is not in the record")


def _check_pin(
    field: str, value: str, commit: str, found: tuple[str, Backend, Repository], around: Surroundings
) -> AuditedField:
    key, backend, _ = found
    pinned = read_pin(around.downstream, commit, key, backend)
    return check_hash(field, value, pinned.revision, pinned.evidence.command or str(pinned.evidence))


def _check_previous_pin(
    field: str, value: str, where: Moment, found: tuple[str, Backend, Repository], around: Surroundings
) -> AuditedField:
    """The pin just before the window, where the generator reads it."""
    start = parse_moment(where.record.time_window.start) - timedelta(seconds=1)
    before = find_tip_at(around.downstream, around.line, start)
    if before is None:
        return leave(field, value, "the downstream history begins later")
    return _check_pin(field, value, before, found, around)


def _check_date(field: str, value: str, commit: str, upstream: Repository) -> AuditedField:
    readings = date_readings(read_commit(upstream, upstream.resolve(commit)))
    return check_any(field, value, readings, f"git log -1 --format='%ci %ai' {commit}")


def _check_gap(field: str, value: int, pin: str, tip: str, upstream: Repository) -> AuditedField:
    behind = compare_commits(upstream, upstream.resolve(pin), upstream.resolve(tip)).behind
    return check(field, value, behind, say_count(pin, tip))


def _check_on_ref(field: str, value: str, ref: str, upstream: Repository) -> AuditedField:
    commit, head = upstream.resolve(value), upstream.resolve(ref.removeprefix("origin/"))
    base = upstream.git("merge-base", commit, head).decode("ascii").strip()
    computed = value if base == commit else f"not on {ref}"
    return check(field, value, computed, f"git merge-base --is-ancestor {value} {ref}")


def _check_written(
    field: str, value: str, status: Mapping[str, Any], name: str, where: Moment, around: Surroundings
) -> AuditedField:
    """A commit that the downstream writes somewhere: at the time of the record, or at the start its prefix names."""
    at = where.made
    if name.startswith(("month_start", "quarter_start")):
        moment = status.get("month_start_ts") or status.get("quarter_start_ts")
        found = find_tip_at(around.downstream, around.line, parse_moment(str(moment))) if moment else None
        if found is None:
            return leave(field, value, "the record does not say when the period began")
        at = found
    if not where.has_code:
        return leave(field, value, where.without_code)
    place, unread = find_written(around.downstream, at, value)
    command = f"git grep -n {value} {at}"
    if place is not None:
        return AuditedField(
            field=field, published=value, computed=place, verdict=AuditVerdict.CONFIRMED, evidence=command
        )
    computed = f"no file of {at[:12]} contains it"
    if unread:
        return leave(field, value, f"{computed}, but {unread} file{'s' if unread > 1 else ''} cannot be read here")
    return AuditedField(
        field=field, published=value, computed=computed, verdict=AuditVerdict.CONTRADICTED, evidence=command
    )


def _check_drift(field: str, value: int, status: Mapping[str, Any], name: str, around: Surroundings) -> AuditedField:
    """Commits between where a pin stood at the start of the period and where it stands."""
    word = "benchmark" if "benchmark" in name else "ci"
    current = status.get(f"current_{word}_commit")
    start = status.get(f"month_start_{word}_commit") or status.get(f"quarter_start_{word}_commit")
    if name.startswith("month_window") or not current or not start:
        return leave(field, value, "the record does not say between which commits")
    for repository in around.repositories():
        if repository.has(str(current)) and repository.has(str(start)):
            behind = compare_commits(repository, str(start), str(current)).behind
            return check(field, value, behind, f"{say_count(start, current)} in {repository.name}")
    return leave(field, value, "no configured repository holds these commits")


def _audit_finding(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    """The parts of a sentence that can be computed: counts of merged pull requests, distances, pull requests by
    number.
    """
    found = [*_check_counts(field, text, record, around), *_check_moves(field, text, around)]
    found += [*_check_pulls(field, text, record, around), *_check_pins(field, text, record, around)]
    yield from found or [leave(field, text, "no part of this sentence can be computed from the trees")]


def _check_counts(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    if found := _MERGED.match(text):
        yield check(field, int(found["count"]), record.merged_pr_count, "merged_pr_count of the same record")
    elif found := _BEHIND.search(text):
        behind = _count_between(found["pin"], found["tip"], around)
        if behind is not None:
            yield check(field, int(found["count"]), behind, say_count(found["pin"], found["tip"]))


def _check_moves(field: str, text: str, around: Surroundings) -> Iterator[AuditedField]:
    """`+48 commits (333b68d7 -> 3974fc24)`, `333b68d7 → ef5b58ea, +32`."""
    for found in _MOVED.finditer(text):
        count, was, now = found["before"] or found["after"], found["was"], found["now"]
        behind = _count_between(was, now, around) if count else None
        if behind is not None:
            yield check(f"{field} ({was} → {now})", int(count), behind, say_count(was, now))


def _check_pulls(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> list[AuditedField]:
    """Pull requests named as `PR #735`: merged, and not after the window of the record."""
    numbers = list(dict.fromkeys(int(number) for number in _PULL.findall(text)))
    if not numbers:
        return []
    start, end = parse_moment(record.time_window.start), parse_moment(record.time_window.end)
    merged = {one.pull_request: one for one in read_log(around.downstream, None, around.line, first_parent=True)}
    rows = []
    for number in numbers:
        commit = merged.get(number)
        if commit is None:
            rows.append(
                leave(f"{field} (PR #{number})", f"PR #{number}", "no commit of the downstream's branch names it")
            )
            continue
        moment = _when(commit.committed)
        when = "" if start <= moment <= end else ", before the window" if moment < start else ", after the window"
        rows.append(
            AuditedField(
                field=f"{field} (PR #{number})",
                published=f"PR #{number}",
                computed=f"merged {commit.date} as {commit.hash[:12]}{when}",
                verdict=AuditVerdict.CONTRADICTED if moment > end else AuditVerdict.CONFIRMED,
                evidence=f"git log -1 {commit.hash}",
            )
        )
    return rows


def _check_pins(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    """`no submodule SHA changed`: the gitlinks at both ends of the window."""
    found = _SAME_PINS.search(text)
    moments = (record.time_window.start, record.time_window.end)
    ends = [find_tip_at(around.downstream, around.line, parse_moment(moment)) for moment in moments]
    if found is None or ends[0] is None or ends[1] is None:
        return
    then, now = (
        {one.path: one.oid for one in around.downstream.read_tree(end) if one.is_gitlink} for end in ends if end
    )
    if not then and not now:
        return  # no submodule at either end: nothing to hold the claim against
    moved = sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))
    verdict = AuditVerdict.CONTRADICTED if moved else AuditVerdict.CONFIRMED
    computed = f"moved: {', '.join(moved)}" if moved else f"{len(now)} submodules, none moved"
    command = f"git diff --submodule=short {ends[0][:12]} {ends[1][:12]}"
    yield AuditedField(
        field=f"{field} (submodules)", published=found.group(0), computed=computed, verdict=verdict, evidence=command
    )


def _count_between(was: str, now: str, around: Surroundings) -> int | None:
    for repository in around.repositories():
        if repository.has(was) and repository.has(now):
            return compare_commits(repository, repository.resolve(was), repository.resolve(now)).behind
    return None


def _check_start(field: str, value: str, record: PeriodicRecord) -> AuditedField:
    """The start of the month or quarter that the record's period lies in, as the generator writes it."""
    first = parse_period(record.report_id, record.cadence).first
    day = find_month_start(first) if "month" in field else find_quarter_start(first)
    start = parse_moment(record.time_window.start)
    right = datetime.combine(day, time(), _find_zone(record.time_window.timezone) or start.tzinfo)
    same = parse_moment(value) == right
    command = f"the first day of the period that {record.report_id} begins in"
    return check(field, value, value if same else right.isoformat(), command)


def _find_zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return None  # the offset of the window's start stands in for it


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)
