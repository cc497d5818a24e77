"""Platforms first: wheel channels, images, CI matrices and CI that was switched off, told once over all files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from layline.core.prose import listed, verb
from layline.gap.dependencies import Kind, Rank
from layline.gap.dependencies.containers import CONTAINER_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from layline.core.evidence import Location
    from layline.core.revision import Commit
    from layline.gap.dependencies import Declaration, Declarations, Difference

_MATRIX = re.compile(r"gpu-arch|cuda|rocm|python-versions?\Z|torch-version")
_CHANNELS = (("rocm", "ROCm"), ("cu", "CUDA"), ("xpu", "XPU"), ("cpu", "CPU"))
_VARIABLE = re.compile(r"\$\{[^}]*\}|\$\w+")
_LETTERS = re.compile(r"[A-Za-z]")
NUMBERS = re.compile(r"\s*\(#\d+\)")
"""Pull requests as titles name them."""
_JOB = "CI job "
IMAGES = "container images"
Mentions: TypeAlias = "tuple[Callable[[str], bool], Callable[[str], bool]]"
NOTHING: Mentions = (lambda _: False, lambda _: False)
_MATRICES = "CI "
IN_CI = " wheels in CI"
"""What CI installs says what it tests with, not which wheels there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformChange:
    """One platform question, over every file that answers it."""

    what: str
    pin: tuple[str, ...]
    tip: tuple[str, ...]
    files: int
    at_pin: Location | None
    at_tip: Location | None
    keeps: bool = False
    """True where other values of the pin are still there."""
    commented: tuple[str, ...] = ()
    """What the tip holds in comments, where all that the pin had is gone."""
    by: Commit | None = None
    """The commit that took it away."""
    then: tuple[str, ...] = ()
    """All that the pin has, in order."""
    now: tuple[str, ...] = ()
    gone_in: tuple[str, ...] = ()
    """Files that had at the pin what is gone."""

    @property
    def is_lost(self) -> bool:
        return bool(self.pin) and not self.tip

    @property
    def is_single(self) -> bool:
        """One file has a value more or less, and the others stay."""
        return self.keeps and self.files == 1 and not (self.pin and self.tip)

    @property
    def is_matrix(self) -> bool:
        """Some values of a CI matrix changed, others stay: what is tested is told whole."""
        return self.keeps and self.what.startswith(_MATRICES)

    @property
    def is_switched_off(self) -> bool:
        """Upstream's CI ran on it and does not any more: all is gone, or left in a comment."""
        return self.is_lost and not self.keeps and (bool(self.commented) or self.what.endswith(IN_CI))

    def tell_change(self) -> str:
        """`#4002`; the commit where no pull request is named; empty where it is not known."""
        if self.by is None:
            return ""
        return f"#{self.by.pull_request}" if self.by.pull_request else self.by.hash[:8]

    def words(self) -> tuple[str, str, str]:
        """What stands before the change that took it away, between it and the place where it was read, and after."""
        more = f" and {self.files - 1} more {'file' if self.files == 2 else 'files'}" if self.files > 1 else ""
        was, now = listed(list(self.pin), most=4), listed(list(self.tip), most=4)
        since, day = (" since ", f" ({self.by.date})") if self.by else ("", "")
        end = f"{'' if self.at_tip else ' at the pin'}{more})."
        if self.is_matrix:
            sides = listed(list(self.then), most=6), listed(list(self.now), most=6)
            idle = f", {listed(list(self.commented), most=4)} only in a comment" if self.commented else ""
            return f"{self.what}: {sides[0]} at the pin; {sides[1]} at the tip{since}", f"{day}{idle} (", end
        if self.is_lost and self.commented:
            idle = listed(list(self.commented), most=4)
            left = f"the tip has {'it' if set(self.commented) <= set(self.pin) else idle} only in a comment"
            return f"{self.what}: none{since}", f"{day}. The pin had {was}; {left} (", f"{more})."
        if self.is_lost:
            stays = f", {listed(list(self.now), most=4)} {verb(len(self.now), 'stays')}" if self.keeps else ""
            return f"{self.what}: {was} {verb(len(self.pin), 'is')} gone{since}", f"{day}{stays} (", end
        one = len(self.pin) == len(self.tip) == 1
        said = (
            (f"{was} → {now}" if one else f"gone {was}; new {now}" if self.keeps else f"from {was} to {now}")
            if self.pin
            else f"{now} {verb(len(self.tip), 'is')} new"
        )
        return f"{self.what}: {said}{since}", f"{day} (", end

    def tell_sides(self) -> tuple[str, str]:
        """All that pin and tip have, where some of it stays; else what is gone and what is new."""
        was, live = (self.then, self.now) if self.keeps else (self.pin, self.tip)
        idle = f"commented out: {listed(list(self.commented), most=4)}" if self.commented else ""
        now = "; ".join(filter(None, (listed(list(live), most=6), idle)))
        return listed(list(was), most=6) or "—", now or "gone"

    def sentence(self) -> str:
        before, between, after = self.words()
        return f"{before}{self.tell_change()}{between}{self.at_tip or self.at_pin or 'no place'}{after}"


