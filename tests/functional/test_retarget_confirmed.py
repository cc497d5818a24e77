"""`patches retarget` proposes only what reading and judging the edited files again confirms."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from commands import layline
from histories import History

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total\n"
METHOD = "".join(f"    {line}\n" for line in BODY.splitlines())
PIN = {
    "keel/__init__.py": "",
    "keel/models.py": f"class Base:\n    pass\n\n\nclass Ship(Base):\n    def sail(self, x):\n{METHOD}",
    "keel/util.py": f"def walk(x):\n{BODY}",
    "keel/old.py": f"def run(x):\n{BODY}\n\ndef rest():\n    pass\n",
}
TIP: dict[str, str | None] = {
    "keel/models.py": f"class Base:\n    def sail(self, x):\n{METHOD}\n\nclass Ship(Base):\n    pass\n",
    "keel/util.py": None,
    "keel/paths.py": f"def walk(x):\n{BODY}",
    "keel/old.py": "from keel.gone.place import run\n\n\ndef rest():\n    pass\n",
}
BOOT = """\
import keel.models
import keel.old
from keel import util


def new(x):
    return x


def install():
    keel.models.Ship.sail = new
    keel.old.run = new
    util.walk = new
"""
CONFIG = '[project]\nname = "own"\n\n[backends.keel]\npin = { revision = "PIN" }\nobjects = "UPSTREAM"\npackages = ["keel"]\nref = "main"\n'


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("retarget")
    upstream = History.start(root / "up")
    pin = upstream.commit("Add", dict(PIN))
    upstream.commit("Move much (#2)", dict(TIP))
    downstream = History.start(root / "down")
    downstream.commit("all", {"own/__init__.py": "", "own/boot.py": BOOT})
    (downstream.path / "layline.toml").write_text(CONFIG.replace("PIN", pin).replace("UPSTREAM", str(upstream.path)))
    return downstream.path, layline("patches", "retarget", "keel", "--format", "json", cwd=downstream.path).json


def test_a_plain_move_is_proposed_and_applies(told: tuple[Path, dict[str, Any]]) -> None:
    place, answer = told
    assert [item.partition(": ")[2] for item in answer["done"]] == ["keel.util.walk → keel.paths.walk"]
    subprocess.run(["git", "apply"], cwd=place, input=answer["diff"].encode(), check=True)
    assert "from keel import paths as util" in (place / "own/boot.py").read_text()


def test_a_method_that_a_base_now_holds_stays_on_its_class(told: tuple[Path, dict[str, Any]]) -> None:
    """Otherwise every class below the base would get the patch."""
    left = {item["what"]: item["why"] for item in told[1]["left"]}
    (why,) = [why for what, why in left.items() if "Ship.sail" in what]
    assert (
        why
        == "Ship inherits it from keel.models.Base now: the patch still works where it is; on Base it would change every subclass"
    )


def test_nothing_is_moved_into_a_module_that_is_not_there(told: tuple[Path, dict[str, Any]]) -> None:
    assert "keel.gone" not in told[1]["diff"]


def test_nothing_to_edit_is_said(told: tuple[Path, dict[str, Any]]) -> None:
    folder, answer = told
    done = layline("patches", "retarget", "keel", "--to", answer["pin"], cwd=folder)
    said = f"keel: no target of a patch moved or was renamed up to {answer['pin'][:8]}; there is nothing to edit.\n"
    assert (done.code, done.out, done.err) == (0, "", said)
