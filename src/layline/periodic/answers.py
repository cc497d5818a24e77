"""The JSON answers of `weekly` and `monthly`."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from layline.core.answers import Skipped


class Downstream(TypedDict):
    repository: str
    ref: str
    before: str | None
    tip: str | None


class PullRequest(TypedDict):
    number: int | None
    title: str
    author: str
    merged: str
    commit: str
    category: str
    reason: str
    files: int


class PinMove(TypedDict):
    """Another upstream commit, version or image."""

    kind: str
    name: str
    file: str
    before: str | None
    after: str | None
    commit: str
    pull_request: int | None
    distance: int | None
    why: str | None


class Notable(TypedDict):
    area: str
    number: int | None
    title: str
    commit: str


class Happened(TypedDict):
    """What the window holds."""

    downstream: Downstream
    pull_requests: list[PullRequest]
    direct_commits: list[str]
    pins: list[PinMove]
    notable: dict[str, list[Notable]]
    skipped: list[Skipped]


class Periodic(Happened):
    """`weekly` and `monthly`."""

    schema: Literal["layline.periodic/1"]
    record: dict[str, Any]
    written: list[str]
