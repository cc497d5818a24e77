"""Upstream goes on, our code stays: rows kept at one tip are believed at another that says the same to all they read.

Each case is one edit of upstream. It is asked about after the tip before it, from the same cache, and with every kept
row found anew beside it (`LAYLINE_CHECK`); then the edit is taken back, which is one more tip.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from histories import History
from layline.coupling.drift import judge_subjects
from layline.coupling.drift_model import Sides
from layline.coupling.subjects import Judged, Subject
from layline.patches.drift import read
from layline.patches.drift.ask import DriftOptions, find_drift
from layline.patches.drift.kept import KEPT, KeptDrift
from layline.workspace.open import open_workspace

LOOP = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total\n"
BASE_CLASS = "    def sail(self, wind):\n        self.rig = wind\n        return wind\n"
ALIAS = "from keel.run import walk as stroll\n\n\ndef near():\n    return stroll(1)\n\n\ndef wide():\n    return 1\n"
TACK = "class Sheet:\n    def __init__(self):\n        self.cleat = 1\n\n\ndef tack(sheet):\n    return sheet.cleat\n"
PIN: dict[str, str | None] = {
    "pyproject.toml": '[project]\nname = "keel"\nversion = "1.4.0"\n',
    "keel/__init__.py": "",
    "keel/run.py": f"def run(x):\n{LOOP}\n\ndef walk(x, pace=1):\n    return x\n\n\ndef lost(x):\n{LOOP}",
    "keel/hull/__init__.py": "from keel.hull.plank import saw\n",
    "keel/hull/plank.py": "def saw(wood):\n    return wood\n",
    "keel/deck.py": "from keel.cabin import *\n",
    "keel/cabin.py": "from keel.berth import *\n\n\ndef bunk():\n    return 1\n",
    "keel/berth.py": "def lamp():\n    return 1\n",
    "keel/base.py": f"class Base:\n{BASE_CLASS}",
    "keel/boat.py": "from keel.base import Base\n\n\nclass Boat(Base):\n    pass\n",
    "keel/use.py": "from keel.run import walk\n\n\ndef go():\n    return walk(1)\n",
    "keel/args.py": "def add(parser):\n    parser.add_argument('--kept')\n",
    "keel/idle.py": "def idle():\n    return 1\n",
    "keel/alias.py": ALIAS,
    "keel/tack.py": TACK,
    "keel/trip.py": "def trip(boat):\n    return boat.sail(1)\n",
    "keel/tour.py": "def tour(boat):\n    return boat.sail(2)\n",
}
BASE: dict[str, str | None] = {"keel/run.py": f"def run(x):\n{LOOP}\n\ndef walk(x, pace=1, gait=None):\n    return x\n"}
"""What upstream has at every tip, before the edit of a case."""
OTHER_RUN = str(BASE["keel/run.py"]).replace("step * x", "step + x")
CASES: dict[str, dict[str, str | None]] = {
    "nothing that anybody reads": {"keel/idle.py": "def idle():\n    return 2\n"},
    "lines move": {"keel/run.py": f"# new\n\n\n{BASE['keel/run.py']}"},
    "another body": {"keel/run.py": str(BASE["keel/run.py"]).replace("step * x", "step + x")},
    "a name vanishes": {"keel/run.py": f"def run(x):\n{LOOP}"},
    "a lost name comes back elsewhere": {"keel/idle.py": f"def lost(x):\n{LOOP}"},
    "a lost name comes back where it was": {"keel/run.py": f"{BASE['keel/run.py']}\n\ndef lost(x):\n{LOOP}"},
    "a module vanishes": {"keel/hull/plank.py": None},
    "a module appears that hides a name": {"keel/hull/saw.py": "def saw(wood, iron):\n    return wood\n"},
    "a package binds another thing": {"keel/hull/__init__.py": "from keel.idle import idle as saw\n"},
    "a package takes the place of a module": {"keel/hull/plank.py": None, "keel/hull/plank/__init__.py": "saw = 3\n"},
    "a starred name vanishes": {"keel/berth.py": "def candle():\n    return 1\n"},
    "a star is taken away": {"keel/cabin.py": "def bunk():\n    return 1\n"},
    "a star is added far away": {"keel/berth.py": "from keel.idle import *\n\n\ndef lamp(oil):\n    return oil\n"},
    "a method is no longer inherited": {"keel/boat.py": "class Boat:\n    pass\n"},
    "a base gets another method": {"keel/base.py": "class Base:\n    def sail(self, wind, gust):\n        return wind\n"},
    "a method has another name": {"keel/base.py": "class Base:\n    def tack(self, wind):\n        return wind\n"},
    "a base keeps no attribute": {"keel/base.py": "class Base:\n    def sail(self, wind):\n        return wind\n"},
    "a call passes more": {"keel/use.py": "from keel.run import walk\n\n\ndef go():\n    return walk(1, gait=2)\n"},
    "a call appears": {"keel/idle.py": "from keel.run import walk\n\n\ndef idle():\n    return walk(1, gait=2)\n"},
    "a module imports a target": {"keel/idle.py": "from keel.run import run as hurry\n\n\ndef idle():\n    return hurry(1)\n"},
    "a config key goes": {"keel/args.py": "def add(parser):\n    pass\n"},
    "a config key comes": {"keel/idle.py": "def idle(args):\n    return args.unheard\n"},
    "another version": {"pyproject.toml": '[project]\nname = "keel"\nversion = "2.0.0"\n'},
    "no longer Python": {"keel/run.py": "def run(:\n"},
    "a neighbour changes and moves the rest": {"keel/run.py": f"def new():\n    return 1\n\n\n{BASE['keel/run.py']}".replace("step * x", "x")},
    "a name is bound once more": {"keel/run.py": f"{BASE['keel/run.py']}\n\ndef walk(x, pace, gait):\n    return gait\n"},
    "an import takes the place of a name": {"keel/run.py": f"from keel.idle import idle as walk\n\n\ndef run(x):\n{LOOP}"},
    "another default": {"keel/run.py": str(BASE["keel/run.py"]).replace("pace=1", "pace=2")},
    "a module puts another in its place": {"keel/run.py": f"import sys\n\n{BASE['keel/run.py']}\nsys.modules[__name__] = object()\n"},
    "an alias is called elsewhere in its file": {"keel/alias.py": ALIAS.replace("return 1", "return stroll(1, gait=2)")},
    "an inner import is called": {"keel/alias.py": f"{ALIAS}\n\ndef far():\n    from keel.run import walk\n\n    return walk(1, gait=2)\n"},
    "a class gets a method above": {"keel/base.py": f"class Base:\n    def row(self):\n        return 1\n\n{BASE_CLASS}"},
    "an attribute moves to another method": {"keel/base.py": f"{BASE_CLASS.replace('self.rig = wind', 'pass')}\n    def row(self):\n        self.rig = 1\n".replace("    def sail", "class Base:\n    def sail", 1)},
    "names of one import part": {"keel/hull/__init__.py": "from keel.hull.plank import nail\nfrom keel.hull.plank import saw\n", "keel/hull/plank.py": "def nail():\n    return 1\n\n\ndef saw(wood):\n    return wood\n"},
}  # fmt: skip
YARD = "def fit(boat):\n    boat.rig = 1\n\n\ndef rest():\n    return 1\n"
SAILS = f"class Base:\n{BASE_CLASS.replace('return wind', 'return wind + 1')}"
STEPS: dict[str, tuple[dict[str, str | None], dict[str, str | None]]] = {
    "a file that sets an attribute begins to name the class": (
        {"keel/base.py": "class Base:\n    def sail(self, wind):\n        return wind\n", "keel/hull/yard.py": YARD},
        {"keel/hull/yard.py": YARD.replace("return 1", "return Base, Boat")},
    ),
    "the last file that names an attribute does so no more": (
        {"keel/tack.py": "def tack(sheet):\n    return 1\n", "keel/idle.py": "def idle(x):\n    return x.cleat\n"},
        {"keel/idle.py": "def idle(x):\n    return 1\n"},
    ),
    "a script that holds a target is loaded": (
        {"keel/script.py": "from keel.run import run\n\n\ndef go():\n    return run(1)\n"},
        {"keel/__init__.py": "import keel.script\n"},
    ),
    "the last call of a method goes": (
        {"keel/base.py": SAILS, "keel/trip.py": "def trip(boat):\n    return 1\n"},
        {"keel/tour.py": "def tour(boat):\n    return 1\n"},
    ),
    "a file begins to call a method again": (
        {
            "keel/base.py": SAILS,
            "keel/trip.py": "def trip(boat):\n    return 1\n",
            "keel/tour.py": "def tour(boat):\n    return 1\n",
        },
        {"keel/tour.py": "def tour(boat):\n    return boat.sail(2)\n"},
    ),
}
"""Two edits, the second on top of the first."""
STAYS = {
    "lines move": "keel.run.run",
    "another default": "keel.run.run",
    "a name is bound once more": "keel.run.run",
}
"""Targets whose rows are believed although the file that has them is another: nothing that they read of it is."""
PASSES = "from keel.run import walk\n\n\ndef go():\n    walk(1, gait=2)\n    return 1\n"
STAYS_AFTER: dict[str, tuple[dict[str, str | None], dict[str, str | None]]] = {
    "a function is added below": ({"keel/use.py": PASSES}, {"keel/use.py": f"{PASSES}\n\ndef far():\n    return 1\n"}),
    "the caller goes on in another way": ({"keel/use.py": PASSES}, {"keel/use.py": PASSES.replace("return 1", "return 2")}),
    "its function moves": ({"keel/use.py": PASSES}, {"keel/use.py": f"import os\n\n{PASSES}"}),
    "as many lines above are others": ({"keel/use.py": PASSES}, {"keel/use.py": PASSES.replace("\n\n\n", "\nimport os\n\n")}),
}  # fmt: skip
"""Two edits: the row of `walk` tells a line of the first one's file, which stays where it was, or moves with its function."""
OURS = """\
import keel.boat
import keel.deck
import keel.hull
import keel.run
import keel.tack
from harbour.engine import register_patch


def our_sail(self, wind):
    return self.rig


def our_tack(sheet):
    return sheet.cleat


@register_patch("tack", backend="keel")
def patch_tack(ctx):
    keel.tack.tack = our_tack


@register_patch("run", backend="keel", backend_versions=["<1.9"])
def patch_run(ctx):
    keel.run.run = lambda x: x


@register_patch("walk", backend="keel", condition=lambda ctx: getattr(ctx.args, "kept", False))
def patch_walk(ctx):
    keel.run.walk = lambda x, pace=1: x


@register_patch("lost", backend="keel", condition=lambda ctx: getattr(ctx.args, "unheard", False))
def patch_lost(ctx):
    keel.run.lost = lambda x: x


@register_patch("hull", backend="keel")
def patch_hull(ctx):
    keel.hull.saw = lambda wood: wood
    keel.deck.bunk = lambda: 2
    keel.deck.lamp = lambda: 2


@register_patch("boat", backend="keel")
def patch_boat(ctx):
    keel.boat.Boat.sail = our_sail
"""
USES = """\
from keel.boat import Boat
from keel.hull import saw
from keel.run import walk


class Dinghy(Boat):
    def sail(self, wind):
        return self.rig


def go():
    return walk(saw(1), pace=2)
"""
SHIP = "from keel.boat import Boat\n\n\nclass Ship(Boat):\n    def sail(self, wind):\n        return 1\n"
READS = "from keel.boat import Boat\n\n\ndef go(boat: Boat):\n    return boat.sail(1)\n"
HELPER = "import keel\nfrom packaging.version import parse\n\n\ndef is_new():\n    return parse(keel.__version__) >= parse('1')\n"
OPERATORS = """\
import operator
from importlib.metadata import version
from packaging.version import parse

KNOWN = {">=": operator.ge, "<": operator.lt}


def is_version(how, wanted):
    return KNOWN[how](parse(version("keel")), parse(wanted))
"""
GUARDED = """

def go():
    if is_new():
        from keel.run import lost
        return lost(1)
    return 0
"""
OWN_STEPS: dict[str, tuple[dict[str, str | None], dict[str, str | None]]] = {
    "a class of ours inherits nothing any more": (
        {
            "harbour/more.py": "from harbour.use import Dinghy\n\n\nclass More(Dinghy):\n    def sail(self, wind):\n        return super().sail(wind)\n"
        },
        {"harbour/use.py": USES.replace("Dinghy(Boat)", "Dinghy")},
    ),
    "a class of ours gets another base, two files away": (
        {
            "harbour/near.py": "from harbour.far import Far\n\n\nclass Near(Far):\n    pass\n",
            "harbour/far.py": "class Far:\n    pass\n",
            "harbour/more.py": "from harbour.near import Near\n\n\nclass More(Near):\n    def sail(self, wind):\n        return super().sail(wind)\n",
        },
        {"harbour/far.py": "from keel.boat import Boat\n\n\nclass Far(Boat):\n    pass\n"},
    ),
    "a module that patches are loaded with begins to import what is lost": (
        {"harbour/use.py": "def go():\n    return 1\n", "harbour/engine.py": "import harbour.use\n\n"},
        {"harbour/use.py": "from keel.run import lost\n\n\ndef go():\n    return 1\n"},
    ),
    "the line that fails such a module moves": (
        {"harbour/use.py": "from keel.run import lost\n", "harbour/engine.py": "import harbour.use\n\n"},
        {"harbour/use.py": "# lost\n\nfrom keel.run import lost\n"},
    ),
    "a class of ours elsewhere gets what is read of upstream's": (
        {"harbour/ship.py": SHIP.replace("sail", "sheet"), "harbour/use.py": "", "harbour/more.py": READS},
        {"harbour/ship.py": SHIP},
    ),
    "a class of ours elsewhere loses it": (
        {"harbour/ship.py": SHIP, "harbour/use.py": "", "harbour/more.py": READS},
        {"harbour/ship.py": SHIP.replace("sail", "sheet")},
    ),
    "such a class stands below upstream's no more, two files away": (
        {
            "harbour/far.py": "from keel.boat import Boat\n\n\nclass Far(Boat):\n    pass\n",
            "harbour/ship.py": "from harbour.far import Far\n\n\nclass Ship(Far):\n    def sail(self, wind):\n        return 1\n",
            "harbour/use.py": "",
            "harbour/more.py": READS,
        },
        {"harbour/far.py": "class Far:\n    pass\n"},
    ),
    "a helper asks for another version": (
        {"harbour/compat.py": HELPER, "harbour/more.py": f"from harbour.compat import is_new\n{GUARDED}"},
        {"harbour/compat.py": HELPER.replace("'1'", "'9'")},
    ),
    "a helper of the helper does": (
        {
            "harbour/compat/__init__.py": "from .base import is_new\n",
            "harbour/compat/base.py": HELPER,
            "harbour/more.py": f"from harbour.compat import is_new\n{GUARDED}",
        },
        {"harbour/compat/base.py": HELPER.replace("'1'", "'9'")},
    ),
    "a helper around a write does": (
        {
            "harbour/compat.py": HELPER,
            "harbour/patches/all_patches.py": "import harbour.compat as compat\n"
            + OURS.replace("    keel.run.lost", "    if compat.is_new():\n        keel.run.lost"),
        },
        {"harbour/compat.py": HELPER.replace("'1'", "'9'")},
    ),
    "a helper compares the other way round": (
        {
            "harbour/compat.py": OPERATORS,
            "harbour/more.py": f"from harbour.compat import is_version\n{GUARDED}".replace(
                "is_new()", "is_version('>=', '1')"
            ),
        },
        {"harbour/compat.py": OPERATORS.replace("operator.ge", "operator.lt")},
    ),
}
"""Two edits of ours, the second on top of the first; what is read of other files of ours by name."""
ENGINE = """\
def register_patch(patch_id, backend=None, backend_versions=None, condition=None):
    def register(handler):
        return handler

    return register
"""
CONFIG = """\
[project]
name = "harbour"
git = "downstream"

[backends.keel]
path = "third_party/keel"
objects = "upstream"
packages = ["keel"]
patches = ["harbour/patches"]
"""


