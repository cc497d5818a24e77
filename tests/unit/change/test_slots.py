"""Calls through slots are read once for each file, whatever is asked about them."""

from pathlib import Path

import pytest

from histories import History
from layline.change.slots import find_slot_calls, tell_passing
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read

SOURCE = """\
'''One.'''

size = 1


class Hull:
    def __init__(self, parts):
        self.mast = parts.mast(size, length=2)

    def sail(self, wind):
        return self.mast(wind, length=1), self.boom(wind, tacks=3)


BOAT = size.keel(depth=3, length=1)
"""


def read(history: History, *asked: str) -> tuple[list[str], object]:
    """Slot and line of the calls that name the last arguments, and what is kept of the file."""
    index = build_index([Part(tree=Tree(open_repository(history.path), history.commits[-1]), packages=("keel",))])
    found = [find_slot_calls(Resolver(index), frozenset(words.split())) for words in asked][-1]
    kept = index.answers.get(index.every["keel.hull"].blob, "slots")
    return [f"{site.slot}:{site.location.line}" for site in found], kept


def test_calls_are_kept_for_every_argument(tmp_path: Path) -> None:
    history = History.start(tmp_path / "keel")
    history.commit("pin", {"keel/__init__.py": "", "keel/hull.py": SOURCE})
    told, kept = read(history, "length", "length tacks depth")
    assert (told, kept) == read(history, "length tacks depth")
    assert (told, kept) == read(history, "tacks", "length tacks depth")
    assert told == ["mast:8", "mast:11", "boom:11", "keel:14"]
    assert read(history, "tacks") == (["boom:11"], kept)


OTHERS = [
    ("nothing", SOURCE, True, True),
    ("lines above", SOURCE.replace("size = 1", "size = 1\n\nNAME = 'one'"), True, True),
    ("another value", SOURCE.replace("tacks=3", "tacks=4"), True, True),
    ("one argument more", SOURCE.replace("tacks=3", "tacks=3, length=1"), False, False),
    ("another call of one argument", SOURCE + "\n\nRAFT = size.raft(depth=1, length=2)\n", False, True),
    ("no such call", SOURCE.replace("tacks=3", "tack=3"), True, False),
    ("another class around", SOURCE.replace("class Hull", "class Ship"), False, False),
]


@pytest.mark.parametrize(("source", "length", "tacks"), [row[1:] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_what_names_an_argument_is_told_wherever_it_stands(
    tmp_path: Path, source: str, length: bool, tacks: bool
) -> None:
    """What is noted of an argument says the same while its calls do, lines apart."""
    history = History.start(tmp_path / "keel")
    history.commit("pin", {"keel/__init__.py": "", "keel/hull.py": SOURCE})
    history.commit("tip", {"keel/hull.py": source + "\n\ntide = 2\n"})
    repository = open_repository(history.path)
    then, now = (build_index([Part(tree=Tree(repository, one), packages=("keel",))]) for one in history.commits)
    assert (tell_passing(then, "length") == tell_passing(now, "length")) is length
    assert (tell_passing(then, "tacks") == tell_passing(now, "tacks")) is tacks


def test_what_a_call_names_is_asked_only_whether_it_is_there(tmp_path: Path) -> None:
    """Another constructor of what is called says nothing about a slot; whether it is there does."""
    history = History.start(tmp_path / "keel")
    yard = "from keel.hull import Hull\n\n\nclass Yard:\n    pass\n\n\nYard(length=1)\nsheet(length=2)\n"
    history.commit("pin", {"keel/__init__.py": "", "keel/hull.py": SOURCE, "keel/yard.py": yard})
    index = build_index([Part(tree=Tree(open_repository(history.path), history.commits[-1]), packages=("keel",))])
    index.watch()
    reads: set[Read] = set()
    with index.seen.within(reads):
        find_slot_calls(Resolver(index), frozenset({"length"}))
    there = {what for asked, what in reads if asked is Asked.THERE}
    assert {"keel.yard Yard=True", "keel.yard sheet=False"} <= there
    assert not any(asked is Asked.NAME and what.startswith("keel.yard Yard") for asked, what in reads)
