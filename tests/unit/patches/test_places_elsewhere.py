"""Places outside patches: an id each, and imports that only the tip has told once for each file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from histories import History
from layline.core.evidence import Location, Severity
from layline.core.patch import Effect, Style, Unregistered
from layline.core.why import Reason, Why
from layline.coupling.model import Consequence, Coupling, State, Touch
from layline.coupling.own_imports import OwnModules
from layline.git import open_repository
from layline.patches.drift.elsewhere import Elsewhere, merge_imports
from layline.patches.drift.imports import choose_rows, tell_callers
from layline.patches.drift.report import number_repeats
from layline.source import Tree


def _place(line: int, target: str = "up.C.__init__") -> Elsewhere:
    at = Location(path="ours/a.py", line=line)
    return Elsewhere(touch="overrides", target=target, location=at, severity=Severity.BREAKS, detail="")


def test_two_overrides_of_one_file_have_an_id_each() -> None:
    """Both were `drift-9e9f280e59a3`: one entry of a baseline accepted two breaks."""
    first, second, other = _place(215), _place(509), _place(20, "up.D.__init__")
    numbered = list(number_repeats((first, second, other)))
    assert len({one.id for one in numbered}) == 3
    assert [one.id for one in numbered[::2]] == [first.id, other.id]


def test_imports_that_only_the_tip_has_are_told_once_for_each_file() -> None:
    """A project for many versions had 54 such rows; 51 said the same of one file."""

    def place(path: str, line: int, name: str, reason: Reason = Reason.IMPORT_TOO_NEW) -> Coupling:
        return Coupling(
            touch=Touch.IMPORT,
            target=f"up.m.{name}",
            location=Location(path=path, line=line),
            state=State.TOO_NEW,
            consequence=Consequence.LOOK,
            why=(Why(reason),),
        )

    gone = place("a.py", 5, "D", Reason.FAILS_ALREADY)
    items = [place("a.py", 9, "B"), place("a.py", 3, "A"), place("b.py", 1, "C"), gone]
    merged, also = zip(*merge_imports(items), strict=True)
    assert also == ((Location("a.py", 9),), (), ())
    assert [(str(one.location), one.target) for one in merged] == [
        ("a.py:3", "up.m.A"),
        ("b.py:1", "up.m.C"),
        ("a.py:5", "up.m.D"),
    ]
    assert merged[0].detail.endswith("the same file imports more of this kind: B (line 9)")
    assert list(merged[1:]) == items[2:]


LINE = Location(path="ours/model.py", line=4)
CAUSE = Elsewhere(
    touch="imports",
    target="keel.moe",
    location=LINE,
    severity=Severity.BREAKS,
    detail="so 2 effects wait",
    culprit="c1",
)
NAME = replace(CAUSE, target="keel.moe.Args", detail="renamed")


@pytest.mark.parametrize(
    ("cause", "names", "told"),
    [
        (CAUSE, [], [("keel.moe", "so 2 effects wait")]),
        (CAUSE, [NAME], [("keel.moe", "so 2 effects wait")]),  # the same commit, and nobody knows where it is
        (CAUSE, [replace(NAME, new_target="keel.one")], [("keel.moe.Args", "renamed; so 2 effects wait")]),
        (
            replace(CAUSE, new_target="keel.mo"),
            [replace(NAME, new_target="keel.one")],
            [("keel.moe.Args", "renamed; so 2 effects wait")],
        ),
        (  # it went with its module
            replace(CAUSE, new_target="keel.mo"),
            [replace(NAME, new_target="keel.mo.Args")],
            [("keel.moe", "so 2 effects wait")],
        ),
        (  # the other name is a cause of its own
            replace(CAUSE, target="keel.moe.Args"),
            [replace(NAME, target="keel.moe.B", new_target="keel.two"), replace(NAME, new_target="keel.one")],
            [("keel.moe.Args", "renamed; so 2 effects wait")],
        ),
        (replace(CAUSE, culprit=None), [NAME], [("keel.moe.Args", "renamed; so 2 effects wait")]),
        (
            CAUSE,
            [replace(NAME, new_target="keel.one"), replace(NAME, target="keel.moe.B")],
            [("keel.moe.Args", "renamed; so 2 effects wait"), ("keel.moe.B", "renamed")],
        ),
    ],
)
def test_names_of_an_import_are_told_where_they_say_more_than_their_module(
    cause: Elsewhere, names: list[Elsewhere], told: list[tuple[str, str]]
) -> None:
    assert [(one.target, one.detail) for one in choose_rows(cause, names)] == told


CALLS = [
    # (what it shows, what calls the installer of a patch, whether it is told)
    ("a file that loads the one that fails", ("app/run.py:4",), True),
    ("through a package", ("app/sub/work.py:1",), True),
    ("another file calls, too", ("app/run.py:4", "app/alone.py:1"), False),
    ("one that loads it in a function", ("app/late.py:2",), False),
    ("nobody known", (), False),
]


@pytest.mark.parametrize(("calls", "is_told"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_what_only_files_install_that_load_a_failing_one_is_told(
    tmp_path: Path, calls: tuple[str, ...], is_told: bool
) -> None:
    """verl: an import told to keep 3 effects from being installed kept 29 more."""
    ours = History.start(tmp_path / "ours")
    files: dict[str, str | bytes | None] = {
        "app/__init__.py": "",
        "app/model.py": "import os\nfrom keel.moe import Args\n",
        "app/run.py": "from app import model\n\n\ngo()\n",
        "app/sub/__init__.py": "import app.model\n",
        "app/sub/work.py": "go()\n",
        "app/late.py": "def f():\n    import app.model\n",
        "app/alone.py": "go()\n",
    }
    modules = OwnModules(Tree(open_repository(ours.path), ours.commit("ours", files)), ())
    effect = Effect(style=Style.BINDING_REPLACEMENT, target="keel.a", location=Location("app/patch.py", 2))
    cause = replace(CAUSE, location=Location("app/model.py", 2))
    told = tell_callers(cause, [], [Unregistered(effect=effect, within="app.patch.go", called_from=calls)], modules)
    named = "; the files that call what installs 1 other effect load this one and fail with it: " + ", ".join(calls)
    assert told.detail == f"so 2 effects wait{named * is_told}"
    assert told.waiting == (effect.location,) * is_told
