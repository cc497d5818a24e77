"""Every place of ours at one upstream commit: what fits, what does not, and what must not be called a misfit."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.app.patches_drift import patches_drift
from layline.app.upgrade_check import upgrade_check
from layline.core.evidence import Severity
from layline.git import Repository
from layline.patches.drift.ask import DriftOptions
from layline.upgrade.absolute import Standing
from layline.upgrade.judging import judge_at
from upgrading import Files, make_project

OF_VERSION = (
    "import keel\nimport keel.run as r\nfrom packaging import version\n\n"
    'is_meant = version.parse(keel.__version__) {test} version.parse("1.0")\n\n\n'
    "def go(x):\n    if is_meant:\n        return r.fly(x)\n    return x\n"
)
AVAILABLE = (
    "import os\nimport keel\nfrom packaging import version\n\n\ndef has_keel():\n    if os.environ.get('USE'):\n"
    "        return version.parse(keel.__version__) >= version.parse('{least}')\n    return False\n\n\n"
    "if has_keel():\n    from keel.run import fly\n    from keel.text import speak\n"
)
LINEAR = "keel.layer.Linear.__init__"
OUR_LINEAR = (
    "from keel.layer import Linear\n\nclass Ours(Linear):\n    def __init__(self, size, config, bias):\n"
    "        super().__init__(size, config, bias)\n"
)
UPSTREAM: Files = {
    "keel/__init__.py": '__version__ = "2.0"\n',
    "keel/run.py": (
        "def run(x, *, speed=1):\n    return x\n\n\n"
        "class Ship:\n"
        "    def __init__(self, name):\n        self.name = name\n\n"
        "    @staticmethod\n    def weigh(one, two):\n        return one\n\n"
        "    def steer(self, wind, *, depth):\n        return wind\n\n"
        "    def sail(self, wind):\n        return self.steer(wind, depth=1)\n"
    ),
    "examples/tour.py": "from keel.run import Ship\nShip('a').sail(1, far=2)\nShip.sail(Ship('a'), wind=1)\n",
    "keel/kinds.py": "from enum import Enum\n\n\nclass Datum(Enum):\n    MEAN = 1\n",
    "keel/loop.py": "def step(x, *, turn):\n    return x\n\n\ndef go(x):\n    return step(x, turn=1)\n",
    "setup.py": "from setuptools import Extension, setup\nsetup(ext_modules=[Extension('keel.fast', ['src/fast.cpp'])])\n",
    "keel/quick.pyx": "def run(): pass\n",
    "keel/layer.py": "class Linear:\n    def __init__(self, size, config, bias, name=None):\n        self.size = size\n",
    "keel/block.py": (
        "class Block:\n    def __init__(self, submodules, config):\n"
        "        self.proj = submodules.proj(4, config=config, bias=True, name='proj')\n"
    ),
    "keel/text.py": "def speak():\n    return 1\n\n\ndef speak_loudly():\n    return 2\n\n\n"
    "def pair():\n    return 1, 2\n\n\ndef scale(x, y):\n    return x\n",
}
CASES = [
    # (what it shows, our code, targets that do not fit)
    ("import", "from keel.run import run\n", []),
    ("import_gone", "from keel.run import fly\n", ["keel.run.fly"]),
    ("compiled", "from keel import fast\nfrom keel import quick\nimport keel.fast\n", []),
    ("not_compiled", "from keel import faster\n", ["keel.faster"]),
    ("built_from_a_slot", OUR_LINEAR + "\nclass Provider:\n    def linear(self):\n        return Ours\n", [LINEAR]),
    ("built_by_us", OUR_LINEAR.replace("Ours", "Own") + "\nOwn(1, 2, 3)\n", []),
    ("method_imported", "from keel.run.Ship import sail\n", ["keel.run.Ship.sail"]),
    ("module_gone", "import keel.wings\n", ["keel.wings"]),
    ("caught", "try:\n    from keel.run import fly\nexcept ImportError:\n    fly = None\n", []),
    ("branch", "import sys\nif sys.argv:\n    from keel.run import fly\nelse:\n    from keel.run import run\n", []),
    ("branch_without_another", "import sys\nif sys.argv:\n    from keel.run import fly\n", []),
    (
        "beside_what_is_there",
        "import sys\nif sys.argv:\n    from keel.run import fly\n    from keel.text import speak\n",
        ["keel.run.fly"],
    ),
    (
        "beside_what_is_there_or_else",
        "import sys\nif sys.argv:\n    from keel.run import fly, run\n    from keel.text import speak\nelse:\n    fly = 1\n",
        [],
    ),
    ("where_an_older_version_is_enough", AVAILABLE.format(least="1.0"), ["keel.run.fly"]),
    ("where_a_newer_version_is_asked_for", AVAILABLE.format(least="3.0"), []),
    ("taken_apart", "from keel.text import pair\none, two = pair()\n", []),
    ("taken_apart_wrongly", "from keel.text import pair\none, two, three = pair()\n", ["keel.text.pair"]),
    ("swapped_for_once", "from keel.text import scale\ndef go(x, y):\n    return scale(y, x)\n", []),
    (
        "deep_in_a_branch",
        "def go(x):\n    if x.fast:\n        for one in x:\n            from keel.run import fly\n",
        ["keel.run.fly"],
    ),
    ("typing", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from keel.run import fly\n", []),
    ("older_version", OF_VERSION.format(test="<"), []),
    ("this_version", OF_VERSION.format(test=">="), ["keel.run.fly"]),
    ("attribute", "import keel.run as r\nprint(r.Ship)\n", []),
    ("attribute_gone", "import keel.run as r\nprint(r.Boat)\n", ["keel.run.Boat"]),
    ("asked_first", "import keel.run as r\nif hasattr(r, 'Boat'):\n    print(r.Boat)\n", []),
    ("call", "from keel.run import run\nrun(1, speed=2)\n", []),
    ("call_refused", "from keel.run import run\nrun(1, pace=2)\n", ["keel.run.run"]),
    ("call_hidden", "from keel.run import run\nrun(*[], **{})\n", []),
    ("made", "from keel.run import Ship\nShip()\n", ["keel.run.Ship"]),
    (
        "static_through_super",
        "from keel.run import Ship\nclass Own(Ship):\n    def a(self):\n        return super().weigh(1, 2)\n",
        [],
    ),
    (
        "override_refuses",
        "from keel.run import Ship\nclass Own(Ship):\n    def steer(self, wind):\n        return wind\n",
        ["keel.run.Ship.steer"],
    ),
    (
        "override_whose_caller_is_ours",
        (
            "from keel.run import Ship\nclass Own(Ship):\n    def steer(self, wind):\n        return wind\n\n"
            "    def sail(self, wind):\n        return self.steer(wind)\n"
        ),
        [],
    ),
    (
        "override_that_only_an_example_calls",
        "from keel.run import Ship\nclass Own(Ship):\n    def sail(self, breeze):\n        return breeze\n",
        [],
    ),
    (
        "super_is_ours",
        (
            "from keel.run import Ship\nclass Mid(Ship):\n    def __init__(self, name, crew):\n        super().__init__(name)\n\n\n"
            "class Low(Mid):\n    def __init__(self):\n        super().__init__('a', crew=2)\n"
        ),
        [],
    ),
    ("member", "from keel.kinds import Datum\nprint(Datum.MEAN, Datum.__members__)\n", []),
    ("member_gone", "from keel.kinds import Datum\nprint(Datum.CHART)\n", ["keel.kinds.Datum.CHART"]),
    ("small_member_gone", "from keel.kinds import Datum\nprint(Datum.chart)\n", ["keel.kinds.Datum.chart"]),
    (
        "patch_refuses",
        "import keel.loop\ndef own(x):\n    return x\ndef install():\n    keel.loop.step = own\n",
        ["keel.loop.step"],
    ),
    ("patch", "import keel.text\ndef own():\n    return 1\ndef install():\n    keel.text.speak = own\n", []),
    (
        "patch_gone",
        "import keel.text\ndef own():\n    return 1\nkeel.text.speak_loudy = own\n",
        ["keel.text.speak_loudy"],
    ),
    (
        "our_stash",
        "import keel.text as t\ndef install():\n    t._own_first = t.speak\n    return t._own_first()\n",
        [],
    ),
]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Standing:
    ours: Files = {f"own/{name}.py": text for name, text, _ in CASES}
    project = make_project(tmp_path_factory.mktemp("absolute"), [("all", UPSTREAM)], ours)
    return judge_at(project.open(), "keel", project.upstream.commits[0])


@pytest.mark.parametrize(("name", "wanted"), [(name, wanted) for name, _, wanted in CASES])
def test_a_place_fits_one_commit_or_does_not(standing: Standing, name: str, wanted: list[str]) -> None:
    found = [one.target for one in standing.misfits if one.location.path == f"own/{name}.py"]
    assert found == wanted


def test_one_commit_is_told_the_same_whatever_the_pin_is(tmp_path: Path) -> None:
    """A module deleted from a folder that others may add to, and an order that a call of ours still has."""
    old, new = "def set_up(build, kind): ...\n", "def set_up(kind, build=None): ...\n"
    lost: Files = {"keel/__init__.py": None, "keel/legacy/model.py": None, "keel/core/run.py": new}
    steps: list[tuple[str, Files]] = [
        ("all", {"keel/core/__init__.py": "", "keel/core/run.py": old, "keel/legacy/model.py": "class Old: ...\n"}),
        ("Swap them (#2)", lost),
        ("More (#3)", {"keel/core/more.py": ""}),
    ]
    ours: Files = {
        "own/use.py": (
            "from keel.core.run import set_up\nfrom keel.legacy.model import Old\nfrom keel.others import one\n\n\n"
            "def go(build_, kind):\n    return set_up(build_, kind)\n"
        )
    }
    project = make_project(tmp_path, steps, ours)
    last = project.upstream.commits[-1]

    def find_misfits(pin: str) -> set[tuple[int, str]]:
        project.downstream.gitlink("third_party/keel", pin)
        project.downstream.commit("Pin it")
        return {(one.location.line, one.why) for one in judge_at(project.open(), "keel", last).misfits}

    told = [find_misfits(pin) for pin in project.upstream.commits]
    crossed = (
        "it takes our kind as build: our call passes them in the order that upstream had before "
        f"{project.upstream.commits[1][:10]} (2026-01-02, Swap them (#2))"
    )
    assert told == [{(2, "keel has no legacy.model.Old"), (7, crossed)}] * 3


def test_a_call_of_what_our_patch_puts_there_is_ours(tmp_path: Path) -> None:
    """The keyword is taken by our replacement, whatever upstream's function takes."""
    ours: Files = {
        "own/patch.py": "import keel.run\ndef mine(x, pace=1):\n    return x\ndef install():\n    keel.run.run = mine\n",
        "own/use.py": "from keel.run import run\nrun(1, pace=2)\n",
    }
    project = make_project(tmp_path, [("all", UPSTREAM)], ours)
    assert not judge_at(project.open(), "keel", project.upstream.commits[0]).misfits


