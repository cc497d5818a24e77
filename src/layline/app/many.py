"""The same questions on many machines: workers answer them and hand over what is to be kept, the driver keeps it.

After that the command runs here as it always does and finds every answer kept: its bytes are those of a local run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path

from layline import codec
from layline.app.carried import RECEIVE, Load, find_place, name_repositories
from layline.app.gap_handed import HANDED
from layline.config import Settings
from layline.core.progress import Progress, silent
from layline.errors import ConfigError, Error
from layline.executors import Plain, Tally, open_executor
from layline.gap.written import Wanted, make_report
from layline.git import open_repository
from layline.patches.drift.ask import find_drift
from layline.source.cache import Rows, cache_directory, collect_rows, store_rows
from layline.upgrade.cells import has_cells, judge_cells
from layline.upgrade.fleet import OPTIONS
from layline.upgrade.fleet_file import read_fleet
from layline.upgrade.impact import find_ends
from layline.upgrade.judging import judge_commit, pin_of
from layline.upgrade.matrix_answer import choose_refs, find_birthday
from layline.upgrade.trend import find_days, find_moment
from layline.workspace.open import Workspace, know_packages

_ANSWER = f"{__name__}:answer"
_MOST_SEEN = 512 << 20
_seen: Rows = {}
"""What this worker handed over: a node may have no cache that the driver writes."""


def spread(words: str, jobs: Iterable[Plain], progress: Progress = silent) -> Tally:
    """Let others answer these questions, and keep what they found; a question that cannot be answered is asked again
    here, where its error belongs.
    """
    listed = list(jobs)
    if not listed:
        return Tally()
    done = 0

    def keep(_: int, answer: Plain) -> None:
        nonlocal done
        done += 1
        progress("waiting for answers", done, len(listed))
        store_rows(cache_directory(), {(analyser, blob): text for analyser, blob, text in answer.pop("rows")})

    load = Load(one for job in listed for one in job["workspace"]["repositories"].values())
    with open_executor(words) as executor, load.pack() as parcels:
        executor.send(RECEIVE, parcels)
        executor.map(_ANSWER, [_address(job, load.describe()) for job in listed], keep)
        return executor.tally


def _address(job: Plain, known: Mapping[str, Plain]) -> Plain:
    """The question, with what each machine needs to find the repositories it is about."""
    named = job["workspace"]["repositories"]
    found = {key: {**one, **known[one["place"]]} for key, one in named.items()}
    return {**job, "workspace": {**job["workspace"], "repositories": found}}


def ask_matrix(workspace: Workspace, key: str, refs: str | None, every: int | None) -> Iterator[Plain]:
    upstream, pin = pin_of(workspace, key)
    chosen = choose_refs(
        upstream, refs, (pin, workspace.settings.backend(key).ref), every, find_birthday(workspace.downstream)
    )
    packed = pack(workspace)
    for commit in dict.fromkeys(ref.commit for ref in chosen):
        yield from _ask_cells(workspace, key, commit, packed)


def ask_trend(workspace: Workspace, key: str, since: date | None) -> Iterator[Plain]:
    for day in find_days(workspace, since):
        with suppress(Error):  # said by the command itself
            moment = find_moment(workspace, key, day)
            yield from _ask_cells(moment[0], key, moment[1], pack(moment[0])) if moment is not None else ()


def ask_impact(ref: str, fleet: Path) -> Iterator[Plain]:
    for project in read_fleet(fleet):
        with suppress(Error):
            workspace = project.open()
            for key in workspace.settings.backends:
                base, tip = find_ends(workspace, key, ref)
                yield {"ask": "breaks", "key": key, "base": base, "tip": tip, "workspace": pack(workspace)}


def ask_fleet(file: Path) -> Iterator[Plain]:
    for project in read_fleet(file):
        with suppress(Error):
            workspace = project.open()
            packed = pack(workspace)
            yield from ({"ask": "drift", "key": key, "workspace": packed} for key in workspace.settings.backends)


def ask_gaps(workspace: Workspace, keys: Iterable[str], wanted: Wanted) -> Iterator[Plain]:
    known = pack(know_packages(workspace))
    return ({"ask": "gap", "key": key, "wanted": codec.encode(wanted), "workspace": known} for key in keys)


def _ask_cells(workspace: Workspace, key: str, commit: str, packed: Plain) -> Iterator[Plain]:
    if not has_cells(workspace, key, commit):
        yield {"ask": "cells", "key": key, "commit": commit, "workspace": packed}


def answer(job: Plain) -> Plain:
    """Answer one question in a worker; nothing is written there, and what was read for one question serves the next."""
    with collect_rows(_seen) as rows:
        try:
            _ASKED[job["ask"]](unpack(job["workspace"]), job)
        except Error as error:
            return {"rows": [], "problem": error.message}
    if sum(map(len, _seen.values())) > _MOST_SEEN:
        _seen.clear()
    _seen.update(rows)
    return {"rows": [(analyser, blob, text) for (analyser, blob), text in rows.items()], "problem": None}


def _answer_cells(workspace: Workspace, job: Plain) -> None:
    judge_cells(workspace, job["key"], job["commit"])


def _answer_gap(workspace: Workspace, job: Plain) -> None:
    make_report(workspace, job["key"], codec.decode(Wanted, job["wanted"], where="job"), HANDED)


def _answer_breaks(workspace: Workspace, job: Plain) -> None:
    judge_commit(workspace, job["key"], job["base"], job["tip"])


def _answer_drift(workspace: Workspace, job: Plain) -> None:
    find_drift(workspace, job["key"], OPTIONS)


_ASKED: Mapping[str, Callable[[Workspace, Plain], None]] = {
    "cells": _answer_cells,
    "gap": _answer_gap,
    "breaks": _answer_breaks,
    "drift": _answer_drift,
}


def pack(workspace: Workspace) -> Plain:
    """A workspace as it travels: settings, commit, and which repositories it needs."""
    if workspace.worktree:
        raise ConfigError(
            "Uncommitted files are not sent to other machines.", hint="Commit them, or leave out --executor."
        )
    return {
        "settings": codec.encode(workspace.settings),
        "root": str(workspace.root.absolute()),
        "commit": workspace.commit,
        "repositories": name_repositories(workspace),
    }


def unpack(plain: Plain) -> Workspace:
    settings = codec.decode(Settings, plain["settings"], where="job")
    places = {key: find_place(one) for key, one in plain["repositories"].items()}
    downstream = open_repository(places.pop(""), plain["repositories"][""]["name"])
    return Workspace(settings, Path(plain["root"]), downstream, plain["commit"], places=places)
