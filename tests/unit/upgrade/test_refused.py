"""Projects and refs that an upgrade cannot be made from: one sentence each, and nothing is changed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from commands import layline
from layline.app.upgrade import upgrade_apply, upgrade_plan
from layline.errors import Error
from layline.upgrade.apply import ApplyOptions, apply_plan, refuse_project
from layline.upgrade.planning import make_plan
from layline.upgrade.question import ask
from upgrading import Files, Project, make_project

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total + {}\n"
STEPS: list[tuple[str, Files]] = [
    ("pin", {"keel/a.py": f"def f(x):\n{BODY.format(1)}", "keel/b.py": f"def g(x):\n{BODY.format(2)}"}),
    (
        "Move f and g (#2)",
        {
            "keel/a.py": None,
            "keel/b.py": None,
            "keel/c.py": f"def f(x):\n{BODY.format(1)}\n\ndef g(x):\n{BODY.format(2)}",
        },
    ),
]
OURS: Files = {"own/use.py": "from keel.a import f\n", "own/made.py": "# @generated\nfrom keel.b import g\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("refused") / "project", STEPS, OURS)


@pytest.fixture
def project(made: Project, tmp_path: Path) -> Project:
    shutil.copytree(made.root, tmp_path / "project", symlinks=True)
    place = tmp_path / "project"
    downstream = type(made.downstream)(place / "down", list(made.downstream.commits))
    upstream = type(made.upstream)(place / "up", list(made.upstream.commits))
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        downstream.git("config", key, value)
    return Project(place, upstream, downstream)


def nothing(project: Project) -> None:
    """The project is fine; what is asked for is not."""


def edit(project: Project) -> None:
    (project.downstream.path / "own/use.py").write_text("x = 1\n")


def cut_history(project: Project) -> None:
    shutil.move(project.upstream.path, project.root / "whole")
    url = f"file://{project.root / 'whole'}"
    subprocess.run(["git", "clone", "-q", "--depth=1", url, project.upstream.path], check=True)


def cut_between(project: Project) -> None:
    cut_history(project)
    whole = project.root / "whole"
    subprocess.run(["git", "-C", whole, "config", "uploadpack.allowAnySHA1InWant", "true"], check=True)
    pin = project.upstream.commits[0]
    subprocess.run(["git", "-C", project.upstream.path, "fetch", "-q", "--depth=1", "origin", pin], check=True)


def lose_objects(project: Project) -> None:
    blob = project.upstream.git("rev-parse", "main:keel/c.py")
    (project.upstream.path / ".git/objects" / blob[:2] / blob[2:]).unlink()


def begin_anew(project: Project) -> None:
    project.upstream.git("checkout", "-q", "--orphan", "other")
    project.upstream.commit("Another project", {"README.md": "keel\n"})
    project.upstream.git("checkout", "-q", "main")


def hold_another(project: Project) -> None:
    project.downstream.git("branch", "taken")
    project.downstream.git("checkout", "-q", "taken")
    project.downstream.git("commit", "-q", "--allow-empty", "-m", "Other work")
    project.downstream.git("checkout", "-q", "main")


def stand_in_the_way(project: Project) -> None:
    project.downstream.git("branch", "layline")


def leave_lock(project: Project) -> None:
    """As git does when it is killed while it moves a branch."""
    folder = project.downstream.path / ".git/refs/heads/layline"
    folder.mkdir()
    (folder / "upgrade-keel.lock").touch()


def make_bare(project: Project) -> None:
    project.downstream.git("clone", "-q", "--bare", ".", str(project.root / "bare.git"))
    text = (project.root / "layline.toml").read_text()
    (project.root / "layline.toml").write_text(text.replace('"down"', '"bare.git"'))


def lose_project(project: Project) -> None:
    write_fleet(project, "nowhere")


def write_fleet(project: Project, config: str = "layline.toml") -> None:
    (project.root / "fleet.toml").write_text(f'projects = ["{config}"]\n')


def pin_newest(project: Project) -> None:
    project.downstream.gitlink("third_party/keel", project.upstream.commits[-1])
    project.downstream.commit("Pin the newest")


APPLY = ("upgrade", "apply", "keel")
IMPACT = ("impact", "--fleet=fleet.toml")
REFUSED: list[tuple[str, Callable[[Project], None], tuple[str, ...], str]] = [
    ("a dirty tree", edit, APPLY, "1 file of own has uncommitted edits (own/use.py); nothing was changed."),
    ("the current branch", nothing, (*APPLY, "--branch=main"), "The branch main is checked out; nothing was changed."),
    ("other work", hold_another, (*APPLY, "--branch=taken"), "has commits that are not steps of this plan"),
    ("no name for a branch", nothing, (*APPLY, "--branch=a..b"), "'a..b' is not a valid branch name"),
    ("an empty name for a branch", nothing, (*APPLY, "--branch="), "'' is not a valid branch name"),
    (
        "a branch in the way",
        stand_in_the_way,
        APPLY,
        "The branch layline exists, so git cannot make layline/upgrade-keel",
    ),
    (
        "a lock of a killed git",
        leave_lock,
        APPLY,
        "git could not write the branch layline/upgrade-keel; it is unchanged: ",
    ),
    ("no work tree", make_bare, APPLY, "bare.git has no work tree to make a branch from; nothing was changed."),
    ("an empty ref", nothing, (*APPLY, "--to="), "'' is not a ref."),
    ("plan: an empty ref", nothing, ("upgrade", "plan", "keel", "--to="), "'' is not a ref."),
    ("an unknown ref", nothing, (*APPLY, "--to=nowhere"), "keel has no ref called 'nowhere'"),
    ("a ref like an option", nothing, (*APPLY, "--to=--all"), "'--all'"),
    ("the pin itself", nothing, (*APPLY, "--to=main~1"), "is the pin itself"),
    ("a ref behind the pin", pin_newest, (*APPLY, "--to=main~1"), "is behind the pin"),
    ("another history", begin_anew, (*APPLY, "--to=other"), "share no history"),
    ("a shallow clone", cut_history, APPLY, "keel has no object"),
    ("history that is cut between", cut_between, APPLY, "is shallow and does not hold the history from"),
    ("missing objects", lose_objects, APPLY, "keel has no object"),
    ("plan: an unknown ref", nothing, ("upgrade", "plan", "keel", "--to=nowhere"), "keel has no ref called 'nowhere'"),
    ("plan: behind the pin", pin_newest, ("upgrade", "plan", "keel", "--to=main~1"), "is behind the pin"),
    ("plan: missing objects", lose_objects, ("upgrade", "plan", "keel"), "keel has no object"),
    ("check: an unknown pin", nothing, ("upgrade", "check", "keel", "--pin=nowhere"), "no ref called 'nowhere'"),
    ("matrix: an unknown ref", nothing, ("patches", "matrix", "keel", "--refs=nowhere"), "no ref called 'nowhere'"),
    ("matrix: backwards", nothing, ("patches", "matrix", "keel", "--refs=main..main~1"), "does not come after main"),
    (
        "trend: a shallow clone",
        cut_history,
        ("gap", "trend", "keel"),
        "keel is shallow and holds no commit of that time.",
    ),
    ("watch: a shallow clone", cut_history, ("watch",), "keel has no object"),
    ("impact: an unknown ref", write_fleet, (*IMPACT, "nowhere"), "No project of fleet.toml has an upstream with"),
    ("impact: a project that is not there", lose_project, (*IMPACT, "main"), "No project of fleet.toml can be read: "),
    ("impact: nothing before it", write_fleet, (*IMPACT, "main~1"), "main~1 is the first commit of keel"),
    (
        "trend: a future day",
        nothing,
        ("gap", "trend", "keel", "--since=2999-01-01"),
        "The newest commit is of 2026-01-01",
    ),
]


@pytest.mark.usefixtures("empty_cache")  # a plan that is kept needs no object any more
@pytest.mark.parametrize(("spoil", "words", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused_in_one_sentence_and_nothing_changed(
    project: Project, spoil: Callable[[Project], None], words: tuple[str, ...], said: str
) -> None:
    spoil(project)
    before = project.downstream.git("for-each-ref"), project.downstream.git("status", "--porcelain")
    done = layline(*words, cwd=project.root)
    sentence, *hint = done.err.strip().splitlines()
    assert said in sentence
    assert (done.code, done.out, len(hint) <= 1) == (2, "", True), done
    assert (project.downstream.git("for-each-ref"), project.downstream.git("status", "--porcelain")) == before


def test_a_file_that_is_not_what_the_plan_read_is_refused(project: Project) -> None:
    workspace, options = project.open(), ApplyOptions()
    plan = make_plan(ask(workspace, "keel", "main"))
    (edit,) = plan.steps[0].edits
    stale = replace(plan, steps=(replace(plan.steps[0], edits=(replace(edit, before="0" * 64),)),))
    with pytest.raises(Error, match=r"own/use.py changed since the plan read it; the branch stays at"):
        apply_plan(workspace, stale, refuse_project(workspace, "keel", options), options)
    assert project.downstream.git("branch", "--list", "layline/*") == ""


def test_another_branch_than_the_pins_is_said(project: Project) -> None:
    project.upstream.git("checkout", "-q", "-b", "release", "main~1")
    project.upstream.commit("Only here", {"keel/d.py": "x = 1\n"})
    project.downstream.gitlink("third_party/keel", project.upstream.commits[1])
    project.downstream.commit("Pin the newest")
    answer = upgrade_plan(project.open(), "keel", to="release")
    assert answer.listing is not None
    assert any(
        "is on another branch than the pin: 1 commit of the pin's own branch is not in it" in line
        for line in answer.listing.meta
    )


def test_generated_and_linked_files_stay(project: Project) -> None:
    """The mend would be sure; who writes the file must make it."""
    (project.downstream.path / "own/link.py").symlink_to("use.py")
    project.downstream.git("add", "own/link.py")
    project.downstream.git("commit", "-q", "-m", "Link")
    upgrade_apply(project.open(), "keel", ApplyOptions())
    branch = "layline/upgrade-keel"
    assert project.downstream.git("show", f"{branch}:own/made.py") == OURS["own/made.py"].strip()  # type: ignore[union-attr]
    assert project.downstream.git("ls-tree", branch, "own/link.py").startswith("120000")
    assert project.downstream.git("show", f"{branch}:own/use.py") == "from keel.c import f"
