"""The JSON answers of the dashboard commands."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from layline.core.answers import Skipped


class Problem(TypedDict):
    file: str
    place: str
    reason: str


class CheckedSite(TypedDict):
    pages: int
    links: int
    problems: list[Problem]


class Build(TypedDict):
    """`dashboard build`."""

    schema: Literal["layline.dashboard-build/1"]
    output: str
    files: list[str]
    bytes: int
    rendered: int
    unchanged: int
    checked: CheckedSite
    kept: list[str]
    skipped: list[Skipped]


class Check(TypedDict):
    """`dashboard check`."""

    schema: Literal["layline.dashboard-check/1"]
    files: int
    pages: int
    links: int
    bytes: int
    problems: list[Problem]
    skipped: list[Skipped]


class Contradiction(TypedDict):
    """What sources disagree about."""

    about: str
    claims: list[dict[str, Any]]


class Index(TypedDict):
    """`dashboard index`."""

    schema: Literal["layline.dashboard-index/1"]
    written: NotRequired[dict[str, dict[str, Any]]]
    checked: NotRequired[dict[str, dict[str, Any]]]
    stale: NotRequired[list[str]]
    contradictions: list[Contradiction]
    doubtful: list[Skipped]
    skipped: list[Skipped]
