"""Fixtures every test may use."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from layline.cli import progress
from layline.sample import Sample, write_sample

if TYPE_CHECKING:
    from xdist.scheduler import LoadFileScheduling

settings.register_profile("any load", deadline=None, max_examples=50)
settings.load_profile("any load")
gc.set_threshold(
    200_000, 20, 50
)  # syntax trees are many objects without cycles; `layline` itself looks for them as seldom


_MEMORY = Path("/dev/shm")
_DAY_S = 86_400
_ROOM = 4 << 30
"""Bytes: a whole run leaves about an eighth of it."""
_FILES = 500_000
"""So many more files must fit: runs that failed leave theirs, and several may go on at a time."""
_PLACE, _PASSED = pytest.StashKey[str](), pytest.StashKey[bool]()
_TOGETHER = {
    "tests/browser/": "browser",
    "tests/unit/mcp/": "server and drawn values",
    "tests/functional/test_mcp.py": "server and drawn values",
    "tests/properties/": "server and drawn values",
    "tests/unit/campaign/ledger/test_ledger.py": "server and drawn values",
    "tests/unit/campaign/proposers/test_proposers.py": "server and drawn values",
    "tests/unit/dashboard/test_prose.py": "server and drawn values",
    "tests/unit/render/test_article.py": "server and drawn values",
    "tests/unit/render/test_charts.py": "server and drawn values",
}
"""Files that begin so are run by one worker: what they start, import or read is dear, and needed once."""


def pytest_configure(config: pytest.Config) -> None:
    """A hundred thousand small files are made and removed: in memory that costs a quarter. Where there is little, or
    nothing may be run from it, they are made where they would have been."""
    if "PYTEST_XDIST_WORKER" in os.environ or "TMPDIR" in os.environ or config.option.basetemp or not _MEMORY.is_dir():
        return
    about = os.statvfs(_MEMORY)
    is_full = about.f_bavail * about.f_frsize < _ROOM or about.f_favail < _FILES
    if is_full or about.f_flag & os.ST_NOEXEC:
        return
    for left in _MEMORY.glob("layline-tests-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _DAY_S:  # of a run that failed or was killed
                shutil.rmtree(left)
    place = tempfile.mkdtemp(prefix="layline-tests-", dir=_MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = config.stash[_PLACE] = place


def pytest_unconfigure(config: pytest.Config) -> None:
    """What failed can be looked at."""
    place = config.stash.get(_PLACE, None)
    if place is not None and config.stash.get(_PASSED, False):
        shutil.rmtree(place, ignore_errors=True)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_PASSED] = exitstatus == 0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadFileScheduling:
    """File by file, and some files together."""
    from xdist.scheduler import LoadFileScheduling

    scheduling = LoadFileScheduling(config, log)
    by_file = scheduling._split_scope

    def split_scope(nodeid: str) -> str:
        together = (scope for start, scope in _TOGETHER.items() if nodeid.startswith(start))
        return next(together, by_file(nodeid))

    scheduling._split_scope = split_scope
    return scheduling


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(report: object) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Three reports of each test travel from a worker: of its keywords, the markers and folders it stands in, nobody
    reads there."""
    told = yield
    if told is not None and isinstance(report, pytest.TestReport):
        told["keywords"] = {}
    return told


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems() -> Generator[None, None, None]:
    """Hypothesis draws from the constants of our source, for which it parses all of it: the worker that runs its tests
    does so at the first of them, not each worker before any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", lambda: None)
        yield


def pytest_collection_finish() -> None:
    """Thousands of tests and modules stay until the end: nobody need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file of tests has left is collected with the git processes it holds, and what stays is not looked at again:
    a drift collects each time, which costs a fifth of a second among the leavings of a thousand tests."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def tests_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the user's cache, and the sample is read once for all workers: a kept answer equals a
    fresh one (`LAYLINE_CHECK` shows it). A test of the cache itself, or of a cold answer, names a cache of its own."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAYLINE_CACHE", str(shared / "cache"))
        patch.setattr(progress, "_PAUSE_S", 3600)  # or other work that slows a command down makes it say more
        yield


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For a test of what is done when nothing is kept."""
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "empty-cache"))
    return tmp_path / "empty-cache"


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
