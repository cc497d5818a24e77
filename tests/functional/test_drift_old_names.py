"""What stands elsewhere in upstream is put back under a name that upstream has given up: an addition, nothing dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import layline
from histories import History

CONFIG = """\
[project]
name = "fast"
git = "downstream"

[backends.keel]
pin = { revision = "v1.0" }
objects = "upstream"
packages = ["keel"]
"""
HOME = {"keel/__init__.py": "", "keel/new/__init__.py": "", "keel/new/train.py": "class Trainer:\n    pass\n"}
OLD = {"keel/old.py": "class Other:\n    pass\n"}
GIVEN = [
    ("from keel.new.train import Trainer\n\nkeel.old.Trainer = Trainer\n", ("external", False)),
    ("import keel.new.train\n\nkeel.old.Trainer = keel.new.train.Trainer\n", ("external", False)),
    ("from keel.new.train import Trainer\n\nkeel.old.Traner = Trainer\n", ("dead-at-pin", True)),
    ("class Trainer:\n    pass\n\n\nkeel.old.Trainer = Trainer\n", ("dead-at-pin", True)),
    ("from keel.old import Other\n\nkeel.old.Trainer = Other\n", ("dead-at-pin", True)),
]


@pytest.mark.parametrize(("ours", "told"), GIVEN)
def test_a_name_of_upstream_under_its_old_address(tmp_path: Path, ours: str, told: tuple[str, bool]) -> None:
    upstream, downstream = History.start(tmp_path / "upstream"), History.start(tmp_path / "downstream")
    upstream.commit("Long ago", {"keel/old.py": "class Trainer:\n    pass\n"})
    upstream.commit("Begin", {**HOME, **OLD})
    upstream.git("tag", "v1.0")
    upstream.commit("Change", {"keel/new/other.py": ""})
    downstream.commit("Layer", {"src/fast/__init__.py": "", "src/fast/patch.py": f"import keel.old\n{ours}"})
    (tmp_path / "layline.toml").write_text(CONFIG)
    answer = layline("patches", "drift", "keel", "--format", "json", "--fail-on", "none", cwd=tmp_path).json
    (row,) = answer["rows"]
    assert (row["kind"], row["dead_today"]) == told, row["detail"]
    listed = layline("patches", "list", "keel", cwd=tmp_path).out
    assert told[1] or "warning[dead-at-pin]" not in listed
