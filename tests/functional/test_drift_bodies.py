"""`patches drift`: a target that stays, and a replacement that all the same no longer works with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import layline
from histories import History

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n"
PIN = {
    "pyproject.toml": '[project]\nname = "keel"\nversion = "1.4.0"\n',
    "keel/__init__.py": "",
    "keel/config.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Training:\n    steps: int = 1\n    "
    "batch: int = 1\n\n\n@dataclass\nclass Config:\n    training: Training\n",
    "keel/old.py": "def helper(x):\n    return x\n",
    "keel/tools.py": "def tool(x):\n    return x\n",
    "keel/tables.py": "from keel.tools import tool\n\nsizes = {'small': 1, 'large': 2}\n\n\nclass Raft:\n    def "
    "float(self, x):\n        return x + 1\n\n\ndef get(config, size=1):\n    return tool(config)\n",
    "keel/block.py": "from keel.tools import tool\n\n\ndef work(x):\n    return tool(x)\n",
    "keel/run.py": f"""\
from contextlib import contextmanager
from keel.config import Config


class Boat:
    def __init__(self, config: Config, pace: int):
        self.config = config
        self.job = config
        self.pace = pace
        self.crew = 0

    def log(self, x):
        return x

    def steer(self, x):
        return x

    def speed(self):
        return self.pace

    def anchor(self, rope, x):
        return self.anchor(rope, x)

    def moor(self, x):
        return x


class Crew:
    def __init__(self, config, size=1):
        self.size = size


def step(x):
{BODY}    return total, x, None


def steps(x):
    return step(x)


def work(x):
    return step(x)


def spec(x) -> Config:
    return Config(x)


@contextmanager
def watch(x):
    yield x


def plain(x):
    return x
""",
}
TIP: dict[str, str | None] = {
    "keel/config.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Training:\n    steps: int = 1\n\n\n"
    "@dataclass\nclass Config:\n    training: Training\n",
    "keel/old.py": None,
    "keel/block.py": "from keel.hybrid import *\n",
    "keel/tools.py": "def tool(x):\n    return x\n\n\ndef work(x):\n    return tool(x)\n",
    "keel/tables.py": "configs = {'small': print, 'large': abs}\n\n\nclass Vessel:\n    def float(self, x):\n      "
    "  return x + 1\n\n\nclass Raft(Vessel):\n    pass\n\n\ndef get(*args, **kwargs):\n    return args\n",
    "keel/hybrid.py": "from keel.tools import tool\n\n\ndef work(x):\n    return tool(x)\n",
    "keel/run.py": f"""\
from functools import partial
from keel.config import Config


class Boat:
    def __init__(self, config: Config, pace: int):
        self.config = config
        self.pace = pace

    def log(self, x):
        return x

    def steer(self, x):
        return x

    @property
    def speed(self):
        return self.pace

    def anchor(self, depth, chain=None):
        return self.anchor(depth=depth, chain=chain)

    def moor(self, x):
        return x


class Crew:
    def __init__(self, config, size=1, name=None):
        self.size = size


class Fleet:
    def __init__(self, parts, config):
        self.crew = parts.crew(config=config, size=3, name="fleet")


def step(x):
{BODY}    return total, x, None, 1


def steps(x):
    return step(x)


def work(x):
    return step(x) or 1


def spec(x) -> partial:
    return partial(Config, x)


def watch(x):
    return x


def plain(x):
    return x


def hire(boat):
    boat.crew = 3
""",
}
ENGINE = (
    "def register_patch(patch_id, backend=None):\n    def register(handler):\n        return handler\n\n    "
    "return register\n"
)
PATCHES = """\
import keel
import keel.block
import keel.run
import keel.tables
import keel.tools
from contextlib import contextmanager
from harbour.engine import register_patch


