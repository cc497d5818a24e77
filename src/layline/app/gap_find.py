"""`gap find`: what upstream did about a word since the pin."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from layline.core.evidence import Evidence
from layline.core.prose import count, verb
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.errors import Error
from layline.gap.endpoints import find_endpoints
from layline.gap.find import Match, Searched, find_in_code, find_matches, find_near_word, is_name, read_searched

if TYPE_CHECKING:
    from layline.gap import answers
    from layline.workspace.open import Workspace


def gap_find(workspace: Workspace, key: str, word: str, *, to: str | None = None) -> Answer:
    """Changes between pin and tip whose title or files name `word`, what brings something new first; of a name also those
    that add or remove uses of it.
    """
    if len(word.strip()) < 2:
        raise Error("Give at least two letters to look for.")
    backend, upstream = workspace.settings.backend(key), workspace.open_backend(key)
    ends = find_endpoints(workspace, upstream, key, to=to)
    searched = read_searched(upstream, backend, ends)
    code = find_in_code(upstream, ends, word) if is_name(word) else {}
    matches = find_matches(searched.changes, word, code)
    near = None if matches else find_near_word(searched.changes, word)
    data: answers.GapFound = {
        "schema": "layline.gap-find/1",
        "backend": key,
        "word": word,
        "pin": ends.pin,
        "tip": ends.tip,
        "upstream": upstream.name,
        "searched": len(searched.changes),
        "searched_code": is_name(word),
        "near": near,
        "left_out": {"reverted": searched.reverted, "housekeeping": searched.housekeeping},
        "changes": [_encode(match) for match in matches],
    }
    rows = tuple(
        (
            match.change.date,
            Cell(_name(match), evidence=Evidence(repo=upstream.name, commit=match.change.commits[0])),
            _tell_kind(match),
            match.change.title,
            match.change.area,
        )
        for match in matches
    )
    report = Report(
        title=_tell(matches, len(searched.changes), word, backend.label or key),
        meta=(
            ("commits", f"{ends.pin[:12]}..{ends.tip[:12]}"),
            ("searched", _tell_searched(word)),
            ("not searched", _tell_left_out(searched)),
            ("our code", f"layline patches find {shlex.quote(word)}"),
        ),
        sections=(
            Section(
                title="",
                blocks=(Table(columns=("Date", "Change", "What", "Title", "Area"), rows=rows),)
                if rows
                else (Paragraph(f"Did you mean {near!r}?"),),
            ),
        )
        if rows or near
        else (),
    )
    return Answer(report=report, data=data)


def _tell(matches: list[Match], searched: int, word: str, label: str) -> str:
    if not matches:
        return f"None of {count(searched, 'change')} of {label} since the pin matches {word!r}"
    ways = Counter(_find_way(match) for match in matches)
    told = [f"{ways[way]} {said}" for way, said in _WAYS.items() if ways[way]]
    lost = sum(match.change.is_lost for match in matches)
    rest = f"; the tip no longer has the files that {lost} of them added" if lost else ""
    return f"{len(matches)} of {count(searched, 'change')} of {label} since the pin {verb(len(matches), 'matches')} {word!r}: {', '.join(told)}{rest}"


_WAYS = {
    "called": "by its number or hash",
    "title": "in the title",
    "file": "only in the path of a file",
    "code": "only in code that is added or removed",
}
"""Where a word stands, the first that holds."""


def _find_way(match: Match) -> str:
    if match.is_asked:
        return "called"
    return "title" if match.in_title else "file" if match.paths else "code"


def _tell_searched(word: str) -> str:
    if is_name(word):
        return "titles, paths of code files, and code that is added or removed"
    return "titles and paths of code files. Code is searched only for a name with an underscore or a capital inside, such as save_every"


def _tell_left_out(searched: Searched) -> str:
    quiet = f"{count(searched.housekeeping, 'commit')} of bots, CI, docs and tests"
    return quiet + (f"; {count(searched.reverted, 'commit')} reverted since" if searched.reverted else "")


def _name(match: Match) -> str:
    return f"#{match.change.number}" if match.change.number else match.change.commits[0][:8]


def _tell_kind(match: Match) -> str:
    if match.change.is_lost:
        return "not at the tip"
    if not match.in_title and match.paths:
        return "file"
    if not match.in_title and not match.is_asked:
        files = match.code.removes or match.code.adds
        return f"{'removes' if match.code.removes else 'adds'} it in {files[0]}{f' and {len(files) - 1} more' if files[1:] else ''}"
    return "new" if match.is_new else match.change.kind or "change"


def _encode(match: Match) -> answers.GapMatch:
    change = match.change
    return {
        "number": change.number,
        "title": change.title,
        "kind": change.kind,
        "date": change.date,
        "commits": list(change.commits),
        "area": change.area,
        "new": match.is_new,
        "lost": match.change.is_lost,
        "in_title": match.in_title,
        "new_files": change.brings,
        "paths": list(match.paths),
        "adds_in": list(match.code.adds),
        "removes_in": list(match.code.removes),
    }
