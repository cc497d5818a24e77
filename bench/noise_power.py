"""False accepts and power by resampling measured process pairs: what the judge would do with this machine's noise.

python -m bench.noise_power aa.jsonl        # the output of bench.no_op_rounds
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from layline.campaign.values.measurement import Plan
from layline.campaign.values.statistics import bound_mean, spend_looks, standard_error

ROUNDS = 4000


def accepts(values: np.ndarray[Any, Any], plan: Plan) -> bool:
    """The aggregate rule of the judge on one simulated round (one shape)."""
    margin = math.log1p(plan.min_effect)
    for look, share in zip(plan.looks, spend_looks(plan.looks, plan.alpha), strict=True):
        seen = list(values[:look])
        if bound_mean(seen, share)[1] > margin:
            return True
        if (math.fsum(seen) / look - margin) / standard_error(seen) < -1:
            return False
    return False


def main() -> None:
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    pairs = np.array([ratio for row in rows for ratio in row.get("ratios", [])])
    rng = np.random.default_rng(0)
    plan = Plan(alpha=0.0125)
    print(f"{len(pairs)} measured pairs: mean {pairs.mean():+.4f}, standard deviation {pairs.std():.4f}")
    for scale, name in ((1.0, "as measured"), (0.25, "a quarter of it")):
        noise = (pairs - pairs.mean()) * scale
        for gain in (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2):
            draws = rng.choice(noise, size=(ROUNDS, plan.looks[-1])) + math.log1p(gain)
            found = sum(accepts(draw, plan) for draw in draws) / ROUNDS
            print(f"noise {name}: true gain {gain:.0%} accepted in {found:.2%} of {ROUNDS} rounds")


if __name__ == "__main__":
    main()
