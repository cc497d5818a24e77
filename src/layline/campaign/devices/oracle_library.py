"""What the parent's own arithmetic asks of its libraries: one thread, because idle ones would spin beside the calls that are
measured, and memory that is kept.

By the libraries' own functions, because a variable of the environment is read only when they are loaded, and would be
inherited by whatever the user has us run.
"""

from __future__ import annotations

import ctypes
import os

from layline.campaign.devices import procfs

_NAMES = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Options of glibc's allocator: from which size on a block is the system's, and how much that is free may stay."""
LARGE_BYTES, KEPT_BYTES = 32 << 20, 256 << 20


def keep_freed_memory() -> None:
    """Arrays of some hundred KiB would be given back and asked for again with every output that is held against the oracle,
    and each new page is paid for: that took longer than the arithmetic.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(_TRIM_THRESHOLD, KEPT_BYTES)


def use_one_thread() -> tuple[str, ...]:
    """Every OpenBLAS in this process; which ones there were."""
    import numpy as np

    del np  # it brings the library with it
    found = tuple(
        sorted(path for path in procfs.read_mapped_files(os.getpid()) if "openblas" in path.rpartition("/")[2])
    )
    for path in found:
        library = ctypes.CDLL(path)
        for name in _NAMES:
            if hasattr(library, name):
                getattr(library, name)(1)
                break
    return found
