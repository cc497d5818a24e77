"""`patches drift` on one small layered project: retirement by guards, risks, baseline, SARIF, order of annotations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Result, layline
from histories import History
from sarif_rules import find_violations

BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total\n"
PIN = {
    "pyproject.toml": '[project]\nname = "keel"\nversion = "1.4.0"\n',
    "keel/__init__.py": "",
    "keel/run.py": f"def run(x):\n{BODY}\n\ndef walk(x, old=1):\n{BODY}\n\ndef legacy(x):\n{BODY}",
    "keel/extra.py": "def probe(x):\n    return x\n",
    "keel/config.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Config:\n    depth: int = 1\n    mode = 'plain'\n\n"
        "    def check(self):\n        return self.depth\n"
    ),
    "keel/args.py": "def add(parser):\n    parser.add_argument('--old-key', default=False)\n    "
    "parser.add_argument('--kept')\n\n\ndef get_args():\n    return None\n",
}
TIP: dict[str, str | None] = {
    "pyproject.toml": '[project]\nname = "keel"\nversion = "2.0.0"\n',
    "keel/run.py": f"def run(x, mode=None):\n{BODY}\n\ndef walk(x, pace=1):\n{BODY}\n\ndef shim(x):\n    return x\n"
    "\n\nclass Boat:\n    def sail(self, wind, *, gust=0):\n        return self.sail(wind, gust=1)\n",
    "keel/extra.py": None,
    "keel/args.py": "def add(parser):\n    parser.add_argument('--kept')\n\n\ndef get_args():\n    return None\n",
}
ENGINE = """\
def register_patch(patch_id, backend=None, backend_versions=None, condition=None):
    def register(handler):
        return handler

    return register
"""
PATCHES = """\
import keel.run
import keel.config
from harbour.engine import register_patch


@register_patch("gate.old", backend="keel", backend_versions=["<1.9"])
def gate_old(ctx):
    keel.run.walk = lambda x: x


@register_patch("gate.new", backend="keel", backend_versions=[">=1.0"])
def gate_new(ctx):
    keel.run.walk = lambda x: x


@register_patch("gate.torch", backend="keel", backend_versions=None, condition=lambda ctx: hasattr(keel.run, "legacy"))
def asks_for_what_is_gone(ctx):
    keel.run.run = lambda x: x


@register_patch("fills.a.gap", backend="keel", condition=lambda ctx: not hasattr(keel.run, "shim"))
def fills_a_gap(ctx):
    keel.run.shim = lambda x: x


@register_patch("key.gone", backend="keel", condition=lambda ctx: getattr(ctx.args, "old_key", False))
def key_gone(ctx):
    keel.run.run = lambda x: x


@register_patch("key.kept", backend="keel", condition=lambda ctx: getattr(ctx.args, "kept", False))
def key_kept(ctx):
    keel.run.run = lambda x: x


@register_patch("marker.of.ours", backend="keel", condition=lambda ctx: not hasattr(keel.run, "_harbour_done"))
def marker(ctx):
    keel.run.run = lambda x: x


@register_patch("target.gone", backend="keel")
def target_gone(ctx):
    keel.run.legacy = lambda x: x


@register_patch("late.field", backend="keel")
def late_field(ctx):
    keel.config.Config.depth = 4
    keel.config.Config.width = 2
    keel.config.Config.mode = "fast"
    keel.config.Config.check = lambda self: 0

"""
OURS = "from keel.run import walk\n\n\ndef go():\n    return walk(1, old=2)\n"
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
configs = ["configs"]
"""


ADDITIONS = """\
import keel.config
import keel.run
from harbour.engine import register_patch


@register_patch("adds.and.marks", backend="keel")
def adds_and_marks(ctx):
    keel.run.walk.is_fast = True
    keel.run.legacy.is_fast = True  # fails at the tip: what stands after it is not reached
    keel.config.Config.harbour_depth = 4
    keel.config.Config.harbour_depth = 5
    keel.config.Config.harbour_unread = 4
"""
READS = '"""We set config.harbour_unread."""\n\n\n# config.harbour_unread\nprint("config.harbour_unread")\n\n\n'
READS += "def depth(config):\n    return getattr(config, 'harbour_depth', 0)\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("drift"), PATCHES, OURS)


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return drift(make_project(tmp_path_factory.mktemp("added"), ADDITIONS, READS), "--format", "json").json


def make_project(root: Path, patches: str, ours: str) -> Path:
    upstream = History.start(root / "upstream")
    pin = upstream.commit("pin", dict(PIN))
    upstream.commit("Go on (#7)", dict(TIP))
    downstream = History.start(root / "downstream")
    downstream.gitlink("third_party/keel", pin)
    downstream.commit(
        "ours",
        {
            "harbour/__init__.py": "import harbour.patches.all_patches\n",
            "harbour/engine.py": ENGINE,
            "harbour/patches/__init__.py": "",
            "harbour/patches/all_patches.py": patches,
            "harbour/use.py": ours,
            "configs/base.yaml": "kept: true\n",
        },
    )
    (root / "layline.toml").write_text(CONFIG)
    return root


