"""What a campaign needs before it can begin: each prerequisite with where it was found, or that it is missing. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.campaign.values.manifest import LANGUAGES, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EDITABLE = "pip install --no-build-isolation -e . -v"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prerequisite:
    """One row of the table; `value` is None where it is missing."""

    name: str
    value: str | None
    found: str
    """Where it was found, or what is missing and how to give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How the work is done, as the specification recommends for a kernel language."""

    execution_mode: str
    rebuild: str | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user says they want; everything else is looked for."""

    operator: str
    backend: str
    gpu: str
    options: Mapping[str, str | None] = field(default_factory=dict)
    new_kernel: bool = False
    trusted_metric: str | None = None
    """The metric of the operator definition that ships for this target, where one does: nothing of the user's measures
    then."""

    @property
    def language(self) -> str:
        return LANGUAGES.get(self.backend.upper(), self.backend.upper())

    def option(self, name: str) -> str | None:
        return self.options.get(name)


def recommend_mode(backend: str, gpu: str, *, new_kernel: bool) -> Mode:
    """Triton: in the repository, nothing to rebuild; HIP and CK: rebuild; a new kernel in those: a workspace."""
    language = LANGUAGES.get(backend.upper(), backend.upper())
    if language == "TRITON":
        return Mode(execution_mode="repo", rebuild=None, why="Triton is Python: the editable install picks edits up")
    if language == "C":
        return Mode(
            execution_mode="repo", rebuild=None, why="trusted measuring compiles the kernel itself, anew each time"
        )
    if language == "FLYDSL":
        return Mode(execution_mode="repo", rebuild=None, why="a Python-embedded language: nothing to rebuild")
    if new_kernel:
        return Mode(
            execution_mode="workspace",
            rebuild=None,
            why="a new C++ kernel needs many trials: iterate in a minimal copy",
        )
    return Mode(
        execution_mode="repo",
        rebuild=f"GPU_ARCHS={gpu} {EDITABLE}",
        why="a small C++ change: rebuild the editable install",
    )


def find_prerequisites(request: Request, files: Sequence[str]) -> Iterator[Prerequisite]:
    """The specification's table, row by row; given values first, then what the tree shows without doubt."""
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    kernel = _choose(request, "kernel", find_kernels(request, files), "Kernel source file path")
    yield kernel
    yield from _find_trusted(request) if request.trusted_metric else _find_commands(request, files)
    yield Prerequisite(
        name="Benchmark output format",
        value="frozen CSV",
        found="label,B,M,N,K,Check,… with `--summary-csv`; `layline bench csv` reads it",
    )
    yield Prerequisite(
        name="Correctness column", value="Check", found="PASS or FAIL per shape; any FAIL rejects the candidate"
    )
    metric = request.option("metric") or request.trusted_metric
    yield Prerequisite(
        name="Performance metric columns",
        value=metric,
        found="given"
        if request.option("metric")
        else "the operator's"
        if metric
        else f"missing: say --metric, one of {', '.join(METRICS)}",
    )
    yield Prerequisite(
        name="Scoring rule",
        value="geometric mean",
        found="of the primary metric over all shapes; 0 if one does not pass",
    )
    chosen = request.option("mode") or mode.execution_mode
    yield Prerequisite(name="execution_mode", value=chosen, found="given" if request.option("mode") else mode.why)
    rebuild = request.option("rebuild") or mode.rebuild
    yield Prerequisite(
        name="Rebuild after a change", value=rebuild or "none", found="given" if request.option("rebuild") else mode.why
    )


def _find_commands(request: Request, files: Sequence[str]) -> Iterator[Prerequisite]:
    yield _command(request, "test", find_tests(request, files), "Focused test command", "pytest {} -v")
    yield _find_bench(request, files)
    yield _choose(request, "quick", [], "Quick validation harness")


def _find_trusted(request: Request) -> Iterator[Prerequisite]:
    """Where an operator definition ships, Layline feeds, checks and times; a command of the user's may still be
    given.
    """
    named = (
        ("test", "Focused test command", "the operator's fp64 oracle checks every timed call"),
        ("bench", "Focused benchmark command", "`layline campaign measure --full`"),
        ("quick", "Quick validation harness", "`layline campaign measure`"),
    )
    for option, name, instead in named:
        given = request.option(option)
        yield Prerequisite(
            name=name, value=given or "not needed", found="given" if given else f"trusted measuring: {instead}"
        )


