"""What a driver costs with many machines: the loop and the choice of machines as they are, the machines simulated.

    python -m bench machines [MACHINES:SHARDS …]

One in a hundred machines dies with its shard and answers after all a little later.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from layline.executors import Tally, dispatch
from unit.executors.test_dispatch import Simulated

SIZES = ("100:1000", "1000:10000", "10000:100000", "100000:1000000")


def main(arguments: list[str]) -> int:
    print("| machines | shards | driver's µs for each shard | shards a second | MiB | lost | late | doubled |")
    print("|---|---|---|---|---|---|---|---|")
    for words in arguments or SIZES:
        machines, shards = (int(word) for word in words.split(":"))
        jobs = [{"number": number} for number in range(shards)]
        tally, began, answered = Tally(), time.process_time(), 0
        for _ in dispatch(jobs, Simulated(machines, 7), tally=tally):
            answered += 1
        spent = time.process_time() - began
        assert answered == shards
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        rate = f"{shards / spent:,.0f}"
        each = f"{spent / shards * 1e6:.1f}"
        print(f"| {machines} | {shards} | {each} | {rate} | {most} | {tally.lost} | {tally.late} | {tally.doubled} |")
    return 0
