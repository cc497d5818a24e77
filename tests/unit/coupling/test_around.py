"""A write in a method of ours that fails whenever upstream calls it is never reached, whatever becomes of its target."""

from __future__ import annotations

from pathlib import Path

import pytest

from drift_rows import drift_row
from histories import History
from layline.core.evidence import Location
from layline.core.why import Reason, Why
from layline.coupling.around import mark_unreached
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Tree

OURS = (
    "class Ours(Layer):\n    def __init__(self, size):\n        def swap():\n            spec.parts.core = Core\n"
    "        swap()\n\n    def forward(self, x):\n        spec.parts.core = Core\n"
)
LINES = [
    # (what it shows, the line of the write, what is said of which override, severity and today)
    ("in the method that fails", 4, (State.NEVER_FITTED, 2), ("breaks", "does-not-fit")),
    ("in another method", 8, (State.NEVER_FITTED, 2), ("ok", "fits")),
    ("in one that may not take something new", 4, (State.CANNOT_ACCEPT, 2), ("ok", "fits")),
]


def test_a_write_in_a_class_that_nobody_hands_over_says_so(tmp_path: Path) -> None:
    downstream = History.start(tmp_path / "down")
    modules = Modules(Tree(open_repository(downstream.path), downstream.commit("ours", {"harbour/keel.py": OURS})))
    override = Coupling(
        touch=Touch.OVERRIDE,
        target="keel.layer.Layer.__init__",
        location=Location("harbour/keel.py", 2),
        state=State.CANNOT_ACCEPT,
        consequence=Consequence.LOOK,
        why=(Why(Reason.NOT_HANDED, names=("make",)),),
    )
    row = drift_row("ok", "unchanged", "harbour/keel.py:4", "keel.layer.Parts.core")
    (found,) = mark_unreached([row], [override], modules)
    assert (found.severity.value, found.today) == ("ok", "fits")
    assert "harbour/keel.py:2" in found.detail


@pytest.mark.parametrize(("line", "said", "expected"), [row[1:] for row in LINES], ids=[row[0] for row in LINES])
def test_a_write_behind_a_call_that_fails_does_not_fit(
    tmp_path: Path, line: int, said: tuple[State, int], expected: tuple[str, str]
) -> None:
    downstream = History.start(tmp_path / "down")
    commit = downstream.commit("ours", {"harbour/keel.py": OURS})
    override = Coupling(
        touch=Touch.OVERRIDE,
        target="keel.layer.Layer.__init__",
        location=Location("harbour/keel.py", said[1]),
        state=said[0],
        consequence=Consequence.LOOK,
    )
    row = drift_row("ok", "unchanged", f"harbour/keel.py:{line}", "keel.layer.Parts.core")
    modules = Modules(Tree(open_repository(downstream.path), commit))
    (found,) = mark_unreached([row], [override], modules)
    assert (found.severity.value, found.today) == expected
    assert found.fails_already is (expected[0] == "breaks")


MADE = """from keel.cache import Gone
class Patcher(Base):
    def __init__(self, model, fast):
        from keel.cache import Hybrid
        super().__init__(model)
    def __enter__(self):
        self.layer.step = new
    @staticmethod
    def help(layer):
        layer.step = new
class Inherits(Patcher):
    def __enter__(self):
        self.layer.step = new
class Calls(Patcher):
    def __init__(self, model):
        self.model = model
        super().__init__(model, True)
    def __enter__(self):
        self.layer.step = new
class Overrides(Patcher):
    def __init__(self, model):
        self.model = model
    def __enter__(self):
        self.layer.step = new
class Chooses(Base):
    def __init__(self, model, fast):
        if fast:
            from keel.cache import Hybrid
    def __enter__(self):
        self.layer.step = new
class Leaves(Base):
    def __init__(self, model, fast):
        if fast:
            return
        from keel.cache import Hybrid
    def __enter__(self):
        self.layer.step = new
class Catches(Base):
    def __init__(self, model, fast):
        try:
            from keel.cache import Hybrid
        except ImportError:
            pass
    def __enter__(self):
        self.layer.step = new
"""
OTHER = (
    "from .keel import Patcher as Above\nclass Far(Above):\n    def __enter__(self):\n        self.layer.step = new\n"
)
UNMADE = [
    # (what it shows, class of the write, whether no object of it can be made)
    ("its own", "Patcher", True),
    ("inherited", "Inherits", True),
    ("inherited from another file", "Far", True),
    ("called", "Calls", True),
    ("not called", "Overrides", False),
    ("behind a test", "Chooses", False),
    ("left before", "Leaves", False),
    ("caught", "Catches", False),
]