def drift(project: Path, *words: str) -> Result:
    return layline("patches", "drift", "keel", *words, cwd=project, env={"LAYLINE_CACHE": str(project / "cache")})


@pytest.fixture(scope="module")
def data(project: Path) -> Any:
    result = drift(project, "--format", "json")
    assert result.code == 1, result.err
    return result.json


RETIRED = [
    # (patch, what is said; None: nothing)
    ("gate.old", "its version pattern <1.9 is false at the tip (2.0.0): the patch can be deleted"),
    ("gate.new", None),
    (
        "gate.torch",
        (
            "its guard can no longer be true: the tip has no keel.run.legacy; the patch can be deleted, unless what it "
            "changed happens elsewhere now"
        ),
    ),
    ("fills.a.gap", "its guard can no longer be true: the tip has keel.run.shim; the patch can be deleted"),
    (
        "key.gone",
        (
            "its guard can no longer be true: upstream dropped the config key old_key, and no config file of ours sets "
            "it; the patch can be deleted"
        ),
    ),
    ("key.kept", None),
    ("marker.of.ours", None),
]


@pytest.mark.parametrize(("patch", "said"), RETIRED, ids=[row[0] for row in RETIRED])
def test_a_patch_whose_guard_cannot_be_true_can_go(data: Any, patch: str, said: str | None) -> None:
    (row,) = {row["retire"] for row in data["rows"] if row["patch"] == patch and row["style"] != "config-rewrite"}
    assert row == said


def test_fields_of_a_dataclass_that_is_made_already_are_a_risk(data: Any) -> None:
    risks = {row["target"].rpartition(".")[2]: row["risks"] for row in data["rows"] if row["patch"] == "late.field"}

    assert "its __init__ keeps the old default of depth" in risks["depth"][0]
    assert "width, set after the class is made, is not one of its fields" in risks["width"][0]
    assert risks["mode"] == []  # no annotation: a plain class attribute
    assert risks["check"] == []  # methods are looked up when they are called


ADDED = [
    # (target, what the row says: kind, severity, dead today)
    ("keel.config.Config.harbour_depth", ("external", "ok", False)),
    ("keel.config.Config.harbour_unread", ("dead-at-pin", "look", True)),
    ("keel.run.walk.is_fast", ("unchanged", "ok", False)),
    ("keel.run.legacy.is_fast", ("removed", "breaks", False)),
]


@pytest.mark.parametrize(("target", "expected"), ADDED, ids=[row[0] for row in ADDED])
def test_what_we_add_for_ourselves_is_not_dead(added: Any, target: str, expected: tuple[str, str, bool]) -> None:
    """A name of ours that our code reads works; an attribute of a function object stands and falls with its
    function."""
    rows = [row for row in added["rows"] if row["target"] == target]
    assert {(row["kind"], row["severity"], row["dead_today"]) for row in rows} == {expected}
    assert "typo of" not in rows[0]["detail"]


def test_no_two_rows_share_an_id(added: Any) -> None:
    ids = [row["id"] for row in added["rows"]]
    assert len(ids) == len(set(ids))


def accept(project: Path, ids: list[str], until: str) -> Path:
    file = project / f"accepted-{until}.toml"
    file.write_text("".join(f'[[accepted]]\nid = "{id_}"\nreason = "known"\nuntil = {until}\n' for id_ in ids))
    return file


def test_a_baseline_covers_places_outside_patches(project: Path, data: Any) -> None:
    broken = [row["id"] for row in (*data["rows"], *data["elsewhere"]) if row["severity"] == "breaks"]
    assert [row["id"] for row in data["elsewhere"] if row["severity"] == "breaks"]
    file = accept(project, broken, "2026-12-31")

    kept = drift(project, "--format", "json", "--baseline", str(file), "--date", "2026-12-31")
    late = drift(project, "--format", "json", "--baseline", str(file), "--date", "2027-01-01")

    assert kept.code == 0
    accepted = [row["accepted"] for row in kept.json["elsewhere"] if row["id"] in broken]
    assert accepted == [{"reason": "known", "until": "2026-12-31"}] * len(accepted) != []
    assert late.code == 1
    assert {item["id"] for item in late.json["stale"]} == set(broken)


def test_an_entry_that_matches_nothing_is_told(project: Path) -> None:
    file = accept(project, ["drift-000000000000"], "2027-06-30")
    result = drift(project, "--baseline", str(file), "--date", "2026-11-15")
    assert "this baseline entry no longer applies" in result.out


