"""Checks of plain JSON data, field by field: every problem at once, each with its place and its reason.

A record's shape is a table of `Field`s; `find_field_problems` walks plain data along that table. A check takes one
value and returns the reason why it will not do, or None.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from layline.core.period import parse_date, parse_moment

Check: TypeAlias = Callable[[Any], str | None]

LONGEST_TEXT = 20_000
MOST_ITEMS = 500
DEEPEST = 20
LARGEST = 2**53 - 1
"""Beyond it a browser's numbers are no longer exact."""

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}\Z")
_HASH = re.compile(r"[0-9a-f]{7,64}\Z")
_LINK = re.compile(r"https://[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?(?:[/?#][!#-;=?-\[\]_a-z~%]*)?\Z")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9+_-]*(?:/[A-Za-z0-9+_-]+){0,2}\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
# C0 without tab and line feed, DEL, C1, and the characters that reorder or hide what a reader sees
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a record: which file, where in it, and why."""

    place: str
    """Path inside the record, such as `artifacts[0].path`; empty for the record as a whole."""
    reason: str
    file: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.place, self.reason) if part)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record: `backend.key`, `artifacts[].path`, `recommendations.*`."""

    path: str
    check: Check
    required: bool = True
    """Required only where the object that holds it is there."""


def find_field_problems(plain: Mapping[str, Any], fields: Collection[Field]) -> Iterator[Problem]:
    """Yields what is missing or wrong; parents must be listed before what they hold."""
    for item in fields:
        for place, holder, key in _find_holders(plain, item.path):
            if key not in holder:
                if item.required:
                    yield Problem(place, "is missing")
            elif holder[key] is not None or item.required:
                reason = item.check(holder[key])
                if reason is not None:
                    yield Problem(place, reason)


def find_unknown_fields(plain: Mapping[str, Any], fields: Collection[Field]) -> Iterator[Problem]:
    """Yields every key that the table does not name; for what Layline writes itself."""
    known = {item.path for item in fields}
    yield from _find_unknown(plain, known, "", "")


def find_unsafe_values(plain: Any, place: str = "", depth: int = 0) -> Iterator[Problem]:
    """Yields what no field may hold, known or unknown: it would break a page, a file or a reader's trust."""
    match plain:
        case bool() | None:
            return
        case str():
            reason = check_characters(plain)
            if reason is not None:
                yield Problem(place, reason)
        case int() if abs(plain) > LARGEST:
            yield Problem(place, "is larger than 2^53 - 1")
        case float() if not math.isfinite(plain):
            yield Problem(place, "is not a finite number")
        case Mapping() | list() | tuple() if depth >= DEEPEST:
            yield Problem(place, f"is nested deeper than {DEEPEST} levels")
        case Mapping():
            yield from _find_unsafe_keys(plain, place)
            for key, value in plain.items():
                yield from find_unsafe_values(value, _join(place, key), depth + 1)
        case list() | tuple():
            if len(plain) > MOST_ITEMS:
                yield Problem(place, f"has {len(plain)} items; a page shows at most {MOST_ITEMS}")
            for index, value in enumerate(plain):
                yield from find_unsafe_values(value, f"{place}[{index}]", depth + 1)


def _find_unsafe_keys(plain: Mapping[str, Any], place: str) -> Iterator[Problem]:
    for key in plain:
        if check_characters(key) is not None or len(key) > 200 or not key.strip():
            yield Problem(_join(place, key), "is not a key: it is blank, too long or holds control characters")


def check_characters(text: str) -> str | None:
    if len(text) > LONGEST_TEXT:
        return f"has {len(text)} characters; the limit is {LONGEST_TEXT}"
    if _SURROGATE.search(text):
        return "contains half a character (a lone surrogate)"
    found = _UNPRINTABLE.search(text)
    return f"holds the control character U+{ord(found[0]):04X}" if found else None


