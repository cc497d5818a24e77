"""A project without a patch registry: everything `patches list` prints can be asked about, and searched in a pipe."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Result, layline
from histories import History
from layline.app.patches_drift import patches_drift
from layline.app.patches_read import patches_diff, patches_find, patches_port, patches_show
from layline.cli.show import render
from layline.core.report import Answer
from layline.patches.drift.ask import DriftOptions
from layline.workspace.open import Workspace, open_workspace
from upgrading import make_project

UPSTREAM: dict[str, str | bytes | None] = {
    "pyproject.toml": '[project]\nname = "keel"\nversion = "1.0"\n',
    "keel/__init__.py": "",
    "keel/layers.py": "class Norm:\n    def forward(self, x):\n        return x\n\n\ndef rope(q, k):\n    return q, k\n",
    "keel/loss.py": "def loss(x):\n    return x\n",
}
CHANGED: dict[str, str | bytes | None] = {
    "keel/layers.py": "class Norm:\n    def forward(self, x, scale):\n        return x * scale\n",
    "keel/rotary.py": "def rope(q, k):\n    return q, k\n",
}
OURS = '''\
"""Puts our kernels in place."""

import keel.layers
from keel import loss


def fast_rope(q, k):
    return k, q


def fast_forward(self, x):
    return x + 1


def apply(rope: bool = True, norm: bool = True) -> None:
    if rope:
        keel.layers.rope = fast_rope
    if norm:
        keel.layers.Norm.forward = fast_forward


loss.loss = lambda x: x
'''
CONFIG = """\
[project]
name = "fast"
git = "downstream"

