"""What is new about every backend since the last answer, for a scheduled job."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from layline import codec
from layline.core.evidence import Location, Severity, Skipped
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.progress import Progress, silent
from layline.core.prose import count, verb
from layline.core.report import Annotation, Answer, Bullets, Paragraph, Report, Rule, Section, Subject
from layline.coupling.deletable import find_deletable
from layline.coupling.drift_model import finding_id
from layline.errors import ConfigError, Error, RecordError, say_error
from layline.files import write_named
from layline.history.commits import find_tip_at
from layline.source.cache import cache_directory
from layline.upgrade.judging import judge_between, pin_of
from layline.upgrade.news import Event, News, Place, Remembered, find_news
from layline.workspace.kept import find_inputs, find_kept
from layline.workspace.open import know_packages

if TYPE_CHECKING:
    from layline.upgrade import answers
    from layline.workspace.open import Workspace

SCHEMA: Literal["layline.news/1"] = "layline.news/1"
_WORDS = {
    News.BROKE: "breaks at the tip now",
    News.MENDED: "does not break any more",
    News.SAFE: "nothing of ours breaks at the tip any more",
    News.CAN_GO: "the patch can be deleted",
}
_RULE = Rule(
    id="WATCH101", name="NewSinceLastAnswer", title="watch/news", text="Something changed since the last answer."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the last answer said, by backend."""

    schema: Literal["layline.watch-state/1"] = "layline.watch-state/1"
    date: str = ""
    backends: dict[str, Remembered]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last answer said, what is so now, and what could not be read."""

    last: State | None
    now: dict[str, Remembered]
    skipped: tuple[Skipped, ...]

    @property
    def events(self) -> list[Event]:
        known = self.last.backends if self.last is not None else {}
        return [event for key, one in self.now.items() if key in known for event in find_news(key, known[key], one)]


def look(
    workspace: Workspace, today: date, state: Path | None, progress: Progress = silent, *, keep: bool = True
) -> Seen:
    """Ask every backend, and remember what it said for the next time, where that is wanted."""
    place = state or default_state(workspace)
    last = _load(place)
    now: dict[str, Remembered] = {}
    skipped: list[Skipped] = []
    for key in workspace.settings.backends:
        try:
            now[key] = remember(workspace, key, today, progress)
        except Error as error:
            if len(workspace.settings.backends) == 1:
                raise  # nothing is left to answer
            skipped.append(Skipped(key, error.message))
            now |= {key: last.backends[key]} if last is not None and key in last.backends else {}
    if keep:
        write_named(place, codec.to_json(codec.encode(State(date=today.isoformat(), backends=now))))
    return Seen(last, now, tuple(skipped))


def remember(workspace: Workspace, key: str, today: date, progress: Progress = silent) -> Remembered:
    """One backend at the last commit that its ref had on a day; kept."""
    known = know_packages(workspace)
    upstream, pin = pin_of(known, key)
    ref = upstream.resolve_upstream(known.settings.backend(key).ref)
    tip = find_tip_at(upstream, ref, datetime.combine(today, time.max, UTC)) or ref
    inputs = key, pin, tip, upstream.is_shallow, *find_inputs(known)
    return find_kept(Remembered, "watch", lambda: _judge(workspace, key, (pin, tip), progress), *inputs)


def _judge(workspace: Workspace, key: str, ends: tuple[str, str], progress: Progress) -> Remembered:
    pin, tip = ends
    between = judge_between(workspace, key, tip, progress)
    broken = {
        " ".join(one.key): Place(place=str(one.location), target=one.target, culprit=one.culprit)
        for one in between.find_breaks()
    }
    can_go = {
        f"{row.location.path} {row.target} {row.patch}": Place(place=str(row.location), target=row.target or "")
        for row, _ in find_deletable(between.rows, between.rows)
    }
    return Remembered(pin=pin, tip=tip, broken=broken, can_go=can_go)


def default_state(workspace: Workspace) -> Path:
    """One file for each project in Layline's cache; a job that loses its cache names one with --state."""
    name = hashlib.sha256(str(workspace.root.resolve()).encode()).hexdigest()[:16]
    return cache_directory() / "watch" / f"{name}.json"


