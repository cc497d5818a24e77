"""What methods of a class give its objects: who looks for one name depends on that name alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.instances import Instances
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read

PIN = "class Gear: ...\nclass Belt: ...\nclass Base:\n    def __init__(self):\n        self.belt = Belt()\n"
PIN += "class Shop(Base):\n    def __init__(self):\n        self.gear = Gear()\n"
TIPS = [
    # what is written, what is still so of `gear`, of `belt`, of `none`
    (
        PIN.replace(
            "    def __init__(self):\n        self.gear", "    def new(self): ...\n    def go(self):\n        self.gear"
        ),
        "yyy",
    ),
    (PIN.replace("self.gear = Gear()", "self.gear = Belt()"), "nyy"),
    (PIN.replace("self.gear = Gear()", "self.gear = given"), "nyy"),
    (PIN.replace("self.gear", "self.none"), "nyn"),
    (PIN.replace("Shop(Base)", "Shop"), "yny"),
    (PIN.replace("self.gear", "self.belt = self.gear"), "yny"),
    (PIN.replace("class Shop", "class Store"), "nny"),
]


def open_instances(history: History) -> Instances:
    tree = Tree(open_repository(history.path), history.commits[-1])
    index = build_index([Part(tree=tree, packages=("up",))])
    index.watch()
    return Instances(Resolver(index))


@pytest.mark.parametrize(("text", "same"), TIPS)
def test_a_name_of_an_object_is_asked_again(tmp_path: Path, empty_cache: Path, text: str, same: str) -> None:
    history = History.start(tmp_path / "up")
    history.commit("pin", {"up/__init__.py": "", "up/shop.py": PIN})
    before, reads = open_instances(history), set[Read]()
    with before._resolver.index.seen.within(reads):
        held = before.find("up.shop.Shop")
        found = held.get("gear"), "belt" in held, "none" in held
    assert found[0] is not None
    assert found[0].kind == "up.shop.Gear"
    assert found[1:] == (True, False)
    assert {asked for asked, _ in reads} == {Asked.HELD}
    history.commit("tip", {"up/shop.py": text})
    after = open_instances(history)
    told = {what.rpartition("=")[0].rpartition(" ")[2]: after.holds(what) for _, what in reads}
    assert told == {name: answer == "y" for name, answer in zip(("gear", "belt", "none"), same, strict=True)}


def test_who_tells_lines_depends_on_all_that_was_read(tmp_path: Path, empty_cache: Path) -> None:
    history = History.start(tmp_path / "up")
    history.commit("pin", {"up/__init__.py": "", "up/shop.py": PIN})
    instances, reads = open_instances(history), set[Read]()
    with instances._resolver.index.seen.within(reads):
        instances.find_told("up.shop.Shop")
    assert (Asked.TEXT, "up.shop Shop") in reads
    assert (Asked.TEXT, "up.shop Base") in reads
