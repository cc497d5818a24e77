"""Run the training loop: a process per leg, their steps alternating on the same fresh tokens, timed by this process."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from layline.campaign.devices.faults import Fault
from layline.campaign.devices.gpu_worker_process import Source, Worker
from layline.campaign.measure.accelerator import check_device
from layline.campaign.measure.build import NotBuilt, build_kernel, workshop
from layline.campaign.operators.tensors import find_device
from layline.campaign.values.operator import Operator, Snapshot
from layline.campaign.values.training import LEGS, Trained, Training

SETS = 4
STEPS = 8
WARM_UP = 2
"""Steps that compile and fill the allocator; checked, not timed."""
SIZES = {"width": 4096, "hidden": 11008, "layers": 4, "heads": 32, "vocabulary": 16384, "batch": 4, "length": 2048}
SMALL = {"width": 128, "hidden": 256, "layers": 1, "heads": 2, "vocabulary": 128, "batch": 1, "length": 32}
"""For a rehearsal on the host."""
REPLACED = {
    "gemm_bf16": "linear layers",
    "rmsnorm_bf16": "norms",
    "gemm_fp8": "linear layers' forward pass, E4M3 blocks",
}
"""Operators the loop has a place for, and the place."""


def has_place(operator: Operator) -> bool:
    """Whether the loop has a place for its kernels."""
    return operator.name in REPLACED


class TrainWorker(Worker):
    """Answers steps."""

    def __init__(self, source: Source, shop: Path, config: dict[str, Any]) -> None:
        super().__init__(source, shop, "train_torch.py")
        self._send(config)

    def step(self, seed: int) -> tuple[float, float]:
        """Milliseconds of a step by this process's clock, and its loss."""
        self._thaw()
        began = time.perf_counter_ns()
        self._send({"step": seed})
        told = self._receive_json("a training step", self.source.timeout_s)
        took = time.perf_counter_ns() - began
        self._freeze()
        if "failed" in told:
            raise Fault("trains", f"The training step failed: {told['failed']}")
        return took / 1e6, float(told["loss"])


def train(
    operator: Operator,
    start: Snapshot,
    best: Snapshot,
    *,
    sets: int = SETS,
    progress: Callable[[str], None] = lambda _said: None,
) -> Training:
    """Sets of processes until there are enough; what failed is told in words beside the sets that ran."""
    check_device()
    _give_memory_back()
    sizes = SIZES if find_device() != "cpu" else SMALL
    model = _describe(operator, sizes)
    done: list[tuple[Trained, ...]] = []
    with workshop() as shop:
        kernels = {"start": start, "best": best, "again": best}
        paths: dict[str, Path | None] = {"torch": None}
        for leg, snapshot in kernels.items():
            built = build_kernel(snapshot, operator, shop)
            if isinstance(built, NotBuilt):
                return Training(model=model, problem=f"The {leg} kernel does not build: {built.reason}")
            paths[leg] = built.path
        waiting = [{leg: _open(operator, paths[leg], shop, leg, sizes) for leg in LEGS} for _ in range(sets)]
        try:
            for at, workers in enumerate(waiting):
                progress(f"training loop: set {at + 1} of {sets}")
                done.append(_run_set(workers))
        except Fault as fault:
            return Training(model=model, sets=tuple(done), problem=str(fault))
        finally:
            for workers in waiting:
                _close(workers)
    return Training(model=model, sets=tuple(done))


def _give_memory_back() -> None:
    """What this process drew and checked before and keeps for the next allocation: the loops need that room."""
    import torch

    if find_device() != "cpu":
        torch.cuda.empty_cache()


def _describe(operator: Operator, sizes: dict[str, int]) -> str:
    width, hidden = sizes["width"], sizes["hidden"]
    count = sizes["layers"] * (4 * width * width + 3 * width * hidden) + 2 * sizes["vocabulary"] * width
    return (
        f"{sizes['layers']} Llama-like layers, width {width}, {count / 1e6:.0f} million parameters in bf16, "
        f"{sizes['batch'] * sizes['length']} fresh tokens per step, AdamW; the kernel does the "
        f"{REPLACED[operator.name]}, torch everything else"
    )


def _open(operator: Operator, path: Path | None, shop: Path, leg: str, sizes: dict[str, int]) -> TrainWorker:
    cache = shop / f"cache-{'best' if leg == 'again' else leg}"
    cache.mkdir(exist_ok=True)
    source = Source(path=path or shop, operator=operator, cache=cache, timeout_s=120.0)
    config = {
        "device": find_device(),
        "kernel": str(path) if path else None,
        "operator": operator.name,
        "sizes": sizes,
        "seed": 7,
    }
    return TrainWorker(source, shop, config)


def _run_set(workers: dict[str, TrainWorker]) -> tuple[Trained, ...]:
    times: dict[str, list[float]] = {leg: [] for leg in workers}
    losses: dict[str, list[float]] = {leg: [] for leg in workers}
    order = list(workers)
    draw = secrets.SystemRandom()
    try:
        for worker in workers.values():
            worker.wait_ready()
            worker.load()
        for step in range(WARM_UP + STEPS):
            seed = secrets.randbits(62)
            draw.shuffle(order)
            for leg in order:
                took, loss = workers[leg].step(seed)
                losses[leg].append(loss)
                times[leg] += [took] if step >= WARM_UP else []
    finally:
        _close(workers)
    return tuple(Trained(leg=leg, step_ms=tuple(times[leg]), losses=tuple(losses[leg])) for leg in workers)


def _close(workers: dict[str, TrainWorker]) -> None:
    for worker in workers.values():
        worker.close()
