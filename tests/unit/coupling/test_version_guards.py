"""Tests of versions round a line of ours, whatever they are written with."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.condition import Condition, ConditionKind
from layline.core.evidence import Location
from layline.coupling.own_code import find_running
from layline.coupling.version_guards import VersionGuards
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Tree

HELPERS = """
import importlib.metadata
import importlib.util
import operator
import os
import other
from sail import settings
from packaging import version
from packaging.version import Version, parse
import keel
from keel.needs import require
from keel import __version__ as KEEL
NEW = Version(keel.__version__) >= Version("5.2")
INSTALLED = version.parse(importlib.metadata.version("keel"))
OPERATIONS = {">=": operator.ge, "<": operator.lt}
def available(name, return_version=False):
    found = importlib.util.find_spec(name) is not None
    number = "N/A"
    if found and return_version:
        try:
            spelled = name.replace("_", "-")
            number = importlib.metadata.version(spelled)
        except importlib.metadata.PackageNotFoundError:
            pass
    if return_version:
        return found, number
    else:
        return found
def is_below(name, limit):
    try:
        there, number = available(name, return_version=True)
        return there and Version(number) < Version(limit)
    except Exception:
        return False
def is_keel(operation, wanted):
    if operation not in OPERATIONS:
        raise ValueError(operation)
    return OPERATIONS[operation](parse(KEEL), parse(wanted))
def is_at(wanted):
    if settings.KEEL_VERSION is not None:
        number = settings.KEEL_VERSION
    else:
        import keel
        number = keel.__version__
    try:
        return Version(number) == Version(wanted)
    except ValueError:
        raise RuntimeError(number)
def is_after(wanted):
    number = keel.__version__
    if os.environ.get("KEEL"):
        number = os.environ["KEEL"]
    return parse(number) > parse(wanted)
def is_cuda(wanted):
    if settings.device:
        number = keel.device.cuda
    else:
        number = keel.__version__
    return parse(number) > parse(wanted)
def is_either(wanted):
    if settings.other:
        number = other.__version__
    else:
        number = keel.__version__
    return parse(number) > parse(wanted)
def is_forced(wanted):
    if settings.forced:
        return settings.number == wanted
    return parse(keel.__version__) > parse(wanted)
def is_within(low=None, high=None):
    above = True
    if low is not None:
        above = parse(low) <= parse(keel.__version__)
    below = True
    if high is not None:
        below = parse(keel.__version__) <= parse(high)
    return above and below
def is_new():
    if not available("keel"):
        return False
    return parse(keel.__version__) >= parse("5.0")
def demand(requirement, mandatory=False):
    if os.environ.get("SKIP") and not mandatory:
        print("keel<1")
        return
    if "sail" in requirement:
        hint = "with wind"
    else:
        hint = "alone"
    require(requirement, hint)
def refuse_old():
    if parse(keel.__version__) < parse("5.0"):
        raise ImportError("keel 5 is needed")
def refuse_new():
    limit = "6.0"
    assert parse(keel.__version__) < parse(limit), "keel 6 is too new"
    refuse_old()
def warn_of(wanted):
    if parse(keel.__version__) < parse(wanted):
        print("too old")
KEEL_THERE = importlib.util.find_spec("keel") is not None
KEEL_NUMBER = "N/A"
if KEEL_THERE:
    try:
        KEEL_NUMBER = importlib.metadata.version("keel")
    except importlib.metadata.PackageNotFoundError:
        KEEL_THERE = False
def compare_versions(what, operation, wanted):
    if operation not in OPERATIONS.keys():
        raise ValueError(operation)
    operation = OPERATIONS[operation]
    if isinstance(what, str):
        what = parse(importlib.metadata.version(what))
    return operation(what, parse(wanted))
def is_keel_version(operation, wanted):
    if not KEEL_THERE:
        return False
    return compare_versions(parse(parse(KEEL_NUMBER).base_version), operation, wanted)
def is_of(name, operation, wanted):
    return compare_versions(name, operation, wanted)
if importlib.util.find_spec("lead"):
    LEAD = importlib.metadata.version("lead")
try:
    import hull
    HULL = hull.__version__
except ImportError:
    HULL = "0"
def is_hull(operation, wanted):
    if not isinstance(HULL, Version):
        return compare_versions(Version(HULL), operation, wanted)
    return True
