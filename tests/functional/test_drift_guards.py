"""What stands before a write of ours, or before a call of upstream's: whether it skips, raises, or never runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import layline
from histories import History

CONFIG = """\
[project]
name = "fast"
git = "downstream"

[backends.keel]
label = "Keel"
pin = { revision = "v1.0" }
objects = "upstream"
packages = ["keel"]
"""
FILE = "src/fast/patch.py"
VERSION = '[project]\nname = "keel"\nversion = "{}"\n'


def make_project(
    root: Path, before: dict[str, str], after: dict[str, str | None], ours: str, *, past: str = "", version: str = "1.1"
) -> Path:
    """`past`: what upstream's module had before the pin; `version`: the tip's."""
    upstream = History.start(root / "upstream")
    upstream.commit("Long ago", {"keel/experts.py": past, "keel/__init__.py": "from keel.old import past\n"})
    upstream.commit("Begin", {"pyproject.toml": VERSION.format("1.0"), "keel/__init__.py": "", **before})
    upstream.git("tag", "v1.0")
    upstream.commit("Change (#2)", {"pyproject.toml": VERSION.format(version), **after})
    downstream = History.start(root / "downstream")
    downstream.commit("Layer", {"src/fast/__init__.py": "", FILE: ours})
    (root / "layline.toml").write_text(CONFIG)
    return root


def find_rows(project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = layline("patches", "drift", "keel", "--format", "json", cwd=project).json["rows"]
    return found


EXPERTS = "class Experts:\n    def forward(self, x):\n        return x\n"
MIXER = "class Mixer:\n    def forward(self, x):\n        return x\n"
RAISING = """\
try:
    from keel.experts import Experts, Mixer

    HAS_EXPERTS = True
except ImportError:
    HAS_EXPERTS = False


def forward(self, x):
    return x + 1


def prepare():
{guard}
    Mixer.forward = forward
"""
CAUGHT = """\
    try:
        if not HAS_EXPERTS:
            raise ImportError('keel 1')
        Mixer.forward = forward
    except ImportError:
        {}"""
GUARDS = [
    # (what it shows, what stands before the write, severity, whether it is said that our code raises)
    ("a test that raises", "    if not HAS_EXPERTS:\n        raise ImportError('keel 1 is needed')", "breaks", True),
    ("a test that returns", "    if not HAS_EXPERTS:\n        return", "ok", False),
    ("a raise that is caught", CAUGHT.format("pass\n    if not HAS_EXPERTS:\n        return"), "ok", False),
    ("a handler that raises another error", CAUGHT.format("raise RuntimeError('no') from None"), "breaks", True),
    (
        "a raise behind a test that is false there",
        "    if not HAS_EXPERTS:\n        return\n    if not HAS_EXPERTS:\n        raise ImportError('keel 1')",
        "ok",
        False,
    ),
]


@pytest.mark.parametrize(("guard", "severity", "raises"), [row[1:] for row in GUARDS], ids=[row[0] for row in GUARDS])
def test_a_test_that_raises_is_no_silent_skip(tmp_path: Path, guard: str, severity: str, raises: bool) -> None:
    ours = RAISING.format(guard=guard)
    project = make_project(tmp_path, {"keel/experts.py": EXPERTS + MIXER}, {"keel/experts.py": MIXER}, ours)
    line = 1 + next(number for number, text in enumerate(ours.splitlines()) if "Mixer.forward = " in text)
    row = next(one for one in find_rows(project) if one["location"] == f"{FILE}:{line}")
    assert row["severity"] == severity, row["detail"]
    assert ("our code raises" in row["detail"]) is raises
    if raises:
        line = next(number for number, text in enumerate(ours.splitlines(), 1) if "raise" in text)
        assert f"{FILE}:{line}" in row["detail"]
        assert row["retire"] is None


GATHER = "class Mixer:\n    def gather(self, x, *, scale):\n        return x\n\n    def run(self, x):\n        return self.gather(x, scale=1)\n"
REFUSING = """\
import keel
from keel.experts import Mixer
from keel.needs import require, warn_of
import other
from packaging.version import Version


