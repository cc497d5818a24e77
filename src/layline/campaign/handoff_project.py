"""The tree that a hand-off looks at, and rows that one given value or one match answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.campaign.handoff_request import Prerequisite, Request
from layline.campaign.project.benchmark import Benchmark, find_tasks
from layline.campaign.project.leads import Leads
from layline.campaign.project_docs import Line, find_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SHOWN = 5
"""Candidates that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The tree's files, and what its skills and pages say."""

    files: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Of its benchmarks: programs, and suites of commands for them."""
    read: Callable[[str], str | None] = lambda _path: None
    """The text of a file of the tree."""
    benchmark: Benchmark | None = None
    """What the focused benchmark does, where it could be followed."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for backends that its code names, and where."""
    leads: Leads | None = None
    follow: Callable[[str, str], Benchmark | None] = lambda _path, _command: None
    """A benchmark of the tree, as a command starts it."""

    @property
    def lines(self) -> list[Line]:
        """Commands that documents show, and those of the project's suites."""
        files = list(self.files)
        tasks = (
            task
            for path, text in self.sources.items()
            if path.endswith((".yaml", ".yml"))
            for task in find_tasks(path, text, files)
        )
        return [*find_lines(self.texts), *(Line(text=task.text, where=task.where) for task in tasks)]


def choose(request: Request, option: str, candidates: list[str], name: str) -> Prerequisite:
    given = request.option(option)
    if given:
        return Prerequisite(name=name, value=given, found="given")
    if len(candidates) == 1:
        return Prerequisite(name=name, value=candidates[0], found="the only file whose name fits")
    if candidates:
        return Prerequisite(
            name=name,
            value=None,
            found=f"missing: {len(candidates)} candidates ({list_some(candidates)}); pass --{option}",
        )
    return Prerequisite(
        name=name,
        value=None,
        found=f"missing: no candidate file is named after {request.operator}; pass --{option}",
    )


def list_some(files: Sequence[str]) -> str:
    more = len(files) - SHOWN
    return ", ".join(files[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def form_command(request: Request, option: str, candidates: list[str], name: str, form: str) -> Prerequisite:
    found = choose(request, option, candidates, name)
    if found.value is None or found.found == "given":
        return found
    return Prerequisite(name=name, value=form.format(found.value), found=found.found)