def compare_platforms(pin: Declarations, tip: Declarations, mentions: Mentions = NOTHING) -> tuple[PlatformChange, ...]:
    """Without jobs that one side does not have: they were not switched."""
    return find_platform_changes(_find_known(pin, tip), _find_known(tip, pin), tip.commented, mentions)


def find_platform_changes(
    pin: Iterable[Declaration],
    tip: Iterable[Declaration],
    commented: Iterable[Declaration] = (),
    mentions: Mentions = NOTHING,
) -> tuple[PlatformChange, ...]:
    """Over all files of both sides: a value that moved to another file has not changed. Jobs, ROCm, CUDA first.
    `mentions`: whether pin and tip name an image at all, also where nothing says that it is one.

    What documents advise is not what CI and packages do: it is told among their differences.
    """
    before, after, idle = _group(pin), _group(tip), _group(commented)
    found = [
        _add_commented(change, idle.get(name, []), after.get(name, []))
        for name in before | after
        for change in _compare(name, before.get(name, []), after.get(name, []), mentions)
    ]
    return tuple(sorted(found, key=lambda one: (_order(one.what), not one.is_lost, one.what)))


def _find_known(side: Declarations, other: Declarations) -> Iterator[Declaration]:
    """What a side declares, without jobs that the other does not have."""
    jobs = other.running | {(one.scope, one.name) for one in other.items if one.kind is Kind.JOB}
    return (one for one in side.items if one.kind is not Kind.JOB or (one.scope, one.name) in jobs)


def find_values(what: str, items: Iterable[Declaration]) -> set[str]:
    """What these declarations answer to one platform question."""
    return {value for item in _group(items).get(what, ()) for value in _split(item.spec)}


def _group(items: Iterable[Declaration]) -> dict[str, list[Declaration]]:
    groups: dict[str, list[Declaration]] = {}
    for item in items:
        name = _name(item) if item.rank <= Rank.COMMANDS else None
        if name is not None:
            groups.setdefault(name, []).append(item)
    return groups


def _compare(
    name: str, before: list[Declaration], after: list[Declaration], mentions: Mentions
) -> Iterator[PlatformChange]:
    was = {value for item in before for value in _split(item.spec)}
    now = {value for item in after for value in _split(item.spec)}
    if name == IMAGES:
        was, now = was | set(filter(mentions[0], now - was)), now | set(filter(mentions[1], was - now))
    if was == now:
        return
    if name.startswith(_JOB):
        was, now = ({"switched off"}, {"on"}) if before else ({"on"}, {"switched off"})
        gone, new = before, after
    else:
        gone = [item for item in before if set(_split(item.spec)) - now]
        new = [item for item in after if set(_split(item.spec)) - was]
    yield PlatformChange(
        what=name,
        pin=tuple(sorted(was - now)),
        tip=tuple(sorted(now - was)),
        files=len({item.place.path for item in (new or gone)}),
        at_pin=gone[0].place if gone else None,
        at_tip=new[0].place if new else None,
        keeps=bool(was & now),
        then=tuple(sorted(was, key=_by_number)),
        now=tuple(sorted(now, key=_by_number)),
        gone_in=tuple(dict.fromkeys(item.place.path for item in gone)),
    )


def _add_commented(change: PlatformChange, idle: list[Declaration], after: list[Declaration]) -> PlatformChange:
    """A platform that is gone may be switched off for a while: the tip says so by a comment."""
    live = {value for item in after for value in _split(item.spec)}
    told = [item for item in idle if set(_split(item.spec)) - live]
    if not change.is_lost or not told:
        return change
    values = tuple(dict.fromkeys(value for item in told for value in _split(item.spec) if value not in live))
    return replace(change, commented=values, at_tip=told[0].place)


def is_platform(row: Difference) -> bool:
    one = row.now or row.was
    return one is not None and row.rank <= Rank.COMMANDS and _name(one) is not None


def _order(what: str) -> int:
    return next(
        (
            at
            for at, word in enumerate((_JOB, "ROCm", "CUDA", "gpu-arch-type", "gpu-arch", "image", "python"))
            if word in what
        ),
        9,
    )


def _name(item: Declaration) -> str | None:
    """Under which question a declaration stands; None where it is no question of the platform."""
    if item.kind is Kind.JOB:
        return f"{_JOB}{item.name}"
    if item.kind is Kind.CHANNEL:
        last = re.split(r"[/ ]", item.name)[-1]  # `…/whl nightly/cu`, and `…/whl cu` of the stable channel
        label = next((label for mark, label in _CHANNELS if last.startswith(mark)), item.name)
        in_ci = item.rank is Rank.COMMANDS and not CONTAINER_FILE.search(item.place.path)
        return f"{label}{IN_CI if in_ci else ' wheels'}"
    if item.kind is Kind.IMAGE:
        return IMAGES if _LETTERS.search(_VARIABLE.sub("", item.spec)) else None
    if item.kind is Kind.SETTING and _MATRIX.search(item.name.lower()):
        return f"CI {item.name.removesuffix('s')}"
    return None


def _by_number(value: str) -> tuple[list[int], str]:
    """3.9 before 3.10."""
    return [int(part) for part in re.findall(r"\d+", value)], value


def _split(spec: str) -> list[str]:
    """`7.1, 12.6` and `["3.10", "3.11"]` are lists of values."""
    return [part for part in re.split(r"[\s,\[\]\"']+", spec) if part]
