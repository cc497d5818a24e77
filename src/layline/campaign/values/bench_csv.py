"""The frozen benchmark CSV: read strictly, scored as the specification says.

A harness writes it, every round reads it back. Any drift of the header would silently switch the per-shape gate off,
so a file is either exactly what was frozen or it is refused with every problem named.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HEADER_LINE = (
    "label,B,M,N,K,Check,Forward TFLOPS,Forward TFLOPS_stddev,Backward TFLOPS,Backward TFLOPS_stddev,"
    "Forward Time (ms),Backward Time (ms),out_snr,da_snr,db_snr"
)
GEMM_HEADER = tuple(HEADER_LINE.split(","))
CHECKS = ("PASS", "FAIL", "ERROR")
DIMENSIONS = ("B", "M", "N", "K")
ABSENT = frozenset({"", "-", "nan"})
"""How a harness writes a figure it does not have: `-` for a missing direction, `nan` for a failed shape."""
MAX_BYTES = 16 << 20
FLOPS_TOLERANCE = 0.05
"""A mean of rates is not the rate of the mean; five per cent leaves room for that and no more."""

Cell = float | str | None


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One shape as the harness reported it."""

    label: str
    check: str
    cells: Mapping[str, Cell]

    @property
    def passed(self) -> bool:
        return self.check == "PASS"

    def number(self, column: str) -> float | None:
        value = self.cells.get(column)
        return value if isinstance(value, float) else None

    @property
    def products(self) -> float | None:
        """B·M·N·K: multiply-adds of one forward product."""
        sizes = [self.number(name) for name in DIMENSIONS]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    @property
    def step_tflops(self) -> float | None:
        """6·B·M·N·K / (forward + backward time); None where the shape has no backward direction."""
        forward, backward, products = self.number("Forward Time (ms)"), self.number("Backward Time (ms)"), self.products
        if forward is None or backward is None or products is None or forward + backward <= 0:
            return None
        return 6 * products / ((forward + backward) * 1e-3) / 1e12


@dataclass(frozen=True, slots=True)
class BenchTable:
    """A whole benchmark CSV: the header as it stood in the file, and every shape."""

    where: str
    header_line: str
    rows: tuple[BenchRow, ...]

    @property
    def header(self) -> tuple[str, ...]:
        return tuple(next(csv.reader([self.header_line])))

    @property
    def header_sha256(self) -> str:
        return hashlib.sha256(self.header_line.encode()).hexdigest()

    @property
    def is_gemm(self) -> bool:
        return self.header == GEMM_HEADER

    @property
    def metrics(self) -> tuple[str, ...]:
        """Columns that have a `_stddev` beside them: the performance metrics."""
        return tuple(name for name in self.header if f"{name}_stddev" in self.header)

    @property
    def has_backward(self) -> bool:
        return any(row.number("Backward Time (ms)") is not None for row in self.rows if row.passed)

    @property
    def all_passed(self) -> bool:
        return all(row.passed for row in self.rows)

    def row(self, label: str) -> BenchRow | None:
        return next((row for row in self.rows if row.label == label), None)


def parse_bench_csv(data: bytes, *, where: str, frozen: str | None = None) -> BenchTable:
    """Read a benchmark CSV, or name every problem at once; `frozen` is the header a baseline froze."""
    lines = _split(data, where)
    header_line = lines[0]
    header = tuple(next(iter(_read_records([header_line], where)), ()))
    if frozen is None:
        problems = list(find_header_problems(header, header_line))
    else:
        problems = [] if header_line == frozen else ["its header is not the one frozen at the baseline"]
    if problems:
        raise RecordError(
            where, tuple(problems), hint="The header is frozen: a harness writes it byte for byte, every round."
        )
    rows: list[BenchRow] = []
    for number, record in enumerate(_read_records(lines[1:], where), 2):
        found = _read_row(header, record, number)
        if isinstance(found, BenchRow):
            rows.append(found)
        else:
            problems.extend(found)
    problems.extend(_find_table_problems(rows))
    if problems:
        raise RecordError(where, tuple(problems))
    return BenchTable(where, header_line, tuple(rows))


def _read_records(lines: list[str], where: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, strict=True))
    except csv.Error as error:
        raise RecordError(where, (f"is not CSV: {error}",), hint="The harness did not finish: run it again.") from None


def find_header_problems(header: tuple[str, ...], header_line: str) -> Iterator[str]:
    """What keeps a header from being the frozen one, or a legitimate one of another operator."""
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        yield f"the header names {', '.join(repeated)} twice"
    if header == GEMM_HEADER:
        if header_line != HEADER_LINE:
            yield "the header has the right columns but other bytes (quotes or spaces)"
        return
    if {"M", "N", "K"} <= set(header):  # a GEMM-class harness must keep the frozen columns
        yield from _find_drift(header)
        return
    for name in ("label", "Check"):
        if name not in header:
            yield f"the header has no `{name}` column"
    if not any(f"{name}_stddev" in header for name in header):
        yield "the header has no metric with a `_stddev` column beside it"
    for name in header:
        if name.endswith("_stddev") and name.removesuffix("_stddev") not in header:
            yield f"`{name}` has no `{name.removesuffix('_stddev')}` beside it"


