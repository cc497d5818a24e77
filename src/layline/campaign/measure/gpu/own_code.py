"""Whose code did the work on the accelerator: names of what ran there, held against the kernel's own sources."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from layline.campaign.devices.worker_process import Fault
from layline.campaign.measure.gpu.arm import GpuLeg
from layline.campaign.measure.gpu.session import Stage, draw_given
from layline.campaign.values.model import Snapshot

FOREIGN_SHARE = 0.01
"""Of a pass's device time: what may go to kernels that neither are the candidate's nor merely fill or copy."""
HARMLESS = ("Memset", "Memcpy", "FillFunctor", "direct_copy_kernel", "bfloat16_copy_kernel", "float8_copy_kernel")
"""Fills and copies of the library: no part of any operator's work."""
MOST_CALLS_BEFORE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What ran on the device during one pass; `own` is None where nothing could be seen."""

    step: str
    own: float | None
    foreign: tuple[tuple[str, float], ...] = ()
    """Share of the device time by name, the largest first."""


def find_compiled(snapshot: Snapshot) -> frozenset[str]:
    """Names of functions the snapshot hands to a just-in-time compiler: decorated with something called jit."""
    found = set()
    for _path, text in snapshot.files:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and any(_is_jit(one) for one in node.decorator_list):
                found.add(node.name)
    return frozenset(found)


def _is_jit(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(named, ast.Attribute) and named.attr == "jit") or (
        isinstance(named, ast.Name) and named.id == "jit"
    )


def read_seen(step: str, times: dict[str, float], compiled: frozenset[str]) -> Seen:
    """Sort what ran into the candidate's own, harmless and foreign."""
    total = sum(times.values())
    if not total:
        return Seen(step=step, own=None)
    shares = {name: took / total for name, took in times.items()}
    own = sum(share for name, share in shares.items() if name in compiled)
    foreign = [
        (name, share)
        for name, share in shares.items()
        if name not in compiled and not any(word in name for word in HARMLESS)
    ]
    return Seen(step=step, own=own, foreign=tuple(sorted(foreign, key=lambda one: -one[1])))


def probe_code(stage: Stage, leg: GpuLeg, snapshot: Snapshot) -> tuple[Seen, ...]:
    """Watch one call of every pass, after a number of unwatched ones nobody can foresee."""
    operator, compiled = stage.operator, find_compiled(snapshot)
    shape = min(stage.shapes, key=operator.passes[0].flops)
    found = []
    for step in operator.passes:
        for _before in range(1 + int(stage.rng.integers(0, MOST_CALLS_BEFORE))):
            leg.run(step, draw_given(stage, shape))
        seen = read_seen(step.name, leg.watch(step, draw_given(stage, shape)), compiled)
        found.append(seen)
        share = sum(share for _name, share in seen.foreign)
        if share > FOREIGN_SHARE:
            raise Fault(
                "own-code",
                f"{share:.0%} of the device time of {step.name} on {shape.label} went to code that was not built "
                "from the kernel's sources.",
                *(f"{name[:160]}: {part:.1%}" for name, part in seen.foreign[:5]),
            )
    return tuple(found)
