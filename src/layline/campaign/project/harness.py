"""The quick validation harness of a campaign, written around the project's own benchmark."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from layline.campaign.project.benchmark import PRODUCT, Benchmark
from layline.campaign.values.bench_csv import GEMM_HEADER

RATES = ("Forward TFLOPS", "Backward TFLOPS", "Forward GB/s", "Backward GB/s")
TIMES = ("Forward Time (ms)", "Backward Time (ms)")


def choose_header(found: Benchmark) -> tuple[str, ...]:
    """The frozen columns: those of a product where it is one, else the operator's own."""
    if set(PRODUCT) <= set(found.axes):
        return GEMM_HEADER
    rates = [name for one in RATES if one in found.columns for name in (one, f"{one}_stddev")]
    return ("label", *found.axes, "Check", *rates, *(one for one in TIMES if one in found.columns))


def list_shapes(found: Benchmark) -> list[dict[str, Any]]:
    """Those that the benchmark goes through, and three with groups that are not even, where it draws even ones."""
    shapes = [dict(shape) for shape in found.shapes]
    if found.evenness is None or not shapes:
        return shapes
    word, value = found.evenness.keyword, not found.evenness.value
    picked = {0, len(shapes) // 2, len(shapes) - 1}
    uneven = [{**shapes[at], "label": f"{shapes[at]['label']}-{word}_{value}", word: value} for at in sorted(picked)]
    return [*shapes, *uneven]


def choose_metric(found: Benchmark) -> tuple[str, str] | None:
    """The primary metric that these columns allow, and why; None where the benchmark writes no rate."""
    where = f"{found.path} writes it"
    if choose_header(found) == GEMM_HEADER and set(TIMES) <= found.columns.keys():
        return (
            "Combined Step TFLOPS",
            f"proposed: {found.path} times the forward and the backward pass of a matrix product",
        )
    rate = next((one for one in RATES if one in found.columns), None)
    if rate is None:
        return None
    both = (
        " and the backward's; Layline can form a combined step only where the columns are M, N and K, so the backward pass is not part of the score"
        if TIMES[1] in found.columns
        else ""
    )
    return rate, f"proposed: {where}{both}"


def render_harness(found: Benchmark, operator: str, environment: Mapping[str, str]) -> str:
    """A program that runs the benchmark's own function on the shapes LAYLINE_SHAPES names; nothing of it runs here."""
    used = ast.walk(ast.parse(found.check, mode="eval")) if found.check else ()
    names = sorted({one.id for one in used if isinstance(one, ast.Name)})
    return TEMPLATE.format(
        operator=operator,
        where=found.where,
        environment=dict(environment),
        path=found.path,
        options=list(found.options),
        function=found.function,
        axes=tuple(found.axes),
        results=tuple(found.results),
        columns=dict(found.columns),
        header=choose_header(found),
        check=found.check or "'FAIL'",
        errors=(found.errors.function, found.errors.columns)
        if found.errors and choose_header(found) == GEMM_HEADER
        else ("", ()),
        evenness=(found.evenness.function, found.evenness.keyword) if found.evenness else ("", ""),
        names="".join(f"    {name} = result[{name!r}]\n" for name in names),
    )


TEMPLATE = '''"""Quick validation of {operator}: written by `layline campaign handoff` around {where}.

Run it in the root of the project. LAYLINE_SHAPES names a JSON file with the shapes to measure:

    LAYLINE_SHAPES=shapes.json python THIS --summary-csv out.csv [--repeats 3]

Each shape is measured by the benchmark's own function, with the tensors, the check and the clock it has. It uses its
tensors again and again, so a cache keyed on them looks fast here: that is what the transfer check of a campaign is for.
"""

import argparse
import ast
import contextlib
import csv
import importlib
import inspect
import json
import os
import random
import statistics
import sys
import tempfile

ENVIRONMENT = {environment!r}
BENCHMARK = {path!r}
OPTIONS = {options!r}
FUNCTION = {function!r}
AXES = {axes!r}
RESULTS = {results!r}
COLUMNS = {columns!r}
HEADER = {header!r}
ERROR, ERRORS = {errors!r}  # the benchmark's own function for errors, and the columns of its answers
EVEN, KEYWORD = {evenness!r}  # a shape may say KEYWORD: another value goes to this function of the benchmark


def start(bench):
    """What the program does when it is started: everything it says of its options and its backend."""
    path = bench.__file__
    with open(path) as file:
        body = ast.parse(file.read(), path).body
    for node in body:
        if isinstance(node, ast.If) and any(getattr(one, "id", "") == "__name__" for one in ast.walk(node.test)):
            with contextlib.suppress(SystemExit):
                exec(compile(ast.Module(node.body, []), path, "exec"), bench.__dict__)


def check(result):
    """As the benchmark itself says it; what it did not check has not passed."""
{names}    return "PASS" if ({check}) == "PASS" else "FAIL"


def describe(shape, samples):
    row = {{"label": shape["label"], "Check": min((check(one) for one in samples), key=("FAIL", "PASS").index)}}
    row.update({{axis: shape[axis] for axis in AXES}})
    for column in ERRORS:
        known = [one[column] for one in samples if column in one]
        row.update({{column: min(known)}} if len(known) == len(samples) else {{}})
    for column, name in COLUMNS.items():
        values = [float(one[name]) for one in samples]
        row[column], row[column + "_stddev"] = statistics.fmean(values), statistics.pstdev(values)
    return row


def fail(shape):
    return {{"label": shape["label"], "Check": "ERROR", **{{axis: shape[axis] for axis in AXES}}}}


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--summary-csv")
    asked.add_argument("--repeats", type=int, default=3)
    options = asked.parse_args()
    if not os.environ.get("LAYLINE_SHAPES"):
        sys.exit("LAYLINE_SHAPES names no file: a JSON list of shapes, each with a label and " + ", ".join(AXES))
    with open(os.environ["LAYLINE_SHAPES"]) as file:
        shapes = json.load(file)
    out = os.path.abspath(options.summary_csv) if options.summary_csv else None
    os.environ.update(ENVIRONMENT)
    sys.path[:0] = [os.path.dirname(os.path.abspath(BENCHMARK)), os.getcwd()]
    sys.argv = [BENCHMARK, *OPTIONS]
    bench = importlib.import_module(os.path.splitext(os.path.basename(BENCHMARK))[0])
    real = getattr(bench, FUNCTION)
    signature, rows = inspect.signature(real), {{}}
    seen, chosen = [], {{}}
    if ERROR:
        compute = getattr(bench, ERROR)
        setattr(bench, ERROR, lambda *given, **named: seen.append(compute(*given, **named)) or seen[-1])
    if EVEN:
        draw = getattr(bench, EVEN)
        setattr(bench, EVEN, lambda *given, **named: draw(*given, **{{**named, **chosen}}))

    def sample(shape, given, named):
        chosen.clear()
        chosen.update({{KEYWORD: shape[KEYWORD]}} if KEYWORD in shape else {{}})
        seen.clear()
        random.seed(0)  # what a benchmark draws for itself is the same for every kernel
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(0)
        found = dict(zip(RESULTS, real(*given, **named)))
        return {{**found, **(dict(zip(ERRORS, map(float, seen))) if len(seen) == len(ERRORS) else {{}})}}

    def measure(*given, **named):
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        answer = (float("nan"),) * len(RESULTS)  # nobody asked for it
        for shape in shapes:
            if shape["label"] not in rows and all(bound.arguments.get(axis) == shape[axis] for axis in AXES):
                rows[shape["label"]] = fail(shape)
                samples = [sample(shape, given, named) for _ in range(options.repeats)]
                rows[shape["label"]] = describe(shape, samples)
                answer = tuple(samples[-1][name] for name in RESULTS)
        return answer

    setattr(bench, FUNCTION, measure)
    os.chdir(tempfile.mkdtemp())  # what the benchmark writes itself is not wanted
    start(bench)
    found = [rows.get(shape["label"]) or fail(shape) for shape in shapes]
    for row in found:
        print(row)
    if out:
        with open(out, "w", newline="") as file:
            lines = csv.DictWriter(file, HEADER, restval="", extrasaction="ignore", lineterminator="\\n")
            lines.writeheader()
            lines.writerows({{"B": 1, **row}} for row in found)
    return 0 if all(row["Check"] == "PASS" for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
'''
