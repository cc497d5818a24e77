"""What a project's own skills and pages say of an operator: its row of a code map, and commands that name its files.
Pure.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PRECISION = re.compile(r"(?:mx)?(?:fp|bf|int)\d+|(?:tensor|row|block|channel)wise")
_COMPILED = (".cu", ".hip", ".cpp", ".c")
_COLUMNS = {"TRITON": ("triton",), "FLYDSL": ("flydsl",)}
_SPAN = re.compile(r"`([^`]+)`")
_BACKEND = re.compile(r"\b\w*_BACKEND=(?P<value>\w+)")
MOST_WORDS = 12
_WORDS = re.compile(r"[a-z0-9]+")
FIRST = 2.0
"""What the operator's first word weighs: grouped_gemm_fp8 is no kind of GEMM FP8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operator's row in a table that has a column of tests and one of benchmarks."""

    where: str
    """Document and line."""
    document: str
    cells: tuple[tuple[str, str], ...]

    def read(self, *headings: str) -> str:
        """The first cell whose heading holds one of these words."""
        return next((cell for head, cell in self.cells if any(one in head.lower() for one in headings)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command that a document shows."""

    text: str
    where: str


def find_documents(files: Sequence[str]) -> list[str]:
    """Skills first, then what stands in docs and at the root."""
    skills = [file for file in files if file.endswith("SKILL.md")]
    pages = [file for file in files if file.endswith(".md") and (file.startswith("docs/") or "/" not in file)]
    return [*skills, *(file for file in pages if file not in skills)]


def find_row(operator: str, texts: Mapping[str, str]) -> Row | None:
    """The row that fits the operator's words best; None where two fit as well."""
    rated = sorted(
        ((_rate(operator, row), at, row) for at, row in enumerate(_find_rows(texts))), key=lambda one: -one[0]
    )
    if not rated or rated[0][0] <= 0 or (len(rated) > 1 and rated[1][0] == rated[0][0]):
        return None
    return rated[0][2]


def _rate(operator: str, row: Row) -> float:
    words = operator.lower().split("_")
    said = _WORDS.findall(row.cells[0][1].lower())
    matches = sum(word in said for word in words)
    strange = sum(word not in words for word in said)
    return 2 * matches - 0.5 * strange - (0 if words[0] in said else FIRST)


def _find_rows(texts: Mapping[str, str]) -> Iterator[Row]:
    for document, text in texts.items():
        heads: list[str] = []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.lstrip().startswith("|"):
                heads = []
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not heads:
                heads = cells
            elif set("".join(cells)) - set("-: ") and len(cells) == len(heads) and _is_map(heads):
                yield Row(where=f"{document}:{number}", document=document, cells=tuple(zip(heads, cells, strict=True)))


def _is_map(heads: list[str]) -> bool:
    joined = " ".join(heads).lower()
    return "test" in joined and "bench" in joined


def find_kernel_files(row: Row, language: str, files: Sequence[str]) -> list[str]:
    """Files of the column of this language: named ones, or all sources in a named folder."""
    columns = _COLUMNS.get(language, ("c++", "hip", "csrc", "cuda"))
    endings = (".py",) if language in _COLUMNS else _COMPILED
    heading = next((head for head, _cell in row.cells if any(one in head.lower() for one in columns)), "")
    roots = [root.strip("/") for root in _SPAN.findall(heading)]
    mine = [file for file in files if file.endswith(endings) and _is_below(file, roots)]
    found = []
    for span in _SPAN.findall(row.read(*columns)):
        place = span.strip("/")
        found += [file for file in mine if file.endswith(f"/{place}") or f"/{place}/" in file]
    return list(dict.fromkeys(found))


def _is_below(file: str, roots: Sequence[str]) -> bool:
    return not roots or any(f"/{root}/" in f"/{file}" for root in roots)


def find_variable(operator_family: str, lines: Sequence[Line]) -> Line | None:
    """The environment variable that chooses the backend of this family: one that a command sets, else one that a document
    names.
    """
    wanted = re.compile(rf"(?:^|\s)([A-Z0-9_]+_{re.escape(operator_family.upper())}_BACKEND)(?==|\Z)")
    named = [(line, found) for line in lines for found in wanted.finditer(line.text)]
    chosen = [pair for pair in named if pair[1].end() < len(pair[0].text)] or named
    line, found = min(chosen, key=lambda pair: len(pair[1][1]), default=(None, None))
    return Line(text=found[1], where=line.where) if line is not None and found is not None else None


def find_named(cell: str, files: Sequence[str]) -> list[tuple[str, str]]:
    """Files that a cell's code names, with the options that stand behind them."""
    found = []
    for span in _SPAN.findall(cell):
        name, _space, options = span.strip().partition(" ")
        found += [(file, options.strip()) for file in files if fnmatch(file, f"*/{name}") or file == name]
    return found