@pytest.mark.parametrize(
    ("users", "misfits"),
    [
        ({"own/a.py": "    from own.newer import f\n", "own/deep/b.py": "    from ..newer import f\n"}, []),
        ({"own/a.py": "    from own import newer\n"}, []),
        ({"own/a.py": "    from own.newer import f\nfrom own.newer import f\n"}, ["keel.run.fly"]),
        ({"own/a.py": "    from own.newer import f\n", "own/b.py": "    pass\nNAME = 'own.newer'\n"}, ["keel.run.fly"]),
        ({"own/a.py": "    pass\n"}, ["keel.run.fly"]),
    ],
)
def test_a_file_that_is_loaded_only_at_another_version_is_not_counted(
    tmp_path: Path, users: dict[str, str], misfits: list[str]
) -> None:
    head = "import keel\nfrom packaging import version\nif version.parse(keel.__version__) >= version.parse('3.0'):\n"
    ours: Files = {path: head + text for path, text in users.items()}
    ours |= {"own/newer.py": "from keel.run import fly\n", "own/__init__.py": "", "own/deep/__init__.py": ""}
    project = make_project(tmp_path, [("all", UPSTREAM)], ours)
    assert [one.target for one in judge_at(project.open(), "keel", project.upstream.commits[0]).misfits] == misfits


