"""Whether a project's tests and benchmarks lead to the kernel that is to be edited. Read, not run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from layline.campaign.project.benchmark import Benchmark
from layline.campaign.project.reach import Reach
from layline.core.evidence import Skipped
from layline.source.parsing import parse_tree

MOST_NAMES = 3
"""Tests that are selected by their whole names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leads:
    """Questions about one tree."""

    reach: Reach
    read: Callable[[str], str | None]

    def is_followed(self, kernel: str | None) -> bool:
        """Whether names can lead there: a file of Python that defines something."""
        return kernel is not None and kernel.endswith(".py") and bool(_parse(kernel, self.read(kernel)).body)

    def find_tests(self, file: str, kernel: str) -> tuple[list[str], list[str]]:
        """A file's tests that lead to the kernel, and those that do not."""
        found: tuple[list[str], list[str]] = ([], [])
        for node in ast.walk(_parse(file, self.read(file))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                found[kernel not in self.reach.find_files(file, [node])].append(node.name)
        return found

    def is_measured(self, benchmark: Benchmark, kernel: str) -> bool:
        """Whether what is run with the benchmark's options leads to the kernel."""
        return kernel in self.reach.find_files(benchmark.path, benchmark.ran)

    def find_variables(self, benchmark: Benchmark, variables: Mapping[str, str]) -> set[str]:
        """Which of these variables something on the way names."""
        return self.reach.find_texts(benchmark.path, benchmark.ran) & variables.keys()

    def choose_reached(self, file: str, kernels: Sequence[str]) -> list[str]:
        """Those of the kernels that a file of tests leads to."""
        reached = self.reach.find_files(file, _parse(file, self.read(file)).body)
        return [one for one in kernels if one in reached]


def choose_words(wanted: Sequence[str], others: Sequence[str], file: str) -> str:
    """What `-k` needs to select some tests and not the others: a word that they alone have, or the others alone, or a few
    names; empty where it would be a long list.
    """
    for first, second, form in ((wanted, others, "{}"), (others, wanted, "not {}")):
        words = [word for word in first[0].lower().split("_") if word and word not in file.lower()]
        for word in words:
            if all(word in name.lower() for name in first) and not any(word in name.lower() for name in second):
                return form.format(word)
    return " or ".join(wanted) if len(wanted) <= MOST_NAMES else ""


def _parse(path: str, text: str | None) -> ast.Module:
    tree = parse_tree(path, (text or "").encode("utf-8", "replace"))
    return ast.Module(body=[], type_ignores=[]) if isinstance(tree, Skipped) else tree