class Days:
    """One project, whose upstream goes on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.upstream = History.start(root / "upstream")
        pin = self.upstream.commit("pin", dict(PIN))
        self.base = self.upstream.commit("base", dict(BASE))
        self.ours = History.start(root / "downstream")
        self.ours.gitlink("third_party/keel", pin)
        files = {"harbour/__init__.py": "import harbour.patches.all_patches\n", "harbour/patches/__init__.py": ""}
        files |= {"harbour/engine.py": ENGINE, "harbour/patches/all_patches.py": OURS, "harbour/use.py": USES}
        self.ours.commit("ours", dict(files))
        (root / "layline.toml").write_text(CONFIG)

    def edit(self, files: Mapping[str, str | None]) -> str:
        """One more tip: the base with these files."""
        whole = {**PIN, **BASE}
        held = {path.relative_to(self.upstream.path).as_posix() for path in self.upstream.path.rglob("*.*")}
        gone = {path: None for path in held if path not in whole and not path.startswith(".git")}
        return self.upstream.commit("edit", {**gone, **whole, **files})

    def ask(self, tip: str) -> tuple[KeptDrift, int]:
        """The rows at a tip, and how many of them and of our files were recalled."""
        told: list[int] = []
        workspace = open_workspace(self.root / "layline.toml")
        options = DriftOptions(to=tip, culprits=True)

        def count(what: str, done: int, total: int, at: str = "") -> None:
            told.extend([done] if what == KEPT else [])

        _, found = find_drift(workspace, "keel", options, count)
        return found, sum(told)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Days:
    return Days(tmp_path_factory.mktemp("days"))


@pytest.mark.parametrize("name", CASES)
def test_rows_of_an_earlier_tip(name: str, days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    """Believed from the base, and where that was checked; the answer is the one that is found with nothing kept."""
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / "cache"))
    days.ask(days.base)
    tip = days.edit(CASES[name])
    warm, _ = days.ask(tip)
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / f"cold {name}"))
    cold, kept = days.ask(tip)
    assert kept == 0
    assert warm == cold


@pytest.mark.parametrize("name", STEPS)
def test_rows_of_the_edit_before(name: str, days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / f"steps {name}"))
    first, second = STEPS[name]
    before, _ = days.ask(days.edit(first))
    tip = days.edit({**first, **second})
    warm, _ = days.ask(tip)
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / f"cold {name}"))
    cold, _ = days.ask(tip)
    assert warm == cold
    assert [row.findings for row in cold.rows] != [row.findings for row in before.rows]


@pytest.mark.parametrize("name", OWN_STEPS)
def test_our_edit_before(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    days = Days(tmp_path)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "warm"))
    first, second = OWN_STEPS[name]
    if "harbour/engine.py" in first:
        first = {**first, "harbour/engine.py": f"{first['harbour/engine.py']}{ENGINE}"}
    tip = days.edit(CASES["a method has another name"])
    days.ours.commit("first", dict(first))
    before, _ = days.ask(tip)
    days.ours.commit("second", dict(second))
    warm, _ = days.ask(tip)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cold"))
    cold, _ = days.ask(tip)
    assert warm == cold
    path = "harbour/more.py" if "harbour/more.py" in first else "harbour/patches/all_patches.py"
    assert tell_of(path, cold) != tell_of(path, before)


def tell_of(path: str, found: KeptDrift) -> list[str]:
    """What an answer says of one file of ours."""
    rows = [repr(row) for row in found.rows if row.location.path == path]
    return [*rows, *(repr(one) for one in found.elsewhere if one.location.path == path)]


def test_an_edit_of_ours_that_no_name_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another function of a file that all patches see: only the file itself is judged again."""
    days = Days(tmp_path)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "warm"))
    days.ours.commit("first", {"harbour/engine.py": f"{ENGINE}\n\ndef idle():\n    return 1\n"})
    before, _ = days.ask(days.base)
    days.ours.commit("second", {"harbour/engine.py": f"import os\n\n\ndef idle():\n    return os\n\n\n{ENGINE}"})
    judged: list[Subject] = []

    def judge(subjects: list[Subject], sides: Sides) -> Iterator[Judged]:
        judged.extend(subjects)
        return judge_subjects(subjects, sides)

    monkeypatch.setattr(read, "judge_subjects", judge)
    warm, _ = days.ask(days.base)
    assert warm == before
    assert judged == []


