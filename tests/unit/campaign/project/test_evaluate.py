"""A benchmark is followed without running it: which sizes its measuring function is given, and what stays unknown."""

from __future__ import annotations

import pytest

from layline.campaign.project.benchmark import read_benchmark
from layline.campaign.project.evaluate import Reader

HEAD = "import torch\nfrom config import MODELS, cases\n\ndef profile(M, N, dtype):\n    return torch.time(M, N)\n\n"
TABLES = {
    "bench/config.py": """\
import json
import os

MODELS = {"small": {"seq": 8, "hidden": 4}, "large": {"seq": 16, "hidden": 4}}
SIZES = json.load(open(os.path.join(os.path.dirname(__file__), "sizes.json")))


def cases(config):
    found = []
    for width in (1, 2):
        found.append([config["seq"], int(width * config["hidden"])])
    return found
""",
    "bench/sizes.json": '{"bf16": [3, 5]}',
}
FINDS: list[tuple[str, str, list[tuple[int, int]]]] = [
    ("a call", "profile(2, 3, torch.bf16)", [(2, 3)]),
    (
        "a table of another file",
        """
for one in MODELS.values():
    for m, n in cases(one):
        profile(m, n, None)
""",
        [(8, 4), (8, 8), (16, 4), (16, 8)],
    ),
    (
        "a file beside it",
        """
from config import SIZES
for m in SIZES["bf16"]:
    profile(m, m + 1, None)
""",
        [(3, 4), (5, 6)],
    ),
    (
        "a comprehension, sorted",
        """
for m in sorted({2 * n for n in range(3) if n}):
    profile(m, 1, None)
""",
        [(2, 1), (4, 1)],
    ),
    (
        "a handler that goes on",
        """
for m in (1, 2):
    try:
        profile(m, {}[m], None)
    except KeyError:
        profile(m, 0, None)
""",
        [(1, 0), (2, 0)],
    ),
    (
        "what only a run decides is not so",
        """
if torch.cuda.is_available():
    profile(1, 1, None)
else:
    profile(2, 2, None)
""",
        [(2, 2)],
    ),
    (
        "continue, break and augmented sums",
        """
n = 0
for m in range(9):
    n += 1
    if m < 2:
        continue
    if m > 3:
        break
    profile(m, n, None)
""",
        [(2, 3), (3, 4)],
    ),
    (
        "a measure inside a measure counts once",
        """
def outer(M, N):
    return profile(M, N, None), 1
outer(4, 5)
""",
        [(4, 5)],
    ),
]
IGNORES = [
    (
        "a call behind an assertion that fails",
        "kind = 'tensorwise'\nassert kind == 'blockwise', kind\nprofile(1, 2, None)\n",
    ),
    ("an unknown size", "profile(torch.size(), 3, None)\n"),
    ("a function whose answer is known", "def area(M, N):\n    return M * N\narea(2, 3)\n"),
    ("a loop that never ends", "while True:\n    pass\n"),
    ("a function that calls itself", "def down(n):\n    return down(n + 1)\ndown(0)\n"),
    ("a number of a million digits", "profile(9 ** 9 ** 9, 10 ** 1000000, None)\n"),
    ("a list of a billion", "x = [0] * 1000000000\nprofile(len(x), 1, None)\n"),
    ("a file outside the tree", "profile(len(open('/etc/hostname').read()), 1, None)\n"),
    ("code made of text", "exec('profile(1, 2, None)')\n"),
    ("what is no Python", "def (:\n"),
]


def follow(text: str) -> Reader:
    files = {**TABLES, "bench/bench_it.py": HEAD + text}
    reader = Reader("bench/bench_it.py", files.get, {})
    reader.follow()
    return reader


@pytest.mark.parametrize(("text", "sizes"), [row[1:] for row in FINDS], ids=[row[0] for row in FINDS])
def test_sizes_follow_from_tables_and_loops(text: str, sizes: list[tuple[int, int]]) -> None:
    assert [(one.given["M"], one.given["N"]) for one in follow(text).called] == sizes


@pytest.mark.parametrize("text", [row[1] for row in IGNORES], ids=[row[0] for row in IGNORES])
def test_what_only_a_run_knows_stays_unknown(text: str) -> None:
    assert follow(text).called == []


PROGRAM = """\
import argparse
import torch

def profile(batch, heads, causal, dtype):
    return torch.time(batch), torch.rate(batch), torch.check(batch)

def run(dtype_name, is_causal, count):
    for batch in (1, 2):
        for heads in (count, 2 * count):
            ms, rate, right = profile(batch, heads, is_causal, dtype_name)
            row = {"Check": "PASS" if right else "FAIL", "Forward Time (ms)": f"{ms:.2f}", "Forward TFLOPS": rate, "GPU": 1}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", "-d", default="bf16")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--head-count", type=int, default=4)
    args = parser.parse_args()
    run(dtype_name=args.dtype, is_causal=args.causal, count=args.head_count)
"""
OPTIONS = [("", "batch1-heads4"), ("-d fp8 --causal --head-count 6", "batch1-heads6")]


@pytest.mark.parametrize(("options", "first"), OPTIONS)
def test_a_benchmark_is_followed_with_its_options(options: str, first: str) -> None:
    files = {"bench/b.py": PROGRAM}
    found = read_benchmark("bench/b.py", f"X=1 python bench/b.py {options}", files.get)
    assert found is not None
    assert found.function == "profile"
    assert (found.axes, len(found.shapes), found.shapes[0]["label"]) == (("batch", "heads"), 4, first)
    assert dict(found.columns) == {"Forward Time (ms)": "ms", "Forward TFLOPS": "rate"}
    assert found.check == "'PASS' if right else 'FAIL'"


def test_a_program_that_measures_when_it_is_imported_is_not_followed() -> None:
    started = PROGRAM.replace('if __name__ == "__main__":', "if True:")
    assert read_benchmark("bench/b.py", "python bench/b.py", {"bench/b.py": started}.get) is None
