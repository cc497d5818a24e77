"""The two ends of a gap: the pin and the commit compared with, and what any reader must know of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from layline.core.evidence import Alert, Evidence, Severity
from layline.core.prose import count
from layline.core.revision import Relation
from layline.history.commits import count_commits, count_own, read_commit
from layline.history.tags import find_carrier, is_version
from layline.workspace.kept import Results, result_key

if TYPE_CHECKING:
    from layline.git import Repository
    from layline.workspace.open import Workspace


STALE_DAYS = 14
"""A compared ref whose newest commit is older than this may simply not have been fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """The two upstream commits of a gap, and where each was read."""

    pin: str
    tip: str
    pin_evidence: Evidence
    ref: str


def find_endpoints(workspace: Workspace, upstream: Repository, key: str, *, to: str | None = None) -> Endpoints:
    """The pin at the downstream commit looked at, and the upstream commit compared with."""
    backend = workspace.settings.backend(key)
    pinned = workspace.find_pinned(key)
    ref = backend.ref if to is None else to
    return Endpoints(pin=pinned.commit, tip=upstream.resolve_upstream(ref), pin_evidence=pinned.evidence, ref=ref)


def find_alerts(upstream: Repository, ends: Endpoints, relation: Relation, today: date) -> list[Alert]:
    """What a reader of any gap must know: a ref that may be stale, a pin that has left the line."""
    alerts, ref = [], ends.ref
    age = (today - date.fromisoformat(read_commit(upstream, ends.tip).date)).days
    if age > STALE_DAYS and not re.fullmatch("[0-9a-f]{4,64}", ref):  # a commit named by hash is what it is
        message = (
            f"the newest commit of {ref} is {age} days old on {today}; if upstream is still developed, use --fetch "
            "first"
        )
        alerts.append(Alert(severity=Severity.LOOK, message=message))
    if relation in {Relation.DIVERGED, Relation.UNRELATED}:
        alerts.append(_tell_diverged(upstream, ends, relation))
    return alerts


def _tell_diverged(upstream: Repository, ends: Endpoints, relation: Relation) -> Alert:
    """A release that was cut on a branch is as it should be; a commit that upstream does not have is ours to carry."""
    carrier = _keep_carrier(upstream, ends.pin) if relation is Relation.DIVERGED else None
    if carrier is None:
        message = (
            f"the pin is not an ancestor of {ends.ref} ({relation.value}): both sides have commits that the other lacks"
        )
        return Alert(severity=Severity.LOOK, message=message)
    ahead, _ = count_commits(upstream, ends.pin, ends.tip)
    branch = f"a release branch ({carrier})" if is_version(carrier) else f"upstream's branch {carrier}"
    copied = ahead - count_own(upstream, ends.pin, ends.tip)
    copies = (
        f"; {copied} of these {'is a copy' if copied == 1 else 'are copies'} of commits of {ends.ref}" if copied else ""
    )
    message = f"the pin is on {branch} with {count(ahead, 'commit')} that {ends.ref} does not have{copies}."
    return Alert(severity=Severity.OK, message=message)


def _keep_carrier(upstream: Repository, pin: str) -> str | None:
    """Which refs hold a commit takes seconds in a long history, and changes only with the refs."""
    results = Results("carrier")
    key = result_key(upstream.name, pin, upstream.refs(*upstream.upstream_refs))
    found = results.load(key, dict)
    if found is None:
        found = {"name": find_carrier(upstream, pin)}
        results.store(key, found)
    name: str | None = found["name"]
    return name
