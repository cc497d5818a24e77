"""Why a judge says what it says: a reason with its fields, as a value and as a clause of English.

    why = Why(Reason.USES_GONE, name="keel.run.walk", other="keel.engine.walk")
    say(why)    # "uses keel.run.walk, which is gone (keel.engine.walk now)"

Programs ask for `why.reason` and its fields; only what is shown to a person is said. The sentences stand in
`core.reasons`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from string import Formatter
from typing import Any

from layline.core.evidence import Location
from layline.core.prose import count, listed
from layline.core.reasons import ASIDE, FAILS_FIRST, FAILS_STILL, PROBLEMS, RISKS, Reason

__all__ = ["ASIDE", "FAILS_FIRST", "FAILS_STILL", "PROBLEMS", "RISKS", "Reason", "Why", "say", "say_all", "say_parts"]


@dataclass(frozen=True, slots=True)
class Why:
    """One reason and what it is about; which fields count is told by the sentence of the reason."""

    reason: Reason
    name: str = ""
    other: str = ""
    text: str = ""
    """Words of the analysed code or its history."""
    names: tuple[str, ...] = ()
    places: tuple[Location, ...] = ()
    counts: tuple[int, ...] = ()
    parts: tuple[Why, ...] = ()
    """Reasons that this one sums up."""

    def __str__(self) -> str:
        return say(self)


def say(why: Why) -> str:
    """The reason as a clause: no capital, no full stop."""
    return _WORDS.vformat(
        why.reason.value,
        (),
        {
            "name": why.name,
            "other": why.other,
            "text": why.text,
            "names": why.names,
            "places": why.places,
            "counts": why.counts,
            "parts": tuple(_tell_once(why.parts)),
        },
    )


def _tell_once(parts: tuple[Why, ...]) -> Iterator[Why]:
    """Parts that differ in a name alone are one: `does not take a and b`, `reads a, b and c, which up.M …`."""
    alike: dict[tuple[Reason, str, str], list[Why]] = {}
    for one in parts:
        if one.reason in _TOGETHER:
            alike.setdefault(_find_common(one), []).append(one)
    for one in parts:
        if one.reason not in _TOGETHER:
            yield one
        elif len(found := alike.pop(_find_common(one), [])) > 1:
            yield _tell_several(one, found)
        elif found:
            yield one


def _tell_several(one: Why, found: list[Why]) -> Why:
    """One reason for parts that are alike."""
    names, texts, others = (
        listed(words, most=len(words))
        for words in ([part.name for part in found], [part.text for part in found], [part.other for part in found])
    )
    if one.reason is Reason.LANDS_IN_ANOTHER:
        numbers = [str(part.counts[0]) for part in found]
        return Why(Reason.LAND_IN_OTHERS, names, others, listed(numbers, most=len(numbers)))
    places = tuple(sorted({place for part in found for place in part.places}, key=lambda one: (one.path, one.line)))
    reason = _SEVERAL.get(one.reason, one.reason)
    text = texts if one.reason is Reason.REFUSES else one.text
    return replace(one, reason=reason, name=names, text=text, places=places)


def _find_common(one: Why) -> tuple[Reason, str, str]:
    """What parts have to share that are told as one."""
    if one.reason is Reason.LANDS_IN_ANOTHER:
        return one.reason, "", ""
    return one.reason, one.other, "" if one.reason is Reason.REFUSES else one.text


def say_all(reasons: Iterable[Why]) -> str:
    return "; ".join(filter(None, map(say, reasons)))


def say_parts(parts: Iterable[Why], sums: Iterable[Why]) -> str:
    """Some parts of what these sums say, with the subject that a sum gives them; what stands in none as it is."""
    whole = [one for one in sums if one.parts and one.reason in PROBLEMS]
    told: dict[Why, list[Why]] = {}
    for part in parts:
        told.setdefault(next((one for one in whole if part in one.parts), part), []).append(part)
    return say_all(
        one if one not in whole or some == [one] else _narrow(one, tuple(some)) for one, some in told.items()
    )


def _narrow(whole: Why, parts: tuple[Why, ...]) -> Why:
    """A sum of these parts alone."""
    alone = _ALONE.get(whole.reason)
    return replace(whole, parts=parts) if alone is None else replace(whole, reason=alone, parts=parts, places=())


class _Words(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("?"):
            return format_spec[1:].replace("%", str(value)) if value else ""
        if format_spec.startswith(("#", "<")):
            limit = "at most " if format_spec[0] == "<" and value else ""
            return limit + count(value, format_spec[1:])
        if not isinstance(value, tuple):
            return str(value)
        most = int(format_spec.rstrip("+;&") or len(value))
        shown = [str(item) for item in value[:most]]
        if format_spec.endswith(";"):
            return "; ".join([*shown, "…"] if len(value) > most else shown)
        if format_spec.endswith("&"):
            return listed(list(map(str, value)), most=most)
        if format_spec.endswith("+") and len(value) > most:
            shown.append(f"and {len(value) - most} more")
        elif len(shown) > 1 and isinstance(value[0], Why):
            shown[-1] = f"and {shown[-1]}"
        return ", ".join(shown)


_WORDS = _Words()
_TOGETHER = frozenset({Reason.REFUSES, Reason.READS_LOST, Reason.NOT_PASSED, Reason.NEEDS_EXTRA, Reason.NEEDS_REMOVED})
_TOGETHER |= {Reason.STANDS_IN, Reason.NOT_BOUND}
_TOGETHER |= {Reason.RESULT_LACKS, Reason.RESULT_LACKS_STILL, Reason.REFUSES_KEYWORD, Reason.LANDS_IN_ANOTHER}
"""Reasons whose sentence holds for several names."""
_SEVERAL = {Reason.REFUSES_KEYWORD: Reason.REFUSES_KEYWORDS, Reason.NOT_PASSED: Reason.ARE_NOT_PASSED}
"""As they are said of more than one."""
_ALONE = dict.fromkeys(
    (
        Reason.MISFITS_UNSHOWN,
        Reason.MISFITS_UNPASSED,
        Reason.MISFITS_PASSED,
        Reason.MISFITS_LEFT_OUT,
        Reason.MISFITS_MAYBE,
        Reason.MISFITS_SLOT,
    ),
    Reason.MISFITS,
)
"""What is said of some parts alone: which call passes what is known of all of them together."""