[backends.keel]
label = "Keel"
pin = { revision = "v1.0" }
objects = "upstream"
packages = ["keel"]
"""
FILE = "src/fast/patch.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("plain")
    upstream = History.start(root / "upstream")
    upstream.commit("Begin", UPSTREAM)
    upstream.git("tag", "v1.0")
    upstream.commit("Change", CHANGED)
    downstream = History.start(root / "downstream")
    downstream.commit("Layer", {"src/fast/__init__.py": "", FILE: OURS})
    downstream.commit("Say more elsewhere in that file", {FILE: f"{OURS}\n\ndef more():\n    return 1\n"})
    (root / "layline.toml").write_text(CONFIG)
    return root


@pytest.fixture(scope="module")
def rows(project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = layline("patches", "list", "keel", "--format", "json", cwd=project).json[
        "unregistered"
    ]
    return found


def test_every_effect_has_an_id_of_its_own(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 3
    assert len({row["id"] for row in rows}) == 3


def test_a_line_inside_a_replacement_finds_its_patch(project: Path, rows: list[dict[str, Any]]) -> None:
    by_target = {row["target"]: row["id"] for row in rows}
    for line, target in ((8, "keel.layers.rope"), (12, "keel.layers.Norm.forward")):
        told = layline("patches", "find", f"{FILE}:{line}", cwd=project)
        assert told.out.startswith("1 match")
        assert f"{FILE}:{line}: {by_target[target]}: replacement: replaces {target}" in told.out
    assert layline("patches", "find", f"{FILE}:1", cwd=project).out.startswith("0 matches")
    assert "`layline gap find zzzz keel`" in layline("patches", "find", "zzzz", cwd=project).out


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("src/fast/pacth.py:8", f"Did you mean {FILE}?"),
        ("nothing.py", "Write paths from the root of the repository."),
    ],
)
def test_a_file_that_is_not_there_is_an_error(project: Path, word: str, hint: str) -> None:
    told = layline("patches", "find", word, cwd=project)
    assert (told.code, told.out) == (2, "")
    assert f"There is no file {word.partition(':')[0]} in this repository." in told.err
    assert hint in told.err


def test_a_part_of_a_path_is_a_word(project: Path) -> None:
    assert layline("patches", "find", "patch.py", cwd=project).out.startswith("3 matches")


def _names(row: dict[str, Any]) -> list[str]:
    return [row["id"], row["target"], row["location"]]


ASK: dict[str, Callable[[Workspace, str], Answer]] = {
    "show": patches_show,
    "port": patches_port,
    "diff": patches_diff,
    "find": patches_find,
}


@pytest.mark.parametrize("command", ASK)
def test_what_the_list_prints_can_be_asked_about(project: Path, rows: list[dict[str, Any]], command: str) -> None:
    told = layline("patches", command, rows[0]["id"], cwd=project)
    assert told.code == 0, told.err
    assert rows[0]["target"] in told.out
    workspace = open_workspace(project / "layline.toml")
    for row in rows:
        for name in _names(row):
            assert row["target"] in render(ASK[command](workspace, name), "text")


def test_the_page_names_the_lines_of_our_code_and_what_changed_that_function(
    project: Path, rows: list[dict[str, Any]]
) -> None:
    workspace = open_workspace(project / "layline.toml")
    answer = patches_show(workspace, rows[0]["id"])
    page = render(answer, "text")
    assert f"Implementation: {rows[0]['replacement_at']}\n" in page
    assert "History of the installer (function)" in page
    assert [item["subject"] for item in answer.data["history"]] == ["Layer"]


def test_what_drift_prints_can_be_asked_about(project: Path) -> None:
    told = layline("patches", "drift", "keel", "--to", "main", "--format", "json", cwd=project).json
    for row in told["rows"]:
        shown = layline("patches", "show", row["patch"], cwd=project)
        assert shown.code == 0, shown.err
        assert layline("patches", "diff", row["effect"], "--to", "main", cwd=project).code == 0


def test_a_patch_of_another_package_needs_no_ref_to_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream = History.start(tmp_path / "upstream")
    upstream.commit("Begin", UPSTREAM)
    upstream.git("tag", "v1.0")
    History.start(tmp_path / "downstream").commit("Layer", {FILE: "import torch\ntorch.compile = print\n"})
    (tmp_path / "layline.toml").write_text(CONFIG)
    monkeypatch.delattr("layline.app.patches_read.recall_drift")
    answer = patches_diff(open_workspace(tmp_path / "layline.toml"), f"{FILE}:2")
    assert "Nothing to show" in render(answer, "text")


def test_an_upstream_that_is_not_here_is_told_as_such(tmp_path: Path) -> None:
    History.start(tmp_path / "downstream").commit("Layer", {FILE: OURS})
    missing = CONFIG.replace('objects = "upstream"', 'upstream = "https://example.org/keel"')
    (tmp_path / "layline.toml").write_text(missing)
    shown = layline("patches", "show", "keel.layers.rope", cwd=tmp_path)
    assert "keel.layers.rope belongs to keel: its targets cannot be looked up: The upstream objects" in shown.out
    refused = layline("patches", "drift", "keel", cwd=tmp_path).err
    assert (
        "hint: Set `backends.keel.objects` to a clone or bare mirror, or let `layline gap show keel --fetch`" in refused
    )
    assert "submodule" not in refused


def test_a_bundle_calls_the_function_as_it_is(project: Path, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    told = layline("patches", "port", rows[0]["id"], "--to", str(tmp_path / "port"), cwd=project)
    assert told.code == 0, told.err
    (package,) = tmp_path.glob("port/ported_*/__init__.py")
    assert "install(**context)" in package.read_text()
    assert "The same function also sets keel.layers.Norm.forward." in told.out
    program = (
        f"import keel.layers as m, {package.parent.name} as p\n"
        "before = m.rope, m.Norm.forward\np.apply()\nassert m.rope is not before[0] and m.Norm.forward is not before[1]\n"
        "p.remove()\nassert (m.rope, m.Norm.forward) == before\n"
    )
    (tmp_path / "vanilla/keel").mkdir(parents=True)
    for path, text in UPSTREAM.items():
        if path.startswith("keel/"):
            (tmp_path / "vanilla" / path).write_text(str(text))
    search = f"{tmp_path / 'vanilla'}{os.pathsep}{tmp_path / 'port'}"
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": search}, check=True)


def _assert_searchable(told: Result, rows: list[dict[str, Any]]) -> None:
    lines = told.out.splitlines()
    for row in rows:
        assert any(line.startswith(f"{row['location']}: ") and row["target"] in line for line in lines), row


@pytest.mark.parametrize("columns", ["", "20", "80"])
def test_places_and_targets_are_never_broken(project: Path, rows: list[dict[str, Any]], columns: str) -> None:
    listed = layline("patches", "list", "keel", cwd=project, env={"COLUMNS": columns})
    _assert_searchable(listed, rows)
    drift = layline("patches", "drift", "keel", "--to", "main", cwd=project, env={"COLUMNS": columns})
    data = layline("patches", "drift", "keel", "--to", "main", "--format", "json", cwd=project).json
    _assert_searchable(drift, [row for row in data["rows"] if row["severity"] != "ok"])


def test_the_first_line_answers_with_one_number(project: Path) -> None:
    listed = layline("patches", "list", "keel", cwd=project).out.splitlines()
    assert listed[0] == "Keel: 3 monkey patches: 3 on Keel."
    drift = layline("patches", "drift", "keel", "--to", "main", cwd=project).out.splitlines()
    assert drift[0].startswith("Keel: 2 of 3 patched places break at ")
    assert "error[" in drift[4]


@pytest.mark.parametrize(
    ("options", "targets"),
    [
        (["--target", "Norm"], ["keel.layers.Norm.forward"]),
        (["--target", "norm"], ["keel.layers.Norm.forward"]),
        (["--target", "*.norm.*"], ["keel.layers.Norm.forward"]),
        (["--target", "keel.*.rope"], ["keel.layers.rope"]),
        (["--path", "fast/patch.py", "--target", "loss"], ["keel.loss.loss"]),
        (["--path", "elsewhere"], []),
        (["--severity", "warning"], []),
        (["--kind", "dead-at-pin"], []),
        (["--uncertain"], []),
    ],
)
def test_filters_narrow_the_list(project: Path, options: list[str], targets: list[str]) -> None:
    told = layline("patches", "list", "keel", *options, "--format", "json", cwd=project)
    assert [row["target"] for row in told.json["unregistered"]] == targets


@pytest.mark.parametrize(
    ("options", "kinds", "code"),
    [
        (["--severity", "error"], {"moved", "signature-changed"}, 1),
        (["--severity", "breaks", "--kind", "moved"], {"moved"}, 1),
        (["--severity", "ok"], {"unchanged"}, 0),
        (["--target", "loss"], {"unchanged"}, 0),
    ],
)
def test_filters_narrow_drift_and_its_exit_code(project: Path, options: list[str], kinds: set[str], code: int) -> None:
    told = layline("patches", "drift", "keel", "--to", "main", *options, "--format", "json", cwd=project)
    assert {row["kind"] for row in told.json["rows"]} == kinds
    assert told.code == code


def test_the_first_lines_say_how_much_the_filters_show(project: Path) -> None:
    told = layline("patches", "drift", "keel", "--to", "main", "--kind", "moved", cwd=project).out.splitlines()
    assert told[0].startswith("Keel: 2 of 3 patched places break at ")
    assert "The filters show 1 patched place (1 breaks)." in told[:4]


@pytest.mark.parametrize("command", [("list", "keel"), ("drift", "keel", "--to", "main")])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "ropee"], "--target ropee: no target here has this text. Did you mean "),
        (["--path", "pacth.py"], "--path pacth.py: no path here has this text. Did you mean patch.py?"),
        (["--path", "zzz"], "--path zzz: no path here has this text."),
        (["--path", "patch", "--kind", "signature-changed", "--target", "loss"], "No row passes all filters."),
    ],
)
def test_filters_that_leave_nothing_say_which_one_fits_no_row(
    project: Path, command: tuple[str, ...], options: list[str], said: str
) -> None:
    if command[0] == "list":
        options = ["dead-at-pin" if one == "signature-changed" else one for one in options]
    told = layline("patches", *command, *options, cwd=project)
    assert (told.code, said in told.out) == (0, True), told.out


def test_a_pipe_gets_the_whole_condition_and_a_terminal_its_end(project: Path) -> None:
    whole = layline("patches", "list", "keel", "--target", "rope", cwd=project).out
    assert "[e-" in whole
    assert "…" not in whole


def test_a_limit_says_what_it_left_out(project: Path) -> None:
    told = layline("patches", "list", "keel", "--limit", "1", cwd=project).out
    assert "… 2 more; raise --limit, or use --format json." in told


def test_csv_has_every_field_of_json(project: Path, rows: list[dict[str, Any]]) -> None:
    table = list(csv.DictReader(io.StringIO(layline("patches", "list", "keel", "--format", "csv", cwd=project).out)))
    assert set(rows[0]) <= set(table[0])
    assert [row["when"] for row in table] == [row["when"] or "" for row in rows]


VERSIONED = """\
import importlib.metadata

