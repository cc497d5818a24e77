"""`upgrade apply` on a real history: a branch of its own, one commit for each culprit, whole at every moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import layline
from histories import History
from layline.git.write import WorkTree
from layline.upgrade.apply import ApplyOptions, apply_plan, refuse_project
from layline.upgrade.planning import make_plan
from layline.upgrade.question import ask
from layline.upgrade.values import Plan
from layline.workspace.open import open_workspace
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
    "run_tests.sh": (
        "grep -q keel.n0 own/use0.py && test -e third_party/keel/keel/n0.py || exit 2\n"
        "if grep -rq 'keel.n2' own; then echo 'n2 is too new'; exit 1; fi\n"
    ),
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
    mend = project.downstream.git("commit-tree", f"{name}^{{tree}}", "-p", name, "-m", "By hand")
    assert layline("upgrade", "check", "keel", "--at", mend, "--format", "json", cwd=project.root).json["planned"] == 1
    again = layline("upgrade", "apply", "keel", "--format", "json", cwd=project.root).json
    assert (again["commits"], again["done"]) == ([], 4)


def test_steps_one_at_a_time_end_at_the_same_commit(project: Project) -> None:
    told = [
        layline("upgrade", "apply", "keel", "--step", step, "--branch", "slow", cwd=project.root) for step in ("1", "3")
    ]
    assert "1 of 4 steps done; 1 place mended in these steps, 0 left for a person." in told[0].out
    assert "3 of 4 steps done; 2 places mended in these steps, 1 left for a person." in told[1].out
    assert [one.code for one in told] == [0, 1]
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
    text = layline("upgrade", "apply", "keel", "--test", "sh run_tests.sh", "--branch", "again", cwd=project.root).out
    assert text.count("tests failed (exit 1): n2 is too new") == 2


BEFORE = 2
"""Steps before the one that is killed: it moves the pin and edits a file."""
MOMENTS = [
    # (git's word, whether it has run when the kill comes, the steps that the branch holds then)
    ("ls-tree", False, 2),  # nothing of the step is made
    ("cat-file", True, 2),  # its files are read
    ("hash-object", True, 2),  # an edited file is written
    ("read-tree", True, 2),  # an index of its own is filled
    ("update-index", True, 2),  # the pin and the mends are in that index
    ("write-tree", True, 2),  # the tree is written
    ("commit-tree", False, 2),
    ("commit-tree", True, 2),  # the commit is whole, the branch does not know it
    ("update-ref", False, 2),
    ("update-ref", True, 3),
    ("test", False, 2),  # the files of the step are laid out, its tests run
]

KILLS = "! test -e third_party/keel/keel/n2.py || kill -9 $PPID"
"""Upstream has the file from the third step on."""


def kill_at(root: Path, plan: Plan, moment: tuple[str, bool], test: str | None) -> int:
    """Apply in a process of its own that SIGKILL ends at a moment of its third step; how it ended."""
    word, after = moment
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:  # the child never comes back into the test
        workspace, options = open_workspace(root / "layline.toml"), ApplyOptions(test=test)
        tree = refuse_project(workspace, "keel", options)
        real, done = WorkTree.git, list[str]()

        def git(self: WorkTree, *words: str, **more: Any) -> bytes:
            due = word in words and done.count("update-ref") == BEFORE
            if due and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            out = real(self, *words, **more)
            if due and after:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(words[0])
            return out

        WorkTree.git = git  # type: ignore[method-assign]
        apply_plan(workspace, plan, tree, options)
    finally:
        os._exit(3)


def test_killed_at_each_moment_it_leaves_whole_commits_and_goes_on(project: Project, tmp_path: Path) -> None:
    workspace = project.open()
    plan = make_plan(ask(workspace, "keel", "main"))
    whole = tmp_path / "whole"
    shutil.copytree(project.root, whole, symlinks=True)
    wanted = go_on(whole, plan)
    for number, (word, after, steps) in enumerate(MOMENTS):
        root = tmp_path / f"killed{number}"
        shutil.copytree(project.root, root, symlinks=True)
        ended = kill_at(root, plan, (word, after), KILLS if word == "test" else None)
        assert ended == -signal.SIGKILL, word
        killed = History(root / "down", list(project.downstream.commits))
        assert branch(Project(root, project.upstream, killed)) == [f"{one}/4" for one in range(1, steps + 1)], word
        assert killed.git("fsck", "--connectivity-only", "--no-dangling") == ""
        assert killed.git("status", "--porcelain") == ""
        assert go_on(root, plan) == wanted, word
        assert len(branch(Project(root, project.upstream, killed))) == len(plan.steps)


def go_on(root: Path, plan: Plan) -> str:
    """Apply to the end; the files of the branch then."""
    workspace, options = open_workspace(root / "layline.toml"), ApplyOptions()
    apply_plan(workspace, plan, refuse_project(workspace, "keel", options), options)
    return History(root / "down", []).git("rev-parse", "layline/upgrade-keel^{tree}")
