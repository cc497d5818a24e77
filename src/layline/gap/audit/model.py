"""What an audit says about one field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class AuditVerdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not-checkable"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedField:
    """One field of a record."""

    field: str
    published: Any
    computed: Any
    """What git says; the reason where it cannot be checked."""
    verdict: AuditVerdict
    evidence: str
    """A command or a place; empty where there is none."""


def check(field: str, published: Any, computed: Any, evidence: str) -> AuditedField:
    """Confirmed where both are equal."""
    verdict = AuditVerdict.CONFIRMED if published == computed else AuditVerdict.CONTRADICTED
    return AuditedField(field=field, published=published, computed=computed, verdict=verdict, evidence=evidence)


def check_hash(field: str, published: Any, computed: str, evidence: str) -> AuditedField:
    """A hash may be abbreviated."""
    same = isinstance(published, str) and len(published) >= 7 and computed.startswith(published)
    verdict = AuditVerdict.CONFIRMED if same else AuditVerdict.CONTRADICTED
    return AuditedField(field=field, published=published, computed=computed, verdict=verdict, evidence=evidence)


def check_any(field: str, published: Any, accepted: dict[str, Any], evidence: str) -> AuditedField:
    """Confirmed where one of the readings (name → value) gives the published value; it is named."""
    for name, value in accepted.items():
        if value == published:
            return AuditedField(field=field, published=published, computed=f"{value} ({name})", verdict=AuditVerdict.CONFIRMED, evidence=evidence)  # fmt: skip
    shown = ", ".join(f"{value} {name}" for name, value in accepted.items())
    return AuditedField(field=field, published=published, computed=shown, verdict=AuditVerdict.CONTRADICTED, evidence=evidence)  # fmt: skip


def leave(field: str, published: Any, why: str) -> AuditedField:
    return AuditedField(field=field, published=published, computed=why, verdict=AuditVerdict.NOT_CHECKABLE, evidence="")


def combine(field: str, published: str, parts: Sequence[AuditedField]) -> AuditedField:
    """A sentence is contradicted by one wrong part, confirmed by right ones alone, else left open."""
    if not parts:
        return leave(field, published, "no part of this sentence can be computed from the trees")
    wrong = [part for part in parts if part.verdict is AuditVerdict.CONTRADICTED]
    chosen = wrong or list(parts)
    verdict = AuditVerdict.CONTRADICTED if wrong else AuditVerdict.CONFIRMED
    computed = "; ".join(dict.fromkeys(f"{part.field}: {part.computed}" for part in chosen))
    return AuditedField(field=field, published=published, computed=computed, verdict=verdict, evidence="; ".join(dict.fromkeys(part.evidence for part in chosen if part.evidence)))  # fmt: skip
