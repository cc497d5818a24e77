"""Audits a weekly or monthly record: pins, tips, gaps and counts at the time it was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from layline.core.period import parse_moment
from layline.errors import GitError
from layline.gap.audit.gap_record import date_readings
from layline.gap.audit.model import AuditedField, AuditVerdict, check, check_any, check_hash, leave
from layline.history import compare_commits, find_tip_at, read_commit, read_log, read_pin

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
    r"(?:\+(?P<before>\d+) commits \()?\b(?P<was>[0-9a-f]{7,40}) ?(?:->|→) ?(?P<now>[0-9a-f]{7,40})\b(?:, \+(?P<after>\d+))?"
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


def audit_periodic_record(record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    start, end = parse_moment(record.time_window.start), parse_moment(record.time_window.end)
    made = find_tip_at(around.downstream, around.line, parse_moment(record.generated_at))
    if made is None:
        yield leave("generated_at", record.generated_at, "the downstream history begins later")
        return
    yield from _audit_counts(record, around, start, end)
    for key, status in record.statuses.items():
        yield from _audit_status(key, status, made, around)
        for name in ("month_start_ts", "quarter_start_ts"):
            if isinstance(status.get(name), str):
                yield _check_start(f"{key}_status.{name}", status[name], record)
    for index, text in enumerate(record.key_findings):
        yield from _audit_finding(f"key_findings[{index}]", text, record, around)


def _audit_counts(
    record: PeriodicRecord, around: Surroundings, start: datetime, end: datetime
) -> Iterator[AuditedField]:
    merged = [
        commit
        for commit in read_log(around.downstream, None, around.line, first_parent=True)
        if start <= _when(commit.committed) <= end
    ]
    numbered = [commit for commit in merged if commit.pull_request is not None]
    command = f"git log --first-parent --since={record.time_window.start} --until={record.time_window.end} --format=%s {around.line}"
    yield check_any(
        "merged_pr_count", record.merged_pr_count, {"pull requests merged in the window": len(numbered), "commits in the window": len(merged)}, command
    )  # fmt: skip
    total = sum(record.category_breakdown.values())
    yield check("category_breakdown (sum)", record.merged_pr_count, total, "the sum of its categories")


def _audit_status(key: str, status: Mapping[str, Any], made: str, around: Surroundings) -> Iterator[AuditedField]:
    found = around.find_backend(key, status.get("upstream_repo"))
    place = f"{key}_status"
    for name, value in status.items():
        field = f"{place}.{name}"
        if value is None:
            continue
        match name:
            case "pin_commit" if found:
                yield _check_pin(field, value, made, found, around)
            case "pin_date" | "upstream_head_date" if found:
                commit = status.get("pin_commit" if name == "pin_date" else "upstream_head")
                yield _check_date(field, value, str(commit), found[2])
            case "commit_gap" if found:
                yield _check_gap(
                    field, value, str(status.get("pin_commit")), str(status.get("upstream_head")), found[2]
                )
            case "upstream_head" if found:
                yield _check_on_ref(field, value, str(status.get("upstream_ref") or "main"), found[2])
            case _ if isinstance(value, str) and _HASH.match(value) and name.endswith("_commit"):
                yield _check_written(field, value, status, name, made, around)
            case _ if "drift_commits" in name and isinstance(value, int):
                yield _check_drift(field, value, status, name, around)
            case "recommendation":
                yield leave(field, value, "a judgement; the policy that gave it is not in the record")


def _check_pin(
    field: str, value: str, made: str, found: tuple[str, Backend, Repository], around: Surroundings
) -> AuditedField:
    key, backend, _ = found
    pinned = read_pin(around.downstream, made, key, backend)
    return check_hash(field, value, pinned.revision, pinned.evidence.command or str(pinned.evidence))


def _check_date(field: str, value: str, commit: str, upstream: Repository) -> AuditedField:
    try:
        return check_any(
            field,
            value,
            date_readings(read_commit(upstream, upstream.resolve(commit))),
            f"git log -1 --format='%ci %ai' {commit}",
        )
    except GitError as error:
        return leave(field, value, error.message)


def _check_gap(field: str, value: int, pin: str, tip: str, upstream: Repository) -> AuditedField:
    try:
        behind = compare_commits(upstream, upstream.resolve(pin), upstream.resolve(tip)).behind
    except GitError as error:
        return leave(field, value, error.message)
    return check(field, value, behind, f"git rev-list --count {pin}..{tip}")


def _check_on_ref(field: str, value: str, ref: str, upstream: Repository) -> AuditedField:
    try:
        commit, head = upstream.resolve(value), upstream.resolve(ref.removeprefix("origin/"))
        base = upstream.git("merge-base", commit, head).decode("ascii").strip()
    except GitError as error:
        return leave(field, value, error.message)
    return check(
        field, value, value if base == commit else f"not on {ref}", f"git merge-base --is-ancestor {value} {ref}"
    )


def _check_written(
    field: str, value: str, status: Mapping[str, Any], name: str, made: str, around: Surroundings
) -> AuditedField:
    """A commit that the downstream writes somewhere: at the time of the record, or at the start its prefix names."""
    at = made
    if name.startswith(("month_start", "quarter_start")):
        moment = status.get("month_start_ts") or status.get("quarter_start_ts")
        found = find_tip_at(around.downstream, around.line, parse_moment(str(moment))) if moment else None
        if found is None:
            return leave(field, value, "the record does not say when the period began")
        at = found
    place = _find_text(around.downstream, at, value)
    command = f"git grep -n {value} {at}"
    if place is None:
        return AuditedField(field=field, published=value, computed=f"no file of {at[:12]} holds it", verdict=AuditVerdict.CONTRADICTED, evidence=command)  # fmt: skip
    return AuditedField(field=field, published=value, computed=place, verdict=AuditVerdict.CONFIRMED, evidence=command)


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
            return check(field, value, behind, f"git rev-list --count {start}..{current} in {repository.name}")
    return leave(field, value, "no configured repository holds these commits")


def _audit_finding(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    """The parts of a sentence that can be computed: counts of merged pull requests, distances, pull requests by number."""
    found = [*_check_counts(field, text, record, around), *_check_moves(field, text, around)]
    found += [*_check_pulls(field, text, record, around), *_check_pins(field, text, record, around)]
    yield from found or [leave(field, text, "no part of this sentence can be computed from the trees")]


def _check_counts(field: str, text: str, record: PeriodicRecord, around: Surroundings) -> Iterator[AuditedField]:
    if found := _MERGED.match(text):
        yield check(field, int(found["count"]), record.merged_pr_count, "merged_pr_count of the same record")
    elif found := _BEHIND.search(text):
        behind = _count_between(found["pin"], found["tip"], around)
        if behind is not None:
            yield check(field, int(found["count"]), behind, f"git rev-list --count {found['pin']}..{found['tip']}")


def _check_moves(field: str, text: str, around: Surroundings) -> Iterator[AuditedField]:
    """`+48 commits (333b68d7 -> 3974fc24)`, `333b68d7 → ef5b58ea, +32`."""
    for found in _MOVED.finditer(text):
        count, was, now = found["before"] or found["after"], found["was"], found["now"]
        behind = _count_between(was, now, around) if count else None
        if behind is not None:
            yield check(f"{field} ({was} → {now})", int(count), behind, f"git rev-list --count {was}..{now}")


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
                leave(f"{field} (PR #{number})", f"PR #{number}", "no commit of the downstream's line names it")
            )
            continue
        moment = _when(commit.committed)
        when = "" if start <= moment <= end else ", before the window" if moment < start else ", after the window"
        rows.append(AuditedField(
            field=f"{field} (PR #{number})", published=f"PR #{number}", computed=f"merged {commit.date} as {commit.hash[:12]}{when}",
            verdict=AuditVerdict.CONTRADICTED if moment > end else AuditVerdict.CONFIRMED, evidence=f"git log -1 {commit.hash}",
        ))  # fmt: skip
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
    moved = sorted(path for path in then.keys() | now.keys() if then.get(path) != now.get(path))
    verdict = AuditVerdict.CONTRADICTED if moved else AuditVerdict.CONFIRMED
    computed = f"moved: {', '.join(moved)}" if moved else f"{len(now)} submodules, none moved"
    command = f"git diff --submodule=short {ends[0][:12]} {ends[1][:12]}"
    yield AuditedField(field=f"{field} (submodules)", published=found.group(0), computed=computed, verdict=verdict, evidence=command)  # fmt: skip


def _count_between(was: str, now: str, around: Surroundings) -> int | None:
    for repository in around.repositories():
        if repository.has(was) and repository.has(now):
            return compare_commits(repository, repository.resolve(was), repository.resolve(now)).behind
    return None


def _check_start(field: str, value: str, record: PeriodicRecord) -> AuditedField:
    """The start of the month or quarter that the window lies in."""
    start = parse_moment(record.time_window.start)
    month = start.month if "month" in field else 3 * ((start.month - 1) // 3) + 1
    right = start.replace(month=month, day=1, hour=0, minute=0, second=0, microsecond=0).isoformat()
    same = parse_moment(value) == parse_moment(right)
    return check(field, value, value if same else right, "the first day of the period that the window begins in")


def _find_text(repository: Repository, commit: str, text: str) -> str | None:
    try:
        out = repository.git("grep", "-n", "-I", "-F", "--no-color", "-e", text, commit)
    except GitError as error:
        if "it said nothing" in error.message:
            return None
        raise
    return out.decode("utf-8", "replace").split("\n", 1)[0].removeprefix(f"{commit}:")[:160]


def _when(text: str) -> datetime:
    return datetime.fromisoformat(text)
