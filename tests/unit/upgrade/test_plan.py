"""Plans on a real little history: what is mended mechanically is proven by judging again, all else is proposed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from commands import layline
from histories import History
from layline.app.patches_drift import patches_drift
from layline.app.upgrade import upgrade_plan
from layline.app.upgrade_check import upgrade_check
from layline.core.evidence import Location
from layline.errors import ConfigError
from layline.git import open_repository
from layline.patches.drift.ask import DriftOptions
from layline.upgrade.absolute import Judged, Standing
from layline.upgrade.judging import find_lines, judge_as_drift
from layline.upgrade.moves import NameMove
from layline.upgrade.plan import Again, Job, find_unproven
from layline.upgrade.plan_answer import build_answer, count_places, say_counts
from layline.upgrade.planning import find_plan
from layline.upgrade.proposals import find_example
from layline.upgrade.question import ask
from layline.upgrade.values import Break, Mend, MendKind, Plan, Step
from upgrading import Files, Project, make_project

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total + {}\n"


def function(name: str, seed: int, signature: str = "x") -> str:
    return f"def {name}({signature}):\n{BODY.format(seed)}"


def long(name: str, seed: int, signature: str = "x") -> str:
    """Long enough that another of the same body is no chance."""
    more = "".join(f"    if total > {number}:\n        total = total // {number} - x\n" for number in range(2, 7))
    return f"def {name}({signature}):\n    total = {seed}\n{more}    return total\n"


def cls(name: str, seed: int) -> str:
    method = "".join(f"    {line}\n" for line in function("sail", seed, "self, x").splitlines())
    return f"class {name}:\n{method}"


PAIR = """\
def both(x):
    return x, {0}


def take(x):
    {1} = both(x)
"""
RIG = """\
class Rig:
    def hoist(self, sail, {0}=None):
        return sail if {0} is None else sail + {0}.size

    def run(self, sail, {0}):
        return self.hoist(sail, {0}={0})


def trim(sail, {0}=None):
    return sail + len({0})
"""
OWN_RIG = """\
from keel.rig import Rig


class OwnRig(Rig):
    def hoist(self, sail, {0}=None):  # ours
        return super().hoist(sail, {0}={0})
"""
CONFIGURED = """\
from dataclasses import dataclass


@dataclass
class Config:
    {0}: int = 3


def keep_in(config):
    return config.{0} + 1
"""
REWRITE = """\
import inspect

import keel.text

source = inspect.getsource(keel.text.speak).replace("x = len({0})", "x = sum({0})")  # ours
space = {{}}
exec(source, space)
keel.text.speak = space["speak"]
"""
HAUL = """\
def haul(x, {0}size=1):
    return x * size


def use():
    return haul(1, {1}2)
"""
OWN_HAUL = """\
import keel.haul

original = keel.haul.haul


def mine(x, size=1):
    return original(x, size=size)