def find_lines(texts: Mapping[str, str]) -> Iterator[Line]:
    """Lines of code blocks, and code inside sentences and tables."""
    for document, text in texts.items():
        is_code = False
        for number, line in enumerate(text.splitlines(), 1):
            where = f"{document}:{number}"
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif is_code:
                yield Line(text=re.split(r"\s{2,}#|\s#\s", line)[0].strip(), where=where)
            else:
                yield from (Line(text=span.strip(), where=where) for span in _SPAN.findall(line))


def choose_command(program: str, file: str, operator: str, backend: str, lines: Sequence[Line]) -> Line | None:
    """The documented command for this file that says most of the operator and nothing against it."""
    name, words = file.rsplit("/", 1)[-1], operator.lower().split("_")
    fitting = [
        (sum(word in _WORDS.findall(line.text.lower()) for word in words), bool(_BACKEND.search(line.text)), line)
        for line in lines
        if program in line.text and re.search(rf"(^|[\s/]){re.escape(name)}(\s|\Z)", line.text)
        if not _contradicts(line.text, words, backend)
    ]
    if not fitting:
        return None
    best = max(fitting, key=lambda one: one[:2])[2]
    told = " ".join(file if word.rsplit("/", 1)[-1] == name else word for word in best.text.split(" "))
    return Line(text=told, where=best.where)


def contradicts(text: str, backend: str) -> bool:
    """Another backend than asked for, a choice left to tuning, or a file to write."""
    forced = _BACKEND.search(text)
    return bool("AUTO_TUNE" in text or " -o " in text or (forced and forced["value"] != backend.upper()))


def _contradicts(text: str, words: Sequence[str], backend: str) -> bool:
    """Another precision or backend than asked for, a choice left to tuning, or a file to write."""
    said = _WORDS.findall(text.lower())
    other = any(PRECISION.fullmatch(word) and word not in words for word in said)
    selected = re.search(r"-k\s+[\"']([^\"']+)", text)
    strange = [
        word
        for word in (selected[1].split() if selected else [])
        if word not in ("and", "or", "not") and word.lower() not in (*words, backend.lower())
    ]
    return bool(other or strange or contradicts(text, backend))


def find_devices(architecture: str, texts: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Names of the devices that have this architecture, as a document says it (`gfx950` (MI350X/MI355X)), and where."""
    wanted = re.compile(rf"`?{re.escape(architecture)}`?\s*\(([A-Z0-9][\w]*(?:\s*[/,]\s*[A-Z0-9]\w*)*)\)")
    for document, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := wanted.search(line):
                return tuple(re.split(r"\s*[/,]\s*", found[1])), f"{document}:{number}"
    return (), ""


def find_suite(test: str, files: Sequence[str], lines: Sequence[Line]) -> Line | None:
    """The shortest documented command that runs all tests of a folder which this one lies in; one with a selection or with
    options of the project's own runs some of them.
    """
    fitting = []
    for line in lines:
        program, *words = line.text.split()[:MOST_WORDS] or [""]
        folders = [
            word.rstrip("/") for word in words if "/" in word or any(one.startswith(f"{word}/") for one in files)
        ]
        is_whole = program == "pytest" and not any(word in ("-k", "-m") or word.startswith("--") for word in words)
        if is_whole and len(folders) == 1 and test.startswith(f"{folders[0]}/"):
            fitting.append((len(words), line))
    return min(fitting, key=lambda one: one[0], default=(0, None))[1]


def names_operator(source: str, operator_family: str) -> bool:
    """Whether a benchmark's code imports, calls or defines something called after the operator."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return True  # what cannot be read is not held against it
    named = {
        text
        for node in nodes
        for text in (getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None))
        if isinstance(text, str)
    }
    return any(operator_family.lower() in one.lower() for one in named) or not named


def find_harness(files: Sequence[str]) -> list[str]:
    """A quick test and benchmark that the project keeps to be copied."""
    return [file for file in files if re.search(r"(^|/)quick[^/]*(bench|test)[^/]*\.py\Z", file)]


def propose_metric(operator: str) -> tuple[str, str]:
    """The primary metric by kind of operator, and why."""
    words = set(operator.lower().split("_"))
    if words & {"gemm", "matmul", "linear"}:
        why = "proposed: a matrix product computes more than it moves; `Forward TFLOPS` if it has no backward pass"
        return "Combined Step TFLOPS", why
    if words & {"attention", "conv"}:
        return "Forward TFLOPS", "proposed: it computes more than it moves"
    return "Forward GB/s", "proposed: it moves more than it computes"


def describe_columns(metric: str) -> str:
    """The CSV's columns that go with a metric."""
    if metric.endswith("TFLOPS"):
        return (
            "label,B,M,N,K,Check,Forward TFLOPS,Forward TFLOPS_stddev,… (or the extents of this operator for B,M,N,K)"
        )
    return f"label,Check,{metric},{metric}_stddev,Forward Time (ms) and the operator's own extents and error"