def test_a_finding_that_gets_worse_is_another_one(data: Any) -> None:
    assert len(
        {(row["patch"], row["target"], row["style"], row["kind"], row["severity"]) for row in data["rows"]}
    ) == len({row["id"] for row in data["rows"]})


def test_sarif_keeps_the_promised_rules(project: Path) -> None:
    log = json.loads(drift(project, "--format", "sarif").out)
    assert list(find_violations(log)) == []
    levels = [result["level"] for result in log["runs"][0]["results"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)


def test_annotations_show_the_worst_first(project: Path) -> None:
    words = [line.partition(" ")[0] for line in drift(project, "--format", "github").out.splitlines()]
    assert words == sorted(words, key=["::error", "::warning"].index)
    assert "::error" in words


@pytest.mark.parametrize("format_", ["text", "md", "json", "sarif", "github"])
def test_the_same_question_gives_the_same_bytes(project: Path, format_: str) -> None:
    words = ("--format", format_, "--culprits", "--date", "2026-11-15")
    assert drift(project, *words).out == drift(project, *words).out != ""


@pytest.mark.parametrize("format_", ["md", "json", "sarif"])
def test_a_kept_answer_is_what_a_fresh_one_would_be(project: Path, tmp_path: Path, format_: str) -> None:
    words = ("--format", format_, "--culprits", "--date", "2026-11-15")
    kept = [drift(project, *words).out for _ in range(2)][1]
    fresh = layline("patches", "drift", "keel", *words, cwd=project, env={"LAYLINE_CACHE": str(tmp_path)}).out
    assert kept == fresh


def test_another_question_is_not_answered_with_what_was_kept(project: Path) -> None:
    plain, told = drift(project, "--format", "json").json, drift(project, "--format", "json", "--culprits").json
    assert not any(row["culprit"] for row in plain["rows"])
    assert any(row["culprit"] for row in told["rows"])
    dead = drift(project, "--format", "json", "--dead").json
    assert {row["kind"] for row in dead["rows"]} <= {"dead-at-pin"}
    assert dead["tip"] == dead["pin"] != plain["tip"]


def test_an_import_that_fails_already_breaks_and_says_so(tmp_path: Path) -> None:
    place = make_project(tmp_path, ADDITIONS, "from keel.args import never_there\n")
    answer = drift(place, "--format", "json").json
    (told,) = [one for one in answer["elsewhere"] if one["target"].endswith("never_there")]
    assert (told["severity"], told["today"], told["detail"]) == (
        "breaks",
        "does-not-fit",
        "the import fails: neither the pin nor the tip has this name",
    )
    assert drift(place).out.splitlines()[0].endswith("Outside our patches, 1 place fails at the pin already.")


def test_a_flag_that_is_gone_is_told_by_drift_as_by_the_gap_report(tmp_path: Path) -> None:
    ours = "from keel.args import get_args\n\n\ndef go():\n    args = get_args()\n    return args.old_key, args.kept\n"
    place = make_project(tmp_path, ADDITIONS, ours)
    told = [one for one in drift(place, "--format", "json").json["elsewhere"] if one["target"].startswith("args.")]
    assert [(one["touch"], one["severity"], one["detail"]) for one in told] == [
        ("reads", "breaks", "the tip has no flag that sets old_key")
    ]


VERSIONED = """\
import importlib.metadata

import keel.run
import other.x
from packaging import version

if version.parse(importlib.metadata.version("keel")) >= version.parse("1.9"):
    keel.run.walk = lambda x, pace=1: x

try:
    import keel.masks

    keel.masks.fill = lambda x: 0
except ImportError:
    pass

keel.run.legacy = lambda x: x
other.x.f = print
"""


def test_compared_from_another_commit_everything_is_decided_there(tmp_path: Path) -> None:
    """Conditions, absent names and words are those of a project that pins the commit named with --from."""
    upstream = History.start(tmp_path / "upstream")
    old = upstream.commit("old", dict(PIN))
    new = upstream.commit(
        "Add masks (#7)",
        {
            "pyproject.toml": '[project]\nname = "keel"\nversion = "1.9.0"\n',
            "keel/masks.py": "def fill(x):\n    return x\n",
            "keel/run.py": f"def run(x):\n{BODY}\n\ndef walk(x, pace=1):\n{BODY}",
        },
    )
    upstream.git("tag", "v1.9")
    tip = upstream.commit("Go on (#8)", {**TIP, "keel/masks.py": "def fill(x, mode):\n    return x\n"})
    downstream = History.start(tmp_path / "downstream")
    downstream.commit("ours", {"harbour/__init__.py": "", "harbour/patches/late.py": VERSIONED})
    config = CONFIG.replace('path = "third_party/keel"', 'pin = { revision = "PIN" }')
    (tmp_path / "layline.toml").write_text(config.replace("PIN", old))
    told, text = drift(tmp_path, "--from", "v1.9", "--format", "json").json, drift(tmp_path, "--from", "v1.9").out
    (tmp_path / "layline.toml").write_text(config.replace("PIN", new))
    pinned = drift(tmp_path, "--format", "json").json

    assert told == pinned
    assert "the pin does not have it" not in json.dumps(told)
    first, _, second = text.splitlines()[:3]
    assert first == f"keel: 1 of 3 patched places breaks at {tip[:8]}; 1 does nothing even at v1.9; 1 fits."
    assert f"keel from {new[:12]} (2026-01-02, v1.9: “the pin” in this answer) to" in second
    assert (
        "The 4 effects of `patches list` with v1.9 as the pin:\n  3 compared: 1 breaks, 1 does nothing, 1 fits" in text
    )


BESIDE = """\
import other.x
import keel.bare
import keel.extra
import keel.train

keel.extra.probe = lambda x: x
keel.train.Accelerator.go = lambda self: 1
keel.bare.Bare.__init__ = lambda self: None
other.x.f = print
"""


def test_list_and_drift_count_the_same_effects_on_an_upstream(tmp_path: Path) -> None:
    """By the name that a reader can search for: also where what it stands for is defined elsewhere."""
    upstream = History.start(tmp_path / "upstream")
    more = {"keel/train.py": "from accel import Accelerator\n", "keel/bare.py": "class Bare:\n    pass\n"}
    pin = upstream.commit("pin", {**PIN, **more})
    upstream.commit("Go on (#7)", {"keel/more.py": ""})
    downstream = History.start(tmp_path / "downstream")
    downstream.commit("ours", {"harbour/__init__.py": "", "harbour/patches/late.py": BESIDE})
    config = CONFIG.replace('path = "third_party/keel"', f'pin = {{ revision = "{pin}" }}')
    (tmp_path / "layline.toml").write_text(config)
    env = {"LAYLINE_CACHE": str(tmp_path / "cache")}
    listed = layline("patches", "list", "keel", cwd=tmp_path, env=env).out
    told = drift(tmp_path, "--format", "json").json

    assert "3 on keel, 1 on other packages." in listed.splitlines()[0]
    assert sum(": replaces keel." in line or ": sets keel." in line for line in listed.splitlines()) == 3
    assert len(told["rows"]) == 3
    assert [(one["reason"], one["effects"]) for one in told["not_compared"]] == [("other-package", 1)]


WITHIN = """\
import keel.run
from keel.masks import fill


def fast(x):
    return fill(x)


keel.run.walk = fast
"""


@pytest.mark.parametrize(
    ("more", "outside"),
    [("", []), ("\n\ndef go(x):\n    return fill(x)\n", [("calls", "harbour/patch.py:13")])],
    ids=["inside the replacement", "outside as well"],
)
def test_what_a_row_tells_of_its_replacement_is_no_place_outside_patches(
    tmp_path: Path, more: str, outside: list[tuple[str, str]]
) -> None:
    upstream = History.start(tmp_path / "upstream")
    files = {"keel/__init__.py": "", "keel/run.py": "def walk(x):\n    return x\n"}
    pin = upstream.commit("pin", {**files, "keel/masks.py": "def fill(x):\n    return x\n"})
    safe = upstream.commit("Other work (#6)", {"keel/other.py": ""})
    upstream.commit("Need more (#7)", {"keel/masks.py": "def fill(x, mask):\n    return x\n"})
    upstream.commit("Other work (#8)", {"keel/other.py": "x = 1\n"})
    downstream = History.start(tmp_path / "downstream")
    downstream.gitlink("third_party/keel", pin)
    downstream.commit("ours", {"harbour/__init__.py": "import harbour.patch\n", "harbour/patch.py": WITHIN + more})
    (tmp_path / "layline.toml").write_text(CONFIG)
    answer = drift(tmp_path, "--format", "json").json
    broken = [("harbour/patch.py:9", "breaks")]
    assert [(row["location"], row["severity"]) for row in answer["rows"]] == broken
    assert [(one["touch"], one["location"]) for one in answer["elsewhere"]] == outside
    # the plan and the report count the same places
    places = len(broken) + len(outside)
    plan = layline("upgrade", "plan", "keel", "--format", "json", cwd=tmp_path).json
    assert (plan["breaks"]["places"], plan["breaks"]["in_drift"]) == (places, places)
    told = layline("gap", "show", "keel", "--format", "json", cwd=tmp_path).json
    assert told is not None
    # and the summary stops before the commit that broke the call
    assert layline("gap", "report", "keel", cwd=tmp_path).code == 0
    summary = next(tmp_path.glob("docs/backend-gap/reports/keel/*/summary.md")).read_text()
    assert f"The pin can move to {safe[:12]} (" in summary
    assert "was not found" not in summary
