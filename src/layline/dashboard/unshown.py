"""What the records say and the pages cannot show as it is: told on the pages, never left out in silence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from layline.core.evidence import Skipped
from layline.core.records import GapRecord
from layline.dashboard.backend_status import web_address
from layline.dashboard.breakage import find_mismatch
from layline.dashboard.content import Content, is_future
from layline.workspace.records import Records

_LISTS = {"patches": ("patches", "unregistered", "skipped"), "drift": ("rows",), "campaign": ("rounds",)}


def find_unshown(content: Content) -> Iterator[Skipped]:
    """Evidence of other commits, contradictions inside a record, data of a wrong shape."""
    for record in content.gaps:
        label = content.labels.get(record.backend.key, record.backend.label)
        plain = content.evidence.get(record.id)
        mismatch = find_mismatch(record, plain) if plain is not None else None
        if mismatch is not None:
            yield Skipped(f"evidence of {label}", f"{mismatch}; it is not used")
    yield from find_doubtful(content.records, content.upstreams, content.today)
    for kind, files in (("patches", content.patches), ("drift", content.drifts), ("campaign", content.campaigns)):
        for key, data in files.items():
            yield from (Skipped(f"{kind} of {key}", reason) for reason in _find_bad_lists(kind, data))
    for key, drift in content.drifts.items():
        reason = _find_other_commit(content.patches.get(key), drift)
        if reason is not None:
            yield Skipped(f"drift of {key}", reason)


def find_doubtful(records: Records, upstreams: Mapping[str, str], today: date | None) -> Iterator[Skipped]:
    """Valid records that cannot all be true: contradictions in one, another upstream, a day that has not come."""
    for gap in records.gap:
        yield from _find_contradictions(gap.record, upstreams.get(gap.record.backend.key))
    dated = [(item.record.id, item.record.generated_at) for item in records.gap]
    dated += [(item.record.report_id, item.record.generated_at[:10]) for item in records.periodic]
    for name, stamp in dated:
        if is_future(stamp, today):
            yield Skipped(name, f"is dated {stamp}, later than today ({today})")


def _find_contradictions(record: GapRecord, upstream: str | None) -> Iterator[Skipped]:
    """A record whose own fields cannot all be true."""
    tip = record.upstream.commit_date
    if tip is not None and record.generated_at < tip:
        yield Skipped(record.id, f"is dated {record.generated_at}, before its own tip of {tip}")
    pin = record.local.commit_date
    if pin is not None and record.generated_at < pin:
        yield Skipped(record.id, f"is dated {record.generated_at}, before its own pin of {pin}")
    if record.stats.commit_gap == 0 and record.local.commit != record.upstream.commit and not record.stats.diff_files:
        yield Skipped(record.id, "says 0 commits behind, but pin and tip are different commits")
    if upstream is not None and web_address(record.upstream.repo) != web_address(upstream):
        yield Skipped(record.id, f"compares with {record.upstream.repo}; layline.toml names {upstream}")


def _find_bad_lists(kind: str, data: Mapping[str, Any]) -> Iterator[str]:
    for name in _LISTS[kind]:
        found = data.get(name, [])
        if not isinstance(found, list):
            yield f"{name} is not a list; that part is not shown"
        elif any(not isinstance(item, Mapping) for item in found) and name != "skipped":
            yield f"some entries of {name} are not objects; they are not shown"


def _find_other_commit(inventory: Mapping[str, Any] | None, drift: Mapping[str, Any]) -> str | None:
    """Both files name the commit of ours that they read; where they differ their rows need not fit together."""
    one, other = (inventory or {}).get("commit"), drift.get("downstream_commit")
    if not isinstance(one, str) or not isinstance(other, str) or one == other:
        return None
    return f"was made at {other[:12]}, the inventory at {one[:12]}; places may have moved between them"
