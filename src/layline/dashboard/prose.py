"""Words of a record set for a page: escaped, hashes and pull requests linked where their address is known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from html import escape

from markupsafe import Markup

from layline.render.html import breakable

_TOKEN = re.compile(
    r"`(?P<code>[^`]{1,200})`"
    r"|\bPR #(?P<pull>\d{1,7})\b"
    r"|(?<=\()#(?P<change>\d{1,7})(?=\))"
    r"|(?<![\w./-])(?P<whole>\d{4}-(?:\d\d-\d\d|W\d\d|\d\d)|\d+(?:\.\d+)? %)(?![\w/-])"
    r"|(?<![\w./-])(?P<hash>(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40})(?![\w/-])"
    r"|(?P<name>(?<![\w./-])[A-Za-z_]\w*(?:\.\w+){2,})"
    r"|(?P<path>(?<![\w./-])[\w.-]+(?:/[\w.*{},-]+)+/?)"
)
_RUN_IN = re.compile(r"([^:.;`(]{3,48}):\s+(?=\S)")
_STOP = re.compile(r"(?<=[.;])\s+")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905  reads better
_ASIDE = re.compile(r" \([^()]*\)")
BRIEF = 130
"""Characters of a finding on the first screen."""
SHOWN = 260
"""Characters of a long finding that stand before its fold."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """What a page knows about where things are."""

    repository: str | None = None
    commits: tuple[tuple[str, str], ...] = ()
    """Known commits of any repository and their https addresses."""
    upstream: str | None = None
    """Whose pull requests `(#24)` names, where the text is about one upstream."""

    def commit(self, text: str) -> str | None:
        found = {address for known, address in self.commits if known.startswith(text) or text.startswith(known)}
        return found.pop() if len(found) == 1 else None

    def pull(self, number: str) -> str | None:
        return f"{self.repository}/pull/{number}" if self.repository else None

    def change(self, number: str) -> str | None:
        known = self.upstream is not None and self.upstream.startswith("https://")
        return f"{self.upstream}/pull/{number}" if known else None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding cut for reading: a few words of head, what stands open, what is folded."""

    head: str
    shown: Markup
    folded: Markup


def set_finding(text: str, addresses: Addresses) -> Finding:
    found = _RUN_IN.match(text)
    head, rest = (found[1], text[found.end() :]) if found else ("", text)
    shown, folded = _fold(rest)
    return Finding(head, set_words(shown, addresses), set_words(folded, addresses))


def set_words(text: str, addresses: Addresses) -> Markup:
    """Escaped text with code, paths and hashes in the face of data."""
    pieces, last = [], 0
    for found in _TOKEN.finditer(text):
        pieces += [escape(text[last : found.start()]), _set_token(found, addresses)]
        last = found.end()
    return Markup("".join([*pieces, escape(text[last:])]))  # noqa: S704  every piece is escaped


def _set_token(found: re.Match[str], addresses: Addresses) -> str:
    match found.lastgroup:
        case "pull":
            return _linked(escape(found[0]), addresses.pull(found["pull"]))
        case "change":
            return _linked(found[0], addresses.change(found["change"]))
        case "hash":
            return _linked(f"<code>{found['hash'][:12]}</code>", addresses.commit(found["hash"]))
        case "whole":
            return f'<span class="nb">{found[0]}</span>'
        case "code":
            return f"<code>{breakable(found['code'])}</code>"
        case _:
            return breakable(found[0])


def _linked(shown: str, address: str | None) -> str:
    return f'<a href="{escape(address)}" rel="noopener">{shown}</a>' if address else shown


def _fold(text: str, most: int = SHOWN) -> tuple[str, str]:
    """Cut after a sentence or clause near the limit; a short rest stays open."""
    if len(text) <= most + 80:
        return text, ""
    ends = [found.start() for found in _STOP.finditer(text) if min(80, most // 2) <= found.start() <= most]
    cut = ends[-1] if ends else text.rfind(" ", 0, most)
    cut = cut if cut > 0 else most
    shown = text[:cut].rstrip(" ,:(")
    return shown if ends else f"{shown} …", text[len(shown) :].lstrip()


def set_reason(text: str) -> Finding:
    """Why a place breaks: the first clauses open, the rest in a fold."""
    shown, folded = _fold(text, 110)
    return Finding("", Markup(breakable(shown.rstrip(";"))), Markup(breakable(folded)))  # noqa: S704  both escaped


def brief_words(text: str, most: int = BRIEF) -> str:
    """As much of a finding as four short lines hold: without what stands in brackets, then up to a clause's end."""
    bare = _ASIDE.sub("", text)
    if len(bare) <= most:
        return bare
    ends = [found.start() for found in _STOP.finditer(bare) if 40 <= found.start() <= most]
    if ends:
        return bare[: ends[-1]].rstrip(";") + ("" if bare[ends[-1] - 1] == "." else " …")
    return f"{bare[: bare.rfind(' ', 0, most)].rstrip(' ,:(')} …"


def day_words(text: str | None) -> str:
    """`2026-06-02…` as `2 Jun 2026`; what is no date stays as it is."""
    try:
        day = date.fromisoformat((text or "")[:10])
    except ValueError:
        return text or ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def days_between(first: str, last: str) -> int:
    return (date.fromisoformat(last[:10]) - date.fromisoformat(first[:10])).days


def window_words(start: str, end: str, zone: str) -> str:
    """`4 – 8 May 2026, to 09:01 (Asia/Shanghai)`."""
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    same_month, same_year = (first.year, first.month) == (last.year, last.month), first.year == last.year
    begin = str(first.day)
    if not same_month:
        begin += f" {_MONTHS[first.month - 1]}" + ("" if same_year else f" {first.year}")
    until = f", to {last:%H:%M}" if (last.hour, last.minute) != (0, 0) else ""
    middle = "" if first.date() == last.date() else f"{begin} – "
    return f"{middle}{last.day} {_MONTHS[last.month - 1]} {last.year}{until} ({zone})"


def signed(value: int) -> str:
    return f"+{value:,}" if value > 0 else f"−{-value:,}" if value < 0 else "±0"


def count_words(value: int, one: str, many: str = "") -> str:
    """`1 report`, `12 reports`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def join_words(items: Iterable[str]) -> str:
    listed = list(items)
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
