"""A pin that our own settings file writes: moved in place, comments and layout kept, or refused before the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import layline
from layline.upgrade.pin_edit import move_revision
from upgrading import Project, make_project

HASH = "5" * 40
MOVED = [
    ('pin = { revision = "v1.0" }  # ours\n', "", 'pin = { revision = "NEW" }  # ours\n'),
    ("pin={revision='v1.0'}\n", "", "pin={revision='NEW'}\n"),
    (
        '# pin = { revision = "v1.0" }\npin.revision = "v1.0"\n',
        "",
        '# pin = { revision = "v1.0" }\npin.revision = "NEW"\n',
    ),
    (
        'label = "v1.0"\n[backends.keel.pin]\nrevision = "v1.0"\n',
        "",
        'label = "v1.0"\n[backends.keel.pin]\nrevision = "NEW"\n',
    ),
    (
        'pin = { revision = "v1.0" }\n[backends.spar]\npin = { revision = "v1.0" }\n',
        "",
        'pin = { revision = "NEW" }\n[backends.spar]\npin = { revision = "v1.0" }\n',
    ),
    ('pin = { revision = "v1.0" }\n', "v1.10 latest", 'pin = { revision = "v1.10" }\n'),  # a tag stays a tag
    ('pin = { revision = "v1.0" }\n', "latest", 'pin = { revision = "NEW" }\n'),
    ('pin = { revision = """v1.0""" }\n', "", 'pin = { revision = """NEW""" }\n'),
    ('pin = { revision = "v1\\u002e0" }\n', "", None),  # spelled otherwise than it reads
    ('pin = { file = "pin.txt" }\n', "", None),
]


@pytest.mark.parametrize(("block", "tags", "wanted"), MOVED)
def test_the_settings_keep_their_layout(block: str, tags: str, wanted: str | None) -> None:
    head = '[project]\nname = "own"  # kept\n\n[backends.keel]\n'
    edited = move_revision(head + block, "keel", HASH, frozenset(tags.split()))
    assert edited == (None if wanted is None else head + wanted.replace("NEW", HASH))


FUNCTION = "def f(x):\n    total = 0\n    for step in range(x):\n        total += step * x\n    return total\n"
SETTINGS = """\
# Written by `layline init`
[project]
name = "own"

[backends.keel]
# the lowest version that pyproject.toml allows
pin = { revision = "v1.0" }  # tested with this one
objects = "../up"
packages = ["keel"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(
        tmp_path / "project",
        [
            ("pin", {"keel/a.py": FUNCTION}),
            ("Move f (#2)", {"keel/a.py": None, "keel/b.py": FUNCTION}),
            ("Say", {"x": ""}),
        ],
        {"own/use.py": "from keel.a import f\n"},
    )
    made.upstream.git("tag", "v1.0", made.upstream.commits[0])
    (made.root / "layline.toml").unlink()
    (made.downstream.path / "layline.toml").write_text(SETTINGS)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        made.downstream.git("config", name, value)
    return made


def test_a_pin_of_the_settings_moves_with_each_step(project: Project) -> None:
    down = project.downstream
    down.git("add", "layline.toml")
    down.git("commit", "-q", "-m", "Configure")
    plan = layline("upgrade", "plan", "keel", "--format", "json", cwd=down.path).json
    assert plan["apply_refuses"] is None
    done = layline("upgrade", "apply", "keel", cwd=down.path)
    assert done.code == 0, done.err
    name = "layline/upgrade-keel"
    for back, commit in ((1, project.upstream.commits[1]), (0, project.upstream.commits[2])):
        assert down.git("show", f"{name}~{back}:layline.toml") == SETTINGS.replace("v1.0", commit).strip()
    assert (down.path / "layline.toml").read_text() == SETTINGS
    check = layline("upgrade", "check", "keel", "--at", name, "--format", "json", cwd=down.path).json
    assert (check["pin"], check["does_not_fit"], check["planned"]) == (project.upstream.commits[2], 0, 0)
    down.git("switch", "-q", name)
    assert layline("upgrade", "check", "keel", "--format", "json", cwd=down.path).json["planned"] == 0


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("down", "layline.toml holds the pin and is not committed: commit that file first"),
        ("ignored", "layline.toml holds the pin and git ignores it: add it with `git add -f`"),
        (".", "is outside own: set backends.keel.pin.revision there by hand"),
    ],
)
def test_what_apply_refuses_the_plan_says_first(project: Project, place: str, said: str) -> None:
    folder = project.root / ("down" if place == "ignored" else place)
    if place == "ignored":
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "exclude").write_text("layline.toml\n")
    if place == ".":
        (project.downstream.path / "layline.toml").unlink()
        text = SETTINGS.replace('name = "own"', 'name = "own"\ngit = "down"').replace("../up", "up")
        (folder / "layline.toml").write_text(text)
    plan = layline("upgrade", "plan", "keel", cwd=folder)
    assert "`upgrade apply` cannot move the pin. " in plan.out.splitlines()[1]
    assert said in plan.out.splitlines()[1]
    done = layline("upgrade", "apply", "keel", cwd=folder)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert project.downstream.git("branch", "--list", "layline/*") == ""
