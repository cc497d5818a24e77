"""An upstream below a namespace that others share: what its tree holds is its, the rest is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import layline
from histories import History
from layline.coupling.model import Consequence, Touch
from layline.coupling.pair import Pair
from layline.gap.impact import measure_impact
from layline.workspace.open import open_workspace

CONFIG = """
[project]
name = "own"

[backends.up]
pin = { revision = "PIN" }
objects = "UPSTREAM"
packages = ["ns"]
"""
BOOT = """
import ns.bridge.tools
import ns.core.run
import ns.legacy.model
import pretrain
from pretrain import build


def new(*args):
    return args


ns.core.run.gone = new
ns.bridge.tools.convert = new
ns.legacy.model.build = new
pretrain.main = new
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("namespace")
    upstream = History.start(root / "up")
    kept = {
        "ns/core/__init__.py": "",
        "ns/core/run.py": "def run(): pass\n",
        "pretrain.py": "def main(): pass\ndef build(): pass\n",
    }
    upstream.commit("Add", {**kept, "ns/legacy/__init__.py": "", "ns/legacy/model.py": "def build(): pass\n"})
    pin = upstream.commit("Drop legacy (#7)", {"ns/legacy/__init__.py": None, "ns/legacy/model.py": None})
    upstream.commit("Drop the script's build (#8)", {"pretrain.py": "def main(): pass\n"})
    downstream = History.start(root / "down")
    downstream.commit("all", {"own/__init__.py": "", "own/boot.py": BOOT})
    (downstream.path / "layline.toml").write_text(CONFIG.replace("PIN", pin).replace("UPSTREAM", str(upstream.path)))
    return downstream.path


def test_each_name_of_the_namespace(project: Path) -> None:
    found = layline("patches", "list", "up", "--format", "json", cwd=project).json["unregistered"]
    assert {item["target"]: item["target_kind"] for item in found} == {
        "ns.core.run.gone": "absent",
        "ns.bridge.tools.convert": "external",
        "ns.legacy.model.build": "absent",
        "pretrain.main": "definition",
    }


def test_another_distribution_is_no_typo(project: Path) -> None:
    found = layline("patches", "drift", "up", "--date", "2026-01-09", "--format", "json", cwd=project).json
    kinds = {row["target"]: (row["kind"], row["severity"]) for row in found["rows"]}
    assert "ns.bridge.tools.convert" not in kinds  # as the list counts it: on another package
    assert [one["effects"] for one in found["not_compared"]] == [1]
    assert kinds["ns.legacy.model.build"][0] == "dead-at-pin"
    assert kinds["ns.core.run.gone"][0] == "dead-at-pin"


def test_scripts_at_the_top_are_seen(project: Path) -> None:
    workspace = open_workspace(project / "layline.toml")
    pinned = workspace.find_pinned("up")
    found = measure_impact(Pair(workspace, "up", pinned.commit, pinned.repository.resolve("main"))).couplings
    scripts = {(one.target, one.touch, one.consequence) for one in found if one.target.startswith("pretrain")}
    assert ("pretrain.build", Touch.SCRIPT, Consequence.WILL_BREAK) in scripts
    assert not [one for one in found if one.target.startswith("ns.bridge")]
