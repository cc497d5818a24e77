"""Keep the parent's own linear algebra to one thread: idle ones would spin beside the calls that are measured.

By the library's own function, because a variable of the environment is read only when it is loaded, and would be
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