import keel.layers
from packaging import version

NEW = version.parse(importlib.metadata.version("keel")) >= version.parse("2.0")


def fast_rope(q, k):
    return k, q


def apply(rope: bool = True) -> None:
    if NEW and rope:
        keel.layers.rope = fast_rope
    if not NEW:
        keel.layers.Norm.forward = fast_rope


def put(part):
    part.forward = fast_rope


def older(model):
    put(model)


def newer(model):
    if NEW:
        put(model.inner)
"""


def test_a_write_that_versions_rule_out_at_the_pin_says_so(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "upstream")
    upstream.commit("Begin", UPSTREAM)
    upstream.git("tag", "v1.0")
    History.start(tmp_path / "downstream").commit("Layer", {"src/fast/__init__.py": "", FILE: VERSIONED})
    (tmp_path / "layline.toml").write_text(CONFIG)
    found = layline("patches", "list", "keel", "--format", "json", cwd=tmp_path).json["unregistered"]
    when = {row["target"]: row["when"] for row in found}
    assert when["keel.layers.rope"].endswith("(false at the pin, Keel 1.0)")
    assert "not at the pin" not in when["keel.layers.Norm.forward"]
    assert when[None] is None  # one of two calls is made at the pin


def test_what_is_put_on_one_object_is_not_ported_to_its_class(tmp_path: Path) -> None:
    """To rebind the class would change every object of it."""
    ours = (
        "import types\n\nfrom keel.a import Ship\n\n\ndef mine(self):\n    return 2\n\n\n"
        "def tune():\n    ship = Ship()\n    ship.sail = types.MethodType(mine, ship)\n    return ship\n"
    )
    ship = "class Ship:\n    def sail(self):\n        return 1\n"
    made = make_project(tmp_path, [("begin", {"keel/a.py": ship})], {"own/tune.py": ours})
    page = " ".join(render(patches_show(made.open(), "own/tune.py:12"), "text").split())
    assert (
        "Set the attribute sail of one object (keel.a.Ship()) to own.tune.mine; leave its class (keel.a.Ship) as it is."
        in page
    )
    assert "Call tune() on each object to be changed, before the object is used." in page
    assert "Assign " not in page


def test_what_our_class_puts_on_its_own_parts_is_not_called_on_each_object(tmp_path: Path) -> None:
    ours = (
        "import types\n\nfrom keel.a import Ship\n\n\ndef mine(self):\n    return 2\n\n\nclass Fleet:\n"
        "    def __init__(self):\n        self.ship = Ship()\n        self.ship.sail = types.MethodType(mine, self.ship)\n"
    )
    ship = "class Ship:\n    def sail(self):\n        return 1\n"
    made = make_project(tmp_path, [("begin", {"keel/a.py": ship})], {"own/tune.py": ours})
    page = " ".join(render(patches_show(made.open(), "own/tune.py:13"), "text").split())
    assert "Each new Fleet installs it: there is nothing more to call." in page
    assert "on each object" not in page


def test_a_project_without_a_patch_says_so_in_the_first_line(tmp_path: Path) -> None:
    made = make_project(tmp_path, [("begin", {"keel/a.py": "x = 1\n"})], {"own/use.py": "from keel.a import x\n"})
    listing = patches_drift(made.open(), "keel", DriftOptions()).listing
    assert listing is not None
    assert listing.title.endswith("We have no patch on Keel.")


def test_a_function_that_only_builds_a_module_of_ours_is_no_step_of_a_plan(tmp_path: Path) -> None:
    """The names stand in a module that nobody has installed yet: nothing of upstream's is rebound by it."""
    ours = (
        "import sys\nimport types\n\n\ndef build():\n    made = types.ModuleType('keel.a')\n    made.TABLE = {}\n"
        "    return made\n\n\ndef install():\n    sys.modules['keel.a'] = build()\n\n\ninstall()\n"
    )
    upstream = {"keel/a.py": "TABLE = {1: 2}\n", "keel/b.py": "from keel.a import TABLE\nprint(TABLE)\n"}
    made = make_project(tmp_path, [("begin", {**upstream})], {"own/tune.py": ours})
    page = " ".join(render(patches_show(made.open(), "own/tune.py:7"), "text").split())
    assert "sets keel.a.TABLE to {} in a stand-in module of our own" in page
    assert "Set TABLE in the module that our code creates: nothing in upstream is rebound." in page
    assert all(word not in page for word in ("Assign ", "Call build()", "copies keel.a.TABLE"))


