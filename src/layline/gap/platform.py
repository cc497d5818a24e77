"""Platforms first: wheel channels, images, CI matrices and CI that was switched off, told once over all files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.prose import listed
from layline.gap.dependencies import Kind
from layline.gap.dependencies.compare import Move

if TYPE_CHECKING:
    from layline.core.evidence import Location
    from layline.gap.dependencies import Difference

_MATRIX = re.compile(r"gpu-arch|cuda|rocm|python-versions?\Z|torch-version")
_CHANNELS = (("rocm", "ROCm wheels"), ("cu", "CUDA wheels"), ("xpu", "XPU wheels"), ("cpu", "CPU wheels"))
_WHOLE = {Move.FILE_ADDED, Move.FILE_REMOVED}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformChange:
    """One platform question, over every file that answers it."""

    what: str
    pin: tuple[str, ...]
    tip: tuple[str, ...]
    files: int
    at_pin: Location | None
    at_tip: Location | None

    @property
    def is_lost(self) -> bool:
        return bool(self.pin) and not self.tip

    def words(self) -> tuple[str, str]:
        """What stands before and after the place where it was read."""
        more = f" and {self.files - 1} more {'file' if self.files == 2 else 'files'}" if self.files > 1 else ""
        was, now = listed(list(self.pin), most=4), listed(list(self.tip), most=4)
        if self.is_lost:
            return f"{self.what}: {was} is gone (", f"{'' if self.at_tip else ' at the pin'}{more})."
        said = f"{was} → {now}" if self.pin else f"{now} is new"
        return f"{self.what}: {said} (", f"{'' if self.at_tip else ' at the pin'}{more})."

    def sentence(self) -> str:
        before, after = self.words()
        return f"{before}{self.at_tip or self.at_pin or 'no place'}{after}"


def find_platform_changes(differences: Iterable[Difference]) -> list[PlatformChange]:
    """Jobs, ROCm, CUDA and the GPUs of CI first; values that both sides have are left out."""
    groups: dict[str, list[Difference]] = {}
    for row in differences:
        name = _name(row)
        if name is not None:
            groups.setdefault(name, []).append(row)
    found = [change for name, rows in groups.items() for change in _compare(name, rows)]
    return sorted(found, key=lambda one: (_order(one.what), not one.is_lost, one.what))


def is_platform(row: Difference) -> bool:
    return _name(row) is not None


def _order(what: str) -> int:
    return next(
        (
            at
            for at, word in enumerate(("job", "ROCm", "CUDA", "gpu-arch-type", "gpu-arch", "image", "python"))
            if word in what
        ),
        9,
    )


def _name(row: Difference) -> str | None:
    """Under which question a difference stands; None where it is no question of the platform."""
    if row.kind is Kind.JOB:
        return f"CI job {row.name}"
    if row.kind is Kind.CHANNEL:
        last = row.name.rpartition("/")[2]
        return next((label for mark, label in _CHANNELS if last.startswith(mark)), f"wheels of {row.name}")
    if row.kind is Kind.IMAGE:
        return "container images"
    if row.kind is Kind.SETTING and _MATRIX.search(row.name.lower()):
        return f"CI {row.name}"
    return None


def _compare(name: str, rows: list[Difference]) -> Iterator[PlatformChange]:
    kind = rows[0].kind
    if kind is Kind.JOB:
        yield from (_tell_job(name, row) for row in rows)
        return
    steady = [row for row in rows if not _WHOLE & set(row.changes)] or rows
    was = {value for row in steady if row.was for value in _split(row.was.spec)}
    now = {value for row in steady if row.now for value in _split(row.now.spec)}
    if was == now:
        return
    files = {row.file for row in steady}
    yield PlatformChange(
        what=name,
        pin=tuple(sorted(was - now)),
        tip=tuple(sorted(now - was)),
        files=len(files),
        at_pin=next((row.was.place for row in steady if row.was), None),
        at_tip=next((row.now.place for row in steady if row.now), None),
    )


def _tell_job(name: str, row: Difference) -> PlatformChange:
    off = row.now is not None
    return PlatformChange(
        what=name,
        pin=("on",) if off else ("switched off",),
        tip=("switched off",) if off else ("on",),
        files=1,
        at_pin=row.was.place if row.was else None,
        at_tip=row.now.place if row.now else None,
    )


def _split(spec: str) -> list[str]:
    """`7.1, 12.6` and `["3.10", "3.11"]` are lists of values."""
    return [part for part in re.split(r"[\s,\[\]\"']+", spec) if part]