def _load(place: Path) -> State | None:
    try:
        return codec.decode(State, json.loads(place.read_text(encoding="utf-8")), where=str(place))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecordError) as error:
        raise ConfigError(f"{place} cannot be read: {say_error(error)}.", hint="Delete it to start again.") from None


def count_broken(now: dict[str, Remembered]) -> int:
    """Lines of ours, as every other answer counts them: two names on one line are one place."""
    return sum(len({broken.place for broken in one.broken.values()}) for one in now.values())


def say_badge(seen: Seen) -> str:
    total = count_broken(seen.now)
    return f"{count(total, 'place')} will break" if total else "fits"


def build_news_answer(workspace: Workspace, seen: Seen, today: date) -> Answer:
    events, last, now, skipped = seen.events, seen.last, seen.now, seen.skipped
    title = _say(events, last, now)
    data: answers.News = {
        "schema": SCHEMA,
        "since": last.date if last is not None else None,
        "upto": today.isoformat(),
        "tips": {key: one.tip for key, one in now.items()},
        "events": [
            {
                "kind": one.kind.value,
                "backend": one.backend,
                "place": one.place,
                "target": one.target,
                "culprit": one.culprit,
            }
            for one in events
        ],
        "skipped": [{"what": one.what, "why": one.why} for one in skipped],
    }
    lines = tuple(f"{one.backend}: {one.place} {one.target}: {_WORDS[one.kind]}{_blame(one)}" for one in events)
    safe = tuple(f"{one.backend}: {_WORDS[one.kind]} ({one.target[:12]})" for one in events if not one.place)
    unread = (f"{one.what} could not be read: {one.why}" for one in skipped)
    blocks = (Bullets(lines),) if lines else (Paragraph("Nothing is new."),)
    return Answer(
        report=Report(title=title, sections=(Section(title="News", blocks=blocks),), skipped=skipped),
        data=data,
        needs_person=bool(events),
        findings=tuple(_annotate(one) for one in events if one.place),
        notices=(title, *safe, *unread),
        subject=Subject(repo=workspace.downstream.name, commit=workspace.commit, question="watch"),
        listing=Listing(title=title, meta=safe, groups=_group(events), skipped=skipped),
    )


def _say(events: list[Event], last: State | None, now: dict[str, Remembered]) -> str:
    if last is None:
        total = count_broken(now)
        return (
            f"This is the first answer: {count(total, 'place')} of ours {verb(total, 'breaks')} at the tips. The next answer "
            "shows only what is new."
        )
    if not events:
        return f"Nothing is new since {last.date}."
    told = [
        f"{sum(one.kind is kind for one in events)} {kind.value}"
        for kind in News
        if any(one.kind is kind for one in events)
    ]
    return f"{count(len(events), 'message')} since {last.date}: {', '.join(told)}."


def _group(events: list[Event]) -> tuple[Group, ...]:
    items = tuple(
        Diagnostic(
            location=_locate(one),
            severity=Severity.BREAKS if one.kind is News.BROKE else Severity.OK,
            code=one.kind.value,
            message=f"{one.target}: {_WORDS[one.kind]}{_blame(one)}",
        )
        for one in events
        if one.place
    )
    return (Group(items=items),) if items else ()


def _blame(event: Event) -> str:
    """The commit that broke the place, also where another one mended it."""
    if not event.culprit:
        return ""
    return f" (broken by {event.culprit[:12]})" if event.kind is News.MENDED else f" since {event.culprit[:12]}"


def _locate(event: Event) -> Location:
    path, _, line = event.place.rpartition(":")
    return Location(path, int(line))


def _annotate(event: Event) -> Annotation:
    where = _locate(event)
    return Annotation(
        id=finding_id("watch", event.kind.value, event.backend, where.path, event.target),
        rule=_RULE,
        severity=Severity.BREAKS if event.kind is News.BROKE else Severity.LOOK,
        message=f"{event.target}: {_WORDS[event.kind]}{_blame(event)}",
        path=where.path,
        line=where.line,
    )