keel.haul.haul = mine
"""
STEPS: list[tuple[str, Files]] = [
    (
        "pin",
        {
            "keel/run.py": function("run", 1) + "\n\n" + function("stop", 2) + "\n\n" + function("drift_off", 3),
            "keel/ship.py": cls("Ship", 4),
            "keel/api.py": "from keel.run import run\nfrom keel.ship import Ship\n",
            "keel/gone.py": function("lost", 5),
            "keel/twice.py": function("wander", 6),
            "keel/state.py": long("depth_of_water", 7) + "\n\n" + function("keep", 8),
            "keel/twins.py": function("twin", 9),
            "keel/old.py": function("lift", 10) + "\n\n" + function("lower", 11),
            "keel/wheel.py": cls("Wheel", 26),
            "keel/winch.py": "def wind(rope):\n    return rope\n",
            "keel/tiller.py": cls("Tiller", 27) + "\n\nfrom keel.wheel import Wheel\n",
            "keel/table.py": "LIMIT = 3\n",
            "keel/talk.py": long("communicate", 12),
            "keel/user.py": "from keel.state import keep\n\n\ndef use(x):\n    return keep(x)\n",
            "keel/enums.py": "class Datum:\n    CHART = 1\n    OTHER = 2\n",
            "keel/short.py": "def quick(x):\n    return x\n",
            "keel/flags.py": "\n\n".join(cls(name, at) for at, name in enumerate(("Flag", "Lamp", "Horn", "Oar"), 13)),
            "keel/deck.py": "from keel.flags import Flag\n",
            "keel/mast.py": "from .flags import Flag\n",
            "keel/bow.py": "from keel.flags import Horn, Lamp\n",
            "keel/stern.py": "from keel.flags import Horn, Lamp\n",
            "keel/hold.py": "from keel.flags import Oar\n",
            "keel/marks.py": "\n\n".join(cls(name, at) for at, name in enumerate(("Beacon", "Buoy", "Perch"), 17)),
            "keel/chart.py": "from keel.marks import Beacon, Buoy\n",
            "keel/rig.py": RIG.format("crew"),
            "keel/haul.py": HAUL.format("", ""),
            "keel/config.py": CONFIGURED.format("tide_limit"),
            "pyproject.toml": '[project]\nname = "keel"\ndependencies = ["rivet>=1.0"]\n',
            "keel/pair.py": PAIR.format("1", "a, b"),
            "keel/lathe.py": long("turn_slowly", 20),
            "keel/swell.py": long("height_of_swell", 22, "x, section"),
            "keel/buoys.py": cls("Bell", 21) + "\n\n" + cls("Gong", 25),
            **{f"{folder}/gong.py": "from keel.buoys import Gong\n" for folder in ("examples", "benchmarks")},
            "tests/test_bell.py": "from keel.buoys import Bell\n",
            "tests/test_ring.py": "from keel.buoys import Bell\n",
            "keel/text.py": "def speak(a):\n    x = len(a)\n    return x\n",
            "keel/deep/__init__.py": "",
            "keel/deep/ops/__init__.py": "from keel.deep.ops.index import chunk\n",
            "keel/deep/ops/index.py": function("chunk", 23) + "\n\n" + function("offset", 24),
        },
    ),
    (
        "Move run to engine (#2)",
        {
            "keel/run.py": function("stop", 2) + "\n\n" + function("drift_off", 3),
            "keel/engine.py": function("run", 1),
            "keel/api.py": "from keel.engine import run\n",
        },
    ),
    (
        "Remove lost, move wander (#3)",
        {"keel/gone.py": "", "keel/twice.py": "", "keel/middle.py": function("wander", 6)},
    ),
    (
        "Rename depth, move wander again (#4)",
        {
            "keel/state.py": long("draught_of_water", 7) + "\n\n" + function("keep", 8),
            "keel/middle.py": "",
            "keel/last.py": function("wander", 6),
            **dict.fromkeys(("keel/deep/__init__.py", "keel/deep/ops/__init__.py", "keel/deep/ops/index.py")),
            "keel/third/__init__.py": "",
            "keel/third/ops/__init__.py": "from keel.third.ops.index import chunk\n",
            "keel/third/ops/index.py": function("chunk", 23) + "\n\n" + function("offset", 24),
            "keel/old.py": None,
            "keel/newer.py": function("lift", 10) + "\n\n" + function("lower", 11),
            "keel/wheel.py": "",
            "keel/winch.py": "def wind(rope, turns):\n    return rope * turns\n",
            "keel/helm.py": "from keel.tiller import Tiller\n\n\n" + cls("Wheel", 26),
            "keel/tiller.py": cls("Tiller", 27) + "\n\nfrom keel.helm import Wheel\n",
        },
    ),
    (
        "Split twin in two, change a table (#5)",
        {
            "keel/twins.py": "",
            "keel/one.py": function("twin", 9),
            "keel/two.py": function("twin", 9),
            "keel/table.py": "",
            "keel/other.py": "LIMIT = 30\n",
            "keel/talk.py": "class Talker:\n"
            + "".join(f"    {line}\n" for line in long("communicate", 12).splitlines()),
            "keel/user.py": "def use(x):\n    return x\n",
            "keel/enums.py": "class Datum:\n    LOWEST = 1\n    OTHER = 2\n",
            "keel/short.py": "def brief(x):\n    return x\n",
            "keel/flags.py": "\n\n".join(
                f"class {name}:\n    wide = 3\n" for name in ("Banner", "Pipe", "Bell", "Sweep")
            ),
            "keel/deck.py": "from keel.flags import Banner\n",
            "keel/mast.py": "from .flags import Banner\n",
            "keel/bow.py": "from keel.flags import Bell, Pipe\n",
            "keel/stern.py": "from keel.flags import Bell, Pipe\n",
            "keel/hold.py": "from keel.flags import Sweep\n",
            "keel/marks.py": "\n\n".join(f"class {name}Light:\n    wide = 3\n" for name in ("Beacon", "Buoy", "Perch")),
            "keel/chart.py": "from keel.marks import BeaconLight, BuoyLight\n",
            "keel/rig.py": RIG.format("hands"),
            "keel/haul.py": HAUL.format("mode=None, ", "'fast', "),
            "keel/config.py": CONFIGURED.format("tide_bound"),
            "pyproject.toml": '[project]\nname = "keel"\ndependencies = ["rivet>=2.0"]\n',
            "keel/pair.py": PAIR.format("1, 2", "a, b, c"),
            "keel/lathe.py": long("turn_round_slowly", 20),
            "keel/swell.py": long("height_of_any_swell", 22, "x, axis=1"),
            "keel/buoys.py": "class EngineBell:\n    wide = 3\n\n\nclass EngineGong:\n    wide = 3\n",
            **{f"{folder}/gong.py": "from keel.buoys import EngineGong\n" for folder in ("examples", "benchmarks")},
            "tests/test_bell.py": "from keel.buoys import EngineBell\n",
            "tests/test_ring.py": "from keel.buoys import EngineBell\n",
            "keel/text.py": "def speak(a, b=0):\n    x = len(a, b)\n    return x\n",
        },
    ),
]
BOUND = """\
import keel.state
import keel.user


