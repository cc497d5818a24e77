"""`cache info|clear`, and what a broken, foreign or read-only cache costs: time, never an answer."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from commands import Result, Running, layline
from histories import History

UPSTREAM = {"up/__init__.py": "", "up/a.py": "def f(): pass\n"}
BOOT = "import up.a\n\n\ndef new(): pass\n\n\nup.a.f = new\n"


class Project:
    def __init__(self, root: Path) -> None:
        upstream = History.start(root / "up")
        pin = upstream.commit("Add", dict(UPSTREAM))
        downstream = History.start(root / "down")
        downstream.commit("all", {"own/__init__.py": "", "own/boot.py": BOOT})
        self.place, self.cache = downstream.path, root / "cache"
        text = f'[project]\nname = "own"\n\n[backends.up]\npin = {{ revision = "{pin}" }}\nobjects = "{upstream.path}"\npackages = ["up"]\n'  # fmt: skip
        (self.place / "layline.toml").write_text(text)

    def ask(self, *words: str, **more: str) -> Result:
        return layline(*words, cwd=self.place, env={"LAYLINE_CACHE": str(self.cache), **more})

    def list(self, **more: str) -> Result:
        return self.ask("patches", "list", "up", "--format", "json", **more)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_info_and_clear(project: Project) -> None:
    empty = project.ask("cache", "info", "--format", "json").json
    assert (empty["schema"], empty["bytes"], empty["contents"]) == ("layline.cache/1", 0, [])
    first = project.list()
    found = project.ask("cache", "info", "--format", "json").json
    assert {"result-inventory"} <= {item["what"] for item in found["contents"]}
    assert 0 < found["bytes"] < found["limit_bytes"]
    cleared = project.ask("cache", "clear", "--format", "json").json
    assert cleared["freed_bytes"] >= found["bytes"]
    assert list(project.cache.iterdir()) == []
    assert project.ask("cache", "clear").code == 0
    assert project.list().json == first.json


def test_a_broken_cache_costs_time_only(project: Project) -> None:
    first = project.list().json
    file = project.cache / "source.sqlite"
    file.write_bytes(b"no database" * 1000)
    assert project.list().json == first
    with closing(sqlite3.connect(file)) as connection, connection:  # every row holds something else
        connection.execute("UPDATE module SET text = '{\"cut\": 1}'")
    assert project.list().json == first
    assert project.list(LAYLINE_CHECK="1").json == first


def test_a_cache_that_cannot_be_written_costs_time_only(project: Project) -> None:
    first = project.list().json
    project.cache.joinpath("source.sqlite").unlink()
    blocked = project.cache.parent / "blocked"
    blocked.write_text("a file where a folder should be\n")
    answer = layline(
        "patches", "list", "up", "--format", "json", cwd=project.place, env={"LAYLINE_CACHE": str(blocked)}
    )
    assert (answer.code, answer.json) == (0, first)


def test_two_processes_at_once(project: Project) -> None:
    command = ("patches", "list", "up", "--format", "json")
    env = {**os.environ, "LAYLINE_CACHE": str(project.cache)}
    running = [Running(command, project.place, env) for _ in range(3)]
    answers = []
    for process in running:
        with process:
            answers.append(process.wait())
    assert len({answer.out for answer in answers}) == 1
    assert [answer.code for answer in answers] == [0, 0, 0]
