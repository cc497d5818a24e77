"""What our replacement reads of the objects that upstream keeps: the pin may not have it yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from judging import codes, judge
from layline.coupling.own_attributes import accept_own
from layline.git import open_repository
from layline.source import Tree

SHIP = (
    "from keel.rig import Rig\n\n\nclass Ship:\n    def __init__(self, rig: Rig):\n        self.rig = rig\n\n"
    "    def sail(self, x):\n        return x\n"
)
RIG = "from dataclasses import dataclass\n\n\n@dataclass\nclass Rig{base}:\n    sails: int = 1\n"
OLD, NEW = RIG.format(base=""), RIG.format(base="") + "    reefs: int = 0\n"
BASE = "from outside import Base\n"
READ = "    return self.rig.reefs\n"
READS = [
    # (what it shows, our method's body, the class at the pin, at the tip, more of upstream's, today)
    ("the pin lacks it", READ, OLD, NEW, "", "does-not-fit"),
    ("both have it", READ, NEW, NEW, "", "fits"),
    ("our code asks first", "    return getattr(self.rig, 'reefs', 0)\n", OLD, NEW, "", "fits"),
    ("our code sets it", f"    self.rig.reefs = 1\n{READ}", OLD, NEW, "", "fits"),
    ("code of the pin sets it", READ, OLD, NEW, "def reef(rig):\n    rig.reefs = 2\n", "fits"),
    ("a class above is not known", READ, BASE + RIG.format(base="(Base)"), NEW, "", "fits"),
    ("the tip lacks it, too", READ, OLD, OLD, "", "fits"),
]


@pytest.mark.parametrize(
    ("body", "then", "now", "more", "today"), [row[1:] for row in READS], ids=[row[0] for row in READS]
)
def test_what_a_held_object_does_not_have_at_the_pin_fails_today(
    tmp_path: Path, body: str, then: str, now: str, more: str, today: str
) -> None:
    before = {"keel/run.py": SHIP, "keel/rig.py": then, "keel/set.py": more}
    row = judge(tmp_path, before, {"keel/rig.py": now}, ours=f"def fast(self, x):\n{body}", target="keel.run.Ship.sail")
    repository = open_repository(tmp_path / "down")
    (row,) = accept_own([row], Tree(repository, repository.resolve("HEAD")))
    assert row.today == today, row.detail
    assert ("misreads-today" in codes(row)) is (today == "does-not-fit")
