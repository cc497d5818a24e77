"""Files that travel to machines which lack them, once to each; what is in them is the receiver's business."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from layline.executors.values import Plain

PARCELS, LACKS, FILE = "parcels", "lacks", "file"
"""A receiver is asked with `parcels` and answers which of them it `lacks`; then it is handed each as a `file`."""
BLOCK = 64 << 20


@dataclass(frozen=True, slots=True)
class Parcel:
    """One file that a function on another machine may need."""

    about: Plain
    """What the receiver knows it by."""
    make: Callable[[], Path]
    """Writes the file; only called where some machine lacks it."""


def read_blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while block := opened.read(BLOCK):
            yield block
