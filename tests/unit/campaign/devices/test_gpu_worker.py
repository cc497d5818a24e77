"""Workers for accelerators, before any kernel is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.campaign.devices.faults import Disturbed
from layline.campaign.devices.gpu_worker_process import Source, Worker, describe_environment
from layline.campaign.operators import load_operator


def test_one_that_dies_before_the_kernel_is_loaded_is_nobodys_fault(tmp_path: Path) -> None:
    """A candidate was rolled back because the device's memory was full when its process started."""
    source = Source(path=tmp_path / "kernel.py", operator=load_operator("gemm_bf16"), cache=tmp_path)
    with Worker(source, tmp_path, "serve_torch.py") as worker:
        worker._send({"no": "device"})
        with pytest.raises(Disturbed, match=r"could not start: The worker died during start: exit code 1\."):
            worker.wait_ready()


def test_what_one_process_compiles_the_next_ones_find(tmp_path: Path) -> None:
    """An extension in CUDA takes a minute, and a measuring run starts twenty processes."""
    told = describe_environment(tmp_path / "cache", tmp_path / "own")
    caches = ("TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR")
    assert {told[name] for name in caches} == {str(tmp_path / "cache")}
    assert told["HOME"] == str(tmp_path / "own")
