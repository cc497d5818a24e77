"""The first lines of a drift answer: how many places of ours break, and what the commits are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.evidence import Severity
from layline.core.prose import count, listed, verb
from layline.patches.drift.places import FITS, Places, count_all, count_places, rank

if TYPE_CHECKING:
    from layline.patches.drift.report import DriftReport


def name_commits(drift: DriftReport) -> str:
    ours = f"{drift.downstream.repo} at {drift.downstream.commit[:12]}"
    start = f"{drift.since}: “the pin” in this answer" if drift.since else "the pin"
    pin = f"{drift.pin.hash[:12]} ({drift.pin.date}, {start})"
    named = f"{drift.to}: “the tip” in this answer" if drift.to else "the tip"
    return f"{ours}; {drift.label} from {pin} to {drift.tip.hash[:12]} ({drift.tip.date}, {named})"


def say_shown(drift: DriftReport) -> str:
    """What the filters leave of the places that the first line counts."""
    places, outside = count_places(drift.rows), _tell_outside(drift)
    broken = [f"{places.broken} {verb(places.broken, 'breaks')}"] if places.broken else []
    fits = [f"{places.fits} {'fits' if places.fits == 1 else 'fit'}"] if places.fits else []
    others = say_others(replace(places, total=places.total - places.fits), drift.since or "the pin")
    patched = ", ".join([*broken, *others, *fits])
    shown = [f"{count(places.total, 'patched place')} ({patched})"] if places.total else []
    elsewhere = ", ".join(f"{number} {does}" for number, does in outside)
    if outside:
        shown.append(f"{count(sum(number for number, _ in outside), 'place')} outside patches ({elsewhere})")
    return f"The filters show {' and '.join(shown) or 'none of these places'}."


def title(drift: DriftReport) -> str:
    """One number and one unit first: places of ours that break, each counted once."""
    places = count_places(drift.rows)
    more = say_others(places, drift.since or "the pin")
    at, outside = drift.to or drift.tip.hash[:8], _say_outside(drift)
    if not places.total:
        none = f"{'No patch of ours has a known target in' if drift.listed else 'We have no patch on'} {drift.label}"
        return f"{drift.label}: {f'{outside}. {none}' if outside else f'no place of ours breaks at {at}. {none}'}."
    told = "".join(f"; {part}" for part in more)
    beside = "".join(
        f" {one}" for one in (_say_waiting(drift), f"Outside our patches, {outside}." if outside else "") if one
    )
    return f"{drift.label}: {say_broken(places)} at {at}{told}.{beside}"


def _say_waiting(drift: DriftReport) -> str:
    """Of the places that fit how many nothing installs any more."""
    waiting = {place for item in drift.elsewhere for place in item.waiting}
    fitting = {row.location for row in drift.rows if rank(row) == FITS}
    number = len(waiting & fitting - {row.location for row in drift.rows if rank(row) != FITS})
    if not number:
        return ""
    does = "place that fits is" if number == 1 else "places that fit are"
    return f"{number} {does} installed only by code that fails to load."


def title_dead(drift: DriftReport) -> str:
    """Where only that was asked: the pin is compared with itself."""
    number = count_places(drift.rows).total
    return f"{drift.label}: {count(number, 'patched place')} {'does' if number == 1 else 'do'} nothing at the pin."


def say_together(drift: DriftReport) -> Iterator[str]:
    """Patches and other lines together, where both have places of one kind."""
    patched, every = count_places(drift.rows), count_all(drift.rows, drift.elsewhere)
    pairs = ((one.broken, one.failing, one.look) for one in (patched, every))
    if not any(0 < some < all_of_them for some, all_of_them in zip(*pairs, strict=True)):
        return
    pin = drift.since or "the pin"
    told = [f"{count(every.broken, 'place')} {verb(every.broken, 'breaks')}"]
    told += [f"{every.failing} {verb(every.failing, 'fails')} at {pin} already"] if every.failing else []
    told += [f"{every.look} {verb(every.look, 'needs')} a look"] if every.look else []
    yield f"All together: {listed(told)}."


def _say_outside(drift: DriftReport) -> str:
    """Imports, calls and overrides that break, and those that fail already; empty where none does."""
    told = _tell_outside(drift)
    said = [f"{number if at else count(number, 'place')} {does}" for at, (number, does) in enumerate(told)]
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:])))


def _tell_outside(drift: DriftReport) -> list[tuple[int, str]]:
    counted = {row.location for row in drift.rows if row.severity is Severity.BREAKS and not row.dead_today}
    worst = [item for item in drift.elsewhere if item.severity is Severity.BREAKS]
    broken = len({place for item in worst if not item.fails_already for place in item.places} - counted)
    failing = len({place for item in worst if item.fails_already for place in item.places})
    look = len({place for item in drift.elsewhere if item.severity is Severity.LOOK for place in item.places})
    told = [(broken, verb(broken, "breaks"))] if broken else []
    told += [(failing, f"{verb(failing, 'fails')} at {drift.since or 'the pin'} already")] if failing else []
    return told + ([(look, f"{verb(look, 'needs')} a look")] if look else [])


def say_others(places: Places, pin: str = "the pin") -> list[str]:
    """The places that do not break, so that all add up; `pin`: what the commit compared from is called."""
    more = [f"{places.failing} {verb(places.failing, 'fails')} at {pin} already"] if places.failing else []
    more += [f"{places.dead} {'does' if places.dead == 1 else 'do'} nothing even at {pin}"] if places.dead else []
    further = "more " if places.broken or more else ""
    more += [f"{places.look} {further}{verb(places.look, 'needs')} a look"] if places.look else []
    more += [f"{places.fits} {'fits' if places.fits == 1 else 'fit'}"] if places.fits and more else []
    return more


def say_broken(places: Places) -> str:
    match places.total:
        case 0:
            return "none of our patches has a known target in this upstream"
        case 1:
            return "the one patched place breaks" if places.broken else "the one patched place does not break"
    return f"{places.broken or 'none'} of {places.total} patched places {verb(places.broken, 'breaks')}"