def test_files_that_no_import_can_name_are_read(tmp_path: Path) -> None:
    paths = ["image-gen/run.py", "own/new-one.py", "own/v1.5/use.py"]
    project = make_project(tmp_path, [("all", UPSTREAM)], dict.fromkeys(paths, "from keel.run import fly\n"))
    misfits = judge_at(project.open(), "keel", project.upstream.commits[0]).misfits
    assert sorted(one.location.path for one in misfits) == paths


def test_what_does_not_fit_the_pin_either_is_marked(tmp_path: Path) -> None:
    ours: Files = {"own/old.py": "from keel.run import fly\n", "own/new.py": "from keel.text import speak\n"}
    project = make_project(tmp_path, [("all", UPSTREAM), ("Hush (#2)", {"keel/text.py": "x = 1\n"})], ours)
    data = upgrade_check(project.open(), "keel", pin="main")
    marked = {one["file"]: one["misfit_today"] for one in data.data["places"] if not one["fits"]}
    assert marked == {"own/old.py": True, "own/new.py": False}
    assert data.listing is not None
    assert "2 of 2 places do not fit" in data.listing.title
    assert data.listing.title.endswith("; 1 of them fails at today's pin already.")


def test_a_check_of_another_commit_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again it judges nothing: not even what only a comparison with the pin shows; a shallow clone may get more
    history.
    """
    ours: Files = {"own/old.py": "from keel.run import fly\n", "own/new.py": "from keel.text import speak\n"}
    project = make_project(tmp_path, [("all", UPSTREAM), ("Hush (#2)", {"keel/text.py": "x = 1\n"})], ours)
    first, told = upgrade_check(project.open(), "keel", pin="main"), []
    again = upgrade_check(project.open(), "keel", pin="main", progress=lambda *said: told.append(said))
    assert (again.data, told) == (first.data, [])
    monkeypatch.setattr(Repository, "is_shallow", True)
    upgrade_check(project.open(), "keel", pin="main", progress=lambda *said: told.append(said))
    assert told


def test_a_file_of_upstream_that_cannot_be_read_is_named_with_its_repository(tmp_path: Path) -> None:
    """`examples/run.py` alone would be looked for among our own files."""
    broken: Files = {**UPSTREAM, "keel/odd.py": "def f(:\n"}
    project = make_project(tmp_path, [("all", broken)], {"own/use.py": "from keel.run import run\n"})
    (found,) = [one for one in upgrade_check(project.open(), "keel").data["skipped"] if "odd.py" in one["what"]]
    assert found["what"] == "keel: keel/odd.py"


def test_what_drift_calls_broken_at_that_commit_does_not_fit_it(tmp_path: Path) -> None:
    """A replacement that reads what upstream's class loses, an attribute of a value, an example: seen by comparing."""
    boat = "class Boat:\n    def __init__(self):\n{}\n    def sail(self):\n        return 1\n"
    kept, gone = "        self.rig = 1\n        self.log = 2\n", "        self.job = 2\n"
    ours: Files = {
        "own/patch.py": "import keel.boat\n\n\ndef mine(self):\n    return self.rig\n\n\nkeel.boat.Boat.sail = mine\n",
        "own/use.py": "from keel.boat import Boat\n\n\ndef go(boat: Boat):\n    return boat.log\n",
        "examples/show.py": "from keel.text import speak\n",
    }
    steps: list[tuple[str, Files]] = [
        ("all", {"keel/boat.py": boat.format(kept), "keel/text.py": "def speak(): ...\n"}),
        ("Change it (#2)", {"keel/boat.py": boat.format(gone), "keel/text.py": "x = 1\n"}),
    ]
    project = make_project(tmp_path, steps, ours)
    drift = patches_drift(project.open(), "keel", DriftOptions()).data
    broken = {row["location"] for row in (*drift["rows"], *drift["elsewhere"]) if row["severity"] == "breaks"}
    answer = upgrade_check(project.open(), "keel", pin="main")
    misfits = [one for one in answer.data["places"] if not one["fits"]]
    assert {f"{one['file']}:{one['line']}" for one in misfits} == broken
    assert sorted(broken) == ["examples/show.py:1", "own/patch.py:8", "own/use.py:5"]
    assert answer.data["does_not_fit"] == 3
    assert answer.needs_person
    assert {one.severity for one in answer.findings} == {Severity.BREAKS}
    assert not upgrade_check(project.open(), "keel").needs_person


