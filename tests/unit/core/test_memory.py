"""The end of a process: nothing is taken apart, and nobody who waits for the end is left out."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
from layline.core.memory import end_at_once

class Held:
    def __del__(self):
        print("taken apart")

def run():
    global held
    held = Held()
    atexit.register(print, "the end")
    {last}

end_at_once(run)
"""


@pytest.mark.parametrize(
    ("last", "code"),
    [("sys.exit(0)", 0), ("sys.exit(2)", 2), ("sys.exit()", 0), ("sys.exit('no')", 1), ("raise ValueError", 1)],
)
def test_a_process_ends_at_once(last: str, code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(last=last)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "the end\n")