"""
OURS = """
import keel
from packaging.version import Version
from .helpers import demand, refuse_new, refuse_old, require, warn_of
from .helpers import INSTALLED, NEW, available, is_after, is_at, is_below, is_cuda, is_either, is_forced, is_hull, is_keel, is_keel_version, is_new, is_of, is_within
def plain(x):
    keel.use()  # plain
    if Version(keel.__version__) >= Version("5.2"):
        keel.new()  # inline
    else:
        keel.old()  # else
    if NEW and x:
        keel.use()  # constant
    if "5.1" > Version(keel.__version__):
        keel.use()  # turned
    if is_below("keel", "5.0"):
        keel.use()  # helper
    if is_keel(">=", "5.3"):
        keel.use()  # operation
    if is_new():
        keel.use()  # early
    if is_at("5.3"):
        keel.use()  # by hand
    if is_after("5.3"):
        keel.use()  # by hand, later
    if is_cuda("5.3"):
        keel.use()  # another number
    if is_either("5.3"):
        keel.use()  # of two
    if is_forced("5.3"):
        keel.use()  # forced
    if is_within(high="4.57"):
        keel.use()  # up to
    if INSTALLED.major >= 6:
        keel.use()  # major
    if INSTALLED.release[:2] < (5, 4):
        keel.use()  # release
    if INSTALLED.release[0] >= 6:
        keel.use()  # first
    if INSTALLED.release[1] >= 3:
        keel.use()  # second
    if Version("4") <= INSTALLED < Version("5"):
        keel.use()  # between
    old = not NEW
    if old:
        keel.use()  # local
    if x.version >= 3:
        keel.use()  # other
    if available("keel"):
        keel.use()  # there
    keel.new() if NEW else keel.old()  # chosen
    if is_keel_version(">=", "5.5"):
        keel.use()  # operator as text
    else:
        keel.use()  # operator as text, else
    if is_keel_version(">=", "5.0") and is_keel_version("<", "5.1"):
        keel.use()  # two as text
    if is_of("keel", "<", "5"):
        keel.use()  # name and operator as text
    if is_hull("<", "5"):
        keel.use()  # parsed later
    if is_below("keel", "5.0"):
        return
    keel.use()  # left
def refused(x):
    if Version(keel.__version__) > Version("5.8"):
        raise RuntimeError("keel is too new")
    keel.use()  # raised before
def demanded(x):
    demand("keel>=5.1,<5.4", mandatory=True)
    keel.use()  # demanded
def asked(x):
    demand("keel>=5.1,<5.4")
    keel.use()  # demanded, unless
def required(x):
    with x:
        require("keel<5.4")
    keel.use()  # in a block that is over
    require("keel<5.4")
    keel.use()  # required
def helped(x):
    refuse_new()
    for one in x:
        refuse_old()
        keel.use()  # by a helper of a helper
def warned(x):
    warn_of("5.0")
    print("keel<5")
    keel.use()  # only told
def caught(x):
    try:
        require("keel<5.4")
    except ImportError:
        pass
    keel.use()  # caught
if NEW:
    class Mine(keel.Base):
        def step(self): ...  # class