def test_an_override_that_is_wrong_today_is_a_warning_and_an_import_an_error(tmp_path: Path) -> None:
    base = "class Base:\n    def load(self, data=None):\n        return data\n{}    def run(self):\n        self.load({})\n"
    steps: list[tuple[str, Files]] = [
        ("all", {"keel/base.py": base.format("", "data=1"), "keel/later.py": base.format("", "")}),
        ("Pass it (#2)", {"keel/later.py": base.format("", "data=1")}),
    ]
    ours: Files = {
        f"own/{name}.py": f"from keel.{name} import Base\n\n\nclass Mine(Base):\n    def load(self):\n        return 1\n"
        for name in ("base", "later")
    }
    project = make_project(
        tmp_path, steps, ours | {"own/old.py": "from keel.base import fly\nfrom keel.base import a, b\n"}
    )
    here, there = (upgrade_check(project.open(), "keel", pin=pin) for pin in (None, "main"))
    rated = [{one.path: one.severity.word for one in answer.findings} for answer in (here, there)]
    assert rated[0] == {"own/base.py": "warning", "own/old.py": "error"}
    assert rated[1] == {"own/base.py": "warning", "own/later.py": "error", "own/old.py": "error"}
    assert here.listing is not None
    assert here.listing.meta[2:4] == (
        (
            "`patches drift` checks more, because it compares two commits: names that a replacement's body uses, attributes "
            "that our code reads, and arguments that land in another parameter than before. So does `upgrade check --pin "
            "REF`."
        ),
        "Examples, benchmarks and tests are not counted.",
    )
    assert there.listing is not None
    assert there.listing.meta == (
        "Each place is checked against this commit: an error may be old, such as a patch that never worked.",
        "A warning is an override that fits upstream's own calls neither here nor at today's pin.",
        (
            "`patches drift` compares the pin with this commit: what it finds broken counts here, too, even in examples. "
            "Its reasons call this commit the tip, whichever of the two is newer."
        ),
        "5 rows: a place is one line of ours, and a line that uses several names has one row for each.",
    )


