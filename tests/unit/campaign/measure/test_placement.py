"""Where a kernel lies is drawn for every process: the same instructions, at another place each time."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np

from layline.campaign.measure.build import ALIGNED, Built, build_kernel, workshop
from layline.campaign.measure.placement import Placements
from layline.campaign.operators import load_operator
from layline.campaign.values.operator import Snapshot

GEMM = load_operator("gemm")
SPARE = "int spare(int x) { return x + 3; }\n"


def _address(library: Path) -> int:
    done = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    return int(re.search(r"^(\w+) T forward$", done.stdout, re.MULTILINE)[1], 16)  # type: ignore[index]


def _build(text: str, shop: Path) -> Built:
    built = build_kernel(Snapshot(files=(("k.c", text),)), GEMM, shop)
    assert isinstance(built, Built)
    return built


def test_every_draw_lies_elsewhere_and_begins_a_line() -> None:
    with workshop() as shop:
        places = Placements(_build(GEMM.start("naive"), shop), shop, np.random.default_rng(5))
        found = [_address(places.draw().path) for _draw in range(12)]
        in_forks = [_draw_in_a_fork(places) for _fork in range(2)]
        mine = places.draw().path
    assert len({address % 4096 for address in found}) > 6
    assert {address % 64 for address in found} == {0}
    assert {*in_forks} == {places.built.path}
    assert mine not in in_forks


def _draw_in_a_fork(places: Placements) -> Path:
    reader, writer = os.pipe()
    if not os.fork():
        places.rng.bit_generator.state = np.random.default_rng().bit_generator.state
        os.write(writer, str(places.draw().path).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        return Path(told.read())


def test_an_unused_function_does_not_move_a_loop_inside_its_line() -> None:
    def loops(text: str, shop: Path) -> list[str]:
        done = subprocess.run(
            ["objdump", "-d", "--no-show-raw-insn", _build(text, shop).path], capture_output=True, text=True, check=True
        )
        body = done.stdout.partition("<forward>:\n")[2].partition("\n\n")[0]
        return [
            f"{int(line.split(':')[0], 16) % 64} {line.split(':', 1)[1].split('<')[0].split()[0]}"
            for line in body.splitlines()
        ]

    assert ALIGNED
    naive = GEMM.start("naive")
    with workshop() as shop:
        assert loops(naive, shop) == loops(f"{SPARE}{naive}", shop)


def test_a_kernel_cannot_tell_when_it_was_built() -> None:
    """Else the best could become slow on a day of its choice, and the next candidate would win for nothing."""
    when = 'const char *built(void) { return __DATE__ " " __TIME__ " " __TIMESTAMP__; }\n'
    with workshop() as shop:
        text = _build(GEMM.start("naive") + when, shop).path.read_bytes()
    assert b"Jan  1 1980 00:00:00 Tue Jan  1 00:00:00 1980" in text
