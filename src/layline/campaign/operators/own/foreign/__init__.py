"""Problems in foreign formats, read in place and written down as operator files; nothing of them is copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from layline.campaign.operators.own.foreign.flashinfer import write_flashinfer
from layline.campaign.operators.own.foreign.gpumode import write_gpumode
from layline.campaign.operators.own.foreign.kernelbench import write_kernelbench
from layline.campaign.operators.own.read import OperatorFile, run_text

SCHEMES: dict[str, Callable[[str, Path], tuple[str, Path]]] = {
    "kernelbench": write_kernelbench,
    "flashinfer": write_flashinfer,
    "gpumode": write_gpumode,
}
"""By scheme: the text of an operator file for a problem, and the problem's own file."""


def write_operator_file(scheme: str, rest: str, root: Path) -> tuple[str, Path]:
    """The text of an operator file for a foreign problem, and the file it was made of."""
    return SCHEMES[scheme](rest, root)


def read_foreign(scheme: str, rest: str, root: Path) -> OperatorFile:
    """As if the text had been written to a file; the problem's own bytes belong to it."""
    text, problem = write_operator_file(scheme, rest, root)
    file = run_text(text, f"{scheme}:{rest}", problem.parent)
    return OperatorFile(
        path=problem.stem,
        said=file.said,
        sources=file.sources,
        places=file.places,
        is_foreign=True,
    )