@pytest.mark.parametrize("name", STAYS)
def test_rows_stay_where_their_names_say_the_same(name: str, days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes elsewhere, or moves what a row has read, says the same to it."""
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / f"stays {name}"))
    days.ask(days.base)
    judged: list[str] = []

    def judge(subjects: list[Subject], sides: Sides) -> Iterator[Judged]:
        judged.extend(str(one.effect.target) for one in subjects if one.effect is not None)
        return judge_subjects(subjects, sides)

    monkeypatch.setattr(read, "judge_subjects", judge)
    days.ask(days.edit(CASES[name]))
    assert judged
    assert STAYS[name] not in judged


@pytest.mark.parametrize("name", STAYS_AFTER)
def test_a_row_stays_with_the_lines_it_tells(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "warm"))
    days, judged = Days(tmp_path), list[str]()
    first, second = STAYS_AFTER[name]
    before, _ = days.ask(days.edit(first))
    assert any("keel/use.py" in repr(row.findings) for row in before.rows)

    def judge(subjects: list[Subject], sides: Sides) -> Iterator[Judged]:
        judged.extend(str(one.effect.target) for one in subjects if one.effect is not None)
        return judge_subjects(subjects, sides)

    monkeypatch.setattr(read, "judge_subjects", judge)
    tip = days.edit({**second, "keel/run.py": OTHER_RUN})
    warm, _ = days.ask(tip)
    assert "keel.run.run" in judged
    assert "keel.run.walk" not in judged
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cold"))
    assert warm == days.ask(tip)[0]


def count_gits() -> int:
    """Processes of git that this one has begun, and that are still there."""
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children")).split()
    return sum(Path(f"/proc/{child}/comm").read_text().strip() == "git" for child in children)


def test_most_rows_stay(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the git processes of an answer none waits for a collection: one is kept, to read the replacements of the next."""
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / "few"))
    gc.collect()
    gc.disable()
    try:
        before = count_gits()
        first, _ = days.ask(days.base)
        assert count_gits() - before <= 1
    finally:
        gc.enable()
    tip = days.edit(CASES["nothing that anybody reads"])
    found, kept = days.ask(tip)
    assert kept >= len(first.rows)
    assert replace(found, rows=(), tip="") == replace(first, rows=(), tip="")
    assert {row.tip_evidence.commit for row in found.rows if row.tip_evidence is not None} == {tip}


def test_tips_in_a_row_are_checked(days: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tip from the caches of all before it, a branch that leaves the first parents among them."""
    monkeypatch.setenv("LAYLINE_CACHE", str(days.root / "checked"))
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    for name in ("another body", "a call appears", "a module vanishes", "a star is taken away"):
        days.ask(days.edit(CASES[name]))
    days.ask(days.base)


def test_who_asked_for_culprits_has_judged_the_rows_without_them_too(
    days: Days, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan builds on those, and found all of them anew."""
    workspace = open_workspace(days.root / "layline.toml")
    tip = days.edit(CASES["another body"])
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "warm"))
    days.ask(tip)
    opening = read.open_drift(workspace, "keel", tip)
    warm = read.find_bare_rows(opening)
    recalled, made = opening.recalled
    assert (recalled > 0, made) == (True, 0)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cold"))
    opening = read.open_drift(workspace, "keel", tip)
    assert read.find_bare_rows(opening) == warm
    assert opening.recalled == (0, recalled)