def clean_line(text: str, limit: int = 200) -> str:
    """Foreign text as one line that any record may hold: what `check_characters` refuses becomes U+FFFD."""
    flat = " ".join(_UNPRINTABLE.sub("\ufffd", _SURROGATE.sub("\ufffd", text)).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def an_object(value: Any) -> str | None:
    return None if isinstance(value, Mapping) else f"is {kind_of(value)}, not an object"


def a_list(value: Any) -> str | None:
    return None if isinstance(value, list | tuple) else f"is {kind_of(value)}, not a list"


def some_items(value: Any) -> str | None:
    return a_list(value) or (None if value else "is empty; it needs at least one item")


def between_items(least: int, most: int) -> Check:
    """A check for lists whose length is limited."""

    def check(value: Any) -> str | None:
        wrong = a_list(value)
        if wrong is None and not least <= len(value) <= most:
            return f"has {len(value)} items; it needs {least} to {most}"
        return wrong

    return check


def text_up_to(limit: int) -> Check:
    """A check for text that is not blank and not over-long."""

    def check(value: Any) -> str | None:
        if not isinstance(value, str):
            return f"is {kind_of(value)}, not text"
        if not value.strip():
            return "is blank"
        return f"has {len(value)} characters; the limit is {limit}" if len(value) > limit else None

    return check


prose = text_up_to(4000)
"""A sentence or a paragraph."""


def line(value: Any) -> str | None:
    """A title, a label, a name."""
    return text_up_to(300)(value) or ("holds a line break" if "\n" in value else None)


def one_sentence(value: Any) -> str | None:
    """For headlines that Layline writes: one line, one full stop, at its end."""
    wrong = line(value)
    if wrong is None and re.search(r"[.!?]\s+[A-Z]", value):
        return "is more than one sentence"
    return wrong


def count(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"is {kind_of(value)}, not a whole number"
    return f"is {value}; a count is 0 or more" if value < 0 else None


def flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"is {kind_of(value)}, not true or false"


def identifier(value: Any) -> str | None:
    """Names that become file names and addresses."""
    wrong = line(value)
    if wrong is None and (not _IDENTIFIER.match(value) or ".." in value):
        return f"{shorten(value)} is not a name: letters, digits, `.`, `_` and `-`, at most 120"
    return wrong


def commit(value: Any) -> str | None:
    wrong = line(value)
    return wrong or (None if _HASH.match(value) else f"{shorten(value)} is not a commit hash (7 to 64 hex digits)")


def day(value: Any) -> str | None:
    return line(value) or _reason(parse_date, value)


def moment(value: Any) -> str | None:
    return line(value) or _reason(parse_moment, value)


def zone_name(value: Any) -> str | None:
    wrong = line(value)
    return wrong or (None if _ZONE.match(value) else f"{shorten(value)} is not a time zone such as Asia/Shanghai")


def https_link(value: Any) -> str | None:
    wrong = text_up_to(2000)(value)
    return wrong or (None if _LINK.match(value) else f"{shorten(value)} is not an https address")


def one_of(*allowed: str) -> Check:
    def check(value: Any) -> str | None:
        if not isinstance(value, str):
            return f"is {kind_of(value)}, not text"
        return None if value in allowed else f"is {shorten(value)}, not one of {', '.join(allowed)}"

    return check


def relative_path(*suffixes: str) -> Check:
    """A check for POSIX paths that stay below the folder they count from and end in one of `suffixes`."""

    def check(value: Any) -> str | None:
        wrong = text_up_to(500)(value)
        if wrong is not None:
            return wrong
        parts = value.removeprefix("./").split("/")
        if value.startswith(("/", "~")) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value):
            return f"{shorten(value)} is absolute; it must be relative"
        if ".." in parts:
            return f"{shorten(value)} escapes its folder"
        if any(part in ("", ".") or part.startswith(".") or part != part.strip() for part in parts):
            return f"{shorten(value)} has an empty or hidden part"
        if re.search(r"[\\\x00-\x1f\x7f?#%*:|<>\"]", value):
            return f"{shorten(value)} holds a character that is not allowed in a path"
        return None if value.endswith(suffixes) else f"{shorten(value)} does not end in {' or '.join(suffixes)}"

    return check


def kind_of(value: Any) -> str:
    """What JSON calls a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return f"the number {value}" if abs(value) < 1e15 else "a number"
        case str():
            return f"the text {shorten(value)}"
        case Mapping():
            return "an object"
        case _:
            return "a list"


def shorten(text: str) -> str:
    shown = ascii(text) if check_characters(text[:80]) else repr(text)
    return shown if len(shown) <= 60 else f"{shown[:56]}…{shown[0]}"


def _reason(parse: Callable[[str], object], value: str) -> str | None:
    try:
        parse(value)
    except ValueError as error:
        return f"{shorten(value)} {error}"
    return None


def _find_holders(plain: Any, path: str) -> Iterator[tuple[str, Mapping[Any, Any], Any]]:
    """Yields (place, the container, the key in it) for each place `path` means; nothing below what is not there."""
    places: list[tuple[str, Any]] = [("", plain)]
    *parents, last = path.replace("[]", ".[]").split(".")
    for part in parents:
        places = [inner for place, holder in places for inner in _step(place, holder, part)]
    for place, holder in places:
        if last == "[]" and isinstance(holder, list | tuple):
            yield from ((f"{place}[{index}]", {index: item}, index) for index, item in enumerate(holder))
        elif last == "*" and isinstance(holder, Mapping):
            yield from ((_join(place, key), holder, key) for key in holder)
        elif isinstance(holder, Mapping):
            yield _join(place, last), holder, last


def _step(place: str, holder: Any, part: str) -> Iterator[tuple[str, Any]]:
    if part == "[]" and isinstance(holder, list | tuple):
        yield from ((f"{place}[{index}]", item) for index, item in enumerate(holder))
    elif isinstance(holder, Mapping) and part in holder:
        yield _join(place, part), holder[part]


def _find_unknown(plain: Any, known: Collection[str], pattern: str, place: str) -> Iterator[Problem]:
    if isinstance(plain, Mapping) and f"{pattern}.*" not in known:
        for key, value in plain.items():
            inner = f"{pattern}.{key}" if pattern else str(key)
            if inner not in known:
                yield Problem(_join(place, key), "is not a field of this record")
            else:
                yield from _find_unknown(value, known, inner, _join(place, key))
    elif isinstance(plain, list | tuple):
        for index, value in enumerate(plain):
            yield from _find_unknown(value, known, f"{pattern}[]", f"{place}[{index}]")


def _join(place: str, key: str) -> str:
    return f"{place}.{_show_key(key)}" if place else _show_key(key)


def _show_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_/ -]{1,60}", key) else shorten(key)
