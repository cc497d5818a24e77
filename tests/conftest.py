"""Fixtures every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layline.sample import Sample, write_sample


@pytest.fixture(autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache."""
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path_factory.mktemp("cache")))


def real_repository(variable: str) -> Path:
    """The clone an environment variable names; the test is skipped where it is not set."""
    place = os.environ.get(variable)
    if not place:
        pytest.skip(f"{variable} is not set")
    return Path(place)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The embedded sample, shared: read it, never write into it (`write_sample(tmp_path)` takes a fraction of a
    second)."""
    return write_sample(tmp_path_factory.mktemp("sample") / "world")
