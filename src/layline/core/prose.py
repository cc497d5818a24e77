"""English from figures: plural, lists, "none" said plainly. No sentence is made here that no figure backs."""

from __future__ import annotations

from collections.abc import Sequence

_IRREGULAR = {
    "is": "are",
    "was": "were",
    "has": "have",
    "differs": "differ",
    "breaks": "break",
    "copies": "copy",
    "holds": "hold",
    "leads": "lead",
    "passes": "pass",
    "fails": "fail",
    "touches": "touch",
    "matches": "match",
    "installs": "install",
    "needs": "need",
    "sets": "set",
    "stays": "stay",
    "stops": "stop",
    "imports": "import",
    "uses": "use",
    "changes": "change",
    "names": "name",
    "assigns": "assign",
    "body": "bodies",
    "entry": "entries",
    "dependency": "dependencies",
}


def count(number: int, noun: str) -> str:
    """`no commits`, `1 commit`, `2 commits`."""
    return f"{number or 'no'} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    head, _, last = noun.rpartition(" ")
    word = _IRREGULAR.get(last) or (f"{last}es" if last.endswith(("s", "x", "ch", "sh")) else f"{last}s")
    return f"{head} {word}".strip()


def verb(number: int, singular: str) -> str:
    """`is`/`are`, `has`/`have` … for a count."""
    return singular if number == 1 else _IRREGULAR[singular]


def listed(items: Sequence[str], *, most: int = 5) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b and 7 more`."""
    if not items:
        return "none"
    shown, rest = list(items[:most]), len(items) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def share(part: int, whole: int) -> str:
    """A percentage; `under 1 %` and `over 99 %` where rounding would say nothing or everything."""
    if not whole or not part:
        return "0 %"
    percent = 100 * part / whole
    if percent < 1:
        return "under 1 %"
    return "over 99 %" if percent > 99 and part < whole else f"{percent:.0f} %"


def sentence(text: str) -> str:
    """Begins with a capital, ends with one full stop."""
    bare = text.strip().rstrip(".")
    return f"{bare[:1].upper()}{bare[1:]}."


def shorten(text: str, most: int = 100) -> str:
    flat = " ".join(text.split())
    if len(flat) <= most:
        return flat
    cut = flat[: most - 1]
    whole = flat[most - 1] == " " or " " not in cut[most // 2 :]
    words = cut if whole else cut[: cut.rfind(" ")]  # a path is not cut in its middle
    return words.rstrip(" ,;:(") + "…"


def shorten_clauses(text: str, most: int = 100) -> str:
    """As many clauses (`a; b; c`) as fit whole; a first one that is too long by itself is cut between words."""
    told = ""
    for clause in text.split("; "):
        longer = f"{told}; {clause}" if told else clause
        if len(longer) > most:
            break
        told = longer
    return told or shorten(text, most)