@register_patch("all", backend="keel")
def install(ctx):
    original_log = keel.run.Boat.log
    original_steps = keel.run.step
    original_spec = keel.run.spec

    def log(self, x):
        return original_log(self, self.job.training.steps + x)

    def steer(self, x):
        return self.config.training.batch + self.pace + self.crew

    def speed(self):
        return 2 * self.pace

    def anchor(self, rope, *args, **kwargs):
        return rope

    def moor(self, x):
        from keel.old import helper

        self.job = x
        return self.job if hasattr(self, "config") else helper(x)

    def step(x):
        one, two, three = original_steps(x)
        return one, two, three

    def spec(x):
        made = original_spec(x)
        if hasattr(made, "training"):
            made.training = None
        return made

    @contextmanager
    def watch(x):
        yield x

    def plain(x):
        try:
            return keel.old.helper(x)
        except AttributeError:
            return x

    keel.run.Boat.log = log
    keel.run.Boat.steer = steer
    keel.run.Boat.speed = speed
    keel.run.Boat.anchor = anchor
    keel.run.Boat.moor = moor
    keel.run.step = step
    keel.run.spec = spec
    keel.run.watch = watch
    keel.run.plain = plain
    keel.run.Crew = Sailors
    keel.block.tool = plain


@register_patch("more", backend="keel")
def more(ctx):
    def get(config, size):
        return config

    keel.tables.sizes = {}
    keel.tables.Raft.float = lambda self, x: x
    keel.tables.get = get
    keel.tables.tool = get
    keel.tools.tool = get


def forgotten(ctx):
    keel.run.Boat.speed = lambda self: 1


class Sailors:
    def __init__(self, config, size=1):
        self.size = size
"""
STEPS = """\
import keel.run
from harbour.engine import register_patch


@register_patch("steps.load", backend="keel")
def loads(ctx):
    original = keel.run.steps

    def steps(x):
        from harbour.store import prepare

        return original(prepare(x))

    keel.run.steps = steps


@register_patch("steps.dead", backend="keel")
def dies(ctx):
    from harbour.deadfile import ours

    keel.run.Fjord = ours
    keel.run.plain = ours


@register_patch("steps.import", backend="keel")
def imports(ctx):
    from keel.old import helper

    keel.run.Boat.steer = lambda self, x: x


@register_patch("steps.some", backend="keel")
def some(ctx):
    original = keel.run.work

    def work(x):
        if x:
            return 1
        return original(x)

    keel.run.work = work
"""
CONFIG = """\
[project]
name = "harbour"
repository = "https://example.org/harbour"
git = "downstream"

