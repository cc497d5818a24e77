"""Files of the sample that no one writes by hand: golden levels and a lock file."""

from __future__ import annotations

import json

_HOURS = 480
_PACKAGES = (
    "almanac",
    "barograph",
    "capstan",
    "chartwork",
    "fathom",
    "halyard",
    "logline",
    "numpy",
    "sextant",
    "tabulate",
)


def build_golden(station: str, seed: int) -> str:
    """Water levels in millimetres; integers alone, so that every machine writes the same bytes."""
    noise = _roll(seed, _HOURS)
    levels = [abs(hour * 29 % 720 - 360) * 5 - 900 + value % 97 for hour, value in enumerate(noise)]
    return json.dumps({"station": station, "seed": seed, "levels_mm": levels}, indent=1) + "\n"


def build_lock(seed: int) -> str:
    """A lock file of the usual shape: each package with a version and the hashes of its files."""
    blocks = ["version = 1\n"]
    for name, value in zip(_PACKAGES, _roll(seed, len(_PACKAGES)), strict=True):
        hashes = "".join(f'  "sha256:{digit:08x}",\n' for digit in _roll(value, 6))
        blocks.append(
            f'\n[[package]]\nname = "{name}"\nversion = "{value % 4}.{value % 11}.0"\nhashes = [\n{hashes}]\n'
        )
    return "".join(blocks)


def _roll(seed: int, count: int) -> list[int]:
    """Numbers that look random (a linear congruential generator, the same on every machine)."""
    values = []
    for _ in range(count):
        seed = (seed * 1_103_515_245 + 12_345) % 2**31
        values.append(seed >> 4)
    return values