def mine(x):
    return x


keel.state.keep = mine
if hasattr(keel.user, "keep"):
    keel.user.keep = mine
"""
DEAD = """\
def install():
    import keel.pair
    from keel.run import run

    def mine(x):
        return run(x), 1

    keel.pair.both = mine


install()
"""
BEHIND = """\
import keel.ship
from own.moved import stop


def mine(self, x):
    return stop(x)


keel.ship.Ship.sail = mine
"""
BRANCHES = """\
import os

import keel.lathe


def mine(x):
    return x


if os.environ["KEEL"] == "1":
    keel.lathe.turn_slowly = mine
else:
    keel.lathe.turn_round_slowly = mine
"""
MINE = "def mine(x):\n    return x\n\n\n"
OURS: Files = {
    "own/spelled.py": f"import keel\n\n\n{MINE}keel.deep.ops.index.chunk = mine\nkeel.deep.ops.index.offset = mine\n",
    "own/again.py": "from keel.gone import lost\n\n\ndef use():\n    from keel.gone import lost\n\n    return lost\n",
    "own/both.py": f"{MINE}import keel.gone as gone; gone.lost = mine; from keel.gone import lost\n",
    "own/package.py": f"import keel.deep.ops  # ours\n\n\n{MINE}keel.deep.ops.index.chunk = mine\n",
    "own/branches.py": BRANCHES,
    "own/bell.py": "from keel.buoys import Bell\n",
    "own/gong.py": "from keel.buoys import Gong\n",
    "own/swell.py": "from keel.swell import height_of_swell\n\nheight_of_swell(1, [2])\n",
    "own/moved.py": "# ours\nfrom keel.run import run, stop  # both\n\nrun(1)\n",
    "own/exported.py": "from keel.api import Ship\n\n\nclass Own(Ship):\n    pass\n",
    "own/removed.py": "from keel.gone import lost\n",
    "own/twice.py": "from keel.twice import wander\n",
    "own/attribute.py": "from keel import state\n\nstate.depth_of_water(1)\nstate.keep(1)\n",
    "own/twins.py": "from keel.twins import twin\n",
    "own/module.py": "import keel.old as old\n\nold.lift(1)\n",
    "own/table.py": "from keel.table import LIMIT\n",
    "own/member.py": "from keel.enums import Datum\n\nDatum.CHART\n",
    "own/talk.py": "from keel.talk import communicate\n",
    "own/bound.py": BOUND,
    "own/behind.py": BEHIND,
    "own/dead.py": DEAD,
    "own/winch.py": "from keel.winch import wind\n\nwind(1)\n",
    "own/wheel.py": "from keel.wheel import Wheel\n",
    "own/steer.py": "from keel.tiller import Tiller\nfrom keel.wheel import Wheel\n",
    "own/short.py": "from keel.short import quick\n",
    "own/flag.py": "from keel.flags import Flag\n\nisinstance(1, Flag)\n",
    "own/sail.py": "from keel.flags import Flag\n\nFlag.sail\n",
    "own/lamp.py": "from keel.flags import Lamp\n",
    "own/oar.py": "from keel.flags import Oar\n",
    "own/buoy.py": "from keel.marks import Buoy\n\nisinstance(1, Buoy)\n",
    "own/perch.py": "from keel.marks import Buoy, Perch\n",
    "own/rig.py": OWN_RIG.format("crew"),
    "own/haul.py": OWN_HAUL,
    "own/trim.py": "from keel.rig import trim\n\ntrim(1, crew=[])\n",
    "own/rewrite.py": REWRITE.format("a"),
    "requirements.txt": "rivet>=1.0,<4  # ours\nother>=1.0\n",
    "conf/tides.yaml": "# metres\ntide_limit: 4  # high water\n",
    "own/made.py": "# @generated by a tool\nfrom keel.run import run\n",
    "own/patch.py": "import keel.old\n\n\ndef mine(x):\n    return x\n\n\nkeel.old.lower = mine\n",
}
MENDED = [
    # (our file, its text after all mechanical mends)
    ("own/moved.py", "# ours\nfrom keel.run import stop  # both\nfrom keel.engine import run\n\nrun(1)\n"),
    ("own/exported.py", "from keel.ship import Ship\n\n\nclass Own(Ship):\n    pass\n"),
    ("own/twice.py", "from keel.last import wander\n"),
    ("own/steer.py", "from keel.tiller import Tiller\nfrom keel.helm import Wheel\n"),
    ("own/attribute.py", "from keel import state\n\nstate.draught_of_water(1)\nstate.keep(1)\n"),
    ("own/module.py", "import keel.newer as old\n\nold.lift(1)\n"),
    ("own/flag.py", "from keel.flags import Banner as Flag\n\nisinstance(1, Flag)\n"),
    ("own/buoy.py", "from keel.marks import BuoyLight as Buoy\n\nisinstance(1, Buoy)\n"),
    ("own/perch.py", "from keel.marks import BuoyLight as Buoy, PerchLight as Perch\n"),
    ("own/rig.py", OWN_RIG.format("hands")),
    ("own/trim.py", "from keel.rig import trim\n\ntrim(1, hands=[])\n"),
    ("own/rewrite.py", REWRITE.format("a, b")),
    ("requirements.txt", "rivet>=2.0,<4  # ours\nother>=1.0\n"),
    ("conf/tides.yaml", "# metres\ntide_bound: 4  # high water\n"),
    (
        "own/spelled.py",
        (
            f"import keel.third.ops.index\nimport keel\n\n\n{MINE}keel.third.ops.index.chunk = mine\n"
            "keel.third.ops.index.offset = mine\n"
        ),
    ),
    ("own/package.py", f"import keel.third.ops  # ours\n\n\n{MINE}keel.third.ops.index.chunk = mine\n"),
    ("own/patch.py", "import keel.newer\n\n\ndef mine(x):\n    return x\n\n\nkeel.newer.lower = mine\n"),
]
PROPOSED = [
    # (our file, why no edit may be made)
    ("own/removed.py", "it is gone for good"),
    ("own/twins.py", "two places are as likely"),
    ("own/table.py", "another value under the same name"),
    ("own/member.py", "another member of an enumeration, however alike"),
    ("own/short.py", "short bodies are alike by chance"),
    ("own/talk.py", "a function that became a method"),
    ("own/wheel.py", "the module that it moved to cannot be the first of its circle to be loaded"),
    ("own/sail.py", "upstream's importers went to another name, which lacks what we use of it"),
    ("own/lamp.py", "upstream's importers let two names go and took up two"),
    ("own/oar.py", "a single importer, and a name that is not like it"),
    ("own/made.py", "a program writes the file"),
    ("own/branches.py", "another branch writes the new name already: this one is for other versions"),
    ("own/bell.py", "only upstream's tests went to another name: they test what is new"),
    ("own/gong.py", "only examples and benchmarks went to another name: they show what is new"),
    ("own/swell.py", "under its new name it takes something else where we pass a section"),
    ("own/haul.py", "a new parameter in front of one of ours: calls by position would land in another"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("plan"), STEPS, OURS)


@pytest.fixture(scope="module")
def plan(project: Project) -> Plan:
    return find_plan(project.open(), "keel", "main")


def mends(plan: Plan, path: str) -> list[Mend]:
    return [mend for step in plan.steps for mend in step.mends if mend.file == path]


@pytest.mark.parametrize(("path", "text"), MENDED, ids=[row[0] for row in MENDED])
def test_a_mechanical_mend_is_made(plan: Plan, path: str, text: str) -> None:
    final = {edit.path: edit.after for step in plan.steps for edit in step.edits}
    assert final.get(path) == text
    assert all(mend.mechanical for mend in mends(plan, path))


@pytest.mark.parametrize("path", [row[0] for row in PROPOSED], ids=[row[1] for row in PROPOSED])
def test_what_nobody_can_prove_is_proposed(plan: Plan, path: str) -> None:
    assert path not in {edit.path for step in plan.steps for edit in step.edits}
    (mend,) = mends(plan, path)
    assert not mend.mechanical


def test_a_rebinding_is_not_moved_to_where_the_object_lives(plan: Plan) -> None:
    """The module stopped importing what we rebind there behind a guard; its home is patched already."""
    assert "own/bound.py" not in {edit.path for step in plan.steps for edit in step.edits}
    assert not any(mend.mechanical for mend in mends(plan, "own/bound.py"))


def test_what_is_dead_at_the_pin_after_an_edit_is_not_mended(plan: Plan) -> None:
    """The edited import does not fit the pin, so the rebinding below it is not judged between the two."""
    told = {mend.target: mend.mechanical for mend in mends(plan, "own/dead.py")}
    assert told == {"keel.run.run": True, "keel.pair.both": False}


def test_a_patch_behind_an_import_that_is_mended_elsewhere_is_mended_with_it(plan: Plan) -> None:
    """Its file is fine; what it imports of ours could not be imported at the tip."""
    (mend,) = mends(plan, "own/behind.py")
    assert (mend.mechanical, mend.why) == (True, "fixed by the other edits of the files that it imports")


def test_a_step_ends_at_each_culprit_in_order(plan: Plan, project: Project) -> None:
    assert [step.to for step in plan.steps] == project.upstream.commits[1:]
    assert [step.culprit.pull_request for step in plan.steps if step.culprit] == [2, 3, 4, 5]
    assert [step.before for step in plan.steps] == project.upstream.commits[:-1]
    assert plan.last_good is not None
    assert plan.last_good.hash == plan.start


def test_a_call_is_left_at_the_step_that_breaks_it(plan: Plan) -> None:
    """The same name is imported in that file, and the import still fits."""
    at = [number for number, step in enumerate(plan.steps, 1) for mend in step.mends if mend.file == "own/winch.py"]
    assert at == [3]


def test_a_name_that_moves_twice_is_followed_when_its_last_home_is_there(plan: Plan) -> None:
    at = [number for number, step in enumerate(plan.steps, 1) for edit in step.edits if edit.path == "own/twice.py"]
    assert at == [3]


def test_the_plan_counts_what_does_not_fit_before_and_after(plan: Plan) -> None:
    assert plan.today == 0
    assert plan.before > plan.after == len(find_lines(plan.left)) - plan.compared == 20


def test_the_counts_of_drift_plan_and_check_are_reconciled(plan: Plan, project: Project) -> None:
    workspace = project.open()
    drift = patches_drift(workspace, "keel", DriftOptions()).data
    lines = {row["location"] for row in (*drift["rows"], *drift["elsewhere"]) if row["severity"] == "breaks"}
    places, _ = count_places(plan)
    # one set of places: what does nothing any more is told beside them
    assert plan.in_drift == len(lines) == places - plan.idle
    title = patches_drift(workspace, "keel", DriftOptions()).listing.title  # type: ignore[union-attr]
    assert sum(int(number) for number in re.findall(r"(\d+) (?:of \d+ patched places|places break)", title)) == len(
        lines
    )
    safe, beside = say_counts(plan)
    assert safe.startswith("`--safe` plans only up to")
    assert beside == "In addition, 2 settings of ours (requirements, configuration keys) must follow upstream."
    # what one commit by itself shows, and what only a comparison with the pin does: the check tells both
    checked = upgrade_check(workspace, "keel", pin="main")
    assert checked.data["does_not_fit"] == plan.before + plan.compared
    assert lines <= {f"{one['file']}:{one['line']}" for one in checked.data["places"] if not one["fits"]}
    assert checked.listing is not None
    assert checked.listing.meta[0].startswith("Each place is checked against this commit:")


def test_a_step_counts_lines_as_the_plan_does() -> None:
    mends = [
        Mend(file="a.py", lines=(at, at), kind=MendKind.REMOVED, mechanical=sure, diff="", why="", target="x")
        for at, sure in ((1, True), (1, False), (2, True))
    ]
    plan = Plan(
        backend="keel",
        commit="c",
        start="p",
        to="t",
        steps=(Step(to="t", date="2026-01-01", culprit=None, mends=tuple(mends)),),
    )
    listing = build_answer(plan, "Keel").listing
    assert listing is not None
    assert "1 of these 2 can be fixed mechanically; 1 is left for a person." in listing.title
    assert ": 2 places (1 mechanical, 1 left for a person)" in listing.groups[0].title


def test_the_steps_add_up_to_the_places_of_the_first_line() -> None:
    """A call inside a replacement counts with its patch, once, in whichever step it breaks."""

    def mend(line: int, place: int | None = None) -> Mend:
        kind, at = MendKind.CALL_REFUSED, Location("a.py", place) if place else None
        return Mend(file="a.py", lines=(line, line), kind=kind, mechanical=False, diff="", why="", target="x", place=at)

    steps = tuple(
        Step(to=name, date="2026-01-01", culprit=None, mends=mends)
        for name, mends in (("s", (mend(1), mend(9, 1), mend(2))), ("t", (mend(3), mend(12, 2), mend(13, 2))))
    )
    listing = build_answer(Plan(backend="keel", commit="c", start="p", to="t", steps=steps), "Keel").listing
    assert listing is not None
    assert "3 places of ours break" in listing.title
    first, last = listing.groups
    assert first.title.endswith(": 2 places in 3 lines, left for a person")
    assert last.title.endswith(": 1 place, left for a person; 2 lines of places counted in an earlier step")
    assert dict(first.items[1].details)["counts"] == "as the same place as a.py:1"
    assert "counts" not in dict(first.items[0].details)


def test_a_bound_of_ours_that_refuses_the_end_is_a_setting_that_must_follow(tmp_path: Path) -> None:
    """Also where nothing breaks: the pin cannot be installed before somebody raises it."""
    named = '[project]\nname = "keel"\nversion = "{}"\n'
    steps: list[tuple[str, Files]] = [(one, {"pyproject.toml": named.format(one)}) for one in ("1.0", "2.0")]
    ours: Files = {
        "pyproject.toml": '[project]\nname = "own"\ndependencies = ["keel<=1.5"]\n',
        "own/a.py": "import keel\n",
    }
    project = make_project(tmp_path, steps, ours)
    answer = upgrade_plan(project.open(), "keel", safe=True)
    assert answer.listing is not None
    assert "In addition, 1 setting of ours" in answer.listing.meta[1]
    (row,) = answer.listing.groups[0].items
    assert (str(row.location), row.code) == ("pyproject.toml:3", "bound-refuses")
    assert row.details == (("why", "our bound keel<=1.5 does not allow 2.0"),)


def test_a_step_counts_settings_apart_from_places() -> None:
    """The first line said that nothing is mechanical, the step that two are: the two were requirements."""
    kinds = ((1, MendKind.REMOVED, False), (2, MendKind.FLOOR_RAISED, True), (3, MendKind.GATE_RETIRED, True))
    mends = [
        Mend(file="a.py", lines=(at, at), kind=kind, mechanical=sure, diff="", why="", target="x")
        for at, kind, sure in kinds
    ]
    step = Step(to="t", date="2026-01-01", culprit=None, mends=tuple(mends))
    listing = build_answer(Plan(backend="keel", commit="c", start="p", to="t", steps=(step,)), "Keel").listing
    assert listing is not None
    assert "It is left for a person." in listing.title
    assert listing.groups[0].title.endswith(
        ": 1 place, left for a person; 1 setting, mechanical; 1 version test, mechanical"
    )


def test_an_end_at_which_nothing_breaks_is_called_safe() -> None:
    steps = (Step(to="t", date="2026-01-01", culprit=None, mends=()),)
    plan = Plan(backend="keel", commit="c", start="p", to="t", steps=steps)
    assert next(say_counts(plan)).startswith("t is a safe pin: ")
    assert next(say_counts(replace(plan, safe_pin="t"))).startswith("t is the newest safe pin: ")


def test_an_example_speaks_of_what_holds_the_name(project: Project) -> None:
    upstream, moved = open_repository(project.upstream.path), project.upstream.commits[1]
    assert find_example(upstream, moved, "keel.run.run").startswith("keel/api.py:")
    assert find_example(upstream, moved, "keel.oars.Oar.run") == ""  # another thing of that name


@pytest.mark.parametrize(
    ("head", "shown"),
    [("from keel.oars import Oar\n", True), ("import keel.oars as Oar\n", True), ("# the Oar of old\n", False)],
)
def test_an_example_names_the_holder_in_code(tmp_path: Path, head: str, shown: bool) -> None:
    history = History.start(tmp_path / "up")
    history.commit("before", {"keel/api.py": f"{head}thing.run(1)\n"})
    culprit = history.commit("after", {"keel/api.py": f"{head}thing.run(1, 2)\n"})
    assert bool(find_example(open_repository(history.path), culprit, "keel.oars.Oar.run")) == shown


def test_what_drift_has_judged_is_not_judged_again(project: Project) -> None:
    patches_drift(project.open(), "keel", DriftOptions())
    told = list[str]()
    judge_as_drift(project.open(), "keel", "main", lambda text, *_: told.append(text))
    assert told
    assert "comparing targets" not in told


def test_a_proposed_mend_of_a_copied_body_names_the_three_way_view(plan: Plan, project: Project) -> None:
    """Of all three texts a plan shows one; the command that it names shows them."""
    listing = build_answer(plan, "Keel").listing
    assert listing is not None
    told = [detail for group in listing.groups for one in group.items for detail in one.details if "diff" in detail[0]]
    words = told[0][1].strip("`").split()[1:]
    assert words == ["patches", "diff", words[2], "--to", plan.to[:12]]
    assert "upstream at the pin, upstream at the tip, our code" in layline(*words, cwd=project.root).out


def test_the_safe_commit_is_told_with_the_one_after_it(tmp_path: Path) -> None:
    steps: list[tuple[str, Files]] = [
        ("pin", {"keel/a.py": "def f(x): ...\n"}),
        ("Say nothing", {"README.md": "keel\n"}),
        ("Remove f", {"keel/a.py": ""}),
        ("Say more", {"README.md": "keel!\n"}),
    ]
    project = make_project(tmp_path / "project", steps, {"own/use.py": "from keel.a import f\n"})
    safe, after = (commit[:8] for commit in project.upstream.commits[1:3])
    answer = upgrade_plan(project.open(), "keel", safe=True)
    assert answer.listing is not None
    assert answer.listing.meta[0] == f"{safe} is the newest safe pin: {after}, the next commit, breaks places of ours."
    project.upstream.commit("Bring f back", {"keel/a.py": "def f(x): ...\n"})
    answer = upgrade_plan(project.open(), "keel", safe=True)
    assert answer.listing is not None
    assert answer.listing.meta[0].endswith("it is the commit that you asked about, and breaks nothing of ours.")


def test_what_the_edits_bring_to_light_is_left_for_a_person(tmp_path: Path) -> None:
    """The name is followed home; there it takes something else, which nobody could see before."""
    body = "".join(f"    total = x * {n} + {n}\n    print(total, x - {n})\n" for n in range(12)) + "    return total\n"
    steps: list[tuple[str, Files]] = [
        ("pin", {"keel/a.py": f"def f(x):\n{body}"}),
        ("Move f (#2)", {"keel/a.py": None, "keel/b.py": f"def f(x, far):\n{body}"}),
    ]
    project = make_project(tmp_path / "project", steps, {"own/use.py": "from keel.a import f\n\n\nf(1)\n"})
    plan = find_plan(project.open(), "keel", "main")
    told = [(mend.lines[0], mend.mechanical, mend.revealed) for mend in mends(plan, "own/use.py")]
    assert told == [(1, True, False), (4, False, True)]
    assert (count_places(plan), plan.before, plan.after) == ((1, 0), 1, 1)
    shown = build_answer(plan, "Keel").listing
    assert shown is not None
    assert (
        "After the mechanical edits, 1 more place of ours does not fit the names they then use; the last step lists it."
        in (shown.meta)
    )


def test_a_way_back_is_refused(project: Project) -> None:
    project.downstream.gitlink("third_party/keel", project.upstream.commits[-1])
    newer = project.downstream.commit("Pin the newest")
    with pytest.raises(ConfigError, match="is behind the pin"):
        ask(project.open(newer), "keel", project.upstream.commits[0])
    with pytest.raises(ConfigError, match="is the pin itself"):
        ask(project.open(newer), "keel", "main")


def test_a_line_that_uses_the_name_is_a_better_example_than_its_import(tmp_path: Path) -> None:
    history = History.start(tmp_path / "up")
    history.commit("before", {"keel/a.py": "from keel.oars import run\n", "keel/b.py": "import keel.oars\nrun(1)\n"})
    after: dict[str, str | bytes | None] = {
        "keel/a.py": "from keel.sails import run\n",
        "keel/b.py": "import keel.oars\nrun(1, 2)\n",
    }
    culprit = history.commit("after", after)
    assert find_example(open_repository(history.path), culprit, "keel.oars.run").splitlines()[1:] == [
        "-run(1)",
        "+run(1, 2)",
    ]


def test_each_step_tells_what_its_own_commit_broke() -> None:
    causes = (("needs keel.deck, which is gone", "b" * 40), ("needs keel.mast, which is gone", "a" * 40))
    broken = Break(location=Location("own/a.py", 9), target="keel.run", way="patches", why="all", causes=causes)
    assert broken.say_why("a" * 40) == (
        "needs keel.mast, which is gone; from bbbbbbbbbbbb on: needs keel.deck, which is gone"
    )
    assert broken.say_why("c" * 40) == "all"


def test_a_patch_that_is_only_switched_off_is_not_mended() -> None:
    """Its line is as it was; a guard around it is false there, and the new home is patched by another line."""
    at, old, new = Location("own/a.py", 9), "keel.user.keep", "keel.state.keep"
    broken = Break(location=at, target=old, way="patches", why="gone")
    job = Job(broken, NameMove(old, new, sure=True, why="moved"), 0)
    places = [Judged(location=at, target=name, way="patches", fits=True) for name in (old, new)]
    before = [Judged(location=at, target=old, way="patches", fits=False)]
    for after, wrong in ((places, [(job, "the old name is still used after the edit")]), (places[1:], [])):
        assert find_unproven([job], before, Again(Standing(commit="c", places=tuple(after)))) == wrong


def test_a_kept_plan_is_the_plan(plan: Plan, project: Project) -> None:
    assert find_plan(project.open(at=plan.commit), "keel", "main") == plan


def test_a_change_that_edits_nothing_mends_nothing(tmp_path: Path) -> None:
    """A parameter has another name, and a new one stands before those that we give by position."""
    before = "def reef(sail, low, size, room=None):\n    return use(sail, low.tp, size, room)\n"
    after = "def reef(sail, deep, start, size, room=None):\n    return use(sail, deep.tp, start, size, room)\n"
    made = make_project(
        tmp_path,
        [("begin", {"keel/reef.py": before}), ("Start elsewhere", {"keel/reef.py": after})],
        {"own/reef.py": "from keel.reef import reef\n\nreef(1, 2, 3, 4)\n"},
    )
    found = find_plan(made.open(), "keel", "main")
    assert [(mend.mechanical, mend.diff) for mend in mends(found, "own/reef.py")] == [(False, "")]


def test_a_place_has_the_step_of_its_own_line(tmp_path: Path) -> None:
    """Another line of the file calls the same name, and fits."""
    steps: list[tuple[str, Files]] = [
        ("begin", {"keel/reef.py": "def reef(sail, old=1):\n    return sail\n"}),
        ("Drop old", {"keel/reef.py": "def reef(sail):\n    return sail\n"}),
        ("Say more", {"README.md": "keel\n"}),
    ]
    ours = (
        "from keel.reef import reef\n\n\ndef fits():\n    return reef(1)\n\n\ndef fails():\n    return reef(1, old=2)\n"
    )
    made = make_project(tmp_path, steps, {"own/reef.py": ours})
    found = find_plan(made.open(), "keel", "main")
    (place,) = patches_drift(made.open(), "keel", DriftOptions()).data["elsewhere"]
    told = [(one.culprit.hash, mend.lines[0]) for one in found.steps for mend in one.mends if one.culprit is not None]
    assert told == [(place["culprit"], 9)] == [(made.upstream.commits[1], 9)]


def test_an_example_stands_once_and_line_by_line() -> None:
    def mend(line: int) -> Mend:
        return Mend(
            file="a.py",
            lines=(line, line),
            kind=MendKind.REMOVED,
            mechanical=False,
            diff="",
            why="gone",
            target="x",
            example="b.py:\n-run(1)\n+run(2)",
        )

    step = Step(to="b" * 40, date="2026-01-01", culprit=None, mends=(mend(1), mend(2)))
    plan = Plan(backend="keel", commit="c" * 40, start="a" * 40, to="b" * 40, steps=(step,))
    listing = build_answer(plan, "Keel").listing
    assert listing is not None
    first, second = listing.groups[0].items
    assert first.details[1:] == (("example", "b.py:"), ("", "-run(1)"), ("", "+run(2)"))
    assert second.details[1:] == (("example", "as at a.py:1 above"),)
