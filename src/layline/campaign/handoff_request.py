"""What a hand-off is asked for, one row of its answer, and the way of working that a kernel language recommends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.campaign.values.manifest import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

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
            execution_mode="repo", rebuild=None, why="trusted measuring compiles the kernel itself, each time again"
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