def test_an_object_that_upstream_makes_itself_is_none_of_ours(tmp_path: Path) -> None:
    base = "class Base:\n    def load(self, data=None):\n        return data\n"
    made = "from keel.base import Base\n\nclass Box:\n    def __init__(self):\n        self.base = Base()\n{}"
    calls = "    def go(self):\n        self.base.load(data=1)\n\ndef go():\n    one = Base()\n    one.load(data=1)\n"
    ours: Files = {
        "own/mine.py": "from keel.base import Base\n\n\nclass Mine(Base):\n    def load(self):\n        return 1\n"
    }
    project = make_project(tmp_path, [("all", {"keel/base.py": base, "keel/box.py": made.format(calls)})], ours)
    assert [str(one) for one in upgrade_check(project.open(), "keel", pin="main").findings] == []


def test_what_the_pin_has_was_not_removed_before_it(tmp_path: Path) -> None:
    """A class lets a method go to its base before the pin, and the base loses it after: the class alone tells the
    first.
    """
    sail, pass_ = "    def sail(self, wind):\n        return wind\n", "    pass\n"
    ship = "class Base:\n{}\n\nclass Ship(Base):\n{}\n\nclass Raft:\n{}"
    steps: list[tuple[str, Files]] = [
        ("Start", {"keel/ship.py": ship.format(pass_, sail, sail)}),
        ("Give it to the base (#2)", {"keel/ship.py": ship.format(sail, pass_, pass_)}),
        ("Remove it (#3)", {"keel/ship.py": ship.format(pass_, pass_, pass_)}),
    ]
    mine = "import keel.ship\ndef mine(self, wind):\n    return 1\nkeel.ship.{}.sail = mine\n"
    ours: Files = {f"own/{name.lower()}.py": mine.format(name) for name in ("Ship", "Raft")}
    project = make_project(tmp_path, steps, ours)
    project.downstream.gitlink("third_party/keel", project.upstream.commits[1])
    project.downstream.commit("Pin the second")
    data = upgrade_check(project.open(), "keel", pin="main").data
    told = {one["file"]: one["why"] for one in data["places"] if not one["fits"]}
    assert "Give it to the base" in told["own/raft.py"]  # at the pin it is gone already
    assert "removed it in" not in told["own/ship.py"]
