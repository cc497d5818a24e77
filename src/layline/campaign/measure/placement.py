"""Where a kernel's code lies is chance, and is drawn as such: each process gets the kernel linked at a place of its
own.

The same instructions take other times at other addresses, by more than most optimisations gain; comparing a kernel with
itself cannot show it, because the bytes lie at the same place. Functions and loops are aligned (`build.ALIGNED`); what
is left is drawn anew for every process, so that it is in the spread between process pairs and with it in the interval.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.measure.build import Built, abreast, compile_confined, link
from layline.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

LINE = 64
MOST_LINES = 64
"""A page: where in it code and data begin decides which sets of caches and predictors they meet in."""
AT_FIRST, AT_ONCE = 2, 6
"""Places that are linked in one visit to the sandbox; few at first, for most kernels that are refused are refused
early.
"""


@dataclass(slots=True)
class Placements:
    """One compiled kernel, linked again and again at places drawn by chance."""

    built: Built
    shop: Path
    rng: np.random.Generator
    _ready: list[Path] | None = None
    _owner: int = field(default_factory=os.getpid)
    """A fork has the kernel where it was built, then places of its own: what its parent has ready other forks would
    use, too, and most forks need but one.
    """

    def draw(self) -> Built:
        """The same machine code somewhere else; a Python kernel has no place to draw."""
        if not self.built.units:
            return self.built
        if self._owner != os.getpid():
            self._owner, self._ready = os.getpid(), []
            return self.built
        if not self._ready:
            self._ready = list(self._link(AT_FIRST if self._ready is None else AT_ONCE))
        return replace(self.built, path=self._ready.pop())

    def _link(self, count: int) -> Iterator[Path]:
        folder = self.built.path.parent
        names = [secrets.token_hex(4) for _ in range(count)]
        steps = []
        for name in names:
            (folder / f"{name}.s").write_text(write_padding(self.rng), "ascii")
            order = [self.built.units[int(at)] for at in self.rng.permutation(len(self.built.units))]
            steps.append(link(f"{name}.so", (f"{name}.s", *order)))
        failure = compile_confined(abreast(*steps), folder, self.shop, 120.0, made=f"{names[-1]}.so")
        if failure:
            raise BenchError(f"The kernel could not be linked again: {failure}")
        yield from (folder / f"{name}.so" for name in names)


def write_padding(rng: np.random.Generator) -> str:
    """So many lines before the kernel's code, constants and variables, in the assembler's words."""
    lines = []
    for section in (".text", ".section .rodata", ".data", ".bss"):
        lines += [section, f".balign {LINE}", f".skip {LINE * (1 + int(rng.integers(0, MOST_LINES)))}"]
    return "\n".join((*lines, '.section .note.GNU-stack,"",%progbits', ""))