@pytest.mark.parametrize(("owner", "unmade"), [row[1:] for row in UNMADE], ids=[row[0] for row in UNMADE])
@pytest.mark.parametrize("severity", ["breaks", "ok"])
def test_a_write_in_a_class_whose_objects_cannot_be_made(
    tmp_path: Path, owner: str, unmade: bool, severity: str
) -> None:
    files = {"harbour/__init__.py": "", "harbour/keel.py": MADE, "harbour/far.py": OTHER}
    downstream = History.start(tmp_path / "down")
    modules = Modules(Tree(open_repository(downstream.path), downstream.commit("ours", {**files})))
    path = "harbour/far.py" if owner == "Far" else "harbour/keel.py"
    lines = files[path].splitlines()
    line = next(n for n, text in enumerate(lines, 1) if n > lines.index(_find_head(lines, owner)) and ".step" in text)
    row = drift_row(severity, "removed" if severity == "breaks" else "unchanged", f"{path}:{line}", "keel.Layer.step")
    failing = [n for n, text in enumerate(MADE.splitlines(), 1) if "import Hybrid" in text]
    imports = [_miss(number) for number in (1, *failing)]
    (found,) = mark_unreached([row], imports, modules)
    assert found.severity.value == severity
    assert found.today == ("does-not-fit" if unmade else "fits")
    assert found.fails_already is (unmade and severity == "breaks")
    assert ("keel.py:4" in found.detail) is unmade


def test_a_static_method_needs_no_object(tmp_path: Path) -> None:
    downstream = History.start(tmp_path / "down")
    modules = Modules(Tree(open_repository(downstream.path), downstream.commit("ours", {"harbour/keel.py": MADE})))
    row = drift_row("breaks", "removed", "harbour/keel.py:10", "keel.Layer.step")
    (found,) = mark_unreached([row], [_miss(4)], modules)
    assert (found.today, found.fails_already) == ("fits", False)


def _find_head(lines: list[str], owner: str) -> str:
    return next(text for text in lines if text.startswith(f"class {owner}("))


def _miss(line: int) -> Coupling:
    return Coupling(
        touch=Touch.IMPORT,
        target="keel.cache.Hybrid",
        location=Location("harbour/keel.py", line),
        state=State.MISSING,
        consequence=Consequence.LOOK,
    )


TESTED = [
    # (what it shows, the test of the branch, whether its body cannot be reached)
    ("asked alone", "not isinstance(x, Wrapped)", True),
    ("asked after another", "fast and not isinstance(x, Wrapped)", True),
    ("another may decide before", "fast or isinstance(x, Wrapped)", False),
    ("nothing is asked", "fast", False),
]


@pytest.mark.parametrize(("test", "raises"), [row[1:] for row in TESTED], ids=[row[0] for row in TESTED])
def test_a_write_behind_a_test_that_raises_breaks(tmp_path: Path, test: str, raises: bool) -> None:
    """What was a class is a function: `isinstance` raises before the write, whatever else is mended."""
    ours = f"def go(x, fast):\n    if {test}:\n        x.parts.core = Core\n    else:\n        x.parts.core = None\n"
    downstream = History.start(tmp_path / "down")
    commit = downstream.commit("ours", {"harbour/keel.py": ours})
    read = Coupling(
        touch=Touch.ATTRIBUTE,
        target="keel.layer.Wrapped",
        location=Location("harbour/keel.py", 2),
        state=State.SIGNATURE,
        consequence=Consequence.WILL_BREAK,
        why=(Why(Reason.CLASS_NO_MORE),),
    )
    rows = [drift_row("ok", "unchanged", f"harbour/keel.py:{line}", "keel.layer.Parts.core") for line in (3, 5)]
    modules = Modules(Tree(open_repository(downstream.path), commit))
    found = mark_unreached(rows, [read], modules)
    assert [one.own.severity.value for one in found] == ["breaks" if raises else "ok", "ok"]