"""
CASES = [
    ("plain", None),
    ("inline", "keel.__version__ >= 5.2"),
    ("else", "not keel.__version__ >= 5.2"),
    ("constant", "(keel.__version__ >= 5.2 and ?)"),
    ("turned", "keel.__version__ < 5.1"),
    ("helper", "(keel and keel < 5.0)"),
    ("operation", "keel.__version__ >= 5.3"),
    ("early", "(keel and keel.__version__ >= 5.0)"),
    ("by hand", "keel.__version__ == 5.3"),  # another number can be set; who sets one says what runs
    ("by hand, later", "keel.__version__ > 5.3"),
    ("another number", "(? or (not ? and keel.__version__ > 5.3))"),
    ("of two", "((? and other.__version__ > 5.3) or (not ? and keel.__version__ > 5.3))"),
    ("up to", "keel.__version__ <= 4.57"),
    ("forced", "(? or (not ? and keel.__version__ > 5.3))"),
    ("major", "keel >= 6"),
    ("release", "keel < 5.4"),
    ("first", "keel >= 6"),
    ("second", None),
    ("between", "(keel >= 4 and keel < 5)"),
    ("local", "not keel.__version__ >= 5.2"),
    ("other", None),
    ("there", None),
    ("left", "not (keel and keel < 5.0)"),
    ("operator as text", "(keel and keel >= 5.5)"),
    ("operator as text, else", "not (keel and keel >= 5.5)"),
    ("two as text", "((keel and keel >= 5.0) and (keel and keel < 5.1))"),
    ("name and operator as text", "keel < 5"),
    ("parsed later", "hull.__version__ < 5"),
    ("class", "keel.__version__ >= 5.2"),
    ("raised before", "not keel.__version__ > 5.8"),
    ("demanded", "keel.needs.require of (keel < 5.4 and keel >= 5.1)"),
    ("demanded, unless", "(? or (not ? and keel.needs.require of (keel < 5.4 and keel >= 5.1)))"),
    ("in a block that is over", None),
    ("required", "keel.needs.require of keel < 5.4"),
    (
        "by a helper of a helper",
        "((keel.__version__ < 6.0 and not keel.__version__ < 5.0) and not keel.__version__ < 5.0)",
    ),
    ("only told", None),
    ("caught", None),
]
CHECKED = [
    ("raised before", ["not keel.__version__ > 5.8"]),
    ("demanded", ["keel.needs.require of (keel < 5.4 and keel >= 5.1)"]),
    ("left", []),
    ("only told", []),
]


def say(condition: Condition) -> str:
    match condition.kind:
        case ConditionKind.ALL | ConditionKind.ANY:
            word = " and " if condition.kind is ConditionKind.ALL else " or "
            said = [say(part) for part in condition.parts]
            return said[0] if len(said) == 1 else f"({word.join(said)})"
        case ConditionKind.NOT:
            return f"not {say(condition.parts[0])}"
        case ConditionKind.DEMAND:
            return f"{condition.text} of {say(condition.parts[0])}"
        case ConditionKind.OPAQUE:
            return "?"
    return str(condition)


@pytest.fixture(scope="module")
def guards(tmp_path_factory: pytest.TempPathFactory) -> VersionGuards:
    history = History.start(tmp_path_factory.mktemp("ours") / "repo")
    commit = history.commit("all", {"sail/__init__.py": "", "sail/helpers.py": HELPERS, "sail/use.py": OURS})
    return VersionGuards(Modules(Tree(open_repository(Path(history.path)), commit)))


def line_of(mark: str) -> int:
    return next(number for number, text in enumerate(OURS.split("\n"), 1) if text.endswith(f"# {mark}"))


@pytest.mark.parametrize(("mark", "expected"), CASES)
def test_what_a_line_asks_of_versions(guards: VersionGuards, mark: str, expected: str | None) -> None:
    found = guards.find(Location("sail/use.py", line_of(mark)))
    assert (say(found) if found is not None else None) == expected


@pytest.mark.parametrize(("mark", "expected"), CHECKED)
def test_which_of_it_raises(guards: VersionGuards, mark: str, expected: list[str]) -> None:
    line = line_of(mark)
    found = guards.find_checks(Location("sail/use.py", line))
    assert [say(one.when) for one in found] == expected
    assert all(line - 3 < one.raised_at.line < line for one in found)


@pytest.mark.parametrize(
    ("name", "expected"), [("new", "keel.__version__ >= 5.2"), ("old", "not keel.__version__ >= 5.2")]
)
def test_of_two_uses_on_one_line_the_name_decides(guards: VersionGuards, name: str, expected: str) -> None:
    found = guards.find(Location("sail/use.py", line_of("chosen")), name)
    assert found is not None
    assert say(found) == expected


RUNNING = [
    # (what it shows, files of upstream, its tag, the version it runs as)
    ("declared", {"keel/__init__.py": "__version__ = '1.5'\n"}, "v0.9.0", "1.5"),
    ("on the way from a tag to the next", {"keel/__init__.py": ""}, "v0.9.0", "0.9.1.dev0"),
    ("from a candidate", {"keel/__init__.py": ""}, "v0.9.0rc1", "0.9.0rc2.dev0"),
    ("a candidate behind a dash", {"keel/__init__.py": ""}, "v0.9.0-rc1", "0.9.0rc2.dev0"),
    ("a word before it", {"keel/__init__.py": ""}, "core_v0.16.1", "0.16.2.dev0"),
    ("a word with a number before it", {"keel/__init__.py": ""}, "keel2-0.5", "0.6.dev0"),
    ("a tag that is no version", {"keel/__init__.py": ""}, "nightly", None),
    ("a tag that reads as no version", {"keel/__init__.py": ""}, "26.04-alpha.rc2", None),
]


@pytest.mark.parametrize(("files", "tag", "version"), [row[1:] for row in RUNNING], ids=[row[0] for row in RUNNING])
def test_the_version_that_a_commit_runs_as(
    tmp_path: Path, files: dict[str, str], tag: str, version: str | None
) -> None:
    history = History.start(tmp_path / "up")
    history.commit("first", {**files})
    history.git("tag", tag)
    commit = history.commit("second", {"keel/more.py": ""})
    assert find_running(open_repository(history.path), commit, ("keel",)) == version
