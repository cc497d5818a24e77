"""What an audit says about one field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Concatenate, ParamSpec, TypeVar

from layline.errors import Error

More = ParamSpec("More")
Value = TypeVar("Value")
UNKNOWN = "nothing is known"


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
    """Confirmed where both are equal; open where git has no value to hold against it."""
    if computed is None:
        return leave(field, published, UNKNOWN)
    verdict = AuditVerdict.CONFIRMED if published == computed else AuditVerdict.CONTRADICTED
    return AuditedField(field=field, published=published, computed=computed, verdict=verdict, evidence=evidence)


def check_hash(field: str, published: Any, computed: str, evidence: str) -> AuditedField:
    """A hash may be abbreviated."""
    same = isinstance(published, str) and len(published) >= 7 and computed.startswith(published)
    verdict = AuditVerdict.CONFIRMED if same else AuditVerdict.CONTRADICTED
    return AuditedField(field=field, published=published, computed=computed, verdict=verdict, evidence=evidence)


def check_any(field: str, published: Any, accepted: dict[str, Any], evidence: str) -> AuditedField:
    """Confirmed where one of the readings (name → value) gives the published value; it is named.

    A reading that is not known (None) may be the one that was meant: then nothing is contradicted.
    """
    for name, value in accepted.items():
        if value == published:
            return AuditedField(
                field=field,
                published=published,
                computed=f"{value} ({name})",
                verdict=AuditVerdict.CONFIRMED,
                evidence=evidence,
            )
    shown = ", ".join(f"{value} {name}" for name, value in accepted.items() if value is not None)
    unknown = [name for name, value in accepted.items() if value is None]
    if unknown or not accepted:
        return leave(field, published, " of the ".join((UNKNOWN, *unknown)))
    return AuditedField(
        field=field, published=published, computed=shown, verdict=AuditVerdict.CONTRADICTED, evidence=evidence
    )


def leave(field: str, published: Any, why: str) -> AuditedField:
    return AuditedField(field=field, published=published, computed=why, verdict=AuditVerdict.NOT_CHECKABLE, evidence="")


def attempt(
    audit: Callable[Concatenate[str, Value, More], AuditedField],
    field: str,
    published: Value,
    *more: More.args,
    **named: More.kwargs,
) -> AuditedField:
    """What `audit` says of one field; what git cannot read for it leaves this field open, and no other."""
    try:
        return audit(field, published, *more, **named)
    except Error as error:
        return leave(field, published, error.message)


def combine(field: str, published: str, parts: Sequence[AuditedField]) -> AuditedField:
    """A sentence is contradicted by one wrong part, confirmed by right ones alone, else left open."""
    if not parts:
        return leave(field, published, "no part of this sentence can be computed from the trees")
    wrong = [part for part in parts if part.verdict is AuditVerdict.CONTRADICTED]
    unknown = [part for part in parts if part.verdict is AuditVerdict.NOT_CHECKABLE]
    chosen = wrong or unknown or list(parts)
    verdict = chosen[0].verdict
    computed = "; ".join(dict.fromkeys(f"{part.field}: {part.computed}" for part in chosen))
    return AuditedField(
        field=field,
        published=published,
        computed=computed,
        verdict=verdict,
        evidence="; ".join(dict.fromkeys(part.evidence for part in chosen if part.evidence)),
    )