def check_version(requirement, mandatory=False):
    require(requirement, "install it")


def gather(self, x):
    return x


def prepare():
{guard}
    Mixer.gather = gather
"""
TOO_NEW = "    if Version(keel.__version__) > Version('1.0'):\n        {}"
REFUSALS = [
    # (what it shows, what stands before the write, severity, today, a part of the detail)
    ("nothing", "    pass", "breaks", "fits", "scale"),
    ("a test that raises", TOO_NEW.format("raise RuntimeError('keel 1.0')"), "look", "fits", "refuses the tip's"),
    ("a test that returns", TOO_NEW.format("return"), "look", "fits", "can be deleted"),
    ("a call that asks for it", "    check_version('keel<=1.0', mandatory=True)", "look", "fits", "refuses the tip's"),
    ("a call that asks for it and is met", "    check_version('keel<=1.4')", "breaks", "fits", "scale"),
    ("one that refuses the pin, too", "    check_version('keel<1.0')", "ok", "not-run", "neither"),
    ("a call of what only warns", "    warn_of('keel<=1.0')", "breaks", "fits", "scale"),
    ("a call of what cannot be read", "    other.require('keel<=1.0')", "breaks", "fits", "scale"),
]
NEEDS = """\
import importlib.metadata
import warnings


def compare(name, wanted, hint):
    if importlib.metadata.version(name) > wanted:
        raise ImportError(hint)


def require(requirement, hint):
    name, wanted = requirement.split("<=")
    compare(name, wanted, hint)


def warn_of(requirement):
    name, wanted = requirement.split("<=")
    if importlib.metadata.version(name) > wanted:
        warnings.warn(f"{name} is newer than {wanted}")
"""


@pytest.mark.parametrize(
    ("guard", "severity", "today", "part"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_version_that_our_code_refuses_is_a_warning(
    tmp_path: Path, guard: str, severity: str, today: str, part: str
) -> None:
    after = GATHER.replace("scale=1", "scale=1, more=2").replace("*, scale", "*, scale, more")
    before = {"keel/experts.py": GATHER.replace("scale=1", "").replace(", *, scale", ""), "keel/needs.py": NEEDS}
    (row,) = find_rows(make_project(tmp_path, before, {"keel/experts.py": after}, REFUSING.format(guard=guard)))
    assert (row["severity"], row["today"]) == (severity, today), row["detail"]
    assert part in f"{row['detail']} {row['retire']}", row["detail"]


ABSENT = """\
try:
    from keel.experts import {}, Mixer as Other
except ImportError:
    from keel.experts import Mixer as {}


def forward(self, x):
    return x + 1


def read(layer):
    return layer.forward


def prepare():
    {}.forward = forward
"""


@pytest.mark.parametrize("name", ["Experts", "Never"], ids=["a class that upstream had", "one that it never had"])
def test_a_class_that_the_pin_does_not_have_is_nothing_we_add_to(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path, {"keel/experts.py": MIXER}, {}, ABSENT.format(name, name, name), past=EXPERTS)
    row = next(one for one in find_rows(project) if one["target"] == f"keel.experts.{name}.forward")
    assert (row["kind"], row["severity"], row["today"]) == ("dead-at-pin", "ok", "dead"), row["detail"]
    assert "the condition of this effect is already false at the pin" in row["retire"]


def test_a_module_that_comes_later_is_not_said_to_have_never_been(tmp_path: Path) -> None:
    ours = "import keel.late\n\nkeel.late.Mast.sail = print\n"
    (row,) = find_rows(make_project(tmp_path, {}, {"keel/late.py": MIXER}, ours))
    assert row["detail"].endswith("upstream never had keel.late.Mast"), row["detail"]


def test_a_class_that_our_own_code_puts_there_is_there(tmp_path: Path) -> None:
    ours = "import keel.experts\n\n\ndef first():\n    keel.experts.Mast = make()\n\n\n"
    ours += "def then():\n    keel.experts.Mast.sail = print\n"
    rows = find_rows(make_project(tmp_path, {"keel/experts.py": MIXER}, {}, ours))
    (row,) = (one for one in rows if one["target"] == "keel.experts.Mast.sail")
    assert row["today"] == "fits", row["detail"]


def test_a_class_that_upstream_had_is_dead_where_our_own_code_may_put_another_there(tmp_path: Path) -> None:
    ours = ABSENT.format("Experts", "Experts", "Experts")
    ours += "\n\ndef first():\n    import keel.experts\n\n    keel.experts.Experts = make()\n"
    rows = find_rows(make_project(tmp_path, {"keel/experts.py": MIXER}, {}, ours, past=EXPERTS))
    (row,) = (one for one in rows if one["target"] == "keel.experts.Experts.forward")
    assert row["today"] == "dead", row["detail"]


BY_VERSION = """\
import keel
from keel import experts
from packaging.version import Version


