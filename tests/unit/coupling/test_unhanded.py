"""A class that only a spec names which nobody asks for: upstream never builds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.unhanded import doubt_unhanded
from layline.git import open_repository
from layline.source import Tree

LAYERS = """\
class Live(Layer):
    def __init__(self, config):
        super(Live, self).__init__(config)


class Idle(Layer):
    def __init__(self, config):
        super(Idle, self).__init__(config)


def live_spec():
    return Spec(module=Live)


def idle_spec():
    return Spec(module=Idle)
"""
USES = "from own.layers import live_spec\n\nmodel = Model(live_spec())\n"
CASES = [
    # (what it shows, our other file, the lines of each place with whether upstream's calls fail it)
    ("one of two is handed over", USES, [((2,), True), ((7,), False)]),
    ("both are", f"{USES}import own.layers\nown.layers.idle_spec()\n", [((2, 7), True)]),
    ("asked for by a text", f"{USES}SPECS = ['idle_spec']\n", [((2, 7), True)]),
    ("imported under another name", f"{USES}from own.layers import idle_spec as spec\n", [((2, 7), True)]),
    ("only imported", f"{USES}from own.layers import idle_spec\n", [((2,), True), ((7,), False)]),
    ("named outside a function", f"{USES}from own.layers import Idle\nkinds = [Idle]\n", [((2, 7), True)]),
    ("neither is", "", [((2,), False), ((7,), False)]),
]


@pytest.mark.parametrize(("uses", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_what_nobody_hands_over_fails_nowhere(
    tmp_path: Path, uses: str, expected: list[tuple[tuple[int, ...], bool]]
) -> None:
    ours = History.start(tmp_path / "ours")
    commit = ours.commit("ours", {"own/__init__.py": "", "own/layers.py": LAYERS, "own/use.py": uses})
    place = Coupling(
        touch=Touch.OVERRIDE,
        target="up.Layer.__init__",
        location=Location("own/layers.py", 2),
        lines=(7,),
        state=State.NEVER_FITTED,
        consequence=Consequence.LOOK,
        why=(Why(Reason.ALREADY_SO),),
    )
    found = list(doubt_unhanded([place], Tree(open_repository(ours.path), commit)))
    told = [((one.location.line, *one.lines), one.state is State.NEVER_FITTED) for one in found]
    assert told == expected
    assert all(one.why[0].reason is Reason.NOT_HANDED for one in found if one.state is not State.NEVER_FITTED)


UNNAMED = [
    # (what it shows, files beside the class, whether it is said that nothing names it)
    ("nothing names it", {}, True),
    ("a base", {"own/more.py": "from own.layers import Alone\nclass More(Alone): ...\n"}, False),
    ("settings", {"conf/model.yaml": "_target_: own.layers.Alone\n"}, False),
    ("offered by its file", {"own/all.py": "__all__ = ['Alone']\n"}, False),
    ("imported", {"own/more.py": "from own.layers import Alone\n"}, False),
]


@pytest.mark.parametrize(("files", "unnamed"), [row[1:] for row in UNNAMED], ids=[row[0] for row in UNNAMED])
@pytest.mark.parametrize("decorated", [False, True])
def test_a_class_that_nothing_names(tmp_path: Path, files: dict[str, str], unnamed: bool, decorated: bool) -> None:
    head = "@register\n" if decorated else "\n"
    text = f"{head}class Alone(Layer):\n    def __init__(self, config):\n        super().__init__(config)\n"
    ours = History.start(tmp_path / "ours")
    commit = ours.commit("ours", {"own/__init__.py": "", "own/layers.py": text, **files})
    place = Coupling(
        touch=Touch.OVERRIDE,
        target="up.Layer.__init__",
        location=Location("own/layers.py", 3),
        state=State.CANNOT_ACCEPT,
        consequence=Consequence.LOOK,
        why=(Why(Reason.OVERRIDE_MISFITS), Why(Reason.MAYBE_PASSED)),
    )
    (found,) = doubt_unhanded([place], Tree(open_repository(ours.path), commit))
    told = [why.reason for why in found.why]
    said = [Reason.NOT_NAMED, Reason.OVERRIDE_MISFITS]
    assert told == (said if unnamed and not decorated else [Reason.OVERRIDE_MISFITS, Reason.MAYBE_PASSED])