TAKEN_OVER = """\
from keel.boat import Boat, Crew


def make_boat(self, name):
    self.crew = Crew(people=2)


def make_crew(self, people):
    self.people = people


def rest(self):
    return self.people


Boat.__init__ = make_boat
Crew.__init__ = make_crew
Crew.rest = rest
"""
BOAT = """\
class Crew:
    def __init__(self, size):
        self.size = size

    def rest(self):
        return self.size


class Boat:
    def __init__(self, name):
        self.crew = Crew(2)
"""


def test_what_other_lines_of_ours_replace_says_nothing(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "upstream")
    upstream.commit("Begin", {**UPSTREAM, "keel/boat.py": BOAT})
    upstream.git("tag", "v1.0")
    upstream.commit("Go on", {"keel/more.py": ""})
    History.start(tmp_path / "downstream").commit("Layer", {"src/fast/__init__.py": "", FILE: TAKEN_OVER})
    (tmp_path / "layline.toml").write_text(CONFIG)
    told = layline("patches", "drift", "keel", "--to", "HEAD", "--format", "json", cwd=tmp_path)
    found = {row["target"]: (row["severity"], row["today"]) for row in told.json["rows"]}
    assert found["keel.boat.Boat.__init__"] == ("ok", "fits"), told.json["rows"]
    assert found["keel.boat.Crew.__init__"] == ("ok", "fits"), told.json["rows"]