class Fast(Base):
    @staticmethod
    def put_old():
        def gather(self, x):
            return x

        experts.Mixer.gather = gather

    def load(self, kind):
        old = Version(keel.__version__).major {operator} 1
        if kind == "a" and old:
            Fast.put_old()
        return kind

    def again(self):
        old = Version(keel.__version__).major {operator} 1
        if old:
            self.put_old()
"""


@pytest.mark.parametrize(("operator", "severity", "today"), [("<", "ok", "not-run"), (">=", "look", "does-not-fit")])
def test_a_method_that_only_other_versions_call_fails_nowhere(
    tmp_path: Path, operator: str, severity: str, today: str
) -> None:
    ours = BY_VERSION.format(operator=operator)
    project = make_project(tmp_path, {"keel/experts.py": GATHER}, {"keel/experts.py": f"{GATHER}# more\n"}, ours)
    (row,) = find_rows(project)
    assert (row["severity"], row["today"]) == (severity, today), row["detail"]
    assert ("already at the pin" in row["detail"]) is (today == "does-not-fit")


SIGNATURE = """\
import inspect


class Mixer:
    def gather(self, enable=True):
        return enable

    def run(self):
{asked}
"""
OLD_FORMAT = "def gather(self, value=True):\n    return value\n"
BRANCHES = [
    # (what it shows, what upstream asks, our replacement, whether it fits today)
    (
        "held in a variable",
        """
        old = "value" in inspect.signature(self.gather).parameters
        if not old:
            self.gather(enable=True)
        else:
            self.gather(value=True)""",
        OLD_FORMAT,
        True,
    ),
    (
        "an early end",
        """
        if "value" in list(inspect.signature(self.gather).parameters.keys()):
            return self.gather(value=True)
        return self.gather(enable=True)""",
        OLD_FORMAT,
        True,
    ),
    (
        "of another function",
        """
        if "value" in inspect.signature(self.other).parameters:
            return self.gather(value=True)
        return self.gather(enable=True)""",
        OLD_FORMAT,
        False,
    ),
    (
        "a parameter that ours does not have",
        """
        if "value" not in inspect.signature(self.gather).parameters:
            return self.gather(enable=True)
        return self.gather(value=True)""",
        OLD_FORMAT.replace("value", "other"),
        False,
    ),
    (
        "a decorator that may show another signature",
        """
        if "value" not in inspect.signature(self.gather).parameters:
            self.gather(enable=True)""",
        f"@wraps(experts.Mixer.gather)\n{OLD_FORMAT}",
        False,
    ),
]


@pytest.mark.parametrize(("asked", "ours", "fits"), [row[1:] for row in BRANCHES], ids=[row[0] for row in BRANCHES])
def test_upstream_asks_for_the_signature_of_our_replacement(tmp_path: Path, asked: str, ours: str, fits: bool) -> None:
    before = {"keel/experts.py": SIGNATURE.format(asked=asked)}
    text = f"from functools import wraps\nfrom keel import experts\n\n\n{ours}\n\nexperts.Mixer.gather = gather\n"
    (row,) = find_rows(make_project(tmp_path, before, {}, text))
    assert row["today"] == ("fits" if fits else "does-not-fit"), row["detail"]


CAUGHT_IMPORT = """\
def prepare():
    try:
        from keel.experts import Mixer
        from {} as helper

        def forward(self, x):
            return helper(x)

        Mixer.forward = forward
    except Exception:
        pass