def _find_drift(header: tuple[str, ...]) -> Iterator[str]:
    added = [name for name in header if name not in GEMM_HEADER]
    missing = [name for name in GEMM_HEADER if name not in header]
    if added:
        yield f"the header drifted: {', '.join(f'`{name}`' for name in added)} added"
    if missing:
        yield f"the header drifted: {', '.join(f'`{name}`' for name in missing)} missing"
    if not added and not missing:
        yield "the header drifted: its columns are in another order"


def _split(data: bytes, where: str) -> list[str]:
    if len(data) > MAX_BYTES:
        raise RecordError(where, (f"is larger than {MAX_BYTES >> 20} MiB",))
    if not data:
        raise RecordError(where, ("is empty",), hint="The harness did not finish: run it again.")
    if data.startswith(b"\xef\xbb\xbf"):
        raise RecordError(where, ("begins with a byte-order mark",), hint="Save the file as UTF-8 without BOM.")
    if b"\0" in data:
        raise RecordError(where, ("holds a NUL byte",), hint="The file looks corrupt: run the harness again.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(where, (f"byte {error.start} is not UTF-8",)) from None
    if not text.endswith("\n"):
        raise RecordError(
            where,
            ("the last line does not end: the file is cut short",),
            hint="The harness did not finish: run it again.",
        )
    crlf = text.count("\r\n")
    if crlf not in (0, text.count("\n")) or text.count("\r") != crlf:
        raise RecordError(
            where, ("lines end in different ways",), hint="Two programs wrote to it; keep the harness's own output."
        )
    lines = io.StringIO(text, newline=None).read().split("\n")[:-1]
    if len(lines) < 2:
        raise RecordError(where, ("holds a header and no shape",))
    return lines


def _read_row(header: tuple[str, ...], record: list[str], number: int) -> BenchRow | list[str]:
    if len(record) != len(header):
        return [f"line {number} has {len(record)} fields, the header has {len(header)}"]
    text = dict(zip(header, record, strict=True))
    check = text["Check"]
    problems: list[str] = []
    if not text["label"].strip():
        problems.append(f"line {number} has no label")
    if check not in CHECKS:
        problems.append(f"line {number}: Check is {check!r}, not one of {', '.join(CHECKS)}")
    cells: dict[str, Cell] = {}
    numeric, required = _numeric_columns(header), _required_columns(header)
    for name, value in text.items():
        if name not in numeric:
            cells[name] = value
            continue
        cells[name], problem = _read_number(name, value, required=check == "PASS" and name in required)
        if problem:
            problems.append(f"line {number}: {problem}")
    return problems or BenchRow(text["label"], check, cells)


def _numeric_columns(header: tuple[str, ...]) -> frozenset[str]:
    metrics = {name for name in header if f"{name}_stddev" in header}
    return frozenset(
        name for name in header if name in metrics or name in DIMENSIONS or name.endswith(("_stddev", "_snr", "(ms)"))
    )


def _required_columns(header: tuple[str, ...]) -> frozenset[str]:
    """Columns a shape that passed cannot leave out; a backward direction may be missing as a whole."""
    return frozenset(
        name for name in _numeric_columns(header) if not name.startswith("Backward") and not name.endswith("_snr")
    )


def _read_number(name: str, value: str, *, required: bool) -> tuple[float | None, str | None]:
    if value.lower() in ABSENT:
        return None, f"`{name}` is {value or 'empty'!r} on a shape that passed" if required else None
    try:
        number = float(value)
    except ValueError:
        return None, f"`{name}` is {value!r}, not a number"
    if name.endswith("_snr") and number != -math.inf:
        return number, None
    if not math.isfinite(number):
        return None, f"`{name}` is {value!r}, not a finite number"
    if number < 0 or (number == 0 and not name.endswith("_stddev")):
        return None, f"`{name}` is {value!r}; it must be positive"
    whole = name not in DIMENSIONS or number == int(number)
    return (number, None) if whole else (None, f"`{name}` is {value!r}, not a whole number")


def _find_table_problems(rows: list[BenchRow]) -> Iterator[str]:
    labels = [row.label for row in rows]
    for label in dict.fromkeys(labels):
        if labels.count(label) > 1:
            yield f"the label {label!r} appears {labels.count(label)} times"
    passed = [row for row in rows if row.passed]
    both = ("Backward Time (ms)", "Backward TFLOPS")
    halves = [row.label for row in passed if len({row.number(name) is None for name in both if name in row.cells}) > 1]
    if halves:
        yield f"{halves[0]} has a backward time or rate without the other"
    with_backward = [row for row in passed if row.number(both[0]) is not None]
    if with_backward and len(with_backward) != len(passed):
        lacking = next(row.label for row in passed if row not in with_backward)
        yield f"{lacking} passed without a backward time, other shapes have one"
