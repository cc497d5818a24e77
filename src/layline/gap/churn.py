"""Churn split by what kind of file it is, so that "very broad" means something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.patterns import Classes

if TYPE_CHECKING:
    from layline.history.changes import Diff

CODE = "code"
DEFAULT_CHURN_CLASSES: Mapping[str, tuple[str, ...]] = {
    "lock files": (
        "**/uv.lock",
        "**/poetry.lock",
        "**/pdm.lock",
        "**/Pipfile.lock",
        "**/pylock*.toml",
        "**/package-lock.json",
        "**/yarn.lock",
        "**/Cargo.lock",
    ),
    "generated and golden": (
        "**/golden_values*.json",
        "**/golden*/**",
        "tests/**/*.json",
        "**/test*/**/losses/*",
        "tests/assets/**",
        "**/*_pb2.py",
        "**/*_pb2_grpc.py",
        "**/*.pb.*",
        "**/*.min.js",
        "**/*.min.css",
        "**/__snapshots__/**",
        "**/*.snap",
    ),
    "tests": ("tests/**", "test/**", "**/tests/**", "**/test_*.py", "**/*_test.py", "**/conftest.py"),
    "docs": ("docs/**", "doc/**", "**/*.md", "**/*.rst", "**/*.ipynb", "**/*.png", "**/*.svg", "**/*.jpg", "LICENSE*"),
    "workflows and builds": (
        ".github/**",
        ".gitlab/**",
        ".gitlab-ci.yml",
        ".ci/**",
        "ci/**",
        "docker/**",
        "**/Dockerfile*",
        "**/requirements*.txt",
        "**/pyproject.toml",
        "**/setup.py",
        "**/setup.cfg",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """What one class of files contributes to a diff."""

    name: str
    files: int
    insertions: int
    deletions: int

    @property
    def lines(self) -> int:
        return self.insertions + self.deletions


def measure_churn(diff: Diff, patterns: Mapping[str, tuple[str, ...]]) -> tuple[Churn, ...]:
    """Every class in order, empty ones included; the classes add up to the whole diff."""
    classes = Classes(patterns or DEFAULT_CHURN_CLASSES, rest=CODE)
    totals = {name: [0, 0, 0] for name in classes.names}
    for change in diff.files:
        total = totals[classes.of(change.path)]
        total[0] += 1
        total[1] += change.insertions
        total[2] += change.deletions
    return tuple(
        Churn(name=name, files=files, insertions=insertions, deletions=deletions)
        for name, (files, insertions, deletions) in totals.items()
    )