[backends.keel]
path = "third_party/keel"
upstream = "https://example.org/keel"
objects = "upstream"
packages = ["keel"]
patches = ["harbour/patches"]
"""


@pytest.fixture(scope="module")
def rows(every: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    kept = [row for row in every if row["patch"] in {"all", "more"}]
    return {row["target"].removeprefix("keel.run."): row for row in kept}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    root: Path = tmp_path_factory.mktemp("bodies")
    upstream = History.start(root / "upstream")
    pin = upstream.commit("pin", dict(PIN))
    upstream.commit("unrelated", {"README.md": "x\n"})
    upstream.commit("take it away (#7)", dict(TIP))
    upstream.commit("unrelated too", {"README.md": "y\n"})
    downstream = History.start(root / "downstream")
    downstream.gitlink("third_party/keel", pin)
    files = {
        "__init__.py": "import harbour.patches.all\nimport harbour.patches.steps\n",
        "engine.py": ENGINE,
        "patches/__init__.py": "",
        "patches/steps.py": STEPS,
        "store.py": "from keel.old import helper\n\n\ndef prepare(x):\n    return helper(x)\n",
        "deadfile.py": "from keel.run import thing\n\n\ndef ours(x):\n    return thing(x)\n",
        "patches/all.py": PATCHES,
    }
    downstream.commit("ours", {f"harbour/{path}": text for path, text in files.items()})
    (root / "layline.toml").write_text(CONFIG)
    answer = layline(
        "patches",
        "drift",
        "keel",
        "--culprits",
        "--format",
        "json",
        cwd=root,
        env={"LAYLINE_CACHE": str(root / "cache")},
    )
    found: list[dict[str, Any]] = answer.json["rows"]
    return found


@pytest.mark.parametrize(
    ("target", "kind", "severity", "told"),
    [
        ("Boat.log", "unchanged", "breaks", "reads self.job, which keel.run.Boat does not have at the tip"),
        (
            "Boat.steer",
            "unchanged",
            "breaks",
            "reads self.config.training.batch, which keel.config.Training does not have",
        ),
        ("Boat.speed", "signature-changed", "breaks", "is not a property, but upstream's is at the tip"),
        (
            "Boat.anchor",
            "signature-changed",
            "breaks",
            "needs rope, which upstream calls depth; upstream omits that at",
        ),
        ("Boat.moor", "unchanged", "breaks", "uses keel.old.helper, which is gone"),
        ("step", "body-changed", "breaks", "returns 3 values where upstream's own function returns 4 at the tip"),
        (
            "spec",
            "signature-changed",
            "look",
            "it returned Config and returns partial now; our wrapper reads .training of the result",
        ),
        ("watch", "signature-changed", "breaks", "is a contextmanager, but upstream's is not at the tip"),
        ("plain", "unchanged", "look", "uses keel.old.helper, which is gone"),
        (
            "keel.block.tool",
            "unchanged",
            "breaks",
            (
                "no code of keel.block uses it at the tip, so rebinding it there has no effect: upstream runs "
                "keel.hybrid.tool"
            ),
        ),
        (
            "Crew",
            "signature-changed",
            "breaks",
            "does not take name=None; upstream passes that to whichever class a field holds",
        ),
    ],
)
def test_a_replacement_that_no_longer_works_is_no_fit(
    rows: dict[str, dict[str, Any]], target: str, kind: str, severity: str, told: str
) -> None:
    row = rows[target]
    assert (row["kind"], row["severity"]) == (kind, severity), row["detail"]
    assert told in row["detail"]
    assert row["culprit"]["subject"] == "take it away (#7)"


@pytest.mark.parametrize(
    ("target", "kind", "severity", "home", "told"),
    [
        ("keel.tables.sizes", "renamed", "breaks", "keel.tables.configs", "now keel.tables.configs"),
        (
            "keel.tables.Raft.float",
            "moved",
            "look",
            "keel.tables.Vessel.float",
            "it is inherited from keel.tables.Vessel now",
        ),
        (
            "keel.tables.get",
            "signature-changed",
            "look",
            None,
            (
                "parameters config, size became *args, **kwargs; upstream's function takes any keyword now; our replacement "
                "(config, size) takes only its own; no upstream code calls it at the tip"
            ),
        ),
        (
            "keel.tables.tool",
            "binding-lost",
            "look",
            "keel.tools.tool",
            "the same patch also rebinds keel.tools.tool, which the tip uses at keel/tools.py:6",
        ),
    ],
)
def test_what_became_of_tables_members_and_bindings(
    rows: dict[str, dict[str, Any]], target: str, kind: str, severity: str, home: str | None, told: str
) -> None:
    row = rows[target]
    assert (row["kind"], row["severity"], (row["suggestion"] or {}).get("target")) == (kind, severity, home), row[
        "detail"
    ]
    assert told in row["detail"]


@pytest.mark.parametrize(
    ("patch", "target", "kind", "severity", "told"),
    [
        (
            "steps.load",
            "keel.run.steps",
            "unchanged",
            "breaks",
            "needs keel.old (imported at harbour/store.py:1), which is gone",
        ),
        (
            "steps.dead",
            "keel.run.plain",
            "dead-at-pin",
            "look",
            (
                "harbour.deadfile cannot be imported today: harbour/deadfile.py:1 imports keel.run.thing, which the "
                "pin does not have"
            ),
        ),
        (
            "steps.import",
            "keel.run.Boat.steer",
            "unchanged",
            "breaks",
            "is not reached: the import of keel.old.helper at line 27 fails",
        ),
        ("steps.some", "keel.run.work", "body-changed", "look", "we call the original only on some paths"),
    ],
)
def test_what_stands_in_the_way_of_an_effect(
    every: list[dict[str, Any]], patch: str, target: str, kind: str, severity: str, told: str
) -> None:
    (row,) = [row for row in every if (row["patch"], row["target"]) == (patch, target)]
    assert (row["kind"], row["severity"]) == (kind, severity), row["detail"]
    assert told in row["detail"]


def test_an_installer_that_nothing_runs_is_only_worth_a_look(every: list[dict[str, Any]]) -> None:
    (row,) = [row for row in every if row["patch"].endswith(".forgotten") and row["target"] == "keel.run.Boat.speed"]
    assert (row["active"], row["severity"]) == (False, "look")
    assert "nothing registers, calls or passes on harbour.patches.all.forgotten" in row["detail"]


def test_what_our_code_sets_or_upstream_sets_elsewhere_is_not_lost(rows: dict[str, dict[str, Any]]) -> None:
    assert "self.job" not in rows["Boat.moor"]["detail"]
    assert [item for item in rows["Boat.steer"]["problems"] if "crew" in item], "still told, as a doubt"
    assert "expects 3 values from the original" in rows["step"]["detail"]