def _choose(request: Request, option: str, candidates: list[str], name: str) -> Prerequisite:
    given = request.option(option)
    if given:
        return Prerequisite(name=name, value=given, found="given")
    if len(candidates) == 1:
        return Prerequisite(name=name, value=candidates[0], found=f"the only match in the tree: {candidates[0]}")
    if candidates:
        return Prerequisite(
            name=name,
            value=None,
            found=f"missing: {len(candidates)} candidates ({', '.join(candidates[:4])} …); say --{option}",
        )
    return Prerequisite(name=name, value=None, found=f"missing: nothing in the tree says it; say --{option}")


def _command(request: Request, option: str, candidates: list[str], name: str, form: str) -> Prerequisite:
    found = _choose(request, option, candidates, name)
    if found.value is None or found.found == "given":
        return found
    return Prerequisite(name=name, value=form.format(found.value), found=found.found)


def _find_bench(request: Request, files: Sequence[str]) -> Prerequisite:
    """The benchmark of this very operator; one that serves a whole family needs options nobody may guess."""
    name = "Focused benchmark command"
    own = find_benches(files, _stems(request.operator))
    shared = find_benches(files, [family(request.operator)])
    if request.option("bench") or own or not shared:
        return _command(request, "bench", own, name, "python {}")
    said = (
        f"missing: {shared[0]} serves every precision of {family(request.operator)}; say --bench with the "
        "options of this one"
    )
    return Prerequisite(name=name, value=None, found=said)


def find_kernels(request: Request, files: Sequence[str]) -> list[str]:
    """Files of the right language whose name holds every word of the operator that a kernel file would carry."""
    language = LANGUAGES.get(request.backend.upper(), request.backend.upper())
    endings = (".py",) if language in ("TRITON", "FLYDSL") else (".c", ".cu", ".hip", ".cpp", ".cuh", ".h")
    folder = re.compile(rf"(^|/){language.lower()}/") if endings == (".py",) else re.compile(r"(^|/)(csrc|kernels?)/")
    stems = _stems(request.operator)
    return [file for file in files if file.endswith(endings) and folder.search(file) and _matches(file, stems)]


def find_tests(request: Request, files: Sequence[str]) -> list[str]:
    wanted = {f"test_{stem}.py" for stem in _stems(request.operator)}
    return [file for file in files if file.rsplit("/", 1)[-1] in wanted]


def find_benches(files: Sequence[str], stems: list[str]) -> list[str]:
    return [file for file in files if re.search(r"(^|/)bench", file) and file.endswith(".py") and _matches(file, stems)]


def family(operator: str) -> str:
    """gemm_fp8_blockwise → gemm: one benchmark often serves all precisions of an operator by its options."""
    precision = re.compile(r"(?:mx)?(?:fp|bf|int)\d+|(?:tensor|row|block|channel)wise")
    words = operator.split("_")
    kept = [word for index, word in enumerate(words) if index == 0 or not precision.fullmatch(word)]
    return "_".join(kept)


def _stems(operator: str) -> list[str]:
    """gemm_fp8_blockwise → gemm_fp8_blockwise, gemm_fp8: a file is rarely named after the granularity too."""
    words = operator.split("_")
    return ["_".join(words[:count]) for count in range(len(words), max(0, len(words) - 2), -1)]


def _matches(file: str, stems: list[str]) -> bool:
    name = file.rsplit("/", 1)[-1]
    return any(
        re.match(rf"(?:bench_)?{re.escape(stem)}(?:_kernel|_impl|_turbo)?(?:_gfx\w+)?\.\w+\Z", name) for stem in stems
    )


def find_disagreements(request: Request, machine: Mapping[str, str]) -> Iterator[str]:
    """What the request says against itself or against this machine."""
    expected = LANGUAGES.get(request.backend.upper())
    language = request.option("lang")
    if expected and language and language.upper() != expected:
        yield f"backend {request.backend} is written in {expected}, --lang says {language}"
    seen = machine.get("gpu")
    if seen and request.gpu not in ("cpu", seen):
        yield f"the target is {request.gpu}, this machine has {seen}"
    metric = request.option("metric")
    if metric and metric not in METRICS:
        yield f"{metric!r} is not one of {', '.join(METRICS)}"
    mode = recommend_mode(request.backend, request.gpu, new_kernel=request.new_kernel)
    chosen = request.option("mode")
    if chosen and chosen != mode.execution_mode:
        yield f"--mode {chosen} against the recommended {mode.execution_mode} ({mode.why})"