"""
PLACED = "import keel.experts\n\nkeel.experts.ours = print\n"
IMPORTED = [
    # (what it shows, where what is imported beside comes from, what else our file does, today)
    ("a name that the pin has", "keel.experts import helper", "", "fits"),
    ("a name that its one file does not have", "keel.experts import missing", "", "not-run"),
    ("a name that our own code puts there", "keel.experts import ours", PLACED, "fits"),
    ("a name that the package gave away", "keel import past", "", "not-run"),
    ("one that may be compiled", "keel import kernels", "", "fits"),
]


@pytest.mark.parametrize(("source", "more", "today"), [row[1:] for row in IMPORTED], ids=[row[0] for row in IMPORTED])
def test_an_import_that_fails_at_the_pin_keeps_the_write_behind_it_from_running(
    tmp_path: Path, source: str, more: str, today: str
) -> None:
    before = {"keel/experts.py": f"{MIXER}\n\ndef helper(x):\n    return x\n"}
    project = make_project(tmp_path, before, {}, CAUGHT_IMPORT.format(source) + more)
    row = next(one for one in find_rows(project) if one["target"] == "keel.experts.Mixer.forward")
    assert (row["severity"], row["today"]) == ("ok", today), row["detail"]
    assert (row["retire"] is not None) is (today == "not-run")


HELD = """\
try:
    from keel.experts import Experts

    HAVE = True
except ImportError:
    HAVE = False


class Loader:
    def load(self):
        return Experts()


def provide():
    return Experts()


def build():
    if HAVE:
        return provide(), Loader()
    return None
"""
REACHED = [
    # (what it shows, what else our files do, whether a NameError is told)
    ("every use stands behind the flag", {}, []),
    ("a use of its own without a test", {FILE: f"{HELD}\n\ndef more():\n    return provide()\n"}, ["15"]),
    ("another file uses it", {"src/fast/other.py": "from fast.patch import Loader\n"}, ["11"]),
    ("another file has its own of that name", {"src/fast/other.py": "class Loader:\n    pass\n"}, []),
]


@pytest.mark.parametrize(("more", "lines"), [row[1:] for row in REACHED], ids=[row[0] for row in REACHED])
def test_a_function_that_a_flag_keeps_from_running_raises_no_name_error(
    tmp_path: Path, more: dict[str, str], lines: list[str]
) -> None:
    files = {FILE: HELD, **more}
    project = make_project(tmp_path, {"keel/experts.py": EXPERTS + MIXER}, {"keel/experts.py": MIXER}, files.pop(FILE))
    for path, text in files.items():
        History(project / "downstream").commit("More", {path: text})
    answer = layline("patches", "drift", "keel", "--format", "json", cwd=project).json
    (place,) = answer["elsewhere"]
    assert "sets HAVE to False" in place["detail"]
    told = [line for line in ("11", "15") if f"raises NameError in line {line}" in place["detail"]]
    assert told == lines, place["detail"]


PARTS = "from dataclasses import dataclass\n\n\n@dataclass\nclass Parts:\n    mixer: type = object\n"
BUILT = "import copy\n\nimport keel.spec\n\n\nclass Layer:\n    pass\n\n\n"
SET = [
    ("def build(parts: keel.spec.Parts):\n    one = copy.copy(parts)\n    one.mixer = Layer\n    return one\n", False),
    ("keel.spec.Parts.mixer = Layer\n", True),
]


@pytest.mark.parametrize(("ours", "is_late"), SET, ids=["an object", "the class"])
def test_only_what_is_set_on_a_dataclass_itself_comes_too_late(tmp_path: Path, ours: str, is_late: bool) -> None:
    project = make_project(tmp_path, {"keel/spec.py": PARTS}, {"keel/spec.py": PARTS}, BUILT + ours)
    (row,) = find_rows(project)
    assert (row["target"], bool(row["risks"])) == ("keel.spec.Parts.mixer", is_late)
