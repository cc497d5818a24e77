"""Files that are named after an operator: its kernel, its tests, its benchmarks. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from layline.campaign.project_docs import PRECISION
from layline.campaign.values.manifest import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from layline.campaign.handoff_request import Request


def narrow(files: Sequence[str], operator: str, before: str = "") -> list[str]:
    """Those named after the most of the operator's words, from its first on."""
    for stem in find_stems(operator):
        found = [
            file
            for file in files
            if re.match(rf"{before}{re.escape(stem)}(?:_kernel|_impl)?\.\w+\Z", file.rsplit("/", 1)[-1])
        ]
        if found:
            return found
    return []


def find_kernels(request: Request, files: Sequence[str]) -> list[str]:
    """Files of the right language whose name holds every word of the operator that a kernel file would carry."""
    language = LANGUAGES.get(request.backend.upper(), request.backend.upper())
    endings = (".py",) if language in ("TRITON", "FLYDSL") else (".c", ".cu", ".hip", ".cpp")
    folder = re.compile(rf"(^|/){language.lower()}/") if endings == (".py",) else re.compile(r"(^|/)(csrc|kernels?)/")
    stems = find_stems(request.operator)
    return [file for file in files if file.endswith(endings) and folder.search(file) and _matches(file, stems)]


def find_tests(request: Request, files: Sequence[str]) -> list[str]:
    wanted = {f"test_{stem}.py" for stem in find_stems(request.operator)}
    return [file for file in files if file.rsplit("/", 1)[-1] in wanted]


def find_benches(files: Sequence[str], stems: list[str]) -> list[str]:
    return [file for file in files if re.search(r"(^|/)bench", file) and file.endswith(".py") and _matches(file, stems)]


def family(operator: str) -> str:
    """gemm_fp8_blockwise → gemm: one benchmark often serves all precisions of an operator by its options."""
    words = operator.split("_")
    kept = [word for index, word in enumerate(words) if index == 0 or not PRECISION.fullmatch(word)]
    return "_".join(kept)


def find_stems(operator: str) -> list[str]:
    """gemm_fp8_blockwise → gemm_fp8_blockwise, gemm_fp8: a file is rarely named after the granularity too."""
    words = operator.split("_")
    whole = [operator]
    return [*whole, "_".join(words[:-1])] if len(words) > 1 and PRECISION.fullmatch(words[-1]) else whole


def _matches(file: str, stems: list[str]) -> bool:
    name = file.rsplit("/", 1)[-1]
    return any(
        re.match(rf"(?:bench_)?{re.escape(stem)}(?:_kernel|_impl|_turbo)?(?:_gfx\w+)?\.\w+\Z", name) for stem in stems
    )
