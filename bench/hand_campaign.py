"""A campaign by hand-written edits on the CPU GEMM, through the commands a person types.

    python -m bench hand_campaign naive|blocked FOLDER

Leaves the repository with its campaign in FOLDER and prints what happened, the head-to-head run and the share of
OpenBLAS (numpy's, one thread) on the same shapes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.hand_kernels import build_kernel

FORWARD = {"forward": "packed", "backward": "rows"}
FAST = {"pack": "fast", "stores": "wide"}
TILE = {"forward": "packed", "backward": "packed", **FAST}
PLAN: dict[str, tuple[tuple[dict[str, Any], str, str], ...]] = {
    "naive": (
        (
            {"forward": "dot", "backward": "naive"},
            "Sixteen vector lanes per dot product",
            "forward: vectorised dot products",
        ),
        (
            {"forward": "dot", "backward": "rows"},
            "Walking rows turns strided loads into streams",
            "backward: accumulate whole rows",
        ),
        (FORWARD, "A register tile reuses every load twelve times", "forward: packed 12x32 register tile"),
        (
            FORWARD | FAST,
            "Packing and storing element by element cost as much as the products",
            "forward: pack and store by whole rows",
        ),
        (TILE, "The same register tile serves both backward products", "backward: packed 12x32 register tile"),
        (
            TILE | {"forward": "prefetch"},
            "Touching the inputs first warms the cache",
            "forward: prefetch pass over both inputs",
        ),
        (TILE | {"rows": 4}, "Smaller tiles waste less on the edges", "tile of 4 rows instead of 12"),
    ),
    "blocked": (
        (FORWARD | FAST, "A register tile reuses every load twelve times", "forward: packed 12x32 register tile"),
        (TILE, "The same register tile serves both backward products", "backward: packed 12x32 register tile"),
        (TILE | {"rows": 8}, "Fewer rows leave registers for the loads", "tile of 8 rows instead of 12"),
    ),
}


def main(arguments: list[str]) -> int:
    start, folder = arguments[0], Path(arguments[1]).resolve()
    folder.mkdir(parents=True)
    kernel = folder / "gemm.c"
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "config", "user.name", "Hand")
    _git(folder, "config", "user.email", "hand@example.org")
    _layline(folder, "campaign", "operators", "gemm", "--start", start, "-o", "gemm.c")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", f"Start from the {start} kernel")
    _layline(folder, "campaign", "new", f"gemm_{start}", "--operator", "gemm", "--kernel", "gemm.c", "--yes")
    _settle(folder, "campaign", "baseline")
    for pieces, hypothesis, change in PLAN[start]:
        kernel.write_text(build_kernel(**pieces))
        found = _settle(folder, "campaign", "round", "--hypothesis", hypothesis, "--change", change, "--bucket", "K1")
        if found["settled"] != "ACCEPTED":
            _demand(folder, found["round"])
        else:
            _layline(
                folder,
                "campaign",
                "note",
                str(found["round"]),
                "--attribution",
                hypothesis,
                "--next",
                "the next piece of the plan",
            )
    _layline(folder, "campaign", "stop", "--reason", "the planned edits are made")
    _settle(folder, "campaign", "report")
    print(_layline(folder, "campaign", "report").stdout.decode())
    print(_layline(folder, "campaign", "verify").stdout.decode())
    print(json.dumps(measure_share(kernel), indent=2))
    return 0


def _demand(folder: Path, number: int) -> None:
    """What a rollback demands before the next round."""
    notes = ["--diagnosis", "the change does not touch what bounds the kernel"]
    notes += [
        "--profile",
        "bound by the loads of the register tile",
        "--inspection",
        "24 fused multiply-adds per 2 loads, no spill",
    ]
    notes += ["--comparison", "OpenBLAS packs both operands and blocks for the second-level cache"]
    notes += [word for text in ("wider panels", "pack a as well", "split the k loop") for word in ("--direction", text)]
    _layline(folder, "campaign", "note", str(number), *notes)


def _settle(folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a measuring command; a run whose controls failed is resumed, as a person would."""
    began = time.monotonic()
    done = _layline(folder, *arguments, "--format", "json", check=False)
    for _ in range(5):
        if done.returncode in (0, 1):
            break
        print(f"  again: {done.stderr.decode().splitlines()[:1]}", flush=True)
        again = arguments if arguments[1] == "report" else ("campaign", "resume")
        done = _layline(folder, *again, "--format", "json", check=False)
    data: dict[str, Any] = json.loads(done.stdout)
    said = (data.get("verdict") or {}).get("reason", "")
    print(
        f"{arguments[1]} {data.get('round', '')} {data.get('settled', '')} {time.monotonic() - began:.0f} s {said}",
        flush=True,
    )
    return data


def measure_share(kernel: Path) -> dict[str, float]:
    """Our step over OpenBLAS's step, by shape: CPU time, calls alternated on fresh inputs, low quantiles."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import ctypes

    import numpy as np

    from layline.campaign.measure.build import FLAGS
    from layline.campaign.operators import load_operator

    library = kernel.with_suffix(".so")
    subprocess.run(["cc", *FLAGS, "-o", str(library), str(kernel), "-lm"], check=True)
    ours = ctypes.CDLL(str(library))
    rng = np.random.default_rng(7)
    shares: dict[str, float] = {}
    for shape in load_operator("gemm").shapes:
        m, n, k = (size for _, size in shape.sizes)
        mine, theirs = [], []
        for _ in range(60):
            a, b, g = (rng.standard_normal(extent, dtype=np.float32) for extent in ((m, k), (n, k), (m, n)))
            out, da, db = (np.empty(extent, dtype=np.float32) for extent in ((m, n), (m, k), (n, k)))
            words = [array.ctypes.data_as(ctypes.c_void_p) for array in (a, b, g, out, da, db)]
            sizes = [ctypes.c_int64(value) for value in (m, n, k)]
            began = time.process_time_ns()
            ours.forward(words[0], words[1], words[3], *sizes)
            ours.backward(words[0], words[1], words[2], words[4], words[5], *sizes)
            between = time.process_time_ns()
            np.matmul(a, b.T, out=out), np.matmul(g, b, out=da), np.matmul(g.T, a, out=db)
            mine.append(between - began)
            theirs.append(time.process_time_ns() - between)
        shares[shape.label] = round(float(np.quantile(theirs, 0.1) / np.quantile(mine, 0.1)), 3)
    shares["geometric mean"] = round(float(np.exp(np.mean(np.log(list(shares.values()))))), 3)
    return shares


def _layline(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    source = Path(__file__).resolve().parents[1] / "src"
    return subprocess.run(
        [sys.executable, "-m", "layline", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        check=check,
        capture_output=True,
    )


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
