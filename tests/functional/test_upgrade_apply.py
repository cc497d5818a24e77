"""`upgrade apply` on a real history: a branch of its own, one commit for each culprit, whole at every moment."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from commands import Running, layline
from upgrading import Files, Project, make_project

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total + {}\n"


def function(name: str, seed: int) -> str:
    return f"def {name}(x):\n{BODY.format(seed)}"


STEPS: list[tuple[str, Files]] = [
    ("pin", {f"keel/m{n}.py": function(f"f{n}", n) for n in range(4)}),
    ("Move f0 (#2)", {"keel/m0.py": None, "keel/n0.py": function("f0", 0)}),
    ("Remove f1 (#3)", {"keel/m1.py": "x = 1\n"}),
    ("Move f2 (#4)", {"keel/m2.py": None, "keel/n2.py": function("f2", 2)}),
    ("Say nothing (#5)", {"README.md": "keel\n"}),
]
OURS: Files = {
    "own/use0.py": "# kept\nfrom keel.m0 import f0\n",
    "own/use1.py": "from keel.m1 import f1\n",
    "own/use2.py": "from keel.m2 import f2  # kept, too\n",
    "run_tests.sh": "grep -q keel.n0 own/use0.py && test -e third_party/keel/keel/n0.py && ! grep -rq 'keel.n2' own\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("apply")
    project = make_project(root / "project", STEPS, OURS)
    hook = project.downstream.path / ".git/hooks/reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {root}/hook-ran\n")
    hook.chmod(0o755)
    return project


@pytest.fixture
def project(made: Project, tmp_path: Path) -> Project:
    """A copy, with the files and the index of its commit."""
    shutil.copytree(made.root, tmp_path / "project", symlinks=True)
    place = tmp_path / "project"
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        subprocess.run(["git", "-C", place / "down", "config", key, value], check=True)
    downstream = type(made.downstream)(place / "down", list(made.downstream.commits))
    upstream = type(made.upstream)(place / "up", list(made.upstream.commits))
    return Project(place, upstream, downstream)


def branch(project: Project, name: str = "layline/upgrade-keel") -> list[str]:
    """Subjects' steps of the branch, oldest first."""
    out = project.downstream.git(
        "log", "--reverse", "--format=%(trailers:key=Layline-Step,valueonly,separator=)", f"main..{name}"
    )
    return out.split()


def test_each_culprit_is_a_commit_and_the_current_branch_stays(project: Project, tmp_path: Path) -> None:
    before = project.downstream.git("rev-parse", "HEAD"), project.downstream.git("status", "--porcelain")
    done = layline("upgrade", "apply", "keel", "--format", "json", cwd=project.root)
    assert done.code == 1, done.err  # one place is left for a person
    assert branch(project) == ["1/4", "2/4", "3/4", "4/4"]
    assert (project.downstream.git("rev-parse", "HEAD"), project.downstream.git("status", "--porcelain")) == before
    name = "layline/upgrade-keel"
    assert project.downstream.git("show", f"{name}:own/use0.py") == "# kept\nfrom keel.n0 import f0"
    assert project.downstream.git("show", f"{name}:own/use2.py") == "from keel.n2 import f2  # kept, too"
    pins = [project.downstream.git("rev-parse", f"{name}~{back}:third_party/keel") for back in (3, 2, 1, 0)]
    assert pins == project.upstream.commits[1:]
    assert not list(tmp_path.parent.rglob("hook-ran"))
    body = project.downstream.git("show", "-s", "--format=%b", f"{name}~3")
    assert "own/use0.py:2: keel.m0.f0 → keel.n0.f0" in body
    check = layline("upgrade", "check", "keel", "--at", name, "--format", "json", cwd=project.root).json
    assert (check["does_not_fit"], check["planned"]) == (1, 1)
    again = layline("upgrade", "apply", "keel", "--format", "json", cwd=project.root).json
    assert (again["commits"], again["done"]) == ([], 4)


def test_steps_one_at_a_time_end_at_the_same_commit(project: Project) -> None:
    for step in ("1", "3"):
        layline("upgrade", "apply", "keel", "--step", step, "--branch", "slow", cwd=project.root)
    assert branch(project, "slow") == ["1/4", "2/4", "3/4"]
    layline("upgrade", "apply", "keel", "--branch", "slow", cwd=project.root)
    layline("upgrade", "apply", "keel", "--branch", "fast", cwd=project.root)
    assert project.downstream.git("rev-parse", "slow") == project.downstream.git("rev-parse", "fast")


def test_a_step_whose_tests_fail_is_kept_and_marked(project: Project) -> None:
    done = layline("upgrade", "apply", "keel", "--test", "sh run_tests.sh", "--format", "json", cwd=project.root)
    assert [one["tests"] for one in done.json["commits"]] == ["passed", "passed", "failed (exit 1)", "failed (exit 1)"]
    marks = project.downstream.git(
        "log", "--reverse", "--format=%(trailers:key=Layline-Tests,valueonly,separator=)", "main..layline/upgrade-keel"
    )
    assert marks.splitlines() == ["passed", "passed", "failed (exit 1)", "failed (exit 1)"]


def test_refused_and_nothing_changed(project: Project) -> None:
    """The other refusals: tests/unit/upgrade/test_refused.py."""
    (project.downstream.path / "own/use0.py").write_text("x = 1\n")
    before = project.downstream.git("for-each-ref"), project.downstream.git("status", "--porcelain")
    done = layline("upgrade", "apply", "keel", cwd=project.root)
    assert (done.code, "1 file of own has uncommitted edits (own/use0.py)" in done.err) == (2, True), done.err
    assert (project.downstream.git("for-each-ref"), project.downstream.git("status", "--porcelain")) == before


def test_killed_at_any_moment_it_leaves_whole_commits_and_goes_on(project: Project) -> None:
    """Each run is killed a little later than the one before; the test command of a step is the longest moment."""
    whole = project.downstream.path.parent / "whole"
    shutil.copytree(project.root, whole, symlinks=True)
    words = ("upgrade", "apply", "keel", "--test", "sleep 0.2", "--format", "json")
    layline(*words, cwd=whole)
    wanted = subprocess.run(
        ["git", "-C", whole / "down", "rev-parse", "layline/upgrade-keel"], capture_output=True, text=True, check=True
    ).stdout.strip()
    seen: list[int] = []
    began = time.monotonic()
    for attempt in range(60):
        with Running(words, project.root) as running:
            if not running.has_ended(0.2 + 0.3 * attempt):
                running.kill()
            out = running.wait().out
        steps = branch(project) if project.downstream.git("branch", "--list", "layline/upgrade-keel") else []
        assert steps == [f"{number}/4" for number in range(1, len(steps) + 1)]
        assert project.downstream.git("fsck", "--connectivity-only", "--no-dangling") == ""
        seen.append(len(steps))
        if out and json.loads(out)["done"] == 4:
            break
        assert time.monotonic() - began < 400
    assert seen[-1] == 4
    assert seen == sorted(seen)
    assert project.downstream.git("rev-parse", "layline/upgrade-keel") == wanted
