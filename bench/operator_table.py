"""Operators that ship as files beside torch and torch.compile, in one process on one accelerator: the same inputs, in turns.

    python -m bench.operator_table OUT.json [--only rope_bf16 …] [--best FOLDER]

Times are the device's, by events, the cache overwritten before each; `torch` is the operator's own reference on the inputs as
they are (bf16) with outputs of the type it must give, `compiled` the same by torch.compile, `copy` as many bytes as the
operator must move. FOLDER is what `python -m bench gpu` left: the kernel that a campaign ended with is `best`.
"""

from __future__ import annotations

import argparse
import inspect
import json
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from layline.campaign.operators import FILES
from layline.campaign.operators.find import read_named_file
from layline.campaign.operators.own.build import Inputs, build_operator
from layline.campaign.values.statistics import quantile

TURNS = 12
LEAD = 2_000_000


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("out", type=Path)
    asked.add_argument("--only", nargs="*", default=[])
    asked.add_argument("--best", type=Path)
    options = asked.parse_args(arguments)
    rows: list[dict[str, Any]] = []
    for name in (one for one in FILES if one.endswith("bf16") and (not options.only or one in options.only)):
        try:
            rows += measure_operator(name, options.best)
        except Exception as error:  # noqa: BLE001  one that fails is a row, not the end
            rows.append({"operator": name, "failed": f"{type(error).__name__}: {error}"[:400]})
        options.out.write_text(json.dumps(rows, indent=1))
        print(json.dumps(rows[-1]), flush=True)
    return 0


def measure_operator(name: str, best: Path | None) -> list[dict[str, Any]]:
    import numpy as np
    import torch

    file = read_named_file(name)
    operator, reference = build_operator(file), inspect.unwrap(file.say("reference"))
    rng, rows = np.random.default_rng(3), []
    kernels = {}
    for label, text in (*operator.starts, *operator.variants):
        path = Path(f"/tmp/{name}_{label}.py")
        path.write_text(text)
        kernels[label] = load(path)
    if best is not None and (best / name / "kernel.py").is_file():
        kernels["best"] = load(best / name / "kernel.py")
    for shape in operator.shapes:
        given = operator.draw(shape, rng, operator.distributions[0])
        for step in operator.passes:
            inputs = {one: given[one] for one in step.inputs}
            outputs = [
                torch.empty(buffer.extent(shape), dtype=getattr(torch, buffer.dtype), device="cuda")
                for buffer in (operator.buffer(one) for one in step.outputs)
            ]
            legs: dict[str, Any] = {
                label: partial(getattr(kernel, step.symbol), *inputs.values(), *outputs)
                for label, kernel in kernels.items()
            }
            kinds = {one: getattr(torch, operator.buffer(one).dtype) for one in step.outputs}
            ask = write_question(PEERS.get(name, reference), step.name, kinds)
            legs |= list_peers(name, ask, inputs, int(step.bytes_moved(shape)))
            rows.append({"operator": name, "shape": shape.label, "pass": step.name, "ms": measure(legs, rng)})
    return rows


def list_peers(name: str, ask: Any, inputs: dict[str, Any], moved: int) -> dict[str, Any]:
    """torch, torch.compile, and a copy of as many bytes; for attention torch's own kernels instead of the reference."""
    import torch

    source = torch.empty(moved // 2, dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    copy = {"copy": lambda: target.copy_(source)}
    if name in FLASH:
        return {"torch": FLASH[name](inputs), **copy}
    torch._dynamo.reset()
    compiled = torch.compile(ask, dynamic=False)
    return {"torch": lambda: ask(inputs), "compiled": lambda: compiled(inputs), **copy}


def write_question(reference: Any, step: str, kinds: dict[str, Any]) -> Any:
    """A function: torch.compile leaves what functools made as it is."""

    def answer(inputs: dict[str, Any]) -> dict[str, Any]:
        found = reference(step, Inputs(inputs))
        return {name: value.to(kinds[name]) for name, value in found.items()}

    return answer


def quantise(_step: str, x: Any) -> dict[str, Any]:
    """The reference computes in doubles, which nobody would; and its integers are checked, not compared."""
    import torch

    value = x.x.float()
    normed = value * torch.rsqrt((value * value).mean(dim=-1, keepdim=True) + 1e-6) * x.w.float()
    scale = normed.abs().amax(dim=-1) / 127
    return {"q": torch.round(normed / scale[:, None]), "scale": scale}


PEERS = {"rmsnorm_quant_bf16": quantise}


def attend(inputs: dict[str, Any]) -> Any:
    """Torch's flash attention on sequences of different lengths, causal, fewer heads of keys."""
    import torch

    ends = inputs["starts_at"].to(torch.int32)
    longest = int(ends.diff().max())
    q, k, v = (inputs[one] for one in "qkv")
    flash = torch.ops.aten._flash_attention_forward
    return lambda: flash(q, k, v, ends, ends, longest, longest, 0.0, True, False)


def attend_backward(inputs: dict[str, Any]) -> Any:
    """The backward pass of the same, after its own forward pass."""
    import torch

    ends = inputs["starts_at"].to(torch.int32)
    longest = int(ends.diff().max())
    out, logsum, seed, unused, _mask = attend(inputs)()
    given = (inputs["slope"], inputs["q"], inputs["k"], inputs["v"], out, logsum, ends, ends, longest, longest)
    flash = torch.ops.aten._flash_attention_backward
    return lambda: flash(*given, 0.0, True, seed, unused)


FLASH = {"attention_bf16": attend, "attention_backward_bf16": attend_backward}


def measure(legs: dict[str, Any], rng: Any) -> dict[str, float | None]:
    import torch

    from layline.campaign.devices.gpu_memory import flush_cache

    times: dict[str, list[float]] = {leg: [] for leg in legs}
    failed: set[str] = set()
    for turn in range(TURNS + 3):
        for leg in (str(one) for one in rng.permutation(list(legs)) if one not in failed):
            try:
                flush_cache("cuda")
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                torch.cuda.synchronize()
                torch.cuda._sleep(LEAD)
                start.record()
                legs[leg]()
                end.record()
                torch.cuda.synchronize()
            except Exception:  # noqa: BLE001  what torch cannot compile is left out
                failed.add(leg)
                continue
            if turn >= 3:
                times[leg].append(start.elapsed_time(end))
    return {leg: quantile(found, 0.5) if found else None for leg, found in times.items()}


def load(path: Path) -> ModuleType:
    import importlib.util

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
